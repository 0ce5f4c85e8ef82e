"""Which classes a release may name: those of the catalogue, by their ids, and no others."""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib import import_module
from typing import Any

from veilspan._earlier_names import EARLIER_NAMES
from veilspan.catalogue import ESTIMATORS, PARTS

_PACKAGE = "veilspan."


def releasable() -> list[str]:
    """Names of the estimators whose fits are releases."""
    return [name for name, kind in ESTIMATORS.items() if kind.has_releases]


def estimator_class(name: Any) -> type | None:
    """The estimator of that name, or ``None``."""
    if not isinstance(name, str) or name not in releasable():
        return None
    return ESTIMATORS[name].load_class()


def part_name(value: Any) -> str | None:
    """Id of a parameter's class, such as ``"solver/rgd"``; ``None`` if it is not ours."""
    kind = type(value)
    return _ids().get(f"{kind.__module__}.{kind.__qualname__}".removeprefix(_PACKAGE))


def part_class(name: Any) -> type | None:
    """The class of a parameter by its id, or by the module path that older releases hold."""
    if not isinstance(name, str):
        return None
    home = PARTS.get(EARLIER_NAMES.get(name, name))
    if home is None:
        return None
    module, _, short = (_PACKAGE + home).rpartition(".")
    found: type = getattr(import_module(module), short)
    return found


@cache
def _ids() -> dict[str, str]:
    """Ids of the catalogue by the module path of their classes."""
    return {home: name for name, home in PARTS.items()}


def settings_of(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and named arguments with which its class builds an equal value."""
    from veilspan.geometry import Euclidean, Manifold, Product

    if isinstance(value, Euclidean):
        return value.point_shape, {}
    if isinstance(value, Product):
        return value.factors, {}
    if isinstance(value, Manifold):
        return (), {name: getattr(value, name) for name in value._parameters}
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return (), {name: getattr(value, name) for name in fields}
