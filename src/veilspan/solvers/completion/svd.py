"""One private second moment of the ratings, its eigenvectors, and local least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.rating_moments import RatingCovariance
from veilspan.queries.completion.residual_moment import check_ridge
from veilspan.solvers.base import Prepared
from veilspan.solvers.completion.base import (
    CompletionProblem,
    CompletionResult,
    choose_row_norm,
    draw_salt,
    prepare_releases,
    round_for_plan,
)
from veilspan.solvers.completion.covariance import (
    MOST_FACTORS,
    decompose_off_diagonal,
    keep_factors_above_noise,
)
from veilspan.solvers.spectral import noise_edge

MOMENT = "second moment"


@dataclass(frozen=True)
class SVDCompletion:
    r"""Algorithm 3 of Jain, Thakkar & Thakurta (2018), corrected: one release, no item bias.

    W = sum_i y_i y_i^T + noise over the centred rows, scaled down to norm L; the factors are the
    eigenvectors of W without its diagonal that stand above the noise. What differs from the paper:

    * The sensitivity is L^2 (add-remove) or sqrt(2) L^2 (replace-one), not 4 L^2.
    * The noise is symmetric, so eigenvectors are real, and calibrated exactly.
    * Users solve a ridge problem on their own ratings. The printed step scales by m n / |O|, and
      the number |O| of everybody's ratings is private.

    Parameters
    ----------
    row_norm : float, optional
        L in units of ratings; by default half of a full row of typical deviations.
    ridge : float
        Penalty of the local fits, not negative.
    """

    name: ClassVar[str] = "SVDCompletion"

    row_norm: float | None = None
    ridge: float = 12.0

    def __post_init__(self) -> None:
        check_ridge(self.ridge)

    def prepare(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[CompletionProblem, CompletionResult]:
        """Plan one release with all of the budget."""
        decisions = {
            "row norm": round_for_plan(choose_row_norm(problem, self.row_norm)),
            "largest number of factors": problem.limit_factors(MOST_FACTORS),
            "local ridge": self.ridge,
        }
        releases = {GaussianEvent(MOMENT): 1.0}
        return prepare_releases(self, problem, budget, neighbors, releases, decisions)

    def run(self, curator: Curator, problem: CompletionProblem) -> CompletionResult:
        """Ask for the second moment, and decompose it."""
        problem = draw_salt(curator, problem)
        query = RatingCovariance(problem.rule, choose_row_norm(problem, self.row_norm))
        answer = curator.answer(query, event=MOMENT)
        rank = problem.limit_factors(MOST_FACTORS)
        values, vectors = decompose_off_diagonal(answer.value, rank, refills=0)
        factors = keep_factors_above_noise(values, vectors, answer.noise_std)
        trace = ({"eigenvalues": values, "edge": noise_edge(answer.noise_std, problem.n_items)},)
        return CompletionResult(np.zeros(problem.n_items), factors, self.ridge, trace=trace)
