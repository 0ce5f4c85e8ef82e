"""What a fitted linear model gives away: curves, a scorer without veilspan, a plain estimator."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sklearn.utils.validation import check_is_fitted

STRAIGHT = (
    "shapes_ are the curves of a model of curves, and this one is straight: {0} tell what a column "
    "adds to the score."
)


class PortableModel:
    """What makes a linear model readable, and usable elsewhere. Nothing here is spent."""

    @property
    def shapes_(self: Any) -> Any:
        """What each column adds to the score: a ``Shapes``, by column.

        For fits with ``features`` other than ``"linear"``; how each curve is centred and what has
        no curve is told by :mod:`veilspan.estimators.linear.shapes.make_shapes`.
        """
        check_is_fitted(self)
        if "feature_map_" not in vars(self):
            instead = "coef_" if self.schema is None else "coefficients_"
            raise AttributeError(STRAIGHT.format(instead))
        from veilspan.estimators.linear.shapes.make_shapes import make_shapes

        columns = None if self.schema is None else self.schema.features
        known = vars(self).get("feature_names_in_")
        names = None if known is None else tuple(map(str, known))
        return make_shapes(
            self.feature_map_, columns, names, self._said_scores(), self._score_unit()
        )

    def to_json(self) -> str:
        """The model as a JSON document that scores rows without veilspan.

        It holds the schema's rules for cells, the released maps and coefficients: all that
        ``predict`` and ``predict_proba`` use. ``docs/howto/scorer.md`` has a reader for it, which
        needs nothing but Python.
        """
        check_is_fitted(self)
        return str(import_module("veilspan.releases.scorer").scorer_json(self))

    def to_sklearn(self) -> Any:
        """A plain scikit-learn estimator with the same coefficients, for straight fits.

        With ``features="linear"``: a ``LogisticRegression``, ``LinearSVC`` or ``LinearRegression``
        of scikit-learn whose coefficients are those released. It takes the rows that this model
        takes; with a schema the encoded ones, ``schema.encode(table).x``. Predictions are the same
        for rows within a public ``feature_range`` and where they lie within ``target_range``: a
        plain estimator clips neither to these. Curves are nothing that
        scikit-learn's parts can say: a ``ValueError`` names the way out, :meth:`to_json`.
        """
        check_is_fitted(self)
        return import_module("veilspan.releases.sklearn_model").sklearn_model(self)

    def _said_scores(self: Any) -> tuple[str, ...]:
        """What each score speaks for, for people."""
        if self.schema is not None:
            return tuple(self._names_of_scores())
        classes = vars(self).get("classes_")
        if classes is None:
            return ("y",)
        return tuple(str(label) for label in (classes[1:] if len(classes) == 2 else classes))

    def _score_unit(self) -> float | None:
        """What a score of 1 is in the units of the target; None for classes."""
        return None
