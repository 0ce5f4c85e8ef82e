"""Check what a file says was learned: shapes that fit the plan, and finite numbers.

A digest says that nobody changed a file since it was written, not that whoever wrote it was this
library. An estimator with NaN in its components, or with components of another width than its
table, would load and answer nonsense.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan.catalogue import ESTIMATORS
from veilspan.privacy.plan import Plan

#: From an estimator and the number d of columns to the shapes of its attributes; () is a number.
Shapes = dict[str, tuple[int, ...]]


def check_release(estimator: Any, plan: Plan) -> None:
    """Refuse an estimator whose attributes cannot have been learned as the plan says."""
    width = plan.n_features
    if estimator.n_features_in_ != width or isinstance(estimator.n_features_in_, bool):
        raise ValueError("its number of columns is not that of its plan")
    kind = ESTIMATORS[type(estimator).__name__]
    for name, shape in _SHAPES[kind.reads](estimator, width).items():
        check_array(getattr(estimator, name), name, shape)
    for name in ("explained_variance_", "explained_variance_ratio_", "spectrum_", "noise_edge_"):
        value = getattr(estimator, name, None)
        if value is not None and plan.budget.is_private:  # without noise a zero may be divided
            check_array(value, name, np.shape(value))
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and not _are_names(names, width):
        raise ValueError("its names of columns do not fit its columns")


def check_array(value: Any, name: str, shape: tuple[int, ...]) -> None:
    """Refuse what is not an array of finite numbers of that shape (or, for (), one number)."""
    if isinstance(value, bool) or not isinstance(value, (np.ndarray, int, float)):
        raise ValueError(f"{name} is not an array of numbers")
    found = np.asarray(value)
    if found.dtype.kind not in "fiu" or found.shape != shape:
        raise ValueError(f"{name} does not have the shape that its plan implies")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds numbers that are not finite")


def _are_names(names: Any, width: int) -> bool:
    return np.shape(names) == (width,) and all(isinstance(name, str) for name in names)


def _subspace(estimator: Any, width: int) -> Shapes:
    count = estimator.n_components_
    _check_count(count, 1, width)
    return {"components_": (count, width), "mean_": (width,)}


def _mean(estimator: Any, width: int) -> Shapes:
    return {"mean_": tuple(estimator.manifold.point_shape)}


def _recommender(estimator: Any, width: int) -> Shapes:
    if not isinstance(estimator.item_ids_, tuple) or len(estimator.item_ids_) != width:
        raise ValueError("its items do not fit its columns")
    _check_count(estimator.n_components_, 0, width)
    if not estimator.ridge_ >= 0:
        raise ValueError("ridge_ is negative or not a number")
    return {"item_bias_": (width,), "item_factors_": (width, estimator.n_components_), "ridge_": ()}


def _classifier(estimator: Any, width: int) -> Shapes:
    classes = estimator.classes_
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(set(classes.tolist())) < 2:
        raise ValueError("it needs two classes or more, each once")
    if len(set(classes.tolist())) < len(classes):
        raise ValueError("it names a class twice")
    count = 1 if len(classes) == 2 else len(classes)
    return {"coef_": (count, width), "intercept_": (count,)}


def _regression(estimator: Any, width: int) -> Shapes:
    return {"coef_": (width,), "intercept_": ()}


def _check_count(count: Any, least: int, most: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= most:
        raise ValueError("its number of components does not fit its columns")


#: By what an estimator reads, which is what it learns: the catalogue says it of each.
_SHAPES: dict[str, Callable[[Any, int], Shapes]] = {
    "rows": _subspace,
    "points": _mean,
    "ratings": _recommender,
    "labels": _classifier,
    "numbers": _regression,
}
