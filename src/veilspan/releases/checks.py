"""Check what a file says was learned: shapes that fit the plan, and finite numbers.

A digest says that nobody changed a file since it was written, not that whoever wrote it was this
library. An estimator with NaN in its components, or with components of another width than its
table, would load and answer nonsense.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.privacy.plan import Plan


def check_release(estimator: Any, plan: Plan) -> None:
    """Refuse an estimator whose attributes cannot have been learned as the plan says."""
    width = plan.n_features
    if estimator.n_features_in_ != width or isinstance(estimator.n_features_in_, bool):
        raise ValueError("its number of columns is not that of its plan")
    for name, shape in estimator._learned_shapes(width).items():
        check_array(getattr(estimator, name), name, shape)
    for name, value in vars(estimator).items():
        learned = name.endswith("_") and isinstance(value, (float, np.ndarray))
        # Without noise a zero may be divided, so that only private numbers are always finite.
        if learned and plan.budget.is_private and np.asarray(value).dtype.kind == "f":
            check_array(value, name, np.shape(value))
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and not _are_names(names, width):
        raise ValueError("its names of columns do not fit its columns")


def check_array(value: Any, name: str, shape: tuple[int, ...]) -> None:
    """Refuse what is not an array of finite numbers of that shape (or, for (), one number)."""
    if isinstance(value, bool) or not isinstance(value, (np.ndarray, int, float)):
        raise ValueError(f"{name} is not an array of numbers")
    found = np.asarray(value)
    if found.dtype.kind not in "fiub" or found.shape != shape:
        raise ValueError(f"{name} does not have the shape that its plan implies")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} holds numbers that are not finite")


def _are_names(names: Any, width: int) -> bool:
    return np.shape(names) == (width,) and all(isinstance(name, str) for name in names)
