"""Private principal component analysis by one noisy second moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.estimators.subspace.base import SubspaceEstimator
from veilspan.ledger.dataset import Dataset
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import check_neighbors
from veilspan.privacy.plan import Plan
from veilspan.queries.moments import SecondMoment
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge

SECOND_MOMENT = "second moment"


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

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        neighbors: str = "replace-one",
        row_norm: float = 1.0,
        center: Any = None,
        noise: str = "grid",
        random_state: int | None = None,
        ledger: Dataset | None = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.neighbors = neighbors
        self.row_norm = row_norm
        self.center = center
        self.noise = noise
        self.random_state = random_state
        self.ledger = ledger

    def _plan(self, budget: Budget, n_rows: int | None, n_features: int) -> Plan:
        self._check_subspace_parameters(n_features)
        neighbors = check_neighbors(self.neighbors)
        wanted, shares = self._schedule(n_rows, (GaussianEvent(SECOND_MOMENT),), (1.0,))
        events = calibrate_noise(budget, wanted, neighbors=neighbors, weights=shares)
        sensitivity = SecondMoment(self.row_norm).sensitivity(neighbors)
        edge = noise_edge(events[-1].noise_multiplier * sensitivity, n_features)
        return Plan(
            method=type(self).__name__,
            budget=budget,
            neighbors=neighbors,
            n_rows=n_rows,
            n_features=n_features,
            events=events,
            decisions={
                "row_norm": float(self.row_norm),
                "noise edge, sum over rows": float(f"{edge:.4g}"),
                **({"noise edge, variance": float(f"{edge / n_rows:.4g}")} if n_rows else {}),
            },
        )

    def _run(self, curator: Curator) -> None:
        width = curator.n_features
        rows, center = self._rows_and_center(curator)
        answer = curator.answer(SecondMoment(self.row_norm), center, event=SECOND_MOMENT)
        values, self.components_ = leading_eigenvectors(answer.value, self._count(width))
        values = np.maximum(values, 0.0)
        total = max(float(np.trace(answer.value)), float(values.sum()), 1e-300)
        self.n_components_ = len(self.components_)
        self.mean_ = np.zeros(width) if center is None else center
        self.explained_variance_ = values / rows
        self.explained_variance_ratio_ = values / total
        self.noise_edge_ = noise_edge(answer.noise_std, width) / rows
