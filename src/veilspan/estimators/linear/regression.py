r"""Private linear regressions: squared loss with and without penalties, and Huber's loss.

Targets are clipped to a public range [lo, hi] and scaled to t in [-1, 1]: by the middle and half of
the width with an intercept, by the larger end without (a shift would be one). The loss is on t and
the scaled rows; ``coef_`` and ``intercept_`` are in the units of y and the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from veilspan._scales import check_location, check_scale, check_width
from veilspan.curator.dask.table import DaskTargets
from veilspan.curator.row_maps import row_map
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.linear.base import LinearEstimator, noise_threshold, strength_per_row
from veilspan.estimators.schema_input import refuse_said_twice
from veilspan.estimators.validation import refuse_lazy_score
from veilspan.losses.linear import Huber, LinearLoss, Squared
from veilspan.losses.penalties import L1, L2, NoPenalty, Penalty
from veilspan.losses.penalties import ElasticNet as ElasticNetPenalty
from veilspan.privacy.budget import Budget

PUBLIC_TARGETS = "target_range was set without the data; targets outside are clipped to it"


@dataclass(eq=False, repr=False, kw_only=True)
class RegressorParameters:
    """Parameters that all regressions have.

    Parameters
    ----------
    target_range : (float, float)
        Public lowest and highest target; needed.
    """

    target_range: Any = None


class LinearRegressor(RegressorParameters, RegressorMixin, LinearEstimator):
    """Base of the regressions: targets in and out."""

    _y_options: ClassVar[dict[str, Any]] = {"y_numeric": True}
    _assumptions: ClassVar[tuple[str, ...]] = (PUBLIC_TARGETS,)

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        if "feature_map_" in vars(self):
            return self._check_features(n_features, 1)
        return {"coef_": (n_features,), "intercept_": ()}

    @lazy_for_dask(lambda model: None)
    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets of rows; nothing is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows.
        """
        return self._scores(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Coefficient of determination R^2 of the predictions; nothing is spent.

        Parameters
        ----------
        X, y : array-like or CSR matrix of shape (n_samples, n_features), array-like
            Any rows and their targets, in memory. With a schema the table alone: targets are its
            target column, and rows without one are left out.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        """
        refuse_lazy_score(X, y, sample_weight)
        if self.schema is not None:
            scores, targets, weights = self._own_scores_and_targets(X, y, sample_weight)
            return float(r2_score(targets, scores, sample_weight=weights))
        return float(super().score(X, y, sample_weight))

    def _encode(self, y: Any) -> Any:
        middle, half = self._target_scale()
        low, high = self._range_of_targets()
        if isinstance(y, DaskTargets):
            return y.mapped(_checked_scaled, low, high, middle, half)
        return _scaled(y, low, high, middle, half)

    def _schema_targets(self, schema: Any) -> Callable[[np.ndarray], np.ndarray]:
        low, high = self._range_of_targets()
        middle, half = self._target_scale()
        return partial(_scaled, low=low, high=high, middle=middle, half=half)

    def _range_of_targets(self) -> tuple[float, float]:
        """Lowest and highest target, as the user or the schema says."""
        if self.schema is None:
            return _checked_target_range(self.target_range, type(self).__name__)
        refuse_said_twice(self, "target_range")
        if self.schema.target_range is None:
            raise ValueError(
                f"{type(self).__name__} predicts numbers; the schema has no target that holds "
                'numbers. Use a classifier, or give a number the role "target".'
            )
        return _checked_target_range(self.schema.target_range, type(self).__name__)

    def _decode(self, coefficients: np.ndarray, constant: np.ndarray) -> None:
        middle, half = self._target_scale()
        self.coef_ = half * coefficients
        self.intercept_ = float(middle + half * constant)

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        """Predictions of a table model: in the units of y, and within its range."""
        middle, half = self._target_scale()
        return np.clip(middle + half * scores[:, 0], *self._range_of_targets())

    def _target_scale(self) -> tuple[float, float]:
        """Middle and half width; without an intercept zero and the larger end."""
        low, high = self._range_of_targets()
        if not self.fit_intercept:
            return 0.0, max(abs(low), abs(high))
        return low / 2 + high / 2, high / 2 - low / 2

    def _loss(self) -> LinearLoss:
        self._target_scale()
        return Squared()

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        return NoPenalty()


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(LinearRegressor):
    r"""Differentially private least squares.

    Parameters
    ----------
    target_range : (float, float)
        Public lowest and highest target; needed. Targets outside are clipped.
    fit_intercept, intercept_scaling, solver, clip, selection
        See :class:`~veilspan.estimators.linear.parameters.LinearParameters`.
    feature_range, row_norm, center, bounds, expected_rows
        See there as well; one of ``feature_range``, ``row_norm`` and ``bounds`` is needed.
    epsilon, delta, neighbors, noise, random_state
        The budget, the neighbour relation, the noise: as in all estimators.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), float
        In the units of the features and targets.
    n_iter_, trace_, stopped_ : int, list of dict, str
        What the solver did, from noisy answers alone.
    plan_, privacy_ : Plan, PrivacyStatement
        What was asked; what was promised and spent.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import LinearRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = X @ [3.0, -1.0] + 5
    >>> model = LinearRegression(feature_range=(-1, 1), target_range=(0, 10)).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class Ridge(LinearRegressor):
    r"""Differentially private ridge regression: |t - X theta|^2 + alpha |theta|^2 on scaled rows.

    Parameters
    ----------
    alpha : float, optional
        As in scikit-learn, but **on the scaled rows and targets**. ``None`` leaves regularisation
        to the solver.
    target_range, fit_intercept, ..., random_state
        As in :class:`LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, trace_, stopped_, plan_, privacy_
        As in :class:`LinearRegression`.
    """

    alpha: float | None = field(default=None, kw_only=False)

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        alpha = _strength(self.alpha)
        return NoPenalty() if alpha is None else L2(strength_per_row(alpha, rows, "alpha"))


@dataclass(eq=False, repr=False, kw_only=True)
class Lasso(LinearRegressor):
    r"""Differentially private lasso: |t - X theta|^2 / (2n) + alpha |theta|_1 on scaled rows.

    Parameters
    ----------
    alpha : float, optional
        As in scikit-learn, but **on the scaled rows and targets**. ``None`` takes the size of
        noise in a released mean gradient, below which no coefficient can be told from zero
        (:func:`~veilspan.estimators.linear.base.noise_threshold`); 0 without privacy.
    target_range, fit_intercept, ..., random_state
        As in :class:`LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, trace_, stopped_, plan_, privacy_
        As in :class:`LinearRegression`.
    """

    #: A short list of columns is the point of it.
    _default_features: ClassVar[str] = "linear"

    alpha: float | None = field(default=None, kw_only=False)

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        return L1(self._alpha(budget, rows, n_columns))

    def _alpha(self, budget: Budget, rows: int | None, n_columns: int) -> float:
        given = _strength(self.alpha)
        if given is not None:
            return given
        return noise_threshold(budget, rows, n_columns, self.neighbors)


@dataclass(eq=False, repr=False, kw_only=True)
class ElasticNet(Lasso):
    r"""Differentially private elastic net, on scaled rows and targets.

    |t - X theta|^2 / (2n) + alpha l1_ratio |theta|_1 + alpha (1 - l1_ratio) |theta|^2 / 2.

    Parameters
    ----------
    alpha : float, optional
        As in :class:`Lasso`.
    l1_ratio : float
        Between 0 (ridge) and 1 (lasso).
    target_range, fit_intercept, ..., random_state
        As in :class:`LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, trace_, stopped_, plan_, privacy_
        As in :class:`LinearRegression`.
    """

    l1_ratio: float = 0.5

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        return ElasticNetPenalty(self._alpha(budget, rows, n_columns), self.l1_ratio)


@dataclass(eq=False, repr=False, kw_only=True)
class HuberRegressor(LinearRegressor):
    r"""Differentially private regression with Huber's loss, linear in large residuals.

    Unlike scikit-learn's, the threshold is public and in units of y, not a multiple of a scale
    that is estimated from the residuals; ``epsilon`` is the privacy budget.

    Parameters
    ----------
    threshold : float, optional
        Where the loss turns linear, in units of y; by default a tenth of the width of
        ``target_range``.
    alpha : float, optional
        Ridge penalty as in :class:`Ridge`.
    target_range, fit_intercept, ..., random_state
        As in :class:`LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, trace_, stopped_, plan_, privacy_
        As in :class:`LinearRegression`.
    """

    threshold: float | None = None
    alpha: float | None = None

    def _loss(self) -> LinearLoss:
        low, high = self._range_of_targets()
        width = 0.1 * (high - low)
        if self.threshold is not None:
            width = check_scale(self.threshold, "threshold")
        return Huber(width / self._target_scale()[1])

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        alpha = _strength(self.alpha)
        return NoPenalty() if alpha is None else L2(strength_per_row(alpha, rows, "alpha"))


def _strength(alpha: Any) -> float | None:
    if alpha is None or (not isinstance(alpha, bool) and alpha == 0):
        return alpha
    return check_scale(alpha, "alpha")


@row_map
def _scaled(y: Any, low: float, high: float, middle: float, half: float) -> np.ndarray:
    """Targets clipped to their range, as numbers around 0."""
    return (np.clip(np.asarray(y, dtype=np.float64), low, high) - middle) / half


def _checked_scaled(y: Any, low: float, high: float, middle: float, half: float) -> np.ndarray:
    """The same for targets that nobody has looked at yet."""
    if np.asarray(y).dtype.kind not in "fiub" or not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers.")
    return _scaled(y, low, high, middle, half)


def _checked_target_range(target_range: Any, owner: str) -> tuple[float, float]:
    if target_range is None:
        raise ValueError(
            f"{owner} needs a range of targets that is known without the data: say "
            f"{owner}(target_range=(lo, hi))."
        )
    try:
        low, high = (float(end) for end in target_range)
    except (TypeError, ValueError):
        raise ValueError("target_range must be two numbers (lowest, highest target).") from None
    if not low < high:  # false where an end is not a number
        raise ValueError(f"target_range must be finite and increasing; got ({low:g}, {high:g}).")
    check_location((low, high), "target_range")
    check_width(low, high, "target_range")
    return low, high
