"""Turn values into JSON and arrays, and back: no pickle, and nothing that runs code.

Numbers, texts, lists and mappings with text keys stand for themselves. Everything else is an object
with the key ``"veilspan"``: an array (kept beside, by name), a tuple, a mapping with other keys, a
float that JSON lacks, or a value of one of veilspan's own classes with its settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from veilspan.releases.names import build_part, part_class, part_name, settings_of

TAG = "veilspan"


class Encoder:
    """Encode values; ``arrays`` fills with the arrays that were met."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, name: str) -> Any:
        """A value for JSON; ``name`` says what it is, for the error and for its arrays."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {TAG: "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, (list, tuple)):
            items = [self.encode(item, f"{name}.{i}") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {TAG: "tuple", "items": items}
        if isinstance(value, Mapping):
            return self._mapping(value, name)
        return self._part(value, name)

    def _array(self, value: np.ndarray, name: str) -> Any:
        if value.dtype.hasobject:  # names of columns and the like
            if value.ndim != 1:
                raise ValueError(f"{name} is an array of objects, which a release cannot hold.")
            items = [self.encode(item, f"{name}.{i}") for i, item in enumerate(value.tolist())]
            return {TAG: "objects", "items": items}
        self.arrays[name] = value
        return {TAG: "array", "name": name}

    def _mapping(self, value: Mapping[Any, Any], name: str) -> Any:
        if all(isinstance(key, str) for key in value) and TAG not in value:
            return {key: self.encode(part, f"{name}.{key}") for key, part in value.items()}
        pairs = [
            [self.encode(key, name), self.encode(part, f"{name}.{i}")]
            for i, (key, part) in enumerate(value.items())
        ]
        return {TAG: "mapping", "items": pairs}

    def _part(self, value: Any, name: str) -> Any:
        kind = part_name(value)
        if kind is None:
            raise ValueError(
                f"{name} is a {type(value).__name__}, which cannot be saved: a release holds "
                "numbers, texts, arrays, and veilspan's own manifolds, solvers and penalties."
            )
        positional, named = settings_of(value)
        record: dict[str, Any] = {TAG: kind}
        if positional:
            record["arguments"] = [self.encode(p, f"{name}.{i}") for i, p in enumerate(positional)]
        return {**record, **{key: self.encode(p, f"{name}.{key}") for key, p in named.items()}}


def decode(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Rebuild the value that :class:`Encoder` encoded; ValueError for an id unknown here."""
    if isinstance(value, list):
        return [decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if TAG not in value:
        return {key: decode(part, arrays) for key, part in value.items()}
    kind = value[TAG]
    if kind == "array":
        return arrays[value["name"]]
    if kind == "float":
        return float(value["value"])
    if kind == "objects":
        return np.array([decode(item, arrays) for item in value["items"]], dtype=object)
    if kind == "tuple":
        return tuple(decode(item, arrays) for item in value["items"])
    if kind == "mapping":
        return {decode(key, arrays): decode(part, arrays) for key, part in value["items"]}
    return _build(kind, value, arrays)


def _build(kind: str, record: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    made = part_class(kind)
    if made is None:
        raise ValueError(f"it names {kind!r}, which this version of veilspan does not know")
    named = {k: decode(v, arrays) for k, v in record.items() if k not in (TAG, "arguments")}
    positional = tuple(decode(item, arrays) for item in record.get("arguments", ()))
    return build_part(made, positional, named)
