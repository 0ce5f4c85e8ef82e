"""Which classes a release may name: veilspan's own, and of them only these."""

from __future__ import annotations

import dataclasses
import re
from importlib import import_module
from typing import Any

#: class: module, of the estimators whose fits are releases
ESTIMATORS = {
    "PCA": "estimators.pca",
    "RobustPCA": "estimators.robust_pca",
    "FrechetMean": "estimators.frechet",
    "MatrixCompletion": "estimators.recommend",
    "LogisticRegression": "estimators.linear_classification",
    "LinearSVC": "estimators.linear_classification",
    "LinearRegression": "estimators.linear_regression",
    "Ridge": "estimators.linear_regression",
    "Lasso": "estimators.linear_regression",
    "ElasticNet": "estimators.linear_regression",
    "HuberRegressor": "estimators.linear_regression",
}
#: Where values that are parameters of estimators live: manifolds and balls, solvers with their step
#: rules, penalties, losses. All are settings; building one reads no file and starts nothing.
_PARTS = re.compile(
    r"(geometry\.[a-z_]+|solvers\.[a-z_]+|problems\.(penalties|linear_losses|class_weights))"
    r"\.([A-Z]\w*)"
)
_PACKAGE = "veilspan."


def estimator_class(name: Any) -> type | None:
    """The estimator of that name, or ``None``."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        return None
    return getattr(import_module(_PACKAGE + ESTIMATORS[name]), name)


def part_name(value: Any) -> str | None:
    """Name of a parameter's class, such as ``"solvers.rgd.RGD"``; ``None`` if it is not ours."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix(_PACKAGE)
    ours = kind.__module__.startswith(_PACKAGE) and _PARTS.fullmatch(name)
    return name if ours and _has_settings(kind) else None


def part_class(name: str) -> type | None:
    """The class of a parameter by its name, or ``None``."""
    if not _PARTS.fullmatch(name):
        return None
    module, _, short = (_PACKAGE + name).rpartition(".")
    try:
        kind = getattr(import_module(module), short, None)
    except ModuleNotFoundError:
        return None
    own = isinstance(kind, type) and kind.__module__ == module
    return kind if own and _has_settings(kind) else None


def settings_of(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments that build an equal value."""
    from veilspan.geometry import Euclidean, Manifold, Product

    if isinstance(value, Euclidean):
        return value.point_shape, {}
    if isinstance(value, Product):
        return value.factors, {}
    if isinstance(value, Manifold):
        return (), {name: getattr(value, name) for name in value._parameters}
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return (), {name: getattr(value, name) for name in fields}


def _has_settings(kind: Any) -> bool:
    from veilspan.geometry import Manifold

    return dataclasses.is_dataclass(kind) or issubclass(kind, Manifold)
