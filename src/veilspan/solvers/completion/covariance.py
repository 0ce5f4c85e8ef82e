"""A private item bias and one private covariance, whatever the budget."""

from __future__ import annotations

import math
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
    ITEM_STATISTICS,
    CompletionProblem,
    CompletionResult,
    choose_row_norm,
    draw_salt,
    prepare_releases,
    release_item_bias,
    round_for_plan,
)
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge
from veilspan.solvers.subspace.unbounded.component_angles import angle_of_subspace

COVARIANCE = "covariance"
#: More items are refused: their covariance alone would fill 3 GB.
LARGEST_WIDTH = 20_000
#: Factors that are looked for unless the user says how many; noise decides how many of them stay.
MOST_FACTORS = 8


@dataclass(frozen=True)
class CovarianceCompletion:
    r"""Two Gaussian releases; every user solves a small ridge problem on her own ratings.

    1. Item sums and counts give a shrunken bias b.
    2. W = sum_i e_i e_i^T + noise, e_i the centred ratings minus b, scaled down to norm C.
    3. Post-processing. The diagonal of W holds every rating's own variance, not structure: it is
       dropped and refilled from the rank-r fit. Eigenvalues above the noise edge s sqrt(2 n) are
       kept; noise inflates them and turns their vectors, by known amounts (spiked Wigner model,
       Benaych-Georges & Nadakuditi 2011): with l the noisy eigenvalue,

           l' = (l + sqrt(l^2 - 2 n s^2)) / 2,    squared cosine 1 - n s^2 / (2 l'^2),

       and the factors are the eigenvectors times sqrt(n p / max p), p = l' times squared cosine.

    More rounds (a new covariance of the residuals) never helped: they split the budget.

    Parameters
    ----------
    row_norm : float, optional
        C in units of ratings; by default half of a full row of typical deviations.
    bias_share : float
        Share of the budget (of mu^2) for the bias; with 1 there is no covariance and no factor.
    ridge : float
        Penalty of the local fits, not negative.
    refills : int
        Rounds of refilling the diagonal.
    """

    name: ClassVar[str] = "CovarianceCompletion"

    row_norm: float | None = None
    bias_share: float = 0.3
    ridge: float = 12.0
    refills: int = 12

    def __post_init__(self) -> None:
        check_ridge(self.ridge)

    def prepare(
        self, problem: CompletionProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[CompletionProblem, CompletionResult]:
        """Plan the item statistics and, with what they leave, the covariance."""
        if not 0 < self.bias_share <= 1:
            raise ValueError(f"bias_share must lie in (0, 1]; got {self.bias_share}.")
        releases = {GaussianEvent(ITEM_STATISTICS): self.bias_share}
        if self.bias_share < 1:
            if problem.n_items > LARGEST_WIDTH:
                raise ValueError(
                    'solver "covariance" releases an n_items x n_items matrix; '
                    f"{problem.n_items} items are more than {LARGEST_WIDTH}. Group them first by a "
                    "public rule."
                )
            releases[GaussianEvent(COVARIANCE)] = 1 - self.bias_share
        decisions = {
            "row norm": round_for_plan(choose_row_norm(problem, self.row_norm)),
            "share for the bias": self.bias_share,
            "largest number of factors": problem.limit_factors(MOST_FACTORS),
            "local ridge": self.ridge,
        }
        return prepare_releases(self, problem, budget, neighbors, releases, decisions)

    def run(self, curator: Curator, problem: CompletionProblem) -> CompletionResult:
        """Ask for the item statistics and the covariance, and clean the latter."""
        problem = draw_salt(curator, problem)
        row_norm = choose_row_norm(problem, self.row_norm)
        found = release_item_bias(curator, problem, row_norm)
        if self.bias_share == 1:
            return CompletionResult(
                found.bias, np.zeros((problem.n_items, 0)), self.ridge, kept=found.kept
            )
        query = RatingCovariance(problem.rule, row_norm)
        answer = curator.answer(query, found.bias, event=COVARIANCE)
        rank, noisy = problem.limit_factors(MOST_FACTORS), answer.noise_std > 0
        values, vectors = decompose_off_diagonal(answer.value, rank, self.refills, noisy=noisy)
        factors = keep_factors_above_noise(values, vectors, answer.noise_std)
        edge = noise_edge(answer.noise_std, problem.n_items)
        trace = ({"eigenvalues": values, "edge": edge},)
        angle = angle_of_factors(values[: factors.shape[1]], edge, problem.n_items)
        return CompletionResult(
            found.bias, factors, self.ridge, trace=trace, kept=found.kept, angle=angle
        )


def angle_of_factors(values: np.ndarray, edge: float, n_items: int) -> float | None:
    """How far noise may have turned the span of the kept factors; ``None`` where there are none.

    By their eigenvalues with inflation removed, against none elsewhere: the diagonal, where every
    rating's own variance was, is dropped
    (:mod:`veilspan.solvers.subspace.unbounded.component_angles`).
    """
    if len(values) == 0:
        return None
    clean = (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2
    outside = np.zeros(n_items - len(values))
    return angle_of_subspace(clean, outside, edge / (2 * math.sqrt(n_items)))


def decompose_off_diagonal(
    matrix: np.ndarray, rank: int, refills: int, *, noisy: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvalues and eigenvectors (rows), the diagonal replaced by that of the fit."""
    filled = matrix.copy()
    np.fill_diagonal(filled, 0.0)
    values, vectors = leading_eigenvectors(filled, rank, noisy=noisy)
    for _ in range(refills):
        np.fill_diagonal(filled, np.maximum(values, 0.0) @ vectors**2)
        values, vectors = leading_eigenvectors(filled, rank, noisy=noisy)
    return values, vectors


def keep_factors_above_noise(
    values: np.ndarray, vectors: np.ndarray, noise_std: float
) -> np.ndarray:
    """Make factors of shape (n, r') of the eigenvalues above the noise edge, inflation removed.

    The largest factor has mean square 1 over items, so that a ridge means the same in all tables.
    """
    n_items = vectors.shape[1]
    keep = values > max(noise_edge(noise_std, n_items), 1e-12 * abs(float(values[0])), 1e-300)
    if not keep.any():
        return np.zeros((n_items, 0))
    half = n_items * noise_std**2 / 2
    spread = values[keep]
    clean = (spread + np.sqrt(np.maximum(spread**2 - 4 * half, 0.0))) / 2
    power = clean * (1 - half / clean**2)
    power = np.maximum(power, 0.0)
    if not power.max() > 0:
        return np.zeros((n_items, 0))
    return vectors[keep].T * np.sqrt(n_items * power / power.max())
