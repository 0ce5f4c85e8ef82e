"""A straight fit as a plain estimator of scikit-learn, whose coefficients are those released."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.releases.scorer import SHARES_LOST

NO_CURVES = (
    "{0} learned a curve of each column, which no part of scikit-learn says exactly: use "
    "to_json(), which scores rows without veilspan (docs/howto/scorer.md has the reader), or fit "
    'with features="linear".'
)
NO_ADJUSTMENT = (
    "{0} decides by what a plain {1} has no place for: {2}. Use to_json(), which keeps it."
)


def sklearn_model(model: Any) -> Any:
    """A fitted estimator of scikit-learn with the model's coefficients.

    It has the parameters of a new one: what it was learned by is told by ``privacy_``, not by it.

    Parameters
    ----------
    model : fitted linear estimator
        Of this package.
    """
    if "feature_map_" in vars(model):
        raise ValueError(NO_CURVES.format(type(model).__name__))
    plain = _plain_of(model)
    _refuse_adjusted(model, type(plain).__name__)
    plain.coef_ = np.array(model.coef_, dtype=np.float64)
    plain.intercept_ = np.array(model.intercept_, dtype=np.float64)
    plain.n_features_in_ = plain.coef_.shape[-1]
    if "feature_names_in_" in vars(model) and model.schema is None:
        plain.feature_names_in_ = np.array(model.feature_names_in_, dtype=object)
    if "classes_" in vars(model):
        plain.classes_ = np.array(model.classes_)
        plain.n_iter_ = np.array([model.n_iter_], dtype=np.int32)
    else:
        plain.intercept_ = float(plain.intercept_)
    return plain


def _plain_of(model: Any) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.svm import LinearSVC

    if "classes_" not in vars(model):
        return LinearRegression(fit_intercept=bool(model.fit_intercept))
    if hasattr(model, "predict_proba"):
        return LogisticRegression(fit_intercept=bool(model.fit_intercept))
    return LinearSVC(fit_intercept=bool(model.fit_intercept))


def _refuse_adjusted(model: Any, plain: str) -> None:
    """Refuse thresholds, calibrations and ranges that would be lost without a word."""
    if "threshold_" in vars(model) and len(model.classes_) > 2:
        raise ValueError(SHARES_LOST)
    asked = getattr(model, "_asks_targets", False)
    lost = [
        words
        for name, words in (
            ("threshold_", "a released threshold"),
            ("class_weight_", "balanced class weights that probabilities undo"),
            ("feature_range_", "released ranges that rows are clipped to"),
        )
        if name in vars(model)
    ] + (["a released range that predictions keep to"] if asked else [])
    if lost:
        raise ValueError(NO_ADJUSTMENT.format(type(model).__name__, plain, " and ".join(lost)))
