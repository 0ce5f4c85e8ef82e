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


def build_part(kind: type, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Build a value of a part's class from what :func:`settings_of` returned for it."""
    from veilspan.tables.schema import Schema

    if kind is not Schema:
        return kind(*positional, **named)
    # Its text and nothing else: with a folder it would open files that a stranger's release names.
    if named or len(positional) != 1 or not isinstance(positional[0], str):
        raise ValueError("its schema is not a text")
    return Schema.from_toml(positional[0])


def settings_of(value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and named arguments from which :func:`build_part` makes its equal."""
    from veilspan.geometry import Euclidean, Manifold, Product
    from veilspan.tables.schema import Schema

    if isinstance(value, Schema):
        return (value.to_toml(),), {}
    if isinstance(value, Euclidean):
        return value.point_shape, {}
    if isinstance(value, Product):
        return value.factors, {}
    if isinstance(value, Manifold):
        return (), {name: getattr(value, name) for name in value._parameters}
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return (), {name: getattr(value, name) for name in fields}
