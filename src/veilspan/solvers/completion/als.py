"""Private alternating least squares: users solve exactly, items from noisy normal equations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.item_systems import ItemPoint, ItemSystems, ItemWeights, unpack
from veilspan.solvers.base import Prepared
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionProblem,
    CompletionResult,
    choose_row_norm,
    draw_salt,
    prepare_releases,
    release_item_bias,
    round_for_plan,
)

ROUND = "item systems"
FEW_FACTORS, MANY_FACTORS = 4, 8
# Releases, by the strength of the signal (see ``signal_strength``): from these strengths on.
ROUNDS = ((3000.0, 6), (300.0, 4), (0.0, 3))
STRENGTH_FOR_MANY_FACTORS = 100.0
# Below this strength factors gain little and the bias needs most of the budget.
STRENGTH_FOR_FACTORS, BIAS_SHARES = 50.0, (0.6, 0.3)
USERS_IF_PRIVATE = 10_000  # stands for the number of users under add-remove
SIGNAL_SHARE = 0.3  # of a rating's variance that factors explain: a public guess
# Clip of a user's u ~ N(0, I), over its typical length sqrt(r): a little below most of them.
FACTOR_NORM = 0.75


@dataclass(frozen=True)
class ALSCompletion:
    r"""DPALS of Chien et al. (ICML 2021), and Ada-DPALS of Krichene et al. (ICML 2023).

    1. Item sums and counts give a shrunken bias; the counts serve the weights too.
    2. In each round, at public factors V, every user solves her ridge problem, u_i is clipped, and
       the normal equations (H_j, s_j) of all items are released together (see
       :class:`~veilspan.queries.completion.item_systems.ItemSystems`). Every release is accounted
       for.
    3. Post-processing: H_j is projected to positive semi-definite matrices, and

           v_j = t H_j (t H_j^2 + q H_j + z^2 I)^-1 s_j,      z^2 = z_s^2 + r t z_H^2,

       the best linear estimate of v_j ~ N(0, t I) from s_j = H_j v_j + error, where the error has
       the variance q H_j of ratings about their fit, z_s^2 of the noise on s_j and about r t z_H^2
       of the noise on H_j. No regularisation is left to tune on ratings.

    The work and the answers grow as n r^2, not n^2: the method for many items.

    Parameters
    ----------
    rounds : int, optional
        Releases of normal equations; by default 3, 4 or 6, more where the signal is stronger.
    item_weights : {"uniform", "tail", "adaptive"}
        How a user spreads her weight over her items.
    exponent : float
        Adaptive weights are proportional to (noisy count)^-exponent.
    weight_budget : float, optional
        B, the bound on a user's sum of squared weights; by default the ratings kept of a user.
    rating_norm : float, optional
        L, in units of ratings; by default half of a full row of typical deviations.
    factor_norm : float, optional
        G; by default 0.75 sqrt(r), as users have u ~ N(0, I) by the scale of V.
    bias_share : float, optional
        Share of the budget for item sums and counts; by default 0.3, or 0.6 for a weak signal.
    moment_share : float
        Share of a round's budget for H.
    seed : int
        Of the random start, which is public and no part of the noise.
    """

    name: ClassVar[str] = "ALSCompletion"

    rounds: int | None = None
    item_weights: ItemWeights = "uniform"
    exponent: float = 0.25
    weight_budget: float | None = None
    rating_norm: float | None = None
    factor_norm: float | None = None
    bias_share: float | None = None
    moment_share: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds is not None and (self.rounds != int(self.rounds) or self.rounds < 1):
            raise ValueError(f"rounds must be a whole number, at least 1; got {self.rounds}.")
        if self.bias_share is not None and not 0 < self.bias_share < 1:
            raise ValueError(f"bias_share must lie strictly in (0, 1); got {self.bias_share}.")

    def prepare(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[CompletionProblem, CompletionResult]:
        """Plan the item statistics, then all rounds alike; settle the number of factors."""
        strength = signal_strength(problem, budget)
        rounds, rank = self._choose_rounds(strength), _choose_rank(problem, strength)
        share = self._choose_bias_share(strength)
        releases = {
            GaussianEvent(ITEM_STATISTICS): share,
            GaussianEvent(ROUND, count=rounds): 1 - share,
        }
        decisions = {
            "rating norm": round_for_plan(self._rating_norm(problem)),
            "factor norm": round_for_plan(self._factor_norm(rank)),
            "share for the bias": share,
            "number of factors": rank,
            "rounds": rounds,
        }
        chosen = replace(problem, n_components=rank)
        return prepare_releases(self, chosen, budget, neighbors, releases, decisions)

    def run(self, curator: Curator, problem: CompletionProblem) -> CompletionResult:
        """Alternate: users inside the query, items from its answer."""
        problem = draw_salt(curator, problem)
        found = release_item_bias(curator, problem, self._rating_norm(problem))
        rank = _choose_rank(problem, signal_strength(problem, curator.plan.budget))
        query = self.step_query(problem, curator.plan.neighbors, rank)
        importance = found.counts**-self.exponent
        factors = np.random.default_rng(self.seed).standard_normal((problem.n_items, rank))
        rounds = curator.planned(ROUND).count
        for _ in range(rounds):
            point = ItemPoint(found.bias, _scale_to_prior(factors, problem), importance)
            answer = curator.answer(query, tuple(point), event=ROUND)
            noise = tuple(answer.noise_std / weight for weight in query.part_weights)
            factors = _solve_for_items(answer.value, noise, problem, rank)
        ridge = problem.typical_deviation**2
        stopped = f"all {rounds} planned rounds were taken"
        return CompletionResult(found.bias, factors, ridge, stopped=stopped, kept=found.kept)

    def step_query(
        self, problem: CompletionProblem, neighbors: Neighbors, rank: int
    ) -> ItemSystems:
        """What every round asks, of so many factors."""
        return ItemSystems(
            problem.rule,
            neighbors,
            weight_budget=self.weight_budget or problem.kept_ratings,
            factor_norm=self._factor_norm(rank),
            rating_norm=self._rating_norm(problem),
            ridge=problem.typical_deviation**2,
            moment_share=self.moment_share,
            item_weights=self.item_weights,
        )

    def _choose_bias_share(self, strength: float) -> float:
        if self.bias_share is not None:
            return self.bias_share
        return BIAS_SHARES[strength >= STRENGTH_FOR_FACTORS]

    def _choose_rounds(self, strength: float) -> int:
        if self.rounds is not None:
            return int(self.rounds)
        return next(rounds for least, rounds in ROUNDS if strength >= least)

    def _rating_norm(self, problem: CompletionProblem) -> float:
        return choose_row_norm(problem, self.rating_norm, "rating_norm")

    def _factor_norm(self, rank: int) -> float:
        if self.factor_norm is None:
            return FACTOR_NORM * math.sqrt(rank)
        return check_scale(self.factor_norm, "factor_norm")


def _choose_rank(problem: CompletionProblem, strength: float) -> int:
    many = strength >= STRENGTH_FOR_MANY_FACTORS
    return problem.limit_factors(MANY_FACTORS if many else FEW_FACTORS)


def _prior(problem: CompletionProblem, rank: int) -> float:
    """Variance of an entry of V: r of them explain the guessed share of a rating's variance."""
    return SIGNAL_SHARE * problem.typical_deviation**2 / rank


def _scale_to_prior(factors: np.ndarray, problem: CompletionProblem) -> np.ndarray:
    """Factors of the prior's mean square: shrinkage must not make users' parts vanish."""
    mean_square = float(np.mean(factors**2))
    prior = _prior(problem, factors.shape[1])
    return factors * math.sqrt(prior / mean_square) if mean_square else factors


def _solve_for_items(
    value: Any, noise: tuple[float, ...], problem: CompletionProblem, rank: int
) -> np.ndarray:
    prior = _prior(problem, rank)
    return estimate_factors(
        unpack(value[0], rank),
        value[1],
        prior=prior,
        rating_variance=problem.typical_deviation**2,
        noise_variance=noise[1] ** 2 + rank * prior * noise[0] ** 2,
    )


def signal_strength(problem: CompletionProblem, budget: Budget) -> float:
    """Privacy mu times the ratings per item over sqrt(xi): an item's H against the noise on it.

    A public number: what users add to H grows as the m xi / n ratings of an item, its noise as
    sqrt(xi) / mu. More rounds converge further and more factors hold more, each with more noise.
    """
    users = USERS_IF_PRIVATE if problem.n_users is None else problem.n_users
    mu = budget.mu if budget.is_private else math.inf
    return mu * users * math.sqrt(problem.kept_ratings) / problem.n_items


def estimate_factors(
    moments: np.ndarray,
    responses: np.ndarray,
    *,
    prior: float,
    rating_variance: float,
    noise_variance: float,
) -> np.ndarray:
    """Estimate items by v = t H (t H^2 + q H + z^2 I)^-1 s, the best linear way, see above.

    Parameters
    ----------
    moments : array of shape (n, r, r)
        Noisy H.
    responses : array of shape (n, r)
        Noisy s.
    prior, rating_variance, noise_variance : float
        t, q and z^2.
    """
    values, vectors = np.linalg.eigh(moments)
    values = np.maximum(values, 0.0)
    below = prior * values**2 + rating_variance * values + noise_variance
    gains = prior * values / np.where(below > 0, below, 1.0)
    inside = np.einsum("jab,ja->jb", vectors, responses)
    return np.einsum("jab,jb->ja", vectors, gains * inside)
