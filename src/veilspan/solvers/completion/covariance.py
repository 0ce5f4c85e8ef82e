"""The default solver: a private item bias, one private covariance, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.completion.rating_moments import RatingCovariance
from veilspan.queries.completion.residual_moment import checked_ridge
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionResult,
    CompletionTask,
    default_row_norm,
    private_item_bias,
)
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge

COVARIANCE = "covariance"
LARGEST_WIDTH = 20_000
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

    row_norm: float | None = None
    bias_share: float = 0.3
    ridge: float = 12.0
    refills: int = 12

    def __post_init__(self) -> None:
        checked_ridge(self.ridge)

    def schedule(self, task: CompletionTask) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Item statistics, then the covariance."""
        if not 0 < self.bias_share <= 1:
            raise ValueError(f"bias_share must lie in (0, 1]; got {self.bias_share}.")
        if self.bias_share == 1:
            return (GaussianEvent(ITEM_STATISTICS),), (1.0,)
        if task.n_items > LARGEST_WIDTH:
            raise ValueError(
                f'solver "covariance" releases an n_items x n_items matrix; {task.n_items} items '
                f"are more than {LARGEST_WIDTH}. Group them first by a public rule."
            )
        events = (GaussianEvent(ITEM_STATISTICS), GaussianEvent(COVARIANCE))
        return events, (self.bias_share, 1 - self.bias_share)

    def decisions(self, task: CompletionTask) -> Mapping[str, Any]:
        """Settings, as chosen from public sizes."""
        return {
            "row norm": float(f"{self._row_norm(task):.4g}"),
            "share for the bias": self.bias_share,
            "largest number of factors": self._rank(task),
            "local ridge": self.ridge,
        }

    def run(self, curator: Curator, task: CompletionTask) -> CompletionResult:
        """Ask twice, then clean the covariance."""
        row_norm = self._row_norm(task)
        found = private_item_bias(curator, task, row_norm)
        if self.bias_share == 1:
            return CompletionResult(found.bias, np.zeros((task.n_items, 0)), self.ridge)
        query = RatingCovariance(task.rule, row_norm)
        answer = curator.answer(query, found.bias, event=COVARIANCE)
        values, vectors = without_diagonal(
            answer.value, self._rank(task), self.refills, noisy=answer.noise_std > 0
        )
        factors = factors_above_noise(values, vectors, answer.noise_std)
        trace = ({"eigenvalues": values, "edge": noise_edge(answer.noise_std, task.n_items)},)
        return CompletionResult(found.bias, factors, self.ridge, trace=trace)

    def _row_norm(self, task: CompletionTask) -> float:
        if self.row_norm is None:
            return default_row_norm(task)
        return check_scale(self.row_norm, "row_norm")

    def _rank(self, task: CompletionTask) -> int:
        return min(task.n_components or MOST_FACTORS, task.n_items)


def without_diagonal(
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


def factors_above_noise(values: np.ndarray, vectors: np.ndarray, noise_std: float) -> np.ndarray:
    """Factors of shape (n, r') from the eigenvalues above the noise edge, inflation removed.

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
