"""What a fitted linear model gives away: curves, a scorer without veilspan, a plain estimator."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.linear.shapes.straight_fit import STRAIGHT_ERRORS, StraightFit

NO_SCHEMA = (
    "shapes_ are in the units of a schema, or curves that were asked for (features=), and this fit "
    "has neither: coef_ tells what a column adds to the score."
)
EXACT = "no error bars: nothing was asked with noise"


class PortableModel:
    """What makes a linear model readable, and usable elsewhere. Nothing here is spent."""

    @property
    def shapes_(self: Any) -> Any:
        """What each column adds to the score: a ``Shapes``, by column.

        For fits with a schema, and those of curves; straight fits have lines. How each is centred
        and what has no curve is told by :mod:`veilspan.estimators.linear.shapes.make_shapes`.
        """
        check_is_fitted(self)
        from veilspan.estimators.linear.shapes.make_shapes import make_shapes

        if "feature_map_" in vars(self):
            learned, words = self.feature_map_, None
        elif self.schema is not None:
            learned, words = self._straight_fit()
        else:
            raise AttributeError(NO_SCHEMA)
        columns = None if self.schema is None else self.schema.features
        known = vars(self).get("feature_names_in_")
        names = None if known is None else tuple(map(str, known))
        scores, unit = self._said_scores(), self._score_unit()
        return make_shapes(learned, columns, names, scores, unit, words)

    def _straight_fit(self: Any) -> tuple[StraightFit, str]:
        """Coefficients of a straight fit, and what is said of their errors."""
        from veilspan.queries.linear.table_layout import layout_of_schema

        unit = self._score_unit() or 1.0
        theta, noise = np.atleast_2d(self.coef_).T / unit, vars(self).get("coef_noise_")
        if noise is not None:
            noise = np.asarray(noise)[:-1, :-1] / unit**2
        words = STRAIGHT_ERRORS if noise is not None else vars(self).get("coef_noise_told_", EXACT)
        return StraightFit(layout_of_schema(self.schema), theta, noise), words.rstrip(".")

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
