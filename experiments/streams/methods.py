"""Ours, independent noise, a square-root matrix mechanism built for a known end, and no privacy.

Each is a class with ``learn(block)``, after which ``basis()`` has the estimate (columns).
"""

import math
import warnings

import numpy as np

from veilspan import Budget, SubspaceTracker
from veilspan.estimators.stream.private_stream import PrivateStream
from veilspan.estimators.stream.stream_plan import stream_plan
from veilspan.solvers.stream.belief import Belief
from veilspan.solvers.stream.block_release import StreamRelease

from .settings import DELTA

OURS_NAME, INDEPENDENT, MATRIX, FREE = (
    "ours", "independent noise", "square root, built for 128", "without privacy"
)  # fmt: skip


def leading(matrix, rank):
    """Leading eigenvectors as columns."""
    return np.linalg.eigh(matrix)[1][:, ::-1][:, :rank]


def cut(rows):
    """Rows scaled down to length 1 at most."""
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]


class Ours:
    """The library's tracker by its defaults."""

    def __init__(self, setting, seed, **changes):
        self.tracker = SubspaceTracker(
            setting.rank, epsilon=setting.epsilon, delta=DELTA, block_size=setting.rows,
            random_state=seed, **changes,
        )  # fmt: skip

    def learn(self, block):
        """Release one block."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a seed is a simulation
            self.tracker.partial_fit(block)

    def basis(self):
        """The released subspace."""
        return self.tracker.components_.T


class Independent(Ours):
    """The tracker with new noise in every block: what streams of earlier versions go on with."""

    def __init__(self, setting, seed):
        super().__init__(setting, seed)
        plan = stream_plan(self.tracker, setting.columns, StreamRelease(setting.rank, 1.0))
        self.tracker._private_ = PrivateStream(plan, Belief())
        self.tracker.n_features_in_ = setting.columns


class SquareRoot:
    """Running sums of plain second moments, C the square root of the prefix sum over T blocks.

    Its noise must know T: it is scaled by the norm of C's first column.
    """

    def __init__(self, setting, seed, blocks=128):
        self.rank, self.rng = setting.rank, np.random.default_rng([seed, 3])
        self.response, norm = prefix_response(blocks)
        self.std = math.sqrt(2) * norm / Budget(setting.epsilon, DELTA).mu
        self.total, self.drawn = np.zeros((setting.columns, setting.columns)), []

    def learn(self, block):
        """Add a block to the sum; its noise is drawn when it is read."""
        rows = cut(block)
        self.total += rows.T @ rows
        noise = self.std * self.rng.standard_normal(self.total.shape)
        self.drawn.append((noise + noise.T) / 2)

    def basis(self):
        """Leading eigenvectors of the noisy running sum."""
        weights = self.response[len(self.drawn) - 1 :: -1]
        return leading(self.total + np.tensordot(weights, np.array(self.drawn), 1), self.rank)


class Free:
    """The same running sum without noise."""

    def __init__(self, setting, seed):
        self.rank, self.total = setting.rank, 0.0

    def learn(self, block):
        """Add a block to the sum."""
        rows = cut(block)
        self.total = self.total + rows.T @ rows

    def basis(self):
        """Leading eigenvectors of the running sum."""
        return leading(self.total, self.rank)


METHODS = {OURS_NAME: Ours, INDEPENDENT: Independent, MATRIX: SquareRoot, FREE: Free}


def square_root(blocks):
    """Coefficients binom(2m, m) / 4^m of the square root of the prefix sum."""
    steps = np.arange(1, blocks)
    return np.concatenate([[1.0], np.cumprod((2 * steps - 1) / (2 * steps))])


def prefix_response(blocks):
    """What z_u adds to the running sum m blocks later, and the norm of C's first column.

    The running sum's noise is A C^-1 z, and A = C^2: the response is C's column itself.
    """
    column = square_root(blocks)
    return column, float(np.linalg.norm(column))
