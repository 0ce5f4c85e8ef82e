"""Private alternating least squares: users solve exactly, items from noisy normal equations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.completion.item_systems import ItemPoint, ItemSystems, ItemWeights, unpack
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionResult,
    CompletionTask,
    default_row_norm,
    private_item_bias,
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

    def schedule(self, task: CompletionTask) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Item statistics, then all rounds alike."""
        events = (GaussianEvent(ITEM_STATISTICS), GaussianEvent(ROUND, count=self._rounds(task)))
        share = self._bias_share(task)
        return events, (share, 1 - share)

    def decisions(self, task: CompletionTask) -> Mapping[str, Any]:
        """Settings, as chosen from public sizes."""
        return {
            "rating norm": float(f"{self._rating_norm(task):.4g}"),
            "factor norm": float(f"{self._factor_norm(task):.4g}"),
            "share for the bias": self._bias_share(task),
            "number of factors": self._rank(task),
            "rounds": self._rounds(task),
        }

    def run(self, curator: Curator, task: CompletionTask) -> CompletionResult:
        """Alternate: users inside the query, items from its answer."""
        found = private_item_bias(curator, task, self._rating_norm(task))
        query = self.step_query(task)
        importance = found.counts**-self.exponent
        factors = self._start(task)
        for _ in range(self._rounds(task)):
            point = ItemPoint(found.bias, self._scaled(factors, task), importance)
            answer = curator.answer(query, tuple(point), event=ROUND)
            noise = tuple(answer.noise_std / weight for weight in query.part_weights)
            factors = self._items(answer.value, noise, task)
        ridge = task.typical_deviation**2
        stopped = f"all {self._rounds(task)} planned rounds were taken"
        return CompletionResult(found.bias, factors, ridge, stopped)

    def step_query(self, task: CompletionTask) -> ItemSystems:
        """What every round asks."""
        return ItemSystems(
            task.rule,
            task.neighbors,
            weight_budget=self.weight_budget or min(task.rule.max_ratings, task.n_items),
            factor_norm=self._factor_norm(task),
            rating_norm=self._rating_norm(task),
            ridge=task.typical_deviation**2,
            moment_share=self.moment_share,
            item_weights=self.item_weights,
        )

    def _items(self, value: Any, noise: tuple[float, ...], task: CompletionTask) -> np.ndarray:
        prior = self._prior(task)
        size = self._rank(task)
        return item_factors(
            unpack(value[0], size),
            value[1],
            prior=prior,
            rating_variance=task.typical_deviation**2,
            noise_variance=noise[1] ** 2 + size * prior * noise[0] ** 2,
        )

    def _start(self, task: CompletionTask) -> np.ndarray:
        shape = (task.n_items, self._rank(task))
        return np.random.default_rng(self.seed).standard_normal(shape)

    def _scaled(self, factors: np.ndarray, task: CompletionTask) -> np.ndarray:
        """Factors of the prior's mean square: shrinkage must not make users' parts vanish."""
        mean_square = float(np.mean(factors**2))
        return factors * math.sqrt(self._prior(task) / mean_square) if mean_square else factors

    def _prior(self, task: CompletionTask) -> float:
        """Variance of an entry of V: r of them explain the guessed share of a rating's variance."""
        return SIGNAL_SHARE * task.typical_deviation**2 / self._rank(task)

    def _bias_share(self, task: CompletionTask) -> float:
        if self.bias_share is not None:
            return self.bias_share
        return BIAS_SHARES[signal_strength(task) >= STRENGTH_FOR_FACTORS]

    def _rounds(self, task: CompletionTask) -> int:
        if self.rounds is not None:
            return int(self.rounds)
        strength = signal_strength(task)
        return next(rounds for least, rounds in ROUNDS if strength >= least)

    def _rank(self, task: CompletionTask) -> int:
        many = signal_strength(task) >= STRENGTH_FOR_MANY_FACTORS
        chosen = task.n_components or (MANY_FACTORS if many else FEW_FACTORS)
        return min(chosen, task.n_items)

    def _rating_norm(self, task: CompletionTask) -> float:
        if self.rating_norm is None:
            return default_row_norm(task)
        return check_scale(self.rating_norm, "rating_norm")

    def _factor_norm(self, task: CompletionTask) -> float:
        if self.factor_norm is None:
            return 0.75 * math.sqrt(self._rank(task))
        return check_scale(self.factor_norm, "factor_norm")


def signal_strength(task: CompletionTask) -> float:
    """Privacy mu times the ratings per item over sqrt(xi): an item's H against the noise on it.

    A public number: what users add to H grows as the m xi / n ratings of an item, its noise as
    sqrt(xi) / mu. More rounds converge further and more factors hold more, each with more noise.
    """
    kept = min(task.rule.max_ratings, task.n_items)
    users = USERS_IF_PRIVATE if task.n_users is None else task.n_users
    mu = task.budget.mu if task.budget.is_private else math.inf
    return mu * users * math.sqrt(kept) / task.n_items


def item_factors(
    moments: np.ndarray,
    responses: np.ndarray,
    *,
    prior: float,
    rating_variance: float,
    noise_variance: float,
) -> np.ndarray:
    """Best linear estimates v = t H (t H^2 + q H + z^2 I)^-1 s of items, in the eigenvectors of H.

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
