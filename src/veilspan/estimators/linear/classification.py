"""Private linear classifiers: logistic regression and a support vector machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from veilspan._scales import check_scale
from veilspan.estimators.by_person import also_by_person
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.linear.base import own_penalty, strength_per_row
from veilspan.estimators.linear.classifier import LinearClassifier
from veilspan.losses.linear import LinearLoss, Logistic, MulticlassHinge, Multinomial, SmoothedHinge
from veilspan.losses.penalties import L1, L2, ElasticNet, NoPenalty, Penalty
from veilspan.privacy.budget import Budget


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(LinearClassifier):
    r"""Differentially private logistic regression; several classes are learned jointly.

    Minimised is the mean of log(1 + exp(-y u)), u = <x, theta>, over rows x scaled into the unit
    ball by public bounds; with k > 2 classes the multinomial loss, whose k scores share one
    release: nothing is split over one-against-rest problems.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None} or penalty
        Its strength is 1/C as in scikit-learn: C times the sum of losses plus |theta|^2 / 2 or
        |theta|_1, **of the scaled rows**. A value of :mod:`veilspan.losses.penalties` (an
        ``L1Ball``, say) is taken as it is, added to the mean loss.
    l1_ratio : float
        Share of l1 in ``"elasticnet"``.
    C, classes, class_weight, threshold
        See :class:`~veilspan.estimators.linear.classifier.ClassifierParameters`.
    fit_intercept, intercept_scaling, solver, clip, selection
        See :class:`~veilspan.estimators.linear.parameters.LinearParameters`.
    feature_range, row_norm, center, bounds, expected_rows
        See there as well; where none of ``feature_range``, ``row_norm`` and ``bounds`` is said,
        ranges are paid for.
    epsilon, delta, neighbors, noise, random_state
        The budget, the neighbour relation, the noise: as in all estimators.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        Coefficients in the features' own units.
    intercept_ : array of shape (1,) or (n_classes,)
        Their constants; 0 without an intercept.
    classes_ : array of shape (n_classes,)
        Labels.
    class_weight_ : array of shape (n_classes,)
        With ``class_weight="balanced"``: weights from noisy counts, the largest is 1.
    threshold_, calibration_ : float, array of shape (2,)
        With ``threshold=``: the score above which the second class is predicted; a and b of the
        log-odds a score + b. Of several classes ``threshold_`` holds the logarithms of their
        shares, an array of shape (n_classes,), and there is no calibration.
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
    >>> from veilspan import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 3))
    >>> y = X @ [2.0, -1.0, 0.0] + 0.3 > rng.logistic(size=4000) / 4
    >>> model = LogisticRegression(feature_range=(-1, 1), classes=[False, True])
    >>> model = model.fit(X, y)
    >>> bool(model.score(X, y) > 0.8), bool(model.privacy_.verify())
    (True, True)
    """

    penalty: Any = field(default="l2", kw_only=False)
    l1_ratio: float = 0.5

    _says_odds: ClassVar[bool] = True

    @also_by_person
    @lazy_for_dask(lambda model: len(model.classes_))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, in the order of ``classes_``.

        Of two classes they are calibrated, by 2 % of the budget
        (:mod:`veilspan.solvers.linear.asked.confidence`) or by what ``threshold=`` has paid for;
        balanced weights are taken off again. So
        they speak of the classes as frequent as they are, which :meth:`predict` then need not.
        """
        return np.exp(self.predict_log_proba(X))

    @also_by_person
    @lazy_for_dask(lambda model: len(model.classes_))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities, exact where those round to 0."""
        scores = self._log_odds(self._scores(X))
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        scores = scores - scores.max(axis=1, keepdims=True)
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def _plain_loss(self, n_classes: int) -> LinearLoss:
        return Logistic() if n_classes == 2 else Multinomial(n_classes)

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        if not isinstance(self.penalty, str):
            return own_penalty(self.penalty)
        if self.penalty == "l2":
            return _l2(self.C, rows)
        if self.penalty not in ("l1", "elasticnet"):
            raise ValueError(
                f'penalty must be "l2", "l1", "elasticnet" or None; got {self.penalty!r}.'
            )
        if self.C is None:
            raise ValueError(f'penalty="{self.penalty}" needs C=...: its strength is 1/C.')
        lam = _strength(self.C, rows)
        return L1(lam) if self.penalty == "l1" else ElasticNet(lam, self.l1_ratio)


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVC(LinearClassifier):
    r"""Differentially private linear support vector machine.

    The hinge max(0, 1 - y u) with its corner rounded off over ``hinge_width``: a row's gradient
    must not jump where a margin crosses 1. On rows of the unit ball. Several classes are learned
    jointly, by the hinge of Crammer & Singer (2001): nothing is split over one-against-rest
    problems.

    Parameters
    ----------
    hinge_width : float
        Width of the rounded corner.
    C, classes, class_weight, threshold
        As in :class:`LogisticRegression`; the penalty is |theta|^2 / 2, and the intercept is
        spared where the solver can.
    fit_intercept, intercept_scaling, solver, clip, selection
        See :class:`~veilspan.estimators.linear.parameters.LinearParameters`.
    feature_range, row_norm, center, bounds, expected_rows
        See there as well; where none of ``feature_range``, ``row_norm`` and ``bounds`` is said,
        ranges are paid for.
    epsilon, delta, neighbors, noise, random_state
        The budget, the neighbour relation, the noise: as in all estimators.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        In the features' own units.
    intercept_ : array of shape (1,) or (n_classes,)
        Their constants.
    classes_ : array of shape (n_classes,)
        Labels.
    n_iter_, trace_, stopped_, plan_, privacy_
        As in :class:`LogisticRegression`.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import LinearSVC
    >>> X = np.random.default_rng(0).uniform(0, 10, (4000, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "left", "right")
    >>> model = LinearSVC(feature_range=(0, 10), classes=["left", "right"]).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    hinge_width: float = 0.5

    def _plain_loss(self, n_classes: int) -> LinearLoss:
        width = check_scale(self.hinge_width, "hinge_width")
        return SmoothedHinge(width) if n_classes == 2 else MulticlassHinge(n_classes, width)

    def _penalty(self, budget: Budget, rows: int | None, n_columns: int) -> Penalty:
        return _l2(self.C, rows)


def _l2(c: float | None, rows: int | None) -> Penalty:
    """The ridge of C, or none: regularisation is left to the solver then."""
    return NoPenalty() if c is None else L2(_strength(c, rows))


def _strength(c: float, rows: int | None) -> float:
    """Strength 1/C beside a sum of losses, as one beside their mean."""
    return strength_per_row(1.0 / check_scale(c, "C"), rows, "C")
