"""Private principal component analysis by one noisy second moment."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from veilspan.estimators.subspace.base import SubspaceEstimator
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.subspace.analyze_gauss import AnalyzeGauss, PrincipalComponents
from veilspan.solvers.subspace.base import SubspaceProblem


@dataclass(eq=False, repr=False)
class PCA(SubspaceEstimator):
    r"""Differentially private PCA: eigenvectors of a noisy second moment of bounded rows.

    Every row x is scaled down to norm ``row_norm`` =: R if it is longer (after centring), and

        M = sum_i x_i x_i^T + symmetric Gaussian noise

    is released once; components and variances are its leading eigenvectors and eigenvalues
    ("Analyze Gauss", Dwork, Talwar, Thakurta & Zhang 2014). One row moves the sum by at most
    sqrt(2) R^2 in Frobenius norm under replace-one and by R^2 under add-remove (proof:
    :class:`~veilspan.queries.moments.SecondMoment`); the noise is calibrated exactly and isotropic
    in the Frobenius geometry (std s on the diagonal, s/sqrt(2) off it).

    Parameters
    ----------
    n_components : int, optional
        Number of components; all by default.
    epsilon, delta : float
        The budget. ``epsilon=inf`` runs the same code without noise.
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation. Under add-remove the number of rows is private, and 2 % of the budget
        (of mu^2) is spent on a noisy count that scales the variances.
    row_norm : float
        Public bound R on the length of a row; longer rows are scaled down to it. Rows much shorter
        than R drown in the noise, so choose the bound that typical rows reach.
    center : None, "private" or array of shape (n_features,)
        What to subtract first: nothing, a private mean of the bounded rows (10 % of the budget), or
        a vector that is public.
    noise : {"grid", "exact"}
        Gaussian noise rounded to a grid, or the exact discrete Gaussian (up to 141 columns).
    random_state : None or int
        ``None`` draws secure noise. An int makes a reproducible simulation that is *not* private.
    ledger : Dataset, optional
        Account that is charged before any row is read (:class:`veilspan.Ledger`).

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by decreasing variance.
    explained_variance_ : array of shape (n_components,)
        Noisy mean squared length of the bounded rows along each component, at least 0.
    explained_variance_ratio_ : array of shape (n_components,)
        The same over the noisy total.
    noise_edge_ : float
        Variance that pure noise reaches; components below it carry little signal.
    mean_ : array of shape (n_features,)
        What is subtracted in :meth:`transform`.
    privacy_ : PrivacyStatement
        What was promised and spent.

    Examples
    --------
    >>> from veilspan import PCA
    >>> from veilspan.datasets import make_haystack
    >>> data = make_haystack(5000, 10, 2)
    >>> pca = PCA(n_components=2, epsilon=1.0, delta=1e-6).fit(data.rows)
    >>> pca.components_.shape
    (2, 10)
    >>> bool(pca.privacy_.verify())
    True
    """

    n_components: int | None = None
    _: KW_ONLY
    row_norm: float = 1.0
    center: Any = None

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[SubspaceProblem, PrincipalComponents]:
        problem = self._problem(n_rows, n_features)
        return AnalyzeGauss(self._row_bound()).prepare(problem, budget, neighbors)

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        found: PrincipalComponents = outcome.result
        self.components_ = found.components
        self.explained_variance_ = found.variances
        self.explained_variance_ratio_ = found.ratios
        self.noise_edge_ = found.noise_edge
        self._keep_center(found.center, plan.n_features)
