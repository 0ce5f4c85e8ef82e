r"""Recursive spherical PCA: a robust private subspace from a few re-whitened releases.

1. *Start.* A noisy mean of x x^T over unit rows ("Analyze Gauss" on the sphere) and its leading
   eigenvectors. Its share of the budget is planned without data; it is topped up while the
   released eigengap says that the angle is still large (repeated releases of one matrix combine
   without loss).
2. *Robust pick.* Two noisy steps of Tyler's M-estimator inside the q = r + 3 leading directions.
   The noise is only q x q. It repairs outliers in a cone or in a second subspace. Tyler's
   estimator has failures of its own, so one more release, a single number, compares the mean
   distance of rows to both candidates, and the better one is kept.
3. *Refine.* Rows are whitened around the current subspace at a scale s
   (:mod:`veilspan.queries.subspace.whitened_blocks`), and the subspace is tilted by s B A^-1. The
   noise on the tilt is proportional to s, and s shrinks with the misalignment: s = sqrt(R^2 +
   tau^2). It is a Gauss-Newton step for Cauchy weights, so a gross outlier has influence of order
   s.

Every release is a Gaussian one under the filter sum mu_k^2 <= mu^2, so each mu_k may depend on
earlier answers. Between releases there is only arithmetic on released numbers: a Kalman filter for
the tilt (gain v/(v + e^2)), and a plan for the rest of the budget (:mod:`.refinement_plan`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.geometry.grassmann import Grassmann
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import check_neighbors
from veilspan.queries.subspace.sphered import SphericalMoment
from veilspan.queries.subspace.whitened_blocks import ResidualDifference, TylerBlock, WhitenedBlocks
from veilspan.solvers.subspace.base import (
    START,
    Start,
    SubspaceResult,
    SubspaceTask,
    choose_rank,
    decomposed,
    finished,
    spherical_start,
)
from veilspan.solvers.subspace.refinement_plan import (
    Model,
    best_number_of_steps,
    fused,
    start_share,
)
from veilspan.solvers.subspace.residual_scale import ResidualScale

PICK, COMPARE, REFINE = "robust pick", "comparison", "refine"
_NO_LIMIT = 1e6  # stands for an infinite mu in the plan; no noise is added then
# Residuals are known to 1e-14 of a row's length; under add-remove the rounding of all rows counts.
_SMALLEST_SCALE = {"replace-one": 1e-7, "add-remove": 1e-4}


@dataclass(frozen=True)
class RecursiveSpherical:
    """Settings of the recursive spherical PCA; the defaults need no tuning.

    Attributes
    ----------
    scale : float
        c in s = c sqrt(R^2 + tau^2).
    inlier_share, residual : float
        Prior guesses for the data-free plan: share of inliers and their residual scale.
    pick_share, pick_steps, extra_directions : float, int, int
        Robust pick: its share of the start's budget, its steps, and q - r.
    compare_share : float
        Share of the robust pick's budget for the comparison with the start.
    max_steps, preferred_steps : int
        Refinements at most, and where the plan does not mind.
    """

    scale: float = 1.0
    inlier_share: float = 0.5
    residual: float = 0.1
    pick_share: float = 0.25
    pick_steps: int = 2
    extra_directions: int = 3
    compare_share: float = 0.2
    max_steps: int = 24
    preferred_steps: int = 5

    adaptive: ClassVar[bool] = True

    def schedule(self, neighbors: str) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Everything, in one forecast."""
        return (GaussianEvent(f"{START}, {PICK}, {REFINE}"),), (1.0,)

    def step_query(self, neighbors: str = "replace-one") -> WhitenedBlocks:
        """What a refinement asks."""
        return WhitenedBlocks(check_neighbors(neighbors))

    def run(self, curator: Curator, task: SubspaceTask) -> SubspaceResult:
        """Start, pick, refine."""
        return _Run(self, curator, task).run()


@dataclass(frozen=True)
class Belief:
    """What is known of the subspace, from released numbers.

    Attributes
    ----------
    basis : array of shape (D, r)
        The estimate.
    variance : float
        Predicted variance of each entry of the tilt to the truth.
    eigenvalue : float
        Smallest eigenvalue of the inliers' share of x x^T.
    residual : ResidualScale
        How far inliers lie from it.
    scale : float
        The last scale s; infinite before the first.
    """

    basis: np.ndarray
    variance: float
    eigenvalue: float
    residual: ResidualScale
    scale: float = math.inf

    @property
    def misalignment(self) -> float:
        """R^2: predicted squared angle of one direction, at most 1."""
        return min((self.basis.shape[0] - self.basis.shape[1]) * self.variance, 1.0)


class _Run:
    """One run: the budget left, and the noise constants of the relation."""

    def __init__(self, settings: RecursiveSpherical, curator: Curator, task: SubspaceTask) -> None:
        self.settings, self.curator, self.task = settings, curator, task
        self.neighbors = check_neighbors(curator.plan.neighbors)
        self.d, self.n = task.n_features, task.n_rows
        self.private = curator.plan.budget.is_private
        self.total = min(curator.mu_squared_left, _NO_LIMIT**2)
        self.left = self.total
        self.whitened = WhitenedBlocks(self.neighbors, task.center)
        self.moment = SphericalMoment(task.center)
        self.trace: list[dict[str, Any]] = []

    def run(self) -> SubspaceResult:
        guess = self.task.n_components or max(1, min(5, self.d // 4))
        share, steps = self._plan_start(guess)
        pick_mu2 = self._pick_budget(share, guess)
        self.left -= pick_mu2  # set aside: a topped-up start must not use it
        start = self._start(self.total * share - pick_mu2)
        r = self.task.n_components or choose_rank(start)
        basis, inside, leading = start.basis(r), start.values[:r], r
        self.left += pick_mu2
        if pick_mu2 > 0 and r + self.settings.extra_directions < self.d:
            picked, picked_inside = self._pick(
                start, r, (1 - self.settings.compare_share) * pick_mu2
            )
            if self._is_nearer(picked, basis, self.settings.compare_share * pick_mu2):
                basis, inside = picked, picked_inside
                leading = r + self.settings.extra_directions
        if r < self.d:
            basis = self._refine(self._first_belief(start, basis, inside, leading), steps)
        return finished(start, basis, "the budget is spent as planned", self.trace)

    def _is_nearer(self, basis: np.ndarray, other: np.ndarray, mu2: float) -> bool:
        """Whether rows are nearer to a subspace than to another, by a noisy mean distance."""
        answer = self.curator.answer(
            ResidualDifference(self.task.center),
            (basis, other),
            event=COMPARE,
            noise_multiplier=self._spend(mu2),
        )
        return float(answer.value[0]) < 0

    # The budget.

    def _spend(self, mu2: float) -> float | None:
        """Take mu^2 from what is left; the noise multiplier that goes with it."""
        mu2 = min(mu2, self.left)
        rest = self.left - mu2
        self.left = rest if rest > 1e-12 * self.total else 0.0
        return 1 / math.sqrt(mu2) if self.private else 0.0

    def _model(self, r: int) -> Model:
        entry = self.whitened.sensitivity(self.neighbors) / self.whitened.weights[1]
        return Model(self.n, max(self.d - r, 1), entry, self.settings.scale)

    @property
    def _start_noise(self) -> float:
        """N mu times the noise on an off-diagonal entry of the start."""
        return self.moment.sensitivity(self.neighbors) / math.sqrt(2)

    def _plan_start(self, r: int) -> tuple[float, int]:
        settings = self.settings
        if not self.private:
            return 0.05, 12  # nothing to save: refine to the end
        return start_share(
            self._model(r),
            self._start_noise,
            math.sqrt(self.total),
            n_features=self.d,
            n_components=r,
            inlier_share=settings.inlier_share,
            tau=settings.residual,
            most=12,
            preferred=settings.preferred_steps,
        )

    def _pick_budget(self, share: float, r: int) -> float:
        """Mu^2 of the robust pick; 0 where the noise of the start or of its own would drown it."""
        settings = self.settings
        q = r + settings.extra_directions
        mu2 = self.total * share * settings.pick_share
        if q >= self.d or settings.pick_steps == 0 or share == 1:
            return 0.0
        noise = self.moment.sensitivity(self.neighbors) * math.sqrt(settings.pick_steps * q / mu2)
        return mu2 if noise / self.n < 0.2 * settings.inlier_share / r else 0.0

    # Start.

    def _start(self, mu2: float) -> Start:
        """Release the spherical moment; release it again while the angle looks large."""
        start = spherical_start(self.curator, self.task, noise_multiplier=self._spend(mu2))
        spent = mu2
        for _ in range(3):
            r = self.task.n_components or choose_rank(start)
            angle2 = self._angle2(start, r)
            if angle2 <= 0.4 or self.left == 0:
                break
            more = min(self.left, spent * max(angle2 / 0.24 - 1, 0.25))
            if self.left - more < 0.3 * self.left:
                more = self.left
            again = spherical_start(self.curator, self.task, noise_multiplier=self._spend(more))
            mixed = (spent * start.moment + more * again.moment) / (spent + more)
            spent += more
            noise = start.noise_std * math.sqrt((spent - more) / spent)
            start = decomposed(mixed, noise)
        return start

    def _angle2(self, start: Start, r: int) -> float:
        """Predicted squared angle of the start."""
        entry = start.noise_std / math.sqrt(2)
        inside = _deflated(start.values[:r], entry, self.d)
        bulk = max(0.0, (1 - float(inside.sum())) / max(self.d - r, 1))
        gap = max(float(inside[-1]) - bulk, entry * math.sqrt(self.d), 1e-12)
        return (self.d - r) * (entry / gap) ** 2

    # Robust pick.

    def _pick(self, start: Start, r: int, mu2: float) -> tuple[np.ndarray, np.ndarray]:
        """Choose r directions among the q leading ones by Tyler's M-estimator."""
        settings, d = self.settings, self.d
        q = r + settings.extra_directions
        entry = start.noise_std / math.sqrt(2)
        directions = start.basis(q)
        values = start.values[:q]
        signal = values > 2 * math.sqrt(d) * entry
        inside = np.where(signal, _deflated(values, entry, d), 0.5 * entry * math.sqrt(d))
        inside = np.maximum(inside, 1e-4)
        outside = max((1 - float(inside.sum())) / (d - q), 1e-4)
        scatter = np.diag(np.maximum(inside, outside))
        for _ in range(settings.pick_steps):
            scatter, outside = self._tyler_step(
                directions, scatter, outside, mu2 / settings.pick_steps
            )
        vectors = np.linalg.eigh(scatter)[1][:, ::-1][:, :r]
        basis = directions @ vectors
        return basis, np.linalg.eigvalsh(basis.T @ start.moment @ basis)[::-1]

    def _tyler_step(
        self, directions: np.ndarray, scatter: np.ndarray, outside: float, mu2: float
    ) -> tuple[np.ndarray, float]:
        q = directions.shape[1]
        values, vectors = np.linalg.eigh(scatter)
        roots = np.sqrt(np.maximum(values, 1e-8 * values[-1]))
        answer = self.curator.answer(
            TylerBlock(self.task.center),
            (directions, vectors / roots, outside),
            event=PICK,
            noise_multiplier=self._spend(mu2),
        )
        mean = answer.value / self.n
        m, p = np.linalg.eigh(mean)
        step = (p * np.maximum(m, 0.1 / self.d)) @ p.T
        back = vectors * roots
        scatter = back @ step @ back.T
        outside *= max(1 - float(np.trace(step)), 0.1) / (self.d - q)
        total = float(np.trace(scatter)) + outside * (self.d - q)
        return scatter / total, outside / total

    # Refine.

    def _first_belief(
        self, start: Start, basis: np.ndarray, inside: np.ndarray, leading: int
    ) -> Belief:
        """What the start says; eigenvalues beyond the ``leading`` ones are taken as the bulk."""
        d = self.d
        entry = start.noise_std / math.sqrt(2)
        ahead = float(_deflated(start.values[:leading], entry, d).sum())
        bulk = max(0.0, (1 - ahead) / max(d - leading, 1))
        gap = np.maximum(_deflated(inside, entry, d) - bulk, max(entry * math.sqrt(d), 1e-12))
        eigenvalue = float(min(gap.min(), 1.0))
        sampling = 1 / (self.n * d * d * eigenvalue**2)
        return Belief(
            basis=basis,
            variance=(entry / eigenvalue) ** 2 + sampling,
            eigenvalue=eigenvalue,
            residual=ResidualScale(
                min(1.0, float(gap.sum())), self.settings.residual, basis.shape[1]
            ),
        )

    def _refine(self, belief: Belief, planned: int) -> np.ndarray:
        """Spend what is left, re-planning after every step."""
        pooled: Pool | None = None
        step = 0
        while self.left > 0:
            remaining = max(planned, 1) if step == 0 else self._steps_left(belief, step)
            mu2 = self.left / remaining if step < self.settings.max_steps - 1 else self.left
            wanted = belief.residual.best_scale(belief.misalignment)
            # A scale that fell too fast could lose the inliers: at most by a factor 0.15 a step.
            scale = wanted if step == 0 else max(wanted, 0.15 * belief.scale)
            scale = max(scale, _SMALLEST_SCALE[self.neighbors])
            belief, pooled = self._refine_once(belief, pooled, scale, mu2)
            step += 1
        return belief.basis

    def _steps_left(self, belief: Belief, done: int) -> int:
        steps, _ = best_number_of_steps(
            self._model(belief.basis.shape[1]),
            belief.variance,
            belief.residual.tau2,
            self.left,
            belief.eigenvalue,
            most=12,
            preferred=max(1, self.settings.preferred_steps - done),
        )
        return max(1, steps)

    def _refine_once(
        self, belief: Belief, pooled: Pool | None, scale: float, mu2: float
    ) -> tuple[Belief, Pool]:
        """One release of (A, B), the tilt it implies, and what was learned from it."""
        answer = self.curator.answer(
            self.whitened, (belief.basis, scale), event=REFINE, noise_multiplier=self._spend(mu2)
        )
        first, second = (part / self.n for part in answer.value)
        noise = [answer.noise_std / (self.n * weight) for weight in self.whitened.weights]
        pool = Pool(first, mu2) if pooled is None else pooled.joined(first, mu2)
        r = belief.basis.shape[1]
        values, vectors = np.linalg.eigh(pool.mean)
        least = max(noise[0] * math.sqrt(r * mu2 / pool.weight), 1e-12)
        inverse = 1 / np.maximum(values, least)
        tilt = scale * (second @ vectors) * inverse @ vectors.T
        error2 = float(np.mean((scale * noise[1] * inverse) ** 2))
        seen = float(np.sum(tilt**2)) / (r * (self.d - r))
        # Innovation test, at four standard errors of a chi-square: a tilt larger than predicted
        # says that the prior was too sure.
        tolerated = 1 + 4 * math.sqrt(2 / (r * (self.d - r)))
        surprised = seen > tolerated * (belief.variance + error2)
        prior = max(belief.variance, seen - error2) if surprised else belief.variance
        gain = prior / (prior + error2) if prior + error2 > 0 else 1.0
        basis = Grassmann(self.d, r).exp(belief.basis, gain * tilt)
        mass, mass_noise = float(np.trace(first)), noise[0] * math.sqrt(r)
        self.trace.append({"event": REFINE, "scale": scale, "gain": gain, "mass": mass, "mu2": mu2})
        return replace(
            belief,
            basis=basis,
            variance=fused(prior, error2),
            residual=belief.residual.seen(scale, mass, belief.misalignment, mass_noise),
            scale=scale,
        ), pool


@dataclass(frozen=True)
class Pool:
    """The r x r block averaged over steps by precision, forgetting half at each."""

    mean: np.ndarray
    weight: float

    def joined(self, block: np.ndarray, weight: float) -> Pool:
        """Average with one more block."""
        total = 0.5 * self.weight + weight
        return Pool((0.5 * self.weight * self.mean + weight * block) / total, total)


def _deflated(values: np.ndarray, entry_noise: float, size: int) -> np.ndarray:
    """Eigenvalues without the inflation by noise (the inverse of l + size e^2 / l)."""
    inside = np.maximum(values**2 - 4 * size * entry_noise**2, 0.0)
    return np.asarray((values + np.sqrt(inside)) / 2)
