"""A stream: its basis and all that it remembers, in arrays that can be stored."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from veilspan.nonprivate.grouse import loops
from veilspan.nonprivate.grouse.grouse import random_basis, update_block
from veilspan.nonprivate.grouse.rank import adapt_rank, window_rows
from veilspan.nonprivate.grouse.steps import GreedyStep, StepRule

#: Error of a basis of noisy rows relative to the noise: after the warm-up that is left, close to 1
#: from anywhere between 1 and 50.
START_EXCESS = 20.0
#: Least share of a new direction outside of the others, squared, that ``make_room`` reckons with,
#: and the departure from orthonormal rows that it leaves.
_BESIDE, _ROUNDING = 1e-6, 1e-13


@dataclass(frozen=True)
class StreamOptions:
    """How a stream learns; see :func:`veilspan.nonprivate.grouse.update_block`."""

    step: StepRule = field(default_factory=GreedyStep)
    floor: float = 0.0
    alarm: float = 0.0
    robust: str | None = None
    adapt_rank: bool = False
    engine: str | None = None


@dataclass
class Stream:
    """The state of a stream; :meth:`learn` changes it in place.

    Attributes
    ----------
    basis : array of shape (d, n)
        Orthonormal rows.
    memory : array
        Numbers of :mod:`veilspan.nonprivate.grouse.loops`.
    recent : array of shape (R, n)
        The last rows, for the choice of the dimension; R is 0 if that is fixed.
    """

    basis: np.ndarray
    memory: np.ndarray
    recent: np.ndarray

    @classmethod
    def start(
        cls, n_features: int, n_components: int, rng: np.random.Generator, *, from_rows: bool = True
    ) -> Stream:
        """A random basis, to be replaced direction by direction by the first rows if asked for."""
        stream = cls.continue_from(random_basis(n_features, n_components, rng))
        stream.memory[loops.WANTED] = n_components if from_rows else 0
        return stream

    @classmethod
    def continue_from(cls, basis: np.ndarray) -> Stream:
        """Start a stream at a basis that is known already; the basis is copied."""
        basis = np.array(basis, dtype=np.float64, order="C")
        return cls(basis, loops.new_memory(), np.empty((0, basis.shape[1])))

    def copy(self) -> Stream:
        """A state that can be thrown away if learning fails."""
        return Stream(self.basis.copy(), self.memory.copy(), self.recent.copy())

    def learn(self, rows: np.ndarray, options: StreamOptions) -> np.ndarray:
        """Learn from rows in their order; returns their residual ratios beforehand."""
        if not options.adapt_rank:
            return self._learn(rows, options)
        if len(self.recent) == 0:
            self.recent = np.full((window_rows(len(self.basis)), rows.shape[1]), np.nan)
        ratios, start, window = np.empty(len(rows)), 0, len(self.recent)
        while start < len(rows):
            place = int(self.memory[loops.ROWS]) % window
            part = rows[start : start + window - place]
            self.recent[place : place + len(part)] = part
            ratios[start : start + len(part)] = self._learn(part, options)
            if place + len(part) == window:
                self._adapt(options)
            start += len(part)
        return ratios

    def _adapt(self, options: StreamOptions) -> None:
        settings = options.step.settings(*self.basis.shape[::-1])
        # Before the subspace has settled, its own error would look like missing directions.
        if self.memory[loops.WANTED] or self.memory[loops.AGE] <= settings.warm_up:
            return
        scale = self.memory[loops.SCALE]
        rank = len(self.basis)
        self.basis = adapt_rank(self.basis, self.recent, 3 * scale if scale > 0 else np.inf)
        if len(self.basis) > rank:  # a direction from a few rows is as good as greedy steps
            self.memory[loops.EXCESS] = max(self.memory[loops.EXCESS], 1.0)

    def _learn(self, rows: np.ndarray, options: StreamOptions) -> np.ndarray:
        ratios, start = np.empty(len(rows)), 0
        while start < len(rows) and self.memory[loops.WANTED]:
            ratios[start] = self._seed(rows[start], options)
            start += 1
        report = update_block(
            self.basis,
            rows[start:],
            step=options.step,
            memory=self.memory,
            floor=options.floor,
            alarm=options.alarm,
            robust=options.robust,
            engine=options.engine,
        )
        ratios[start:] = report.ratios
        return ratios

    def _seed(self, row: np.ndarray, options: StreamOptions) -> float:
        """Put the new direction of one of the first rows into the basis.

        After d independent rows the basis spans them: without noise this is the subspace already.
        Missing entries count as zeros here; the steps that follow correct what that spoils.
        """
        self.memory[loops.ROWS] += 1
        place = len(self.basis) - int(self.memory[loops.WANTED])
        known = np.nan_to_num(row, nan=0.0)
        energy = float(known @ known)
        if energy == 0:
            empty = bool(np.isnan(row).all())
            self.memory[loops.SKIPPED] += empty
            return np.nan if empty else 0.0
        rest = known - (self.basis[:place] @ known) @ self.basis[:place]
        outside = float(rest @ rest)
        if outside > 1e-20 * energy:
            # What little is left of a row is at right angles only after a second time.
            rest = rest - (self.basis[:place] @ rest) @ self.basis[:place]
            self.basis[place] = rest / np.linalg.norm(rest)
            make_room(self.basis, place)
            self.memory[loops.WANTED] -= 1
        if self.memory[loops.ROWS] >= 4 * len(self.basis):
            self.memory[loops.WANTED] = 0  # rows of fewer dimensions than the basis
            # Random directions stay: rid them of the rounding of all that they made room for.
            orthonormalise(self.basis)
        if self.memory[loops.WANTED] == 0 and options.robust is None:
            # Such a start stands for most of the warm-up, unless the rows may be wild.
            settings = options.step.settings(*self.basis.shape[::-1])
            self.memory[loops.AGE] = max(0.0, settings.warm_up - 4 * len(self.basis))
            self.memory[loops.EXCESS] = START_EXCESS
        return min(outside / energy, 1.0)


def make_room(basis: np.ndarray, place: int) -> None:
    r"""Turn the rows after ``place``, in place, until they are at right angles to the one there.

    All other pairs of rows are at right angles already. Call the later rows R, the new one b. What
    is left of R beside b has the Gram matrix I - c c^T with c = R b. Its inverse root, I + k c c^T
    with k = (1 / sqrt(1 - |c|^2) - 1) / |c|^2, makes the rows orthonormal again:

        (I + k c c^T) (R - c b^T) = R + c (k c^T R - (1 + k |c|^2) b^T).

    That is n d operations, where a QR of all rows takes n d^2. Where b lies mostly among the later
    rows it multiplies their rounding errors, so a QR follows as soon as a probe shows them.
    """
    new, others = basis[place], basis[place + 1 :]
    along = others @ new
    inside = min(float(along @ along), 1.0 - _BESIDE)
    root = math.sqrt(1.0 - inside)
    k = 1.0 / (root * (1.0 + root))  # the same without a difference of nearly equal numbers
    others += np.outer(along, k * (along @ others) - (1.0 + k * inside) * new)
    probe = np.cos(np.arange(len(basis)))
    if np.abs(basis @ (probe @ basis) - probe).max() > _ROUNDING:
        orthonormalise(basis)


def orthonormalise(basis: np.ndarray) -> None:
    """Make rows orthonormal in place, first ones first, by a QR that keeps their signs."""
    upper = np.linalg.qr(basis.T)
    basis[:] = upper[0].T * np.sign(np.diag(upper[1]))[:, None]
