"""The private Fréchet mean of points on a manifold."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from veilspan.curator.silence import quiet
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.manifold.base import LARGEST_CLIP, ManifoldEstimator
from veilspan.estimators.manifold.points import (
    as_points,
    flat_points,
    points_from_tangent,
    rows_on_manifold,
    tangent_vectors,
    tangent_width,
)
from veilspan.estimators.noise.loud_noise import find_loud_mean
from veilspan.estimators.noise.mean_radius import find_mean_radius, summarize_mean
from veilspan.estimators.noise.summary import Parts
from veilspan.estimators.validation import own_numbers, validate_table
from veilspan.geometry import Ball, Manifold
from veilspan.losses.manifold import FrechetLoss
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome
from veilspan.solvers.manifold.base import ManifoldSolver


@dataclass(eq=False, repr=False)
class _FirstParameter:
    """The manifold comes first, before epsilon and delta, which may be given by position too.

    Fields of a dataclass are in the order of its bases, the last base first.
    """

    manifold: Manifold


@dataclass(eq=False, repr=False)
class FrechetMean(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ManifoldEstimator, _FirstParameter
):
    r"""Private Fréchet mean: the point with the least mean squared distance to all points.

    Every row is a point of a manifold. Gradients -log_w z are clipped in the Riemannian norm at
    the current iterate w, summed, and given Gaussian noise in the tangent space.

    **Where the points live is public.** ``ball`` says it before any point is seen: a centre to
    start from and a radius that bounds the gradient. A point outside is pulled in along the
    geodesic to the centre, so a far point still counts, with its direction, at the ball's
    boundary: the mean is then that of the pulled-in points. A ball that is too large costs little,
    as the default solver measures privately how far points really are; one that is too small
    biases the mean towards its centre. :meth:`Ball.from_eigenvalues
    <veilspan.geometry.Ball.from_eigenvalues>` and ``Ball.from_norm`` turn knowledge of the domain
    into a ball.

    **Points.** That rows are points of the manifold is treated as public, like the table's shape.
    Rows that miss it by rounding (1e-6) are put on it, matrices that are not quite symmetric by
    their symmetric part; anything else is refused with an error that names no row.

    Parameters
    ----------
    manifold : Manifold
        Any with ``exp`` and ``log`` (see :mod:`veilspan.geometry`).
    epsilon : float
        Privacy budget; ``math.inf`` for the same method without privacy.
    delta : float
        Failure probability of the guarantee, far below 1/n.
    ball : Ball
        Where points live. May be left out only without privacy.
    solver : solver, optional
        :class:`~veilspan.CalibratedDescent` by default; or RGD, RSGD, RSVRG with settings of your
        own, which clip at the ball's radius.
    neighbors : {"replace-one", "add-remove"}
        Which tables count as neighbours.
    noise : {"grid", "exact"}
        See :class:`veilspan.PCA`.
    random_state : int or None
        ``None`` for secure noise; an int simulates and is not private.
    ledger : Dataset, optional
        Account that is charged before any row is read (:class:`veilspan.Ledger`).
    allow_weak : bool
        Whether a promise may be weak: a delta of 1/n or more is refused otherwise, and an epsilon
        above 10 warned of. n is the public number of people, or a public guess.

    Attributes
    ----------
    mean_ : array of shape ``manifold.point_shape``
        The mean.
    mean_radius_ : float
        With 95 % the mean without noise lies within this distance of ``mean_``: by noise alone,
        with the default solver only.
    privacy_ : PrivacyStatement
        What was promised and spent.
    plan_ : Plan
        What was asked.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import FrechetMean
    >>> from veilspan.datasets import make_spd
    >>> from veilspan.geometry import SPD, Ball
    >>> matrices = make_spd(5000, 3, random_state=0).points
    >>> ball = Ball.from_eigenvalues(SPD(3), 0.01, 100.0)  # known before looking
    >>> mean = FrechetMean(SPD(3), epsilon=1.0, ball=ball).fit(matrices)
    >>> mean.mean_.shape, mean.transform(matrices).shape
    ((3, 3), (5000, 6))
    """

    _assumptions: ClassVar[tuple[str, ...]] = (
        "that rows are points of the manifold, up to rounding, is public",
    )

    epsilon: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    ball: Ball | None = None
    solver: ManifoldSolver | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the mean of points within the budget.

        Parameters
        ----------
        X : array of shape (n_samples, *point_shape), or flattened to two dimensions
            One point per person.
        y : None
            Ignored.
        """
        return super().fit(flat_points(X, self._check_manifold()))

    @lazy_for_dask(lambda model: tangent_width(model.manifold))
    def transform(self, X: Any) -> np.ndarray:
        """Tangent coordinates of points at the mean: log_mean(x), isometric at the mean.

        The points are the caller's own: nothing is spent. Euclidean methods (PCA, a classifier)
        can go on from here.

        Parameters
        ----------
        X : array of shape (n_samples, *point_shape), or flattened
            Points.

        Returns
        -------
        array of shape (n_samples, n_coordinates)
            For symmetric matrices the upper triangle, off-diagonal entries times sqrt(2).
            Elsewhere the manifold's own coordinates, which may be more than its dimension.
        """
        check_is_fitted(self)
        flat = flat_points(X, self.manifold)
        table = validate_table(self, flat, reset=False, dtype="numeric")
        points = as_points(table, self.manifold)
        return tangent_vectors(self.manifold, self.mean_, points)

    @lazy_for_dask(lambda model: tuple(model.manifold.point_shape), of_rows=False)
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points of tangent coordinates at the mean, of shape (n_samples, *point_shape)."""
        check_is_fitted(self)
        vectors = own_numbers(X)
        if vectors.ndim != 2 or vectors.shape[1] != self._n_features_out:
            raise ValueError(
                f"coordinates must have {self._n_features_out} columns; got shape {vectors.shape}."
            )
        return points_from_tangent(self.manifold, self.mean_, vectors)

    def _check_manifold(self) -> Manifold:
        if not isinstance(self.manifold, Manifold):
            raise TypeError(
                f"manifold must be a veilspan.geometry.Manifold; got {type(self.manifold).__name__}"
            )
        return self.manifold

    def _loss(self) -> FrechetLoss:
        return FrechetLoss(self._check_manifold())

    def _start(self) -> np.ndarray:
        return self.manifold.reference_point if self.ball is None else self.ball.center

    def _clip(self) -> float:
        if self.ball is not None:
            if not isinstance(self.ball, Ball) or self.ball.manifold != self.manifold:
                raise ValueError(f"ball must be a Ball of {self.manifold}; got {self.ball!r}.")
            if math.isfinite(self.ball.radius):
                return self.ball.radius
        if math.isinf(self.epsilon):
            return LARGEST_CLIP
        raise ValueError(
            "a private mean needs to know where points live, chosen without looking at them: "
            "give ball=Ball(manifold, center, radius), or Ball.from_eigenvalues(manifold, low, "
            "high) for positive definite matrices."
        )

    def _rows_for_curator(self, table: Any, targets: Any) -> Any:
        with quiet():
            return rows_on_manifold(table, self.manifold, self.ball)

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {"mean_": tuple(self.manifold.point_shape)}
        return {**shapes, "mean_radius_": ()} if hasattr(self, "mean_radius_") else shapes

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        self.mean_ = outcome.result.point
        radius = find_mean_radius(outcome.result.trace, self.manifold.dim)
        self.__dict__.pop("mean_radius_", None)
        if radius is not None and plan.budget.is_private:
            self.mean_radius_ = radius

    def _summary_parts(self) -> Parts:
        return summarize_mean(self, getattr(self, "mean_radius_", None))

    def _find_loud_noise(self, outcome: Outcome, plan: Plan) -> tuple[str, ...]:
        return find_loud_mean(outcome.result.trace, plan, self.manifold.dim)

    @property
    def _n_features_out(self) -> int:
        return tangent_width(self.manifold)
