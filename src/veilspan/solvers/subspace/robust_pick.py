"""The robust pick: which of a start's leading directions most rows lie near.

The leading eigenvectors of a second moment follow outliers that point the same way, in a cone or in
a second subspace. Two noisy steps of Tyler's M-estimator among q = r + 3 of them put that right;
the noise is only q x q. Tyler's estimator has failures of its own, so one more release, a single
number, compares the mean distance of rows to both candidates.
"""

from __future__ import annotations

import math

import numpy as np

from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.subspace.sphered import SphericalMoment
from veilspan.queries.subspace.whitened_blocks import ResidualDifference, TylerBlock
from veilspan.solvers.subspace.adaptive_run import AdaptiveRun
from veilspan.solvers.subspace.base import Start
from veilspan.solvers.subspace.refinement import deflate

PICK, COMPARE = "robust pick", "comparison"

# What follows was set on the settings "table" and "structured" of benchmarks/robust_pca.py; noise
# and price of the pick also on 8,000 x 15 rows in four dimensions, the shape of a "held-out" one.

#: Noise of the pick at most, over an inlier direction's eigenvalue. At twice as much it goes astray
#: more often than it helps where two subspaces are hard to tell apart: 65 % outliers in another
#: one, 4,000 rows, epsilon 0.6 to 1, lose half a decade to a whole one.
LOUDEST_PICK = 0.1
#: Most of the budget (of mu^2) that is paid for a pick of that noise; where it takes more, the pick
#: is left out.
DEAREST_PICK = 0.025
#: Least variance, of a total of 1, that a direction or the space outside is credited with before
#: the first step: Tyler's weights divide by it.
LEAST_VARIANCE = 1e-4
#: What is left for a direction whose eigenvalue is lost in noise, over the noise's own.
LOST_IN_NOISE = 0.5
#: Eigenvalues of a noisy step are kept above this over D, and the energy outside above this: noise
#: could make either negative.
LEAST_STEP = 0.1
#: Condition beyond which a scatter is not inverted: its least eigenvalues are rounding.
LEAST_EIGENVALUE = 1e-8


def quiet_pick(neighbors: Neighbors, n_rows: float, size: int, steps: int, loudest: float) -> float:
    """Mu^2 at which the noise on an eigenvalue of a step's mean is ``loudest``.

    Of ``steps`` that share it, among ``size`` directions: it falls with n^2 and with nothing else.
    """
    # A Tyler block and a spherical moment are both sums of a a^T with |a| <= 1.
    moved = SphericalMoment().sensitivity(neighbors)
    return steps * size * (moved / (n_rows * loudest)) ** 2


def pick_directions(
    run: AdaptiveRun, start: Start, n_components: int, *, extra: int, steps: int, mu2: float
) -> np.ndarray:
    """Choose ``n_components`` directions among the leading ones and ``extra`` more.

    Parameters
    ----------
    run : AdaptiveRun
        What is asked and what it is paid from.
    start : Start
        Whose directions these are.
    n_components, extra : int
        r and q - r.
    steps : int
        Steps of Tyler's estimator.
    mu2 : float
        What they may spend together.
    """
    d, q = run.n_features, n_components + extra
    entry = start.noise_std / math.sqrt(2)
    directions = start.basis(q)
    values = start.values[:q]
    signal = values > 2 * math.sqrt(d) * entry
    lost = LOST_IN_NOISE * entry * math.sqrt(d)
    inside = np.where(signal, deflate(values, entry, d), lost)
    inside = np.maximum(inside, LEAST_VARIANCE)
    outside = max((1 - float(inside.sum())) / (d - q), LEAST_VARIANCE)
    scatter = np.diag(np.maximum(inside, outside))
    for _ in range(steps):
        scatter, outside = _take_tyler_step(run, directions, scatter, outside, mu2 / steps)
    vectors = np.linalg.eigh(scatter)[1][:, ::-1][:, :n_components]
    return np.asarray(directions @ vectors)


def _take_tyler_step(
    run: AdaptiveRun, directions: np.ndarray, scatter: np.ndarray, outside: float, mu2: float
) -> tuple[np.ndarray, float]:
    d, q = directions.shape
    values, vectors = np.linalg.eigh(scatter)
    roots = np.sqrt(np.maximum(values, LEAST_EIGENVALUE * values[-1]))
    point = (directions, vectors / roots, outside)
    answer = run.ask(TylerBlock(run.center), point, event=PICK, mu2=mu2)
    mean = answer.value / run.n_rows
    m, p = np.linalg.eigh(mean)
    step = (p * np.maximum(m, LEAST_STEP / d)) @ p.T
    back = vectors * roots
    scatter = back @ step @ back.T
    outside *= max(1 - float(np.trace(step)), LEAST_STEP) / (d - q)
    total = float(np.trace(scatter)) + outside * (d - q)
    return scatter / total, outside / total


def is_nearer(run: AdaptiveRun, basis: np.ndarray, other: np.ndarray, mu2: float) -> bool:
    """Whether rows are nearer to a subspace than to another, by a noisy mean distance."""
    answer = run.ask(ResidualDifference(run.center), (basis, other), event=COMPARE, mu2=mu2)
    return float(answer.value[0]) < 0
