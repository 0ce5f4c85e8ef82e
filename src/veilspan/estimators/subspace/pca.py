"""Private principal component analysis that finds its own centre and bound."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veilspan.estimators.noise.summary import (
    Parts,
    name_columns,
    summarize_components,
    summarize_place,
)
from veilspan.estimators.subspace.base import SubspaceEstimator
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.subspace.analyze_gauss import AnalyzeGauss, PrincipalComponents
from veilspan.solvers.subspace.base import SubspaceProblem
from veilspan.solvers.subspace.unbounded.scaled_pca import ScaledPCA
from veilspan.solvers.subspace.unbounded.stretched_pca import StretchedPCA

#: Attributes that say how sure it is: of components, of the mean.
BARS = ("component_angles_", "sampled_angles_", "mean_bars_", "sampled_mean_bars_")


@dataclass(eq=False, repr=False)
class PCA(SubspaceEstimator):
    r"""Differentially private PCA; centre and bound are found where nobody gives them.

    ``PCA().fit(X)`` answers what scikit-learn's PCA answers: the directions of largest variance
    about the mean, in the units of the columns. Four questions share the budget
    (:class:`~veilspan.solvers.subspace.unbounded.stretched_pca.StretchedPCA`): two *looks* (4 % of
    it) find a private mean and how long rows are around it, so that a bound R can be chosen; then

        M = sum_i x_i x_i^T + symmetric Gaussian noise

    of the centred rows, each shortened to R if it is longer ("Analyze Gauss", Dwork, Talwar,
    Thakurta & Zhang 2014), is released, and once more for rows that the first M says how to
    stretch. One row moves such a sum by at most sqrt(2) R^2 in Frobenius norm under replace-one and
    by R^2 under add-remove (proof: :class:`~veilspan.queries.moments.SecondMoment`); the noise is
    calibrated exactly and isotropic in the Frobenius geometry. Where the released numbers say that
    noise, or a mean that was not subtracted, is what was found, a warning says so.

    With a public ``row_norm`` *and* a ``center`` other than ``"auto"`` one M takes the whole
    budget.

    Parameters
    ----------
    n_components : int or float, optional
        Number of components; all by default. A share such as 0.95 keeps as few as hold it by the
        released variances, with what noise adds taken off.
    epsilon, delta : float
        The budget. ``epsilon=inf`` runs the same code without noise.
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation. Under add-remove the number of rows is private, and 2 % of the budget
        (of mu^2) is spent on a noisy count that scales the variances.
    row_norm : float, optional
        Public bound R on the length of a (centred) row; longer rows are shortened to it. With a
        schema, in units of the longest row that it allows. ``None`` finds one.
    center : "auto", "origin", "private", array of shape (n_features,) or None
        What to subtract first. ``"auto"`` finds a private mean; ``"origin"``, or ``None`` without a
        schema, subtracts nothing: the first component of rows that lie far from the origin then
        points to their mean. An array is a public vector. ``"private"`` is ``"auto"``, unless
        ``row_norm`` is given: a mean of rows bounded by that (10 % of the budget).
    scale : None or "private"
        ``"private"`` divides columns by private standard deviations: PCA of correlations, which
        is another question. A further 10 % of the budget finds the columns' ranges.
    noise : {"grid", "exact"}
        Gaussian noise rounded to a grid, or the exact discrete Gaussian (up to 141 columns).
    random_state : None or int
        ``None`` draws secure noise. An int makes a reproducible simulation that is *not* private.
    ledger : Dataset, optional
        Account that is charged before any row is read (:class:`veilspan.Ledger`).
    allow_weak : bool
        Whether a promise may be weak: a delta of 1/n or more is refused otherwise, and an epsilon
        above 10 warned of. n is the public number of people, or a public guess.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by decreasing variance.
    explained_variance_ : array of shape (n_components,)
        Noisy mean squared length of the bounded rows along each component, at least 0. Where the
        bound was found, times what shortening took off the sum of all, as the looks saw it.
    explained_variance_ratio_ : array of shape (n_components,)
        Share of the noisy total, with what noise adds taken off; 0 where noise hides it.
    noise_edge_ : float
        Variance that pure noise reaches; components below it carry little signal.
    component_angles_ : array of shape (n_components,)
        Degrees by which noise may have turned each component, with 95 %; 90 where noise hides it.
        By released numbers, for up to 1,000 columns; not about other people who might have come.
    sampled_angles_ : array of shape (n_components,)
        The same of noise and sampling together: degrees between a component and that of all people
        the rows were drawn from, if rows are independent and spread as normal ones. Not of
        correlations (``scale="private"``).
    mean_ : array of shape (n_features,)
        What is subtracted in :meth:`transform`.
    mean_bars_, sampled_mean_bars_ : array of shape (n_features,)
        Noise has moved each number of ``mean_`` by no more than this, with 95 %; noise and sampling
        together have. Where a private mean was released.
    center_used_ : str
        ``"private"``, ``"public"`` or ``"origin"``.
    row_norm_ : float
        The bound R that was used, found or given.
    scale_ : array of shape (n_features,)
        What columns are divided by, with ``scale="private"`` only.
    notes_ : tuple of str
        What released numbers say that a user should know; each was a warning of the fit.
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

    _center_words: ClassVar[tuple[str, ...]] = ("auto", "origin", "private")
    _takes_shares: ClassVar[bool] = True

    n_components: Any = None
    _: KW_ONLY
    row_norm: float | None = None
    center: Any = "auto"
    scale: str | None = None

    def _column_scale(self) -> Any:
        """What columns were divided by: 1 unless they were scaled."""
        return getattr(self, "scale_", 1.0)

    def _directions(self) -> np.ndarray:
        return np.asarray(self.components_ / self._column_scale())

    def _moves(self) -> np.ndarray:
        return np.asarray(self.components_ * self._column_scale())

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[SubspaceProblem, PrincipalComponents]:
        if self.scale not in (None, "private"):
            raise ValueError(f'scale must be None or "private"; got {self.scale!r}.')
        problem, share = self._problem(n_rows, n_features), self._wanted_share()
        row_norm = None if self.row_norm is None else self._row_bound()
        if self.scale is not None:
            solver: Any = ScaledPCA(row_norm, share)
        elif row_norm is not None and self._center_word != "auto":
            solver = AnalyzeGauss(row_norm, share)
        else:
            largest = None if self.schema is None else self._row_bound()
            solver = StretchedPCA(row_norm, largest, share)
        prepared: Prepared[SubspaceProblem, PrincipalComponents] = solver.prepare(
            problem, budget, neighbors
        )
        return prepared

    @property
    def _center_word(self) -> str | None:
        return self.center if isinstance(self.center, str) else None

    def _problem(self, n_rows: int | None, n_features: int) -> SubspaceProblem:
        problem = super()._problem(n_rows, n_features)
        if self._center_word == "auto":
            problem = replace(problem, private_center=self._row_bound())
        return problem

    def _row_bound(self) -> float:
        if self.row_norm is not None:
            return super()._row_bound()
        return 1.0 if self.schema is None else float(self.schema.row_norm)

    def _wanted_share(self) -> float | None:
        """Share of the variance that is asked for in place of a number of components."""
        wanted = self.n_components
        if isinstance(wanted, (float, np.floating)) and 0 < wanted < 1:
            return float(wanted)
        return None

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        found: PrincipalComponents = outcome.result
        self.components_ = found.components
        self.explained_variance_ = found.variances
        self.explained_variance_ratio_ = found.ratios
        self.noise_edge_ = found.noise_edge
        self._keep_bars(found, plan.budget.is_private)
        self.row_norm_ = float(found.row_norm or self._row_bound())
        if found.scale is not None:
            self.scale_ = found.scale
        elif hasattr(self, "scale_"):
            del self.scale_  # of an earlier fit
        self._keep_center(found.center, plan.n_features)
        self.center_used_ = self._name_center(found)
        self._keep_notes(found.notes)

    def _forget_bars(self) -> None:
        for name in BARS:
            self.__dict__.pop(name, None)

    def _keep_bars(self, found: PrincipalComponents, private: bool) -> None:
        self._forget_bars()
        if not private:
            return
        if found.angles is not None:
            self.component_angles_ = found.angles.noise
            if found.angles.sampled is not None:
                self.sampled_angles_ = found.angles.sampled
        if found.doubt is not None:
            self.mean_bars_ = found.doubt.bars(sampling=False)
            self.sampled_mean_bars_ = found.doubt.bars(sampling=True)

    def _name_center(self, found: PrincipalComponents) -> str:
        if found.center is None:
            return "origin"
        return "public" if self._center_word is None and self.center is not None else "private"

    def _summary_parts(self) -> Parts:
        told = vars(self).get
        parts = summarize_components(
            self.explained_variance_ratio_, told("component_angles_"), told("sampled_angles_")
        )
        bars = told("mean_bars_")
        if bars is None:
            return parts
        names = name_columns(self, len(self.mean_))
        place = summarize_place(names, self.mean_, bars, told("sampled_mean_bars_"))
        return parts._replace(more=(place,))

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        shapes = super()._learned_shapes(n_features)
        own = {"row_norm_": (), "scale_": (n_features,)}
        own |= dict.fromkeys(BARS[:2], (self.n_components_,))
        own |= dict.fromkeys(BARS[2:], (n_features,))
        for name, shape in own.items():
            if hasattr(self, name):  # releases of earlier versions have not all
                shapes[name] = shape
        return shapes
