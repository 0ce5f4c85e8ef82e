"""What private linear classifiers share: labels in and out, class weights, thresholds, C."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from veilspan._scales import check_scale
from veilspan.curator.dask.table import DaskTargets
from veilspan.estimators.by_person import also_by_person
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.linear.base import LinearEstimator
from veilspan.estimators.linear.budget_parts import After
from veilspan.estimators.linear.class_shares import ReleasedShares
from veilspan.estimators.schema_input import (
    numbers_of_classes,
    refuse_said_twice,
    signs_of_classes,
)
from veilspan.estimators.validation import own_score, refuse_lazy_score
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import PublicLabelsWarning
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome
from veilspan.solvers.linear.asked.class_shares import AskShares
from veilspan.solvers.linear.asked.confidence import AskConfidence
from veilspan.solvers.linear.auto import AutoLinear
from veilspan.solvers.linear.base import LinearSolver
from veilspan.solvers.linear.rare_classes.around_solver import (
    LEAST_DEVIATIONS,
    RareClasses,
    check_threshold,
)

GIVEN_LABELS = "the set of class labels is public, and that no other label occurs"
SEEN_LABELS = "the set of class labels was read off y: right only if it is public knowledge"
TAKEN_LABELS = (
    "the set of class labels was read off y. A label that only one person has would tell that they "
    'are among the rows: say classes=[...], the labels that are possible, or classes="observed" '
    "if those that occur are public knowledge."
)
UNKNOWN_LABEL = (
    'y holds a label that is not among classes: spelled otherwise ("Yes " for "yes"), of another '
    'type (1 for "1"), or missing. Inside of a VotingClassifier and the like, which hand on places '
    "of labels, say classes=range(k) for k labels."
)
#: What a user says of labels, where those that occur are public knowledge.
OBSERVED = "observed"


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierParameters:
    """Parameters that both classifiers have.

    Parameters
    ----------
    C : float, optional
        Inverse strength of the penalty as in scikit-learn, C times the sum of losses plus the
        penalty, **on the scaled rows**. ``None`` leaves regularisation to the solver: noise needs
        more of it than data do.
    classes : array-like or "observed", optional
        All labels, known without the data. ``"observed"`` says that the labels in y are public
        knowledge; ``None`` takes them as well, with a :class:`PublicLabelsWarning`.
    class_weight : dict or "balanced", optional
        Public factors on the loss of classes. ``"balanced"`` takes 1 / count from a noisy count of
        each class, for 2 % of the budget (of mu^2); ``class_weight_`` holds them.
    threshold : {"accuracy", "balanced", "f1"}, optional
        Where :meth:`predict` tells classes apart; for two classes: ``None`` is a score of 0. Others
        ask for a noisy histogram of scores by label, with a tenth of the budget (of mu^2), and
        choose by it: ``"accuracy"`` the most likely class, ``"balanced"`` the mean of both classes'
        shares of right rows, ``"f1"`` the F1 score of the second class, which finds a rare one.
        Probabilities are calibrated by the same histogram (see
        :mod:`veilspan.solvers.linear.rare_classes.operating_point`). For several classes
        ``"balanced"`` alone, of a model with probabilities: the class of which the probability is
        largest over its released share, which costs nothing beside the counts of a default fit.
    """

    C: float | None = None
    classes: Any = None
    class_weight: Any = None
    threshold: str | None = None


class LinearClassifier(ReleasedShares, ClassifierParameters, ClassifierMixin, LinearEstimator):
    """Base of the classifiers: labels in and out."""

    classes_: np.ndarray
    _says_odds: ClassVar[bool] = False  # whether scores are logarithms of odds

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        classes = self.classes_
        if not isinstance(classes, np.ndarray) or classes.ndim != 1:
            raise ValueError("its classes are no list of labels")
        if len(set(classes.tolist())) < 2:
            raise ValueError("it needs two classes or more, each once")
        if len(set(classes.tolist())) < len(classes):
            raise ValueError("it names a class twice")
        count = 1 if len(classes) == 2 else len(classes)
        told = {"threshold_": (count,)} if count > 1 and "threshold_" in vars(self) else {}
        if "feature_map_" in vars(self):
            return {**told, **self._check_features(n_features, count)}
        shapes = {"coef_": (count, n_features), "intercept_": (count,)}
        return {
            **told,
            **shapes,
            **self._ranges_shapes(n_features),
            **self._noise_shapes(n_features),
        }

    @also_by_person
    @lazy_for_dask(lambda model: None if len(model.classes_) == 2 else len(model.classes_))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of rows: one for each class, or one in all where there are two classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows; nothing is spent.
        by_person : bool
            With a schema whose units have an ``id``: an answer for each person, as a
            :class:`~veilspan.estimators.by_person.ByPerson`.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @also_by_person
    @lazy_for_dask(lambda model: None, lambda model: model.classes_.dtype)
    def predict(self, X: Any) -> np.ndarray:
        """Class of each row: of the largest score, or by the learned ``threshold_``.

        With ``threshold=`` the second class is predicted where ``decision_function`` is above
        ``threshold_``, whatever its probability; of several classes that whose log-probability is
        furthest above its ``threshold_``, the logarithm of its share. With balanced weights scores
        are those of equally frequent classes, so a rare class is predicted more often than it is
        likely.
        """
        numbers = self._numbers_of_scores(self._scores(X))  # refuses what was not fitted
        return self.classes_[numbers]

    def _names_of_scores(self) -> tuple[str, ...]:
        labels = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        return tuple(f"{self.schema.target.name}={label}" for label in labels)

    def _numbers_of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Number of the most likely class, from scores of shape (n, 1) or (n, classes)."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > getattr(self, "threshold_", 0.0)).astype(np.intp)
        if "threshold_" in vars(self):
            scores = self._log_odds(scores) - self.threshold_
        return np.asarray(scores.argmax(axis=1))

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, by_person: bool = False
    ) -> float:
        """Share of rows whose class is predicted; nothing is spent.

        Parameters
        ----------
        X, y : array-like or CSR matrix of shape (n_samples, n_features), array-like
            Any rows and their labels, in memory. With a schema the table alone: labels are its
            target column, and rows without one are left out.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        by_person : bool
            With a schema whose units have an ``id``: the share of people, by their combined rows
            and targets.
        """
        refuse_lazy_score(X, y, sample_weight)
        if self.schema is not None or by_person:
            scores, numbers, weights = self._own_scores_and_targets(X, y, sample_weight, by_person)
            right = self._numbers_of_scores(scores) == numbers.astype(np.intp)
            return float(np.average(right, weights=weights))
        from sklearn.metrics import accuracy_score

        return own_score(accuracy_score, y, self.predict(X), sample_weight)

    def measure_ranking(self, X: Any, y: Any = None) -> dict[str, float]:
        """How well scores order own rows, whatever the threshold; nothing is spent.

        Parameters
        ----------
        X, y : array-like or CSR matrix of shape (n_samples, n_features), array-like
            Any rows and their labels, in memory; with a schema the table alone.

        Returns
        -------
        dict
            ``"auc"``, the area under the ROC curve, and ``"average_precision"``; with several
            classes the means of each class against the rest. The numbers speak of these rows and
            carry no noise: of people's rows they are not yours to publish.
        """
        from sklearn.metrics import average_precision_score, roc_auc_score

        refuse_lazy_score(X, y, None)
        if self.schema is not None:
            scores, numbers, _ = self._own_scores_and_targets(X, y, None)
        else:
            scores = self._scores(X)
            numbers = _numbers(np.asarray(y), self.classes_)
        if scores.shape[1] == 1:
            truth = (numbers == 1).astype(np.intp)[:, None]
        else:
            truth = (numbers[:, None] == np.arange(scores.shape[1])).astype(np.intp)
        if not (truth.any(axis=0) & ~truth.all(axis=0)).all():
            raise ValueError("a ranking needs rows of every class: some class has none here.")
        pairs = list(zip(truth.T, scores.T))
        return {
            "auc": float(np.mean([roc_auc_score(*pair) for pair in pairs])),
            "average_precision": float(np.mean([average_precision_score(*pair) for pair in pairs])),
        }

    def _encode(self, y: Any) -> Any:
        """Class numbers, or -1 and 1 for two classes. Sets ``classes_``."""
        said = self._said_classes()
        self.classes_ = _seen_labels(y) if said is None else _sorted_labels(said)
        if self.classes is None and self.epsilon != math.inf:
            warnings.warn(TAKEN_LABELS, PublicLabelsWarning, stacklevel=3)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes; got 1 class. Say classes=... "
                "if others exist but do not occur here."
            )
        if isinstance(y, DaskTargets):
            return y.mapped(_codes, self.classes_)
        return _codes(y, self.classes_)

    def _schema_targets(self, schema: Any) -> Callable[[np.ndarray], np.ndarray]:
        self.classes_ = self._schema_classes(schema)
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

    def _around(self, solver: LinearSolver) -> LinearSolver:
        balanced = _is_balanced(self.class_weight)
        if self.threshold is None and not balanced:
            return solver
        threshold = check_threshold(self.threshold)
        if self._divides_by_shares():
            self._check_dividing()
            return solver
        if not balanced and isinstance(solver, AutoLinear):
            solver = replace(solver, rare=True)
        return RareClasses(solver, balanced, threshold)

    def _divides_by_shares(self) -> bool:
        """Whether several classes are told apart by probabilities over released shares."""
        if self.threshold is None:
            return False
        known = self._known_classes()
        return known is not None and len(known) > 2

    def _check_dividing(self) -> None:
        """Refuse what several classes have no threshold for."""
        if self.threshold != "balanced" or not self._says_odds:
            raise ValueError(
                f'threshold="{self.threshold}" of {type(self).__name__} is for two classes; with '
                'several use class_weight="balanced", or threshold="balanced" of a '
                "LogisticRegression."
            )
        if self.class_weight is not None:
            raise ValueError(
                'threshold="balanced" and class_weight both weigh classes where there are several: '
                "leave one of them out."
            )

    def _afters(self, budget: Budget) -> tuple[After, ...]:
        """A count of the classes, where nothing is done for a rare one; how sure two may be."""
        if self._divides_by_shares():
            return (AskShares(),)
        if self.threshold is not None or self.class_weight is not None or not budget.is_private:
            return super()._afters(budget)
        known = self._known_classes()
        if not self._says_odds or (known is not None and len(known) > 2):
            return (AskShares(),)
        return AskShares(), AskConfidence()

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        super()._keep(outcome, plan)
        self._keep_shares(outcome, plan)
        for name in ("class_weight_", "threshold_", "calibration_"):
            self.__dict__.pop(name, None)
        weights = getattr(outcome.result, "weights", None)
        operating = getattr(outcome.result, "operating", None)
        if weights is not None:
            self.class_weight_ = np.array(weights)
        if operating is not None:
            self.threshold_ = operating.threshold
            self.calibration_ = np.array([operating.slope, operating.offset])
        counts = outcome.result.class_counts
        if self._divides_by_shares() and counts is not None:
            # A class is taken to have as many rows as noise could hide.
            found = np.maximum(counts.value, max(LEAST_DEVIATIONS * counts.noise_std, 1.0))
            self.threshold_ = np.log(found / found.sum())

    def _log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Scores as logarithms of odds: by the calibrated line, or with balanced weights undone.

        A loss with weights w_c is least at the log-odds of shares times w_c.
        """
        line = getattr(self, "calibration_", None)
        if line is not None:
            return np.asarray(line[0] * scores + line[1])
        weights = getattr(self, "class_weight_", None)
        if weights is None:
            return scores
        if scores.shape[1] == 1:
            return np.asarray(scores - np.log(weights[1] / weights[0]))
        return np.asarray(scores - np.log(weights))

    def _decode(self, coefficients: np.ndarray, constant: np.ndarray) -> None:
        self.coef_ = np.atleast_2d(coefficients.T).copy()
        self.intercept_ = np.atleast_1d(constant).astype(np.float64)

    @abstractmethod
    def _plain_loss(self, n_classes: int) -> LinearLoss:
        """Loss of a scaled row before class weights."""

    def _loss(self) -> LinearLoss:
        """The loss of the model times public class weights, if there are any."""
        known = self._known_classes()
        # Before labels have been seen a plan takes them for two.
        loss = self._plain_loss(2 if known is None else len(known))
        if self.class_weight is None:
            return loss
        if _is_balanced(self.class_weight):  # the weights are asked for: at most these
            return ClassWeighted(loss, (1.0,) * max(2, loss.n_outputs))
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(
                'class_weight must be a dict from labels to public numbers, or "balanced".'
            )
        if known is None:
            raise ValueError("class_weight needs classes=... before labels have been seen.")
        labels = _sorted_labels(known).tolist()
        if not set(self.class_weight) <= set(labels):
            raise ValueError("class_weight names a label that is not among the classes.")
        weights = (self.class_weight.get(label, 1.0) for label in labels)
        return ClassWeighted(loss, tuple(check_scale(w, "class_weight") for w in weights))

    def _known_classes(self) -> Any:
        """Labels, sorted; ``None`` before they have been seen."""
        if self.schema is not None:
            return self._schema_classes(self.schema)
        said = self._said_classes()
        return getattr(self, "classes_", None) if said is None else _sorted_labels(said)

    def _said_classes(self) -> Any:
        """Labels that the user listed, or ``None``."""
        if isinstance(self.classes, str):
            if self.classes != OBSERVED:
                raise ValueError(
                    'classes is a list of labels, or "observed" where those in y are public '
                    f"knowledge; got {self.classes!r}."
                )
            return None
        return self.classes

    def _rests_on(self) -> tuple[str, ...]:
        if self.schema is not None:
            return super()._rests_on()
        labels = SEEN_LABELS if self._said_classes() is None else GIVEN_LABELS
        return (*super()._rests_on(), labels)


def _is_balanced(class_weight: Any) -> bool:
    return isinstance(class_weight, str) and class_weight == "balanced"


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
        found = np.asarray(labels)
        # Whole numbers and texts are compared without a word, whatever they are.
        if found.ndim == 1 and found.dtype.kind in "iubU" and (found[1:] > found[:-1]).all():
            return found.copy()
        return np.unique(found)
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
        raise ValueError(UNKNOWN_LABEL)
    return place
