"""Results as plain values that every JSON reader understands."""

import math
from typing import Any


def plain(value: Any) -> Any:
    """Numbers, texts, lists and dictionaries; ``None`` for nan, ``"inf"`` and ``"-inf"`` as text.

    JSON has no infinities; Python would write words that other readers refuse.
    """
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def number(value: Any) -> float:
    """The float that ``plain`` wrote."""
    return math.nan if value is None else float(value)
