"""What private linear classifiers share: labels in and out, public class weights, C."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from veilspan._scales import check_scale
from veilspan.curator.dask.table import DaskTargets
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.linear.base import LinearEstimator, strength_per_row
from veilspan.estimators.schema_input import (
    numbers_of_classes,
    refuse_said_twice,
    signs_of_classes,
)
from veilspan.estimators.validation import refuse_lazy_score
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import LinearLoss
from veilspan.losses.penalties import L2, NoPenalty, Penalty

GIVEN_LABELS = "the set of class labels is public, and that no other label occurs"
SEEN_LABELS = "the set of class labels was read off y: right only if it is public knowledge"


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierParameters:
    """Parameters that both classifiers have.

    Parameters
    ----------
    C : float, optional
        Inverse strength of the penalty as in scikit-learn, C times the sum of losses plus the
        penalty, **on the scaled rows**. ``None`` leaves regularisation to the solver: noise needs
        more of it than data do.
    classes : array-like, optional
        All labels, known without the data. ``None`` takes those in y, and the statement says so.
    class_weight : dict, optional
        Public factors on the loss of classes.
    """

    C: float | None = None
    classes: Any = None
    class_weight: Any = None


class LinearClassifier(ClassifierParameters, ClassifierMixin, LinearEstimator):
    """Base of the classifiers: labels in and out."""

    classes_: np.ndarray

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        classes = self.classes_
        if not isinstance(classes, np.ndarray) or classes.ndim != 1:
            raise ValueError("its classes are no list of labels")
        if len(set(classes.tolist())) < 2:
            raise ValueError("it needs two classes or more, each once")
        if len(set(classes.tolist())) < len(classes):
            raise ValueError("it names a class twice")
        count = 1 if len(classes) == 2 else len(classes)
        if "feature_map_" in vars(self):
            return self._check_features(n_features, count)
        shapes = {"coef_": (count, n_features), "intercept_": (count,)}
        return {**shapes, **self._ranges_shapes(n_features)}

    @lazy_for_dask(lambda model: None if len(model.classes_) == 2 else len(model.classes_))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows: one for each class, or one in all where there are two classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows; nothing is spent.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @lazy_for_dask(lambda model: None, lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> np.ndarray:
        """Most likely class of each row."""
        numbers = self._numbers_of_scores(self._scores(X))  # refuses what was not fitted
        return self.classes_[numbers]

    def _names_of_scores(self) -> tuple[str, ...]:
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return tuple(f"{self.schema.target.name}={label}" for label in labels)

    def _numbers_of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Number of the most likely class, from scores of shape (n, 1) or (n, classes)."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.intp)
        return np.asarray(scores.argmax(axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of rows whose class is predicted; nothing is spent.

        Parameters
        ----------
        X, y : array-like or CSR matrix of shape (n_samples, n_features), array-like
            Any rows and their labels, in memory. With a schema the table alone: labels are its
            target column, and rows without one are left out.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        """
        refuse_lazy_score(X, y, sample_weight)
        if self.schema is not None:
            scores, numbers, weights = self._own_scores_and_targets(X, y, sample_weight)
            right = self._numbers_of_scores(scores) == numbers.astype(np.intp)
            return float(np.average(right, weights=weights))
        return float(super().score(X, y, sample_weight))

    def _encode(self, y: Any) -> Any:
        """Class numbers, or -1 and 1 for two classes. Sets ``classes_``."""
        self.classes_ = _seen_labels(y) if self.classes is None else _sorted_labels(self.classes)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes; got 1 class. Say classes=... "
                "if others exist but do not occur here."
            )
        self._check_class_count(len(self.classes_))
        if isinstance(y, DaskTargets):
            return y.mapped(_codes, self.classes_)
        return _codes(y, self.classes_)

    def _schema_targets(self, schema: Any) -> Callable[[np.ndarray], np.ndarray]:
        self.classes_ = self._schema_classes(schema)
        self._check_class_count(len(self.classes_))
        return signs_of_classes if len(self.classes_) == 2 else numbers_of_classes

    def _schema_classes(self, schema: Any) -> np.ndarray:
        """Labels of the schema's target; a target that has none is refused."""
        refuse_said_twice(self, "classes")
        if schema.classes is None:
            raise ValueError(
                f"{type(self).__name__} predicts classes; the schema's target "
                f"{schema.target.name!r} holds numbers. Use a regression, or declare it as a "
                "category or boolean."
            )
        return _sorted_labels(schema.classes)

    def _decode(self, coefficients: np.ndarray, constant: np.ndarray) -> None:
        self.coef_ = np.atleast_2d(coefficients.T).copy()
        self.intercept_ = np.atleast_1d(constant).astype(np.float64)

    def _check_class_count(self, count: int) -> None:
        """Refuse more classes than the method has; by default none."""

    @abstractmethod
    def _plain_loss(self, n_classes: int) -> LinearLoss:
        """Loss of a scaled row before class weights."""

    def _loss(self) -> LinearLoss:
        """The loss of the model times public class weights, if there are any."""
        known: Any
        if self.schema is not None:
            known = self._schema_classes(self.schema)
        elif self.classes is not None:
            known = _sorted_labels(self.classes)
        else:
            known = getattr(self, "classes_", None)
        # Before labels have been seen a plan takes them for two.
        loss = self._plain_loss(2 if known is None else len(known))
        if self.class_weight is None:
            return loss
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(
                'class_weight must be a dict from labels to public numbers. "balanced" would '
                "count the classes, and counts are private."
            )
        if known is None:
            raise ValueError("class_weight needs classes=... before labels have been seen.")
        labels = _sorted_labels(known).tolist()
        if not set(self.class_weight) <= set(labels):
            raise ValueError("class_weight names a label that is not among the classes.")
        weights = (self.class_weight.get(label, 1.0) for label in labels)
        return ClassWeighted(loss, tuple(check_scale(w, "class_weight") for w in weights))

    def _rests_on(self) -> tuple[str, ...]:
        if self.schema is not None:
            return super()._rests_on()
        labels = SEEN_LABELS if self.classes is None else GIVEN_LABELS
        return (*super()._rests_on(), labels)

    def _l2(self, rows: int | None) -> Penalty:
        return NoPenalty() if self.C is None else L2(self._strength(self.C, rows))

    def _strength(self, c: float, rows: int | None) -> float:
        """Strength 1/C beside a sum of losses, as one beside their mean."""
        return strength_per_row(1.0 / check_scale(c, "C"), rows, "C")


def _seen_labels(y: Any) -> np.ndarray:
    """Labels that occur, in order."""
    if isinstance(y, DaskTargets):
        y = y.distinct(_seen_labels)
    _check_labels(y)
    return _sorted_labels(y)


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Class numbers, or -1 and 1 for two classes, as floats."""
    _check_labels(y)
    number = _numbers(y, classes)
    return 2.0 * number - 1.0 if len(classes) == 2 else number.astype(np.float64)


def _check_labels(y: np.ndarray) -> None:
    if y.dtype.kind == "f" and not bool(np.all(y == np.rint(y))):
        raise ValueError(
            "Unknown label type: continuous. A classifier needs labels; for numbers use a "
            "regression."
        )


def _sorted_labels(labels: Any) -> np.ndarray:
    """Different labels in order, or a sentence that names none."""
    try:
        return np.unique(np.asarray(labels))
    except TypeError:
        pass
    # Raised out here: the original quotes types of labels as they come, and holds them.
    raise TypeError("labels must be of one type that can be sorted: all numbers or all strings.")


def _numbers(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Place of each label among the sorted classes."""
    failed = False
    try:
        place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        failed = not bool(np.all(classes[place] == y))
    except TypeError:
        failed = True
    if failed:
        raise ValueError("y holds a label that is not among classes, or of another type.")
    return place
