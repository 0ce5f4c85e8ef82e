"""Arrow tables, and everything that offers itself as one by ``__arrow_c_stream__``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch: large enough that what is done once a batch costs nothing, small beside a table.
BATCH_ROWS = 65_536
NEEDS_PYARROW = "needs pyarrow: pip install 'veilspan[files]'."


class ArrowTable(TableSource):
    """An Arrow table in memory, in as many pieces as it has."""

    label = "the table"
    in_memory = True

    def __init__(self, table: pa.Table, label: str = "the table") -> None:
        self.label = label
        self.names = check_header(table.schema.names, self.label)
        self.kinds = {n: kind_of(f.type) for n, f in zip(self.names, table.schema, strict=True)}
        self._table = table

    def count_rows(self) -> int:
        """The length of the table."""
        return int(self._table.num_rows)

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the table in batches, without a copy of its numbers."""
        places = {name: place for place, name in enumerate(self.names)}
        chosen = self._table.select([places[column.name] for column in columns])
        for batch in chosen.to_batches(max_chunksize=BATCH_ROWS):
            if batch.num_rows:
                yield batch_cells(batch, columns)


def batch_cells(batch: pa.RecordBatch, columns: Sequence[Column]) -> dict[str, Cells]:
    """The cells of a batch whose columns are those named."""
    return {c.name: _cells_of(c, array) for c, array in zip(columns, batch.columns, strict=True)}


def _cells_of(column: Column, array: pa.Array) -> Cells:
    """The cells of a column; ids are told apart by digits that no float has."""
    import pyarrow as pa

    if column.role == "id" and pa.types.is_decimal(array.type):
        return encode_values(array.to_pylist())
    return arrow_cells(array)


def read_stream(table: Any) -> ArrowTable:
    """Take anything with ``__arrow_c_stream__``; what can be read only once is kept in memory."""
    try:
        import pyarrow as pa
    except ImportError:
        raise TableError(f"a table of the type {type(table).__name__} {NEEDS_PYARROW}") from None
    if isinstance(table, pa.Table):
        return ArrowTable(table)
    if isinstance(table, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([table]))
    try:
        if isinstance(table, pa.RecordBatchReader):
            return ArrowTable(table.read_all())
        return ArrowTable(pa.RecordBatchReader.from_stream(table).read_all())
    except pa.ArrowException:  # its text may quote what it could not convert
        pass
    raise TableError(f"the Arrow stream of a {type(table).__name__} cannot be read as a table.")


def kind_of(kind: pa.DataType) -> str:
    """What an Arrow type is called in a schema."""
    import pyarrow.types as t

    if t.is_dictionary(kind):
        return "category" if kind_of(kind.value_type) == "text" else kind_of(kind.value_type)
    if t.is_boolean(kind):
        return "boolean"
    if t.is_integer(kind):
        return "integer"
    if t.is_floating(kind) or t.is_decimal(kind):
        return "number"
    if t.is_date(kind) or t.is_timestamp(kind):
        return "date"
    texts = t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)
    # A column of nothing but gaps has no type of its own, so its type must say nothing either.
    return "text" if texts or t.is_null(kind) else "other"


def arrow_cells(array: Any) -> Cells:
    """The cells of an Arrow array, or of a chunked one."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # of no chunks, or too many letters for one
            return _join([arrow_cells(chunk) for chunk in array.chunks])
    kind = kind_of(array.type)
    if pa.types.is_dictionary(array.type):
        return _dictionary_cells(array)
    if kind == "other" or pa.types.is_null(array.type):
        return missing_cells(len(array))
    if kind == "text":
        return _text_cells(array)
    if kind == "date":
        return DateCells(_days(array))
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if kind == "boolean":
        filled = array.fill_null(False) if array.null_count else array
        return BooleanCells(filled.to_numpy(zero_copy_only=False), missing)
    if pa.types.is_decimal(array.type):
        # By way of texts, which are read to the nearest float; the direct cast is not.
        array = array.cast(pa.string()).cast(pa.float64())
    if kind == "integer" and array.null_count:
        return NumberCells(array.fill_null(0).to_numpy(zero_copy_only=False), missing)
    return NumberCells(array.to_numpy(zero_copy_only=False))


def _join(parts: list[Cells]) -> Cells:
    """Several batches of one column as one, by their distinct values."""
    codes: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
    values: list[Any] = []
    for part in parts:
        found = part.distinct()
        codes.append(np.where(found.codes < 0, -1, found.codes + len(values)))
        values.extend(found.values)
    return ValueCells(np.concatenate(codes), values)


def _text_cells(array: pa.Array) -> ValueCells:
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    return _dictionary_cells(array.dictionary_encode())


def _dictionary_cells(array: pa.DictionaryArray) -> ValueCells:
    indices = array.indices
    codes = (indices.fill_null(0) if indices.null_count else indices).to_numpy()
    if indices.null_count:
        codes = np.where(indices.is_null().to_numpy(zero_copy_only=False), -1, codes.astype("i8"))
    return ValueCells(codes, _python_values(array.dictionary))


def _python_values(array: pa.Array) -> list[Any]:
    """The values of a dictionary; texts that are no UTF-8 have marks in place of what is not."""
    import pyarrow as pa

    if kind_of(array.type) == "text":
        wide = pa.types.is_large_string(array.type)
        raw = array.cast(pa.large_binary() if wide else pa.binary()).to_pylist()
        return [None if text is None else text.decode("utf-8", "replace") for text in raw]
    cells = arrow_cells(array).distinct()
    return [None if code < 0 else cells.values[code] for code in cells.codes.tolist()]


def _days(array: pa.Array) -> np.ndarray:
    """Days of dates and moments as they are stored, which is UTC for those with a time zone."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_timestamp(kind):
        stored, unit = array.cast(pa.int64()), kind.unit
    elif kind == pa.date32():
        stored, unit = array.cast(pa.int32()), "D"
    else:
        stored, unit = array.cast(pa.int64()), "ms"
    values = stored.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    days = values.astype(f"datetime64[{unit}]").astype("datetime64[D]")
    if array.null_count:
        days[array.is_null().to_numpy(zero_copy_only=False)] = np.datetime64("NaT")
    return np.asarray(days)
