r"""Private linear regressions: squared loss with and without penalties, and Huber's loss.

Targets are clipped to a range [lo, hi] and scaled to t in [-1, 1]: by the middle and half of
the width with an intercept, by the larger end without (a shift would be one). The loss is on t and
the scaled rows; ``coef_`` and ``intercept_`` are in the units of y and the features. Predictions
keep to [lo, hi] as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from veilspan._scales import check_location, check_scale, check_width
from veilspan.curator.dask.table import DaskTargets
from veilspan.estimators.by_person import also_by_person
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.linear.base import LinearEstimator, noise_threshold, strength_per_row
from veilspan.estimators.schema_input import refuse_said_twice
from veilspan.estimators.validation import own_numbers, own_score, refuse_lazy_score
from veilspan.losses.linear import Huber, LinearLoss, Quantile, Squared
from veilspan.losses.nonconvex import Biweight
from veilspan.losses.penalties import L1, L2, NoPenalty, Penalty
from veilspan.losses.penalties import ElasticNet as ElasticNetPenalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.plan import Plan
from veilspan.queries.linear.target_scaling import TargetScaling
from veilspan.solvers.base import Outcome
from veilspan.solvers.linear.asked.target_range import WARNINGS
from veilspan.solvers.linear.base import LinearSolver
from veilspan.solvers.linear.by_name import linear_solver

PRIVATE_TARGETS = "the range of targets was estimated from them by charged, noisy histograms"
OWN_LOSSES = (Squared, Huber, Quantile, Biweight)  # of residuals
DESCENTS = ("gd", "sgd")  # solvers whose every step is a clipped gradient, and no more
PUBLIC_TARGETS = "target_range was set without the data; targets outside are clipped to it"


@dataclass(eq=False, repr=False, kw_only=True)
class RegressorParameters:
    """Parameters that all regressions have.

    Parameters
    ----------
    target_range : (float, float), optional
        Public lowest and highest target; targets outside are clipped to it, and predictions are
        kept to it. ``None`` pays for a range with 0.025 of the budget (of mu^2).
    """

    target_range: Any = None


class LinearRegressor(RegressorParameters, RegressorMixin, LinearEstimator):
    """Base of the regressions: targets in and out."""

    _y_options: ClassVar[dict[str, Any]] = {"y_numeric": True}
    target_range_: np.ndarray
    target_range_found_: bool

    @property
    def _asks_targets(self) -> bool:  # type: ignore[override]
        """Whether nobody knows the range of targets, so that it is paid for."""
        return self.schema is None and self.target_range is None

    def _rests_on(self) -> tuple[str, ...]:
        targets = PRIVATE_TARGETS if self._asks_targets else PUBLIC_TARGETS
        return (targets, *super()._rests_on())

    def _choose_features(self, *facts: Any) -> Any:
        choice, layout = super()._choose_features(*facts)
        if layout is not None and self._asks_targets:
            raise ValueError(
                f'features="{self.features}" needs a range of targets that is known without the '
                f"data: say {type(self).__name__}(target_range=(lo, hi))."
            )
        return choice, layout

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        if "feature_map_" in vars(self):
            return self._check_features(n_features, 1)
        shapes: dict[str, tuple[int, ...]] = {"coef_": (n_features,), "intercept_": ()}
        if self._asks_targets:
            shapes["target_range_"] = (2,)
            if not isinstance(vars(self).get("target_range_found_", True), bool):
                raise ValueError("whether its range of targets was found is not said by a bool")
        return {**shapes, **self._ranges_shapes(n_features), **self._noise_shapes(n_features)}

    @also_by_person
    @lazy_for_dask(lambda model: None)
    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets of rows, within the range of targets; nothing is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows.
        by_person : bool
            With a schema whose units have an ``id``: an answer for each person, as a
            :class:`~veilspan.estimators.by_person.ByPerson`.
        """
        return self._scores(X)

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, by_person: bool = False
    ) -> float:
        """Coefficient of determination R^2 of the predictions; nothing is spent.

        Parameters
        ----------
        X, y : array-like or CSR matrix of shape (n_samples, n_features), array-like
            Any rows and their targets, in memory. With a schema the table alone: targets are its
            target column, and rows without one are left out.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        by_person : bool
            With a schema whose units have an ``id``: of people, by their combined rows and targets.
        """
        refuse_lazy_score(X, y, sample_weight)
        if self.schema is not None or by_person:
            scores, targets, weights = self._own_scores_and_targets(X, y, sample_weight, by_person)
            return own_score(r2_score, targets, scores, weights)
        predicted = self.predict(X)
        return own_score(r2_score, own_numbers(y, "y"), predicted, sample_weight)

    def _encode(self, y: Any) -> Any:
        scaling = None if self._asks_targets else self._target_scaling()
        if isinstance(y, DaskTargets):
            return y.mapped(_checked_scaled, scaling)
        return np.asarray(y, dtype=np.float64) if scaling is None else scaling(y)

    def _schema_targets(self, schema: Any) -> Callable[[np.ndarray], np.ndarray]:
        return self._target_scaling()

    def _range_of_targets(self) -> tuple[float, float]:
        """Lowest and highest target, as the user or the schema says, or as was released."""
        if self._asks_targets:
            low, high = (float(end) for end in self.target_range_)
            return low, high
        if self.schema is None:
            return _checked_target_range(self.target_range)
        refuse_said_twice(self, "target_range")
        if self.schema.target_range is None:
            raise ValueError(
                f"{type(self).__name__} predicts numbers; the schema has no target that holds "
                'numbers. Use a classifier, or give a number the role "target".'
            )
        return _checked_target_range(self.schema.target_range)

    def _decode(self, coefficients: np.ndarray, constant: np.ndarray) -> None:
        middle, half = self._target_scale()
        self.coef_ = half * coefficients
        self.intercept_ = float(middle + half * constant)

    def _from_scores(self, scores: np.ndarray) -> np.ndarray:
        """Predictions of a table model, in the units of y."""
        middle, half = self._target_scale()
        return np.asarray(middle + half * scores[:, 0])

    def _scores_of_encoded(self, table: Any) -> np.ndarray:
        """Predictions, within the range of targets."""
        return np.clip(super()._scores_of_encoded(table), *self._range_of_targets())

    def _score_unit(self) -> float:
        return self._target_scale()[1]

    def _target_scale(self) -> tuple[float, float]:
        """Middle and half width; without an intercept zero and the larger end."""
        scaling = self._target_scaling()
        return scaling.middle, scaling.half

    def _target_scaling(self) -> TargetScaling:
        return TargetScaling.of_range(*self._range_of_targets(), shifted=bool(self.fit_intercept))

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        for name in ("target_range_", "target_range_found_"):
            self.__dict__.pop(name, None)
        if self._asks_targets:
            targets = outcome.maps[-1].targets
            self.target_range_ = np.array([targets.low, targets.high])
            self.target_range_found_ = targets.lost in (None, "coarse")
        super()._keep(outcome, plan)

    def _find_loud_noise(self, outcome: Outcome, plan: Plan) -> tuple[str, ...]:
        """What else there is, and a range of targets that does not hold them."""
        told = super()._find_loud_noise(outcome, plan)
        lost = outcome.maps[-1].targets.lost if self._asks_targets else None
        return told if lost is None else (*told, WARNINGS[lost])

    def _loss(self) -> LinearLoss:
        self._check_targets()
        return Squared()

    def _check_targets(self) -> None:
        """Refuse an impossible range of targets."""
        if not self._asks_targets:
            self._target_scale()

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        return NoPenalty()


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRegression(LinearRegressor):
    r"""Differentially private least squares.

    Parameters
    ----------
    target_range : (float, float), optional
        Public lowest and highest target; targets outside are clipped. ``None`` pays for a range.
    fit_intercept, intercept_scaling, solver, clip, selection
        See :class:`~veilspan.estimators.linear.parameters.LinearParameters`.
    feature_range, row_norm, center, bounds, expected_rows
        See there as well; where none of ``feature_range``, ``row_norm`` and ``bounds`` is said,
        ranges are paid for.
    epsilon, delta, neighbors, noise, random_state
        The budget, the neighbour relation, the noise: as in all estimators.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), float
        In the units of the features and targets.
    target_range_, target_range_found_ : array of shape (2,), bool
        Released range of the targets; only where it was paid for. Not found where nothing stood
        above the noise (it is (-1, 1) then), and where targets of more than 1.8e19 are cut off.
    feature_range_, columns_used_ : array of shape (2, n_features), array of shape (n_features,)
        Released ranges, and which columns showed anything; only where ranges were paid for.
    clipped_to_ : array of shape (2, n_features)
        Public ends that rows are clipped to, in predictions as well; only with ``feature_range``.
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
    loss : loss, optional
        Another loss of residuals in place of Huber's, on the scale of targets in [-1, 1]:
        ``veilspan.losses.nonconvex.Biweight(0.5)``, to which far residuals do not count at all, or
        ``veilspan.losses.linear.Quantile(0.9)``. One that is not convex needs ``solver="gd"`` or
        ``"sgd"`` (``"auto"`` is ``"gd"`` then).
    target_range, fit_intercept, ..., random_state
        As in :class:`LinearRegression`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, trace_, stopped_, plan_, privacy_
        As in :class:`LinearRegression`.
    """

    threshold: float | None = None
    alpha: float | None = None
    loss: Any = None

    def _loss(self) -> LinearLoss:
        if self.loss is not None:
            if self.threshold is not None:
                raise ValueError("threshold is that of Huber's loss: leave it None with loss=...")
            self._check_targets()
            return own_loss(self.loss)
        if self._asks_targets:
            if self.threshold is not None:
                raise ValueError(
                    "threshold is in units of y, and nobody has said how large these are: give "
                    "target_range=(lo, hi) as well, or leave threshold=None."
                )
            return Huber(0.2)  # a tenth of the width, which is 2 on the scale of the loss
        low, high = self._range_of_targets()
        width = 0.1 * (high - low)
        if self.threshold is not None:
            width = check_scale(self.threshold, "threshold")
        return Huber(width / self._target_scale()[1])

    def _solver(self) -> LinearSolver:
        if type(self.loss) is not Biweight:
            return super()._solver()
        told = "gd" if self.solver == "auto" else self.solver
        if self.selection is not None or linear_solver(told).name not in DESCENTS:
            raise ValueError(
                f"the {own_loss(self.loss).name} loss is not convex, and this solver rests on "
                'convexity: use solver="gd" or "sgd", without a selection.'
            )
        solver = linear_solver(told)
        if self.clip is None:
            return solver
        return solver.with_clip(check_scale(self.clip, "clip"))

    def _choose_features(self, *facts: Any) -> Any:
        choice, layout = super()._choose_features(*facts)
        if type(self.loss) is Biweight and choice.kind != "linear":
            raise ValueError(
                f"the {own_loss(self.loss).name} loss is not convex, and curves are learned by "
                'steps that rest on convexity: say features="linear".'
            )
        return choice, layout

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        alpha = _strength(self.alpha)
        return NoPenalty() if alpha is None else L2(strength_per_row(alpha, rows, "alpha"))


def own_loss(loss: Any) -> LinearLoss:
    """One of this library's losses of residuals, made anew from its settings, or a sentence.

    No others, and nothing that was changed since it was made: proofs of solvers rest on what a loss
    says of its slopes and of its curvature.
    """
    if type(loss) not in OWN_LOSSES:
        raise ValueError(
            "loss must be one of veilspan's losses of residuals, "
            f"veilspan.losses.nonconvex.Biweight(0.5) say; got {loss!r}."
        )
    settings = {one.name: getattr(loss, one.name) for one in fields(loss) if one.init}
    made: LinearLoss = type(loss)(**settings)
    return made


def _strength(alpha: Any) -> float | None:
    if alpha is None or (not isinstance(alpha, bool) and alpha == 0):
        return alpha
    return check_scale(alpha, "alpha")


def _checked_scaled(y: Any, scaling: TargetScaling | None) -> np.ndarray:
    """Scaled targets that nobody has looked at yet; as they are where nothing is known."""
    if np.asarray(y).dtype.kind not in "fiub" or not np.isfinite(y).all():
        raise ValueError("y must hold finite numbers.")
    return np.asarray(y, dtype=np.float64) if scaling is None else scaling(y)


def _checked_target_range(target_range: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in target_range)
    except (TypeError, ValueError):
        raise ValueError("target_range must be two numbers (lowest, highest target).") from None
    if not low < high:  # false where an end is not a number
        raise ValueError(f"target_range must be finite and increasing; got ({low:g}, {high:g}).")
    check_location((low, high), "target_range")
    check_width(low, high, "target_range")
    return low, high
