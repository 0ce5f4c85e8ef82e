r"""Refinements: rows are whitened around the current subspace, and it is tilted by what they say.

With the blocks A and B of :mod:`veilspan.queries.subspace.whitened_blocks` at a scale s, the
subspace is tilted by s B A^-1 K. The noise on the tilt is proportional to s, and s shrinks with the
misalignment: s = sqrt(R^2 + tau^2). The stretch K, from what the start released, evens out how
inliers are spread inside of the subspace; tilts, their variances and R are those of stretched rows,
for which one number each is enough. It is a Gauss-Newton step for Cauchy weights, so a gross
outlier has influence of order s. Between releases there is only arithmetic on released numbers: a
Kalman filter for the tilt (gain v/(v + e^2)), and a plan for the rest of the budget
(:mod:`.refinement_plan`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from veilspan.geometry.grassmann import Grassmann
from veilspan.privacy.grid import UNIT_ROUNDOFF
from veilspan.queries.residuals import residual_roundings
from veilspan.queries.subspace.whitened_blocks import WhitenedBlocks
from veilspan.solvers.subspace.adaptive_run import AdaptiveRun
from veilspan.solvers.subspace.base import Start
from veilspan.solvers.subspace.refinement_plan import (
    MOST_PLANNED_STEPS,
    Model,
    choose_number_of_steps,
    fuse,
)
from veilspan.solvers.subspace.residual_scale import ResidualScale

REFINE = "refine"
#: Scale below which the rounding of residuals would count, where all rows' rounding does: under
#: add-remove, and under replace-one on several machines.
SMALLEST_SCALE = {"replace-one": 1e-7, "add-remove": 1e-4}
#: Where one row's rounding counts alone, what it may add to the noise of a release.
ROUNDING_SHARE = 0.01
#: A scale falls at most by this factor from step to step: one that fell too fast could lose the
#: inliers. Set on the settings "table" and "structured" of benchmarks/robust_pca.py.
FASTEST_FALL = 0.15
#: Standard errors by which a tilt must be larger than predicted for the prior to be doubted: at
#: four, a chi-square that is near a normal does so by chance in 3 of 100,000 steps.
SURPRISE = 4
#: What the r x r block keeps of its weight from step to step: rows near the subspace are other
#: ones at another scale. Set like ``FASTEST_FALL``.
KEPT_WEIGHT = 0.5
#: By how much, relatively, the mass near a subspace changes from step to step; and at most.
MASS_SPREAD, LEAST_SIZE = 0.1, 0.25
#: Largest stretch inside of a subspace: a direction with less than a hundredth of the largest one's
#: share is hardly known from the start, and so is its share.
MOST_STRETCH = 10.0


@dataclass(frozen=True)
class SubspaceEstimate:
    """What is known of the subspace, from released numbers.

    Attributes
    ----------
    basis : array of shape (D, r)
        The estimate.
    variance : float
        Predicted variance of each entry of the tilt to the truth, of stretched rows.
    eigenvalue : float
        Inliers' share of x x^T along one direction, of stretched rows.
    residual : ResidualScale
        How far inliers lie from it.
    stretch : array of shape (r, r)
        K, symmetric, with eigenvalues of at least 1.
    scale : float
        The last scale s; infinite before the first.
    """

    basis: np.ndarray
    variance: float
    eigenvalue: float
    residual: ResidualScale
    stretch: np.ndarray
    scale: float = math.inf

    @property
    def misalignment(self) -> float:
        """R^2: predicted squared angle of one direction, at most 1."""
        return min((self.basis.shape[0] - self.basis.shape[1]) * self.variance, 1.0)


@dataclass(frozen=True)
class PooledBlock:
    """The r x r block averaged over steps by precision, forgetting half at each."""

    mean: np.ndarray
    weight: float

    def add(self, block: np.ndarray, weight: float) -> PooledBlock:
        """Average with one more block."""
        old = KEPT_WEIGHT * self.weight
        total = old + weight
        return PooledBlock((old * self.mean + weight * block) / total, total)

    def sized(self, mass: float, noise: float) -> np.ndarray:
        """The pooled block at the mass of the last release, as far as its noise tells that.

        Fewer rows are near at a smaller scale. A block as large as at the scale before would tilt
        too little, and what is left of a tilt would then be taken for less than it is.
        """
        pooled = max(float(np.trace(self.mean)), 1e-12)
        trusted = 1 / (1 + (noise / (MASS_SPREAD * pooled)) ** 2)
        size = 1 + trusted * (mass / pooled - 1)
        return self.mean * min(max(size, LEAST_SIZE), 1 / LEAST_SIZE)


@dataclass(frozen=True)
class Refinement:
    """The last part of a run: it spends what is left, and plans anew after every step.

    Attributes
    ----------
    run : AdaptiveRun
        What is asked and what it is paid from.
    query : WhitenedBlocks
        What each step asks.
    model : Model
        What the plan takes for the errors of a step.
    max_steps, preferred_steps : int
        Steps at most, and where the plan does not mind.
    """

    run: AdaptiveRun
    query: WhitenedBlocks
    model: Model
    max_steps: int
    preferred_steps: int

    def refine(self, estimate: SubspaceEstimate, planned: int) -> np.ndarray:
        """Tilt the subspace until nothing is left of the budget; the basis that it ends with.

        Parameters
        ----------
        estimate : SubspaceEstimate
            Where it begins.
        planned : int
            Steps that were planned before anything was asked.
        """
        run = self.run
        pooled: PooledBlock | None = None
        step = 0
        while run.left > 0:
            remaining = max(planned, 1) if step == 0 else self._steps_left(estimate, step)
            mu2 = run.left / remaining if step < self.max_steps - 1 else run.left
            wanted = estimate.residual.best_scale(estimate.misalignment)
            scale = wanted if step == 0 else max(wanted, FASTEST_FALL * estimate.scale)
            scale = max(scale, smallest_scale(run, estimate.basis.shape[1]))
            estimate, pooled = self._refine_once(estimate, pooled, scale, mu2)
            step += 1
        return estimate.basis

    def _steps_left(self, estimate: SubspaceEstimate, done: int) -> int:
        d, r = estimate.basis.shape
        steps, _ = choose_number_of_steps(
            replace(self.model, n_outside=max(d - r, 1)),
            estimate.variance,
            estimate.residual.tau2,
            self.run.left,
            estimate.eigenvalue,
            most=MOST_PLANNED_STEPS,
            preferred=max(1, self.preferred_steps - done),
        )
        return max(1, steps)

    def _refine_once(
        self, estimate: SubspaceEstimate, pooled: PooledBlock | None, scale: float, mu2: float
    ) -> tuple[SubspaceEstimate, PooledBlock]:
        """One release of (A, B), the tilt it implies, and what was learned from it."""
        run, d = self.run, self.run.n_features
        point = (estimate.basis, scale, estimate.stretch)
        answer = run.ask(self.query, point, event=REFINE, mu2=mu2)
        first, second = (part / run.n_rows for part in answer.value)
        noise = [answer.noise_std / (run.n_rows * weight) for weight in self.query.weights]
        pool = PooledBlock(first, mu2) if pooled is None else pooled.add(first, mu2)
        r = estimate.basis.shape[1]
        mass, mass_noise = float(np.trace(first)), noise[0] * math.sqrt(r)
        values, vectors = np.linalg.eigh(pool.sized(mass, mass_noise))
        least = max(noise[0] * math.sqrt(r * mu2 / pool.weight), 1e-12)
        inverse = 1 / np.maximum(values, least)
        tilt = scale * (second @ vectors) * inverse @ vectors.T
        error2 = float(np.mean((scale * noise[1] * inverse) ** 2))
        seen = float(np.sum(tilt**2)) / (r * (d - r))
        # Innovation test: a tilt larger than predicted says that the prior was too sure.
        tolerated = 1 + SURPRISE * math.sqrt(2 / (r * (d - r)))
        surprised = seen > tolerated * (estimate.variance + error2)
        prior = max(estimate.variance, seen - error2) if surprised else estimate.variance
        gain = prior / (prior + error2) if prior + error2 > 0 else 1.0
        basis = Grassmann(d, r).exp(estimate.basis, gain * tilt @ estimate.stretch)
        run.trace.append({"event": REFINE, "scale": scale, "gain": gain, "mass": mass, "mu2": mu2})
        return replace(
            estimate,
            basis=basis,
            variance=fuse(prior, error2),
            residual=estimate.residual.add(scale, mass, estimate.misalignment, mass_noise),
            scale=scale,
        ), pool


def smallest_scale(run: AdaptiveRun, rank: int) -> float:
    """Least scale at which rounding is nothing beside noise, from public numbers.

    A release at the scale s has a rounding error of 4 e/s for a row that is exchanged, over the
    bound of 1 (``privacy.grid``, ``WhitenedBlocks``).
    """
    if run.neighbors == "add-remove" or not run.curator.rounds_alike:
        return SMALLEST_SCALE[run.neighbors]
    error = residual_roundings(run.n_features, rank) * UNIT_ROUNDOFF
    return 4 * error / ROUNDING_SHARE


def first_estimate(
    run: AdaptiveRun, start: Start, basis: np.ndarray, leading: int, residual: float
) -> SubspaceEstimate:
    """What the start says of a basis; eigenvalues beyond the ``leading`` ones count as the bulk.

    ``residual`` is the guess of the inliers' residual scale.
    """
    d = run.n_features
    entry = start.noise_std / math.sqrt(2)
    inside, turn = np.linalg.eigh(basis.T @ start.moment @ basis)
    ahead = float(deflate(start.values[:leading], entry, d).sum())
    bulk = max(0.0, (1 - ahead) / max(d - leading, 1))
    gap = np.maximum(deflate(inside, entry, d) - bulk, max(entry * math.sqrt(d), 1e-12))
    gap = np.minimum(gap, 1.0)
    roots = np.minimum(np.sqrt(gap.max() / gap), MOST_STRETCH)
    sampling = 1 / (run.n_rows * d * d * gap.min() ** 2)
    return SubspaceEstimate(
        basis=basis,
        variance=float(np.mean((entry / (gap * roots)) ** 2)) + sampling,
        eigenvalue=float(np.mean(gap)),
        residual=ResidualScale(min(1.0, float(gap.sum())), residual, basis.shape[1]),
        stretch=(turn * roots) @ turn.T,
    )


def deflate(values: np.ndarray, entry_noise: float, size: int) -> np.ndarray:
    """Eigenvalues without the inflation by noise (the inverse of l + size e^2 / l)."""
    inside = np.maximum(values**2 - 4 * size * entry_noise**2, 0.0)
    return np.asarray((values + np.sqrt(inside)) / 2)
