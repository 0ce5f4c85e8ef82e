r"""``solver="auto"``: what to ask and how to clip, decided by public numbers and released answers.

Four releases, each with the noise that the plan names:

1. *Item statistics*: sums and counts per item. They say how often items are rated, which is not
   public, and so how far the leading eigenvalue of a covariance stands above its noise if a factor
   holds a share g of a rating's variance (rho, see ``public_rules``).
2. *A look at the covariance* of the most rated items, unless not even ratings of rank one (g = 1)
   would show in it; then the item statistics again.
3. *The covariance again*, if the look has found an eigenvalue above noise and sampling, or if films
   and jokes (g = 0.06) are expected to show in both together (rho of 3/4 and more); else the item
   statistics again. Two answers to one question, averaged by their precision, are as good as one
   with the budget of both, so that looking first costs nothing where factors are found.
4. *Gains on hidden ratings* (``ridge_choice``) decide about the ridge and whether factors are used
   at all; the item statistics once more where there are none.

Which question is asked depends on noisy answers only, and each release has the noise multiplier
that was planned for it whatever it asks: an adaptive choice among Gaussian releases is covered by
their composition (Dong, Roth & Su 2022, Corollary 3.3).

g = 0.06 was read off covariances of Jester-1 and of the 400 most rated films of MovieLens-1M (0.057
to 0.069 at epsilon 0.1 to 10). ``experiments/recommend`` shows what the constants do there and on
sets that played no part in choosing them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.rating_moments import SomeItemsCovariance
from veilspan.solvers.base import COUNT, Prepared, count_rows
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionProblem,
    CompletionResult,
    draw_salt,
    prepare_releases,
    round_for_plan,
)
from veilspan.solvers.completion.factor_spectrum import (
    PairModel,
    Spectrum,
    find_spectrum,
    measure_rise,
)
from veilspan.solvers.completion.item_posterior import estimate_loadings
from veilspan.solvers.completion.noisy_statistics import (
    LATER_COUNTS,
    NoisyStatistics,
    ask_statistics,
)
from veilspan.solvers.completion.public_rules import (
    MOST_ITEMS,
    bias_row_norm,
    choose_width,
    covariance_row_norm,
    expected_ratings,
    signal_over_edge,
)
from veilspan.solvers.completion.ridge_choice import choose_ridge

LOOK = "look at the covariance, or item statistics"
REST = "covariance or item statistics"
GAINS = "gains on hidden ratings, or item statistics"
FACTOR_SHARE = 0.06  # g
THRESHOLD = 0.75  # of rho: above it the whole covariance is asked for whatever the look shows
MOST_FACTORS = 24
# Shares of the budget: of the first release, of the look and of the gains. The rest has what these
# leave.
FIRST_SHARE, LOOK_SHARE, GAIN_SHARE = 0.15, 0.25, 0.03
# Items that are rated this much as often as the item of a typical rating are no rare ones.
COMMON = 0.2
# A look costs a bias what it costs; it is taken where it would show a factor of this share.
LARGEST_SHARE = 0.3
# Share of a noisy number of users, where it is private: it only scales what is known of pairs.
USERS_SHARE = 0.01
# A look is believed if an eigenvalue is so far above the edge, which noise alone does not reach:
# of 60 items, the least that are looked at, once in ten thousand.
RISE = 1.1
# The public guess of the ratings per item may be off by a third or so, not by this factor.
HOPE = 4


@dataclass(frozen=True)
class AutoCompletion:
    """Item statistics, then covariances and their ridge if factors show, else statistics again.

    Parameters
    ----------
    first_share : float, optional
        Share of the budget (of mu^2) for the first release. By default 0.15, or all of it where
        public numbers say that no covariance can rise above its noise. The other releases share
        what it leaves.
    factor_share : float
        g, a public guess. Where tastes are known to be simpler than in films and jokes (a few
        factors explain most of a rating) a larger one asks for factors without looking first.
    """

    name: ClassVar[str] = "AutoCompletion"

    first_share: float | None = None
    factor_share: float = FACTOR_SHARE

    def prepare(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[CompletionProblem, CompletionResult]:
        """Plan four releases, or one where a covariance is out of the question."""
        if not 0 < self.factor_share <= 1:
            raise ValueError(f"factor_share must lie in (0, 1]; got {self.factor_share}.")
        share = self._choose_first_share(problem, budget, neighbors)
        rho = self._expect_rho(problem, budget, neighbors)
        counted = share < 1 and problem.n_users is None
        releases = {COUNT: USERS_SHARE} if counted else {}
        releases |= {ITEM_STATISTICS: share, **later_shares(share)}
        norm = self._bias_norm(problem, budget, neighbors, share)
        decisions = {
            "share for the first release": share,
            "row norm of the bias": round_for_plan(norm),
            "guessed share of a factor": self.factor_share,
            "expected signal over edge": None if rho is None else round_for_plan(rho),
            "largest number of factors": problem.limit_factors(MOST_FACTORS),
        }
        chosen = replace(self, first_share=share)
        events = {GaussianEvent(name): part for name, part in releases.items()}
        return prepare_releases(chosen, problem, budget, neighbors, events, decisions)

    def _choose_first_share(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> float:
        """The share that was given, or that ``prepare`` has settled."""
        if self.first_share is not None:
            if not 0 < self.first_share <= 1:
                raise ValueError(f"first_share must lie in (0, 1]; got {self.first_share}.")
            return self.first_share
        rho = self._expect_rho(problem, budget, neighbors)
        if rho is None or HOPE * rho >= self._least_rho(FIRST_SHARE):
            return FIRST_SHARE
        return 1.0

    def _expect_rho(
        self,
        problem: CompletionProblem,
        budget: Budget,
        neighbors: Neighbors,
        users: float | None = None,
    ) -> float | None:
        """Rho of a covariance with the whole budget; ``None`` where users are not known."""
        users = problem.n_users if users is None else users
        ratings = expected_ratings(problem, users)
        if ratings is None or users is None:
            return None
        width = choose_width(problem, neighbors, budget.mu, users)
        return signal_over_edge(width, neighbors, budget.mu, ratings, self.factor_share)

    def _bias_norm(
        self,
        problem: CompletionProblem,
        budget: Budget,
        neighbors: Neighbors,
        first_share: float,
        users: float | None = None,
    ) -> float:
        """Clipping norm of the first item statistics.

        Where a covariance is expected to follow they are all that the bias will be made of; else
        they are averaged with later ones, and rows are clipped as the whole budget allows.
        """
        rho = self._expect_rho(problem, budget, neighbors, users)
        alone = rho is not None and rho >= THRESHOLD
        mu = budget.mu * math.sqrt(first_share if alone else 1.0)
        return bias_row_norm(problem, neighbors, mu, expected_ratings(problem, users))

    def _least_rho(self, first_share: float) -> float:
        """The whole budget's rho at which a look shows a factor of the largest share."""
        share = max(LARGEST_SHARE, self.factor_share)
        return RISE * self.factor_share / share / math.sqrt(later_shares(first_share)[LOOK])

    def run(self, curator: Curator, problem: CompletionProblem) -> CompletionResult:
        """Ask, decide from the answers, ask again."""
        problem = draw_salt(curator, problem)
        budget, neighbors = curator.plan.budget, curator.plan.neighbors
        share = self._choose_first_share(problem, budget, neighbors)
        users = count_rows(curator) if share < 1 else None
        norm = self._bias_norm(problem, budget, neighbors, share, users)
        first = ask_statistics(curator, problem, norm, ITEM_STATISTICS)
        if users is None:
            return publish_bias(problem, first)
        shares = later_shares(share)
        few = first.most_rated(choose_width(problem, neighbors, budget.mu, users))
        ratings = first.ratings_per_item(few)
        rho = signal_over_edge(len(few), neighbors, budget.mu, ratings, self.factor_share)
        if rho < self._least_rho(share):
            return self._ask_bias(curator, problem, first, (LOOK, REST, GAINS))
        both = rho * math.sqrt(shares[LOOK] + shares[REST])
        query = SomeItemsCovariance(problem.rule, covariance_row_norm(problem, both))
        bias, counts = first.estimate_bias(problem), first.smooth_counts()
        look = curator.answer(query, (bias, few), event=LOOK)
        model = PairModel(look.value, counts[few], users, look.noise_std)
        if both < THRESHOLD and measure_rise(model) < RISE:
            return self._ask_bias(curator, problem, first, (REST, GAINS))
        items = first.most_rated(max(len(few), min(first.count_common(COMMON), MOST_ITEMS)))
        rest = curator.answer(query, (bias, items), event=REST)
        if len(items) > len(few):
            model = PairModel(rest.value, counts[items], users, rest.noise_std)
        else:
            model = model.average_with(rest.value, rest.noise_std, shares[REST] / shares[LOOK])
        found = find_spectrum(model, problem.limit_factors(MOST_FACTORS))
        if not len(found.values):
            return self._ask_bias(curator, problem, first, (GAINS,))
        return release_factors(curator, problem, (bias, items), model, found)

    def _ask_bias(
        self,
        curator: Curator,
        problem: CompletionProblem,
        first: NoisyStatistics,
        events: Sequence[str],
    ) -> CompletionResult:
        """Spend what is left on the item statistics."""
        plan, ratings = curator.plan, first.ratings_per_item()
        norm = bias_row_norm(problem, plan.neighbors, plan.budget.mu, ratings)
        for event in events:
            again = ask_statistics(curator, problem, norm, event, LATER_COUNTS)
            first = first.average_with(again)
        return publish_bias(problem, first)


def later_shares(first_share: float) -> dict[str, float]:
    """Shares of the releases after the first, which leaves them 1 - ``first_share``."""
    left = 1 - first_share
    if left == 0:
        return {}
    scale = left / (1 - FIRST_SHARE)
    shares = {LOOK: LOOK_SHARE * scale, REST: 0.0, GAINS: GAIN_SHARE * scale}
    return {**shares, REST: left - shares[LOOK] - shares[GAINS]}


def publish_bias(problem: CompletionProblem, found: NoisyStatistics) -> CompletionResult:
    """Make a model of a bias alone, without factors."""
    nothing = np.zeros((problem.n_items, 0))
    trace = ({"released": "item statistics", "ratings per item": found.ratings_per_item()},)
    return CompletionResult(
        found.estimate_bias(problem), nothing, 1.0, trace=trace, kept=found.kept_share(problem)
    )


def release_factors(
    curator: Curator,
    problem: CompletionProblem,
    point: tuple[np.ndarray, np.ndarray],
    model: PairModel,
    found: Spectrum,
) -> CompletionResult:
    """Estimate the items' loadings, and let users' gains choose their ridge."""
    bias, items = point
    loadings = estimate_loadings(model, found)
    factors = np.zeros((problem.n_items, len(found.values)))
    factors[items] = loadings.factors
    choice = choose_ridge(curator, problem, (bias, factors), loadings.ridge, model.users, GAINS)
    trace: tuple[dict[str, Any], ...] = (
        {"released": "covariance", "eigenvalues": found.values, "edge": found.edge},
        {"released": "gains on hidden ratings", **choice.trace},
    )
    if choice.ridge is None:
        return CompletionResult(bias, factors[:, :0], 1.0, trace=trace)
    return CompletionResult(bias, factors, choice.ridge, trace=trace)
