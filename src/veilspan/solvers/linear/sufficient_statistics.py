r"""Least squares from released sufficient statistics: one answer, everything else is public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.regression_moments import RegressionMoments, best_weight
from veilspan.solvers.base import count_rows, prepare_events
from veilspan.solvers.linear.base import (
    LinearPrepared,
    LinearProblem,
    LinearResult,
    Needs,
    NeverClips,
    require,
)
from veilspan.solvers.linear.quadratic import (
    eigenvalues_mapped,
    minimise_quadratic,
    ridge_of,
)
from veilspan.solvers.linear.tables.moments_noise import MomentsNoise

STATISTICS = "statistics"
EVEN = 0.6  # of the filter for coefficients spread evenly over all directions


@dataclass(frozen=True)
class SufficientStatistics(NeverClips):
    r"""Squared loss with any penalty: minimise the noisy quadratic of (X^T X, X^T y).

    The normal equations of least squares need two sums only. Both are released once (event
    "statistics", :class:`~veilspan.queries.linear.regression_moments.RegressionMoments`); the
    penalised minimum of <theta, A theta>/2 - <r, theta> is then post-processing, at any penalty and
    as often as one likes. Vu & Slavkovic (2009) and Wang (2018, AdaSSP) study the method with an
    added ridge.

    **When to use it.** One release serves every penalty, and all rows are read once. For a single
    fit :class:`~veilspan.solvers.linear.newton.PrivateNewton` is more accurate: its noise follows
    the clipped residuals, here it follows rows of unit length and coefficients
    (``experiments/erm/regression.py`` has figures).

    **Bias.** The noisy matrix G + N is not positive definite, and even where it is, solving with it
    multiplies noise by 1/g along eigenvectors of small g. With noise of std s on the pair, the
    equations hold up to noise of std

        e = s / sqrt(2) sqrt(|theta|^2 + 1/w^2)  per coordinate.

    A Wiener filter for coefficients of length |theta| = t, spread over p directions, divides by
    g + k^2/g with k = e sqrt(p) / t
    (:func:`~veilspan.solvers.linear.quadratic.eigenvalues_mapped`).
    Coefficients lie more along large eigenvalues than evenly, so 0.6 of this k is taken, best or
    close to it on four tables (442 to 30,000 rows, epsilon 0.5 to 10). The filter pulls theta
    towards zero by the factor g^2 / (g^2 + k^2) along each eigenvector, intercept included; as n
    grows this is 1 - O(1/n^2), while noise moves theta by O(1/n).

    Parameters
    ----------
    coefficient_norm : float
        t, a public guess of |theta| for rows in the unit ball and targets in [-1, 1]. It decides
        how noise is shared between the two sums, and the filter; not the guarantee.
    """

    coefficient_norm: float = 3.0

    name = "statistics"

    def __post_init__(self) -> None:
        check_scale(self.coefficient_norm, "coefficient_norm")

    def prepare(
        self, problem: LinearProblem, budget: Budget, neighbors: Neighbors
    ) -> LinearPrepared:
        """One release (and a count under add-remove)."""
        require(self.name, Needs(losses=("squared",)), problem)
        return prepare_events(
            self, problem, budget, neighbors, (GaussianEvent(STATISTICS),), (1.0,)
        )

    def run(self, curator: Curator, problem: LinearProblem) -> LinearResult:
        """Ask for both sums at once, then solve."""
        weight = best_weight(self.coefficient_norm, curator.plan.neighbors)
        rows = count_rows(curator)
        answer = curator.answer(RegressionMoments(weight), event=STATISTICS)
        gram, products = answer.value
        floor = self.floor(answer.noise_std, weight, problem.n_features) / rows
        matrix = eigenvalues_mapped(gram / rows, floor)
        theta = minimise_quadratic(matrix, products / rows, problem)
        told = None
        if curator.plan.budget.is_private:
            ridge = ridge_of(problem) if problem.penalty.name in ("none", "l2") else None
            told = MomentsNoise(matrix, ridge, theta, answer.noise_std / rows, weight)
        return LinearResult(
            theta,
            stopped="the minimum of the released quadratic",
            trace=[_entry(floor, theta)],
            noise=told,
        )

    def floor(self, noise_std: float, weight: float, n_features: int) -> float:
        """Noise size k of the filter, on sums (see the class)."""
        ratio = 1.0 + 1.0 / (weight * self.coefficient_norm) ** 2
        return EVEN * noise_std * math.sqrt(n_features * ratio / 2)


def _entry(floor: float, theta: np.ndarray) -> dict[str, float]:
    return {"floor": floor, "length": float(np.linalg.norm(theta))}
