"""A stream: its basis and all that it remembers, in arrays that can be stored."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veilspan.streaming import loops
from veilspan.streaming.grouse import random_basis, update_block
from veilspan.streaming.steps import GreedyStep, StepRule


@dataclass(frozen=True)
class StreamOptions:
    """How a stream learns; see :func:`veilspan.streaming.update_block`."""

    step: StepRule = field(default_factory=GreedyStep)
    floor: float = 0.0
    alarm: float = 0.0
    robust: str | None = None
    engine: str | None = None


@dataclass
class Stream:
    """The state of a stream; :meth:`learn` changes it in place.

    Attributes
    ----------
    basis : array of shape (d, n)
        Orthonormal rows.
    memory : array
        Numbers of :mod:`veilspan.streaming.loops`.
    """

    basis: np.ndarray
    memory: np.ndarray

    @classmethod
    def start(
        cls, n_features: int, n_components: int, rng: np.random.Generator, *, from_rows: bool
    ) -> Stream:
        """A random basis, to be replaced direction by direction by the first rows if asked for."""
        memory = loops.new_memory()
        memory[loops.SEEDED] = 0 if from_rows else n_components
        return cls(random_basis(n_features, n_components, rng), memory)

    @classmethod
    def continue_from(cls, basis: np.ndarray) -> Stream:
        """A basis that is known already."""
        memory = loops.new_memory()
        memory[loops.SEEDED] = len(basis)
        return cls(np.array(basis, dtype=np.float64, order="C"), memory)

    def copy(self) -> Stream:
        """A state that can be thrown away if learning fails."""
        return Stream(self.basis.copy(), self.memory.copy())

    def learn(self, rows: np.ndarray, options: StreamOptions) -> np.ndarray:
        """Learn from rows in their order; returns their residual ratios beforehand."""
        ratios = np.full(len(rows), np.nan)
        start = 0
        while start < len(rows) and self.memory[loops.SEEDED] < len(self.basis):
            ratios[start] = self._seed(rows[start])
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

    def _seed(self, row: np.ndarray) -> float:
        """Put the new direction of one of the first rows into the basis.

        After d independent rows the basis spans them: without noise this is the subspace already.
        Missing entries count as zeros here; the steps that follow correct what that spoils.
        """
        self.memory[loops.ROWS] += 1
        place = int(self.memory[loops.SEEDED])
        known = np.nan_to_num(row, nan=0.0)
        energy = float(known @ known)
        if energy == 0:
            self.memory[loops.SKIPPED] += bool(np.isnan(row).all())
            return np.nan if np.isnan(row).all() else 0.0
        rest = known - (self.basis[:place] @ known) @ self.basis[:place]
        outside = float(rest @ rest)
        if outside > 1e-20 * energy:
            self.basis[place] = rest / np.sqrt(outside)
            # The random directions make room; QR keeps the earlier rows up to their sign.
            upper = np.linalg.qr(self.basis.T)
            self.basis[:] = upper[0].T * np.sign(np.diag(upper[1]))[:, None]
            self.memory[loops.SEEDED] += 1
        return min(outside / energy, 1.0)
