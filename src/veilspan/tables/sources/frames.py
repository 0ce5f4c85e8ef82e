"""Tables in memory without pyarrow: pandas data frames and columns of NumPy arrays.

Columns are taken as they are stored: numbers, booleans and dates by reference, so that encoding
them takes one pass; texts and Python objects as codes of distinct values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from veilspan.tables.cells import (
    BooleanCells,
    Cells,
    DateCells,
    NumberCells,
    ValueCells,
    encode_values,
    missing_cells,
)
from veilspan.tables.columns import Column
from veilspan.tables.sources.table_source import TableError, TableSource, check_header

#: What a letter of NumPy's kinds is called in a schema.
_KINDS = {
    "f": "number", "i": "integer", "u": "integer", "b": "boolean",
    "M": "date", "U": "text", "T": "text", "O": "text",
}  # fmt: skip


class ArrayColumns(TableSource):
    """Columns of arrays by name: a dict, or a structured array."""

    label = "the table"
    in_memory = True

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self.names = check_header([str(name) for name in columns], self.label)
        self._columns = dict(zip(self.names, map(_as_array, columns.values()), strict=True))
        lengths = {len(array) for array in self._columns.values()}
        if len(lengths) > 1:
            raise TableError("the columns of the table do not have the same length.")
        self.kinds = {n: _KINDS.get(a.dtype.kind, "other") for n, a in self._columns.items()}

    def count_rows(self) -> int:
        """The length of the columns."""
        return len(next(iter(self._columns.values())))

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the whole table: it is in memory already."""
        if self.count_rows():
            yield {c.name: array_cells(self._columns[c.name]) for c in columns}


def _as_array(column: Any) -> np.ndarray:
    if isinstance(column, np.ndarray):
        array = column
    elif hasattr(column, "__array__"):
        array = np.asarray(column)
    else:  # a list: NumPy would make texts of numbers and texts
        array = np.empty(len(column), dtype=object)
        array[:] = list(column)
    if array.ndim != 1:
        raise TableError("the columns of the table must be arrays of one dimension.")
    return array


def array_cells(array: np.ndarray) -> Cells:
    """The cells of an array."""
    kind = array.dtype.kind
    hidden = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    if hidden is not None:
        array = np.ma.getdata(array)
    if kind in "fiu":
        return NumberCells(array, hidden)
    if kind == "b":
        return BooleanCells(array, hidden)
    if kind == "M":
        days = array.astype("datetime64[D]")
        return DateCells(days if hidden is None else np.where(hidden, np.datetime64("NaT"), days))
    if kind not in "OUT":
        return missing_cells(len(array))
    found = encode_values(array.tolist())
    return found if hidden is None else ValueCells(np.where(hidden, -1, found.codes), found.values)


class PandasFrame(TableSource):
    """A pandas data frame; its index is no column."""

    label = "the table"
    in_memory = True

    def __init__(self, frame: Any) -> None:
        self.names = check_header([str(name) for name in frame.columns], self.label)
        self._frame = frame
        self.kinds = {name: _pandas_kind(t) for name, t in zip(self.names, frame.dtypes)}

    def count_rows(self) -> int:
        """The length of the frame."""
        return len(self._frame)

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the whole frame: it is in memory already."""
        places = {name: place for place, name in enumerate(self.names)}
        if len(self._frame):
            yield {c.name: series_cells(self._frame.iloc[:, places[c.name]]) for c in columns}


def _pandas_kind(dtype: Any) -> str:
    if isinstance(dtype, np.dtype):
        return _KINDS.get(dtype.kind, "other")
    if _is_arrow(dtype):
        from veilspan.tables.sources.arrow_stream import kind_of

        return kind_of(dtype.pyarrow_dtype)
    named = type(dtype).__name__
    if named in ("CategoricalDtype", "DatetimeTZDtype", "StringDtype"):
        return {"C": "category", "D": "date", "S": "text"}[named[0]]
    return _KINDS.get(getattr(dtype, "kind", ""), "other") if _is_nullable(dtype) else "other"


def _is_arrow(dtype: Any) -> bool:
    return type(dtype).__name__ == "ArrowDtype"


def _is_nullable(dtype: Any) -> bool:
    """Whether it is one of pandas' Int64, Float64, boolean: an array and a mask."""
    return hasattr(dtype, "numpy_dtype") and getattr(dtype, "kind", "") in set("fiub")


def series_cells(series: Any) -> Cells:
    """The cells of a pandas column."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return array_cells(series.to_numpy())
    named = type(dtype).__name__
    if named == "CategoricalDtype":
        values = series.cat.categories
        return ValueCells(series.cat.codes.to_numpy(), [_or_none(value) for value in values])
    if named == "StringDtype":
        codes, texts = series.factorize()
        return ValueCells(codes, [str(text) for text in texts])
    if named == "DatetimeTZDtype":
        return DateCells(series.dt.tz_convert(None).to_numpy().astype("datetime64[D]"))
    if _is_arrow(dtype):
        from veilspan.tables.sources.arrow_stream import arrow_cells

        return arrow_cells(series.array.__arrow_array__())
    if _is_nullable(dtype):
        return _nullable_cells(series, dtype)
    if named == "SparseDtype":
        return array_cells(np.asarray(series))
    return missing_cells(len(series))


def _nullable_cells(series: Any, dtype: Any) -> Cells:
    stored = dtype.numpy_dtype
    hidden = series.isna().to_numpy()
    if not hidden.any():
        hidden = None
    values = series.to_numpy(dtype=stored, na_value=stored.type(0))
    return BooleanCells(values, hidden) if stored.kind == "b" else NumberCells(values, hidden)


def _or_none(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biuf" else value


def is_pandas(table: Any) -> bool:
    """Whether a table is a pandas data frame, without importing pandas."""
    kinds = {f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(table).__mro__}
    return "pandas.DataFrame" in kinds
