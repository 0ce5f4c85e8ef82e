"""Private principal components that survive outliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veilspan._scales import check_scale
from veilspan.estimators.by_person import also_by_person
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.noise.summary import Parts, summarize_subspace
from veilspan.estimators.subspace.base import SubspaceEstimator
from veilspan.estimators.subspace.centre_plan import prepare_with_centre
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.errors import CenterWarning, LoudNoiseWarning
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.spectral import stands_out
from veilspan.solvers.subspace.base import SubspaceProblem, SubspaceResult
from veilspan.solvers.subspace.by_name import subspace_solver
from veilspan.solvers.subspace.centre.stage import FoundCentre
from veilspan.solvers.subspace.descent import SubspaceDescent
from veilspan.solvers.subspace.unbounded.component_angles import angle_of_spectrum

PLACE_UNKNOWN = (
    "the rows lie to one side of the origin, so the subspace was found by differences of paired "
    "rows: its directions are known, its place is not. mean_ is zero, and score_samples, transform "
    "and inverse_transform measure from the origin. Give center= a public vector near the rows, or "
    'say center="pairs" if directions are all you need.'
)
ONLY_NOISE = (
    "no direction stands out of the noise: the components are those of noise. More rows or a "
    "larger epsilon would help."
)


@dataclass(eq=False, repr=False)
class RobustPCA(SubspaceEstimator):
    r"""Differentially private PCA that survives outliers.

    Rows (minus a centre) are scaled to the unit sphere, so no row counts more than another; rows at
    the centre stay zero and count as rows. Then a solver looks for the r-dimensional subspace that
    most rows lie near, whatever the others do.

    Parameters
    ----------
    n_components : int, optional
        Dimension r. ``None`` chooses it from the spectrum that the solver's start releases anyway,
        at no extra cost.
    epsilon, delta : float
        The budget. ``epsilon=inf`` runs the same code without noise.
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation. Under add-remove the number of rows is private, and 2 % of the budget
        (of mu^2) is spent on a noisy count.
    solver : str or solver
        ``"auto"`` is ``"rspca"``, the recursive spherical PCA
        (:class:`~veilspan.solvers.subspace.recursive_spherical.RecursiveSpherical`). The methods of
        Maunu, Yu & Lerman (2022), with corrected noise and a start that is charged: ``"ggd"`` and
        ``"sggd"`` (geodesic gradient descent, full-batch and Poisson-sampled), ``"reaper-gd"``,
        ``"reaper-sgd"``, ``"reaper-md"``, ``"reaper-smd"``. An instance of a solver class sets its
        options.
    center : "auto", "origin", "pairs", "private", array of shape (n_features,) or None
        What rows are centred at. ``"auto"`` pays 3 to 5 % of the budget to find out: the origin, a
        cluster of rows that is left out, or pairs, whichever the released numbers ask for
        (:mod:`veilspan.solvers.subspace.centre.verdict`); with a schema it is ``"private"``, with
        ``noise_std`` the origin. ``"origin"``, or ``None``, subtracts nothing (``None`` with a
        schema: ``"private"``). An array is a public vector to subtract, ``"private"`` a private
        mean of rows bounded by ``row_norm`` (10 % of the budget). ``"pairs"`` are differences of
        randomly paired rows, which cost no budget and find the *direction* of an affine subspace
        with an unknown centre. Pairs halve the number of rows and square the inlier share (a pair
        is an inlier only if both rows are), so use them when most rows are inliers; they need
        replace-one. Where ``"auto"`` finds that it needs them under add-remove, it refuses.
    row_norm : float
        Public bound on the length of a row, used by ``center="private"`` only.
    noise_std : float, optional
        For the solvers of the paper: standard deviation of the noise on the *mean* gradient of
        every step (NGGD, NSGGD), instead of what the budget would give. ``epsilon`` then pays for
        the start alone, and ``privacy_`` states what all of it truly costs. Needs replace-one.
    noise : {"grid", "exact"}
        Gaussian noise rounded to a grid, or the exact discrete Gaussian (small answers only).
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
        Orthonormal rows that span the subspace. Inside it they follow the released second moment of
        the start, largest share first.
    spectrum_ : array of shape (n_features,)
        Noisy eigenvalues of the mean of x x^T over unit rows; they sum to about 1.
    noise_edge_ : float
        Eigenvalue that pure noise reaches in ``spectrum_``.
    subspace_angle_ : float
        Degrees by which noise may have turned the subspace, with 95 %, by the spectrum of the
        start: an upper end, since later questions bring it nearer. 90 where noise hides it.
    mean_ : array of shape (n_features,)
        What :meth:`transform` subtracts; zero for pairs, where it is not known.
    center_used_ : str
        ``"origin"``, ``"pairs"``, ``"cap"`` (the origin, a cluster of rows left out), ``"private"``
        or ``"public"``.
    center_reason_ : str
        Why, in words and released numbers; who asked for it where it was asked for.
    privacy_ : PrivacyStatement
        What was promised and spent.

    Examples
    --------
    >>> from veilspan import RobustPCA
    >>> from veilspan.datasets import make_haystack
    >>> data = make_haystack(5000, 20, 2, noise=0.05)
    >>> pca = RobustPCA(n_components=2, epsilon=1.0).fit(data.rows)
    >>> bool(pca.privacy_.verify())
    True
    """

    _center_words: ClassVar[tuple[str, ...]] = ("auto", "origin", "private", "pairs")
    _solver_label: ClassVar[str] = " ({0.solver.__class__.__name__})"

    n_components: int | None = None
    _: KW_ONLY
    solver: Any = "auto"
    center: Any = "auto"
    row_norm: float = 1.0
    noise_std: float | None = None

    @also_by_person
    @lazy_for_dask(lambda model: None)
    def score_samples(self, X: Any) -> np.ndarray:
        """Residual ratio |x - P x| / |x| of the caller's own rows: near 0 inlier, near 1 outlier.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows; a row at the centre scores 0.
        by_person : bool
            With a schema whose units have an ``id``: an answer for each person, as a
            :class:`~veilspan.estimators.by_person.ByPerson`.
        """
        table = self._own_rows(X)
        rows = (table.toarray() if hasattr(table, "toarray") else table) - self.mean_
        residual = np.linalg.norm(rows - (rows @ self.components_.T) @ self.components_, axis=1)
        length = np.linalg.norm(rows, axis=1)
        return residual / np.where(length > 0, length, 1.0)

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[SubspaceProblem, SubspaceResult]:
        word = self._center_word
        if word == "pairs":
            if n_rows is None:
                raise ValueError('center="pairs" needs neighbors="replace-one".')
            if n_rows < 4:
                raise ValueError('center="pairs" needs at least 4 rows.')
            n_rows //= 2
        solver = subspace_solver(self.solver)
        problem = self._problem(n_rows, n_features)
        if self.noise_std is not None:
            prepared = self._prepare_with_noise(solver, problem, budget)
        elif word == "auto" and self.schema is None:
            prepared = prepare_with_centre(solver, problem, budget, neighbors)
        else:
            prepared = solver.prepare(problem, budget, neighbors)
        return replace(prepared, paired=True) if word == "pairs" else prepared

    @property
    def _center_word(self) -> str | None:
        return self.center if isinstance(self.center, str) else None

    def _prepare_with_noise(
        self, solver: Any, problem: SubspaceProblem, budget: Budget
    ) -> Prepared[SubspaceProblem, SubspaceResult]:
        """The solver with the noise that was given, and what that noise comes to."""
        std = check_scale(self.noise_std, "noise_std")
        full = problem.n_rows is not None and problem.private_center is None
        if not (isinstance(solver, SubspaceDescent) and full):
            raise ValueError(
                "noise_std is for the solvers of the paper (ggd, sggd, reaper-...) under "
                "replace-one, without a private centre."
            )
        prepared = solver.prepare_with_noise(problem, budget, std)
        spent = epsilon_spent(prepared.events, budget.delta, neighbors="replace-one")
        # A trifle more, for the rounding of another machine; 0 if delta alone covers it all.
        stated = Budget(max(spent * (1 + 1e-9), LEAST_EPSILON), budget.delta)
        return replace(prepared, stated=stated)

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        found: SubspaceResult = outcome.result
        self.components_ = np.ascontiguousarray(found.basis.T)
        self.spectrum_ = found.spectrum
        self.noise_edge_ = found.noise_edge
        self._forget_bars()
        if plan.budget.is_private and found.spectrum is not None and found.noise_edge is not None:
            count = len(self.components_)
            self.subspace_angle_ = angle_of_spectrum(found.spectrum, found.noise_edge, count)
        self._keep_center(found.center, plan.n_features)
        self.center_used_, self.center_reason_ = self._describe_center(outcome)
        self._keep_notes(tuple(self._find_notes()))

    def _forget_bars(self) -> None:
        self.__dict__.pop("subspace_angle_", None)

    def _summary_parts(self) -> Parts:
        return summarize_subspace(self.spectrum_, getattr(self, "subspace_angle_", None))

    def _find_notes(self) -> Iterator[tuple[type[UserWarning], str]]:
        """What a user should know, from what is public or released."""
        if self.center_used_ == "pairs" and self._center_word == "auto":
            yield CenterWarning, PLACE_UNKNOWN
        edge, spectrum = self.noise_edge_, self.spectrum_
        if edge is not None and spectrum is not None and not stands_out(spectrum, edge):
            yield LoudNoiseWarning, ONLY_NOISE

    def _describe_center(self, outcome: Outcome) -> tuple[str, str]:
        """Which centre was used, and why, from what is public or released."""
        for found in outcome.maps:
            if isinstance(found, FoundCentre):
                return found.verdict.centre, found.verdict.reason
        asked = self._center_word or ("origin" if self.center is None else "public")
        if outcome.result.center is not None and asked != "public":
            return "private", "a private mean of the rows, " + (
                "as asked" if asked == "private" else "which the schema's bounds allow"
            )
        if asked == "auto":
            return "origin", "a given noise_std leaves no budget to look for another"
        return asked, "as asked"
