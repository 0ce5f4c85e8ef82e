"""Private Frank-Wolfe for matrix completion: one direction a round, users move on their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.residual_moment import (
    History,
    LocalStep,
    ResidualMoment,
    check_ridge,
)
from veilspan.solvers.base import Prepared
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionProblem,
    CompletionResult,
    ItemBias,
    choose_row_norm,
    draw_salt,
    prepare_releases,
    release_item_bias,
    round_for_plan,
)
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge

ROUND = "round"
#: Each round has a part of the budget: more of them find more directions, all of them noisier.
DEFAULT_ROUNDS = 3
#: Noisy counts may say that next to nothing was kept; a nuclear norm is not divided by less.
LEAST_SEEN = 0.01


@dataclass(frozen=True)
class FrankWolfeCompletion:
    r"""Algorithm 1 of Jain, Thakkar & Thakurta (2018), corrected.

    Frank-Wolfe over matrices of nuclear norm at most k. In round t every user replays the public
    history on her own ratings and contributes g g^T of her residual g, clipped to c (see
    :mod:`~veilspan.queries.completion.residual_moment`); the direction v_t is the leading
    eigenvector of the noisy sum, l_t its eigenvalue. Noise inflates l_t and turns v_t by known
    amounts (spiked Wigner model, as in
    :class:`~veilspan.solvers.completion.covariance.CovarianceCompletion`), so users step with the
    gain k cos^2 / sqrt(l'_t), and a direction below the noise edge is not used.

    What differs from the paper: residuals are clipped by the curator; steps are 2/(t + 1), since
    1/T never exceeds 0.632 k; noise is symmetric and calibrated exactly for the rounds that do
    something; sqrt(l_t) is never that of a negative number; k is not tuned on the ratings. By
    default each user also searches her own step.

    The published factors are the directions, scaled by their share of the largest l'_t; users fit
    *all* of their ratings on them by ridge, the fully corrective last step that is free under joint
    differential privacy.

    Parameters
    ----------
    rounds : int, optional
        Releases T; by default 3, or ``n_components`` of the estimator.
    row_norm : float, optional
        c in units of ratings; by default half of a full row of typical deviations.
    nuclear_norm : float, optional
        k. By default it follows from the first release: a direction seen through a share f of the
        entries has sqrt(l'_1) about f times the largest singular value, so
        k = ``norm_ratio`` sqrt(l'_1) / f.
    norm_ratio : float
        Guess of the nuclear norm over the largest singular value.
    bias_share : float
        Share of the budget for the item bias; 0 for none, as in the paper.
    local : {"classic", "line-search", "refit"}
        How users move along the history while it grows. Steps that are best for the user need no
        luck with k and are free under joint differential privacy; ``"classic"`` is 2/(t + 1).
    ridge : float
        Penalty of the local fits, not negative. Without one, a user who has rated too little for
        all directions gets the shortest of the fits.
    """

    name: ClassVar[str] = "FrankWolfeCompletion"

    rounds: int | None = None
    row_norm: float | None = None
    nuclear_norm: float | None = None
    norm_ratio: float = 2.0
    bias_share: float = 0.3
    local: LocalStep = "line-search"
    ridge: float = 12.0

    def __post_init__(self) -> None:
        if self.rounds is not None and (self.rounds != int(self.rounds) or self.rounds < 1):
            raise ValueError(f"rounds must be a whole number, at least 1; got {self.rounds}.")
        if not 0 <= self.bias_share < 1:
            raise ValueError(f"bias_share must lie in [0, 1); got {self.bias_share}.")
        if self.local not in get_args(LocalStep):
            words = ", ".join(get_args(LocalStep))
            raise ValueError(f"local must be one of {words}; got {self.local!r}.")
        for name in ("row_norm", "nuclear_norm", "norm_ratio"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite; got {value}.")
        check_ridge(self.ridge)

    def prepare(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[CompletionProblem, CompletionResult]:
        """Plan the item statistics if they are wanted, then all rounds alike."""
        releases: dict[GaussianEvent, float] = {}
        if self.bias_share > 0:
            releases[GaussianEvent(ITEM_STATISTICS)] = self.bias_share
        rounds = self._choose_rounds(problem)
        releases[GaussianEvent(ROUND, count=rounds)] = 1 - self.bias_share
        decisions = {
            "row norm": round_for_plan(choose_row_norm(problem, self.row_norm)),
            "share for the bias": self.bias_share,
            "rounds": rounds,
            "local ridge": self.ridge,
        }
        return prepare_releases(self, problem, budget, neighbors, releases, decisions)

    def run(self, curator: Curator, problem: CompletionProblem) -> CompletionResult:
        """Ask for a direction a round; users replay the history inside the query."""
        problem = draw_salt(curator, problem)
        row_norm = choose_row_norm(problem, self.row_norm)
        found = self._find_bias(curator, problem, row_norm)
        query = ResidualMoment(problem.rule, row_norm, self.local, self.ridge)
        history = History.start(found.bias)
        rounds = self._choose_rounds(problem)
        norm, powers, trace = self.nuclear_norm, [], []
        for _ in range(rounds):
            answer = curator.answer(query, tuple(history), event=ROUND)
            values, vectors = leading_eigenvectors(answer.value, 1)
            power, cosine = undo_inflation(float(values[0]), answer.noise_std, problem.n_items)
            trace.append({"eigenvalue": float(values[0]), "power": power, "cosine squared": cosine})
            if power == 0:
                continue  # noise alone: the next round asks again at the same point
            norm = norm or self.norm_ratio * math.sqrt(power) / _estimate_seen(problem, found)
            history = history.then(vectors[0], norm * cosine / math.sqrt(power))
            powers.append(power * cosine)
        factors = history.directions.T * np.sqrt(
            problem.n_items * np.array(powers) / max(powers, default=1.0)
        )
        stopped = f"all {rounds} planned rounds were asked"
        return CompletionResult(
            found.bias,
            factors,
            self.ridge,
            stopped=stopped,
            trace=tuple(trace),
            kept=found.kept,
        )

    def _find_bias(self, curator: Curator, problem: CompletionProblem, row_norm: float) -> ItemBias:
        if self.bias_share == 0:  # no release of counts either: as if all rows were full
            full = float(problem.kept_ratings) * (problem.n_users or 1) / problem.n_items
            return ItemBias(np.zeros(problem.n_items), np.full(problem.n_items, full))
        return release_item_bias(curator, problem, row_norm)

    def _choose_rounds(self, problem: CompletionProblem) -> int:
        return int(self.rounds or problem.n_components or DEFAULT_ROUNDS)


def undo_inflation(value: float, noise_std: float, size: int) -> tuple[float, float]:
    """Eigenvalue before noise inflated it, and the squared cosine of its vector; 0, 0 below noise.

    l' = (l + sqrt(l^2 - 2 n s^2)) / 2 and 1 - n s^2 / (2 l'^2), Benaych-Georges & Nadakuditi 2011.
    """
    if value <= max(noise_edge(noise_std, size), 1e-300):
        return 0.0, 0.0
    half = size * noise_std**2 / 2
    clean = (value + math.sqrt(max(value**2 - 4 * half, 0.0))) / 2
    return clean, max(1 - half / clean**2, 0.0)


def _estimate_seen(problem: CompletionProblem, found: ItemBias) -> float:
    """Share of the table that is kept: noisy counts over a public number of users, else xi / n."""
    full = problem.kept_ratings / problem.n_items
    if problem.n_users is None:
        return full
    seen = found.counts.sum() / (problem.n_users * problem.n_items)
    return float(np.clip(seen, LEAST_SEEN * full, full))
