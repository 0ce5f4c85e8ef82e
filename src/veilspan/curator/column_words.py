"""Why a data frame is no table of numbers, in words made of its columns' names and types.

Both are public, as the form of a table is; no cell is looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

#: Columns that a message names.
NAMED = 5
#: Types of numbers, as NumPy, pandas, Arrow and Polars call them.
_NUMBERS = re.compile(r"(sparse\[)?(u?int(\d|$)|float|double|half|bool|complex|decimal)", re.I)

TEXTS = (
    "X could not be read as a table of real numbers: by their types these columns hold none: {}. "
    "{}eave them out, or make columns of 0 and 1 of them by categories that are public, as "
    "pandas.get_dummies does of a pandas.Categorical that has them all."
)
SCHEMA = "Describe the table by a schema, which reads texts (`veilspan schema init`), l"
TWICE = "X has several columns of one name: {}. Rename them, or leave all but one out."
TARGETS = (
    "y could not be read as real numbers: by its type ({}) it holds none. Turn it into numbers, by "
    "a rule that does not look at other people's rows."
)


def say_columns(X: Any, *, by_schema: bool) -> str:
    """Which columns have one name, or hold no numbers by their types; "" where none do.

    Parameters
    ----------
    X : Any
        A data frame; of anything else there is nothing to say.
    by_schema : bool
        Whether a schema would be taken instead.
    """
    names, types = _list_of(getattr(X, "columns", None)), _list_of(getattr(X, "dtypes", None))
    shown = [repr(str(name)) for name in names]
    twice = dict.fromkeys(name for name in shown if shown.count(name) > 1)
    if twice:
        return TWICE.format(_join(list(twice)))
    kinds = [(name, str(kind)) for name, kind in zip(shown, types)]
    texts = [f"{name} ({kind})" for name, kind in kinds if not _NUMBERS.match(kind)]
    return TEXTS.format(_join(texts), SCHEMA if by_schema else "L") if texts else ""


def say_targets(y: Any) -> str:
    """That targets are no numbers by their type; "" where they may be."""
    kind = str(getattr(y, "dtype", "float"))
    return "" if _NUMBERS.match(kind) else TARGETS.format(kind)


def _list_of(columns: Any) -> list[Any]:
    return list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else []


def _join(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
