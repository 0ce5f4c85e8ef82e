"""One private second moment of the ratings, its eigenvectors, and local least squares."""

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
from veilspan.solvers.completion.base import CompletionResult, CompletionTask, default_row_norm
from veilspan.solvers.completion.covariance import factors_above_noise, without_diagonal
from veilspan.solvers.spectral import noise_edge

MOMENT = "second moment"
MOST_FACTORS = 8


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

    row_norm: float | None = None
    ridge: float = 12.0

    def __post_init__(self) -> None:
        checked_ridge(self.ridge)

    def schedule(self, task: CompletionTask) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """One release has all of the budget."""
        return (GaussianEvent(MOMENT),), (1.0,)

    def decisions(self, task: CompletionTask) -> Mapping[str, Any]:
        """Settings, as chosen from public sizes."""
        return {
            "row norm": float(f"{self._row_norm(task):.4g}"),
            "largest number of factors": self._rank(task),
            "local ridge": self.ridge,
        }

    def run(self, curator: Curator, task: CompletionTask) -> CompletionResult:
        """Ask once, decompose."""
        query = RatingCovariance(task.rule, self._row_norm(task))
        answer = curator.answer(query, event=MOMENT)
        values, vectors = without_diagonal(answer.value, self._rank(task), refills=0)
        factors = factors_above_noise(values, vectors, answer.noise_std)
        trace = ({"eigenvalues": values, "edge": noise_edge(answer.noise_std, task.n_items)},)
        return CompletionResult(np.zeros(task.n_items), factors, self.ridge, trace=trace)

    def _row_norm(self, task: CompletionTask) -> float:
        if self.row_norm is None:
            return default_row_norm(task)
        return check_scale(self.row_norm, "row_norm")

    def _rank(self, task: CompletionTask) -> int:
        return min(task.n_components or MOST_FACTORS, task.n_items)
