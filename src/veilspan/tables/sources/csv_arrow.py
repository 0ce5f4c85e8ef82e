r"""Parse lines of text with pyarrow, to the very cells of :mod:`veilspan.tables.sources.csv_lines`.

pyarrow's reader is fast and not row-wise: an open quote swallows the rows after it, a row of the
wrong width is an error that quotes it, a lone ``\r`` ends a row. So it sees only blocks in which
none of this can happen:

* Without a quote and a lone ``\r`` cells end at separators and lines at line breaks, and pyarrow
  does the same. If a line has the wrong width it says so (what it says is dropped), and those lines
  are replaced by lines of empty cells.
* Lines with quotes stay if every cell is either free of quotes or quoted from its first letter to
  its last, which there is one way to read. All others, and lines with a lone ``\r``, are replaced
  by empty ones and read one by one.
* Numbers that pyarrow reads are those of our rules, and infinities, which are missing. If it cannot
  read some cell of a block, numbers are read as texts, those that fit the rules are converted, and
  the rest is read one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.tables.cell_rules import number_pattern
from veilspan.tables.cells import Cells, NumberCells, ValueCells
from veilspan.tables.sources.csv_lines import (
    BOM,
    ColumnLayout,
    Layout,
    count_lines,
    parse_lines,
    split_lines,
)

if TYPE_CHECKING:
    import pyarrow as pa

#: Words in columns of numbers that are no numbers, so missing: known to pyarrow they cost nothing.
_NO_NUMBERS = (
    *("", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "none", "-", ".", "?"),
    *("#N/A", "\\N"),
)


@row_map
def parse_block(block: bytes, layout: Layout) -> dict[str, Cells]:
    """The cells of whole lines."""
    n = count_lines(block)
    plain, apart = _set_apart(block, layout)
    table = _read(plain, layout, numbers=True)
    if table is None or table.num_rows != n:
        plain = _blank_wrong_widths(plain, layout)
        table = _read(plain, layout, numbers=True)
        if table is None:
            table = _read(plain, layout, numbers=False)
    if table is None or table.num_rows != n:
        return parse_lines(block, layout)  # nothing is known that leads here
    found = {}
    for i, column in enumerate(layout.columns):
        cells = _cells_of(table.column(i), column, layout)
        found[column.name] = _patch(cells, apart, column) if apart else cells
    return found


def _read(block: bytes, layout: Layout, *, numbers: bool) -> pa.Table | None:
    """What pyarrow makes of a block, or None: its errors quote cells, so they are dropped."""
    import pyarrow as pa
    from pyarrow import csv

    types = {str(column.place): _arrow_type(column, numbers=numbers) for column in layout.columns}
    try:
        return csv.read_csv(
            pa.py_buffer(block),
            read_options=csv.ReadOptions(
                column_names=[str(i) for i in range(layout.width)],
                # One block: a line that spans two of them would be an error.
                block_size=len(block) + 1,
                # Blocks are parsed side by side instead (read_ahead), which takes a sixth less CPU.
                use_threads=False,
            ),
            parse_options=csv.ParseOptions(
                delimiter=layout.separator,
                quote_char='"' if layout.quoting and b'"' in block else False,
                ignore_empty_lines=False,
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[*_NO_NUMBERS, *layout.missing],
                strings_can_be_null=False,
                decimal_point=layout.decimal,
                check_utf8=False,
            ),
        )
    except (pa.ArrowException, OverflowError):  # pyarrow takes no block of 2 GB, one line's maybe
        return None


def _arrow_type(column: ColumnLayout, *, numbers: bool) -> pa.DataType:
    import pyarrow as pa

    if not column.is_number:
        return pa.dictionary(pa.int32(), pa.binary())
    return pa.float64() if numbers else pa.binary()


# Lines that pyarrow must not see.


def _set_apart(block: bytes, layout: Layout) -> tuple[bytes, dict[int, list[str] | None]]:
    """A block whose lines pyarrow reads as we do, and the cells of those that were taken out."""
    quotes = layout.quoting and b'"' in block
    returns = b"\r" in block and block.count(b"\r") != block.count(b"\r\n")
    if not quotes and not returns and not block.startswith(BOM):
        return block, {}
    regular = _regular_line(layout)
    lines = split_lines(block)
    apart: dict[int, list[str] | None] = {}
    for i, line in enumerate(lines):
        quoted = layout.quoting and b'"' in line
        if quoted or b"\r" in line or (not i and line.startswith(BOM)):
            if quoted and regular.fullmatch(line) and not (not i and line.startswith(BOM)):
                continue
            apart[i] = layout.cells_of(line.decode(layout.encoding, "replace"))
            lines[i] = layout.blank
    return b"\n".join(lines) + b"\n", apart


def _regular_line(layout: Layout) -> re.Pattern[bytes]:
    """Lines whose quotes can be read in one way only, of the right width."""
    separator = re.escape(layout.separator)
    cell = f'(?:"[^"\\r]*+(?:""[^"\\r]*+)*+"|[^"\\r{separator}]*+)'
    return re.compile(f"{cell}(?:{separator}{cell}){{{layout.width - 1}}}".encode())


def _blank_wrong_widths(block: bytes, layout: Layout) -> bytes:
    """The block with empty cells in place of lines that have too few or too many."""
    separator, most = layout.separator.encode(), layout.width - 1
    quote = b'"' if layout.quoting else b"\n"  # no line has a line break
    lines = [
        line if quote in line or line.count(separator) == most else layout.blank
        for line in split_lines(block)
    ]
    return b"\n".join(lines) + b"\n"


def _patch(cells: Cells, apart: dict[int, list[str] | None], column: ColumnLayout) -> Cells:
    """Put in the cells of lines that were read one by one; where there are none, nothing is."""
    read = {i: row[column.place] for i, row in apart.items() if row is not None}
    if not read:
        return cells
    rows = list(read)
    if isinstance(cells, NumberCells):
        values = np.array(cells.values)
        values[rows] = [column.reader.read(text) for text in read.values()]
        return NumberCells(values)
    assert isinstance(cells, ValueCells)
    codes = np.array(cells.codes)
    codes[rows] = len(cells.values) + np.arange(len(rows))
    texts = [_convert(text, column) for text in read.values()]
    return ValueCells(codes, [*cells.values, *texts])


# From pyarrow's columns to cells.


def _cells_of(array: pa.ChunkedArray, column: ColumnLayout, layout: Layout) -> Cells:
    import pyarrow as pa

    if pa.types.is_floating(array.type):
        return NumberCells(array.to_numpy())
    if pa.types.is_dictionary(array.type):
        return _text_cells(array, column, layout)
    return NumberCells(_numbers_of_texts(array.combine_chunks(), column, layout))


def _text_cells(array: pa.ChunkedArray, column: ColumnLayout, layout: Layout) -> ValueCells:
    codes: list[np.ndarray] = []
    values: list[Any] = []
    for chunk in array.chunks:
        codes.append(chunk.indices.to_numpy() + len(values))
        for raw in chunk.dictionary.to_pylist():
            values.append(_convert(raw.decode(layout.encoding, "replace"), column))
    return ValueCells(codes[0] if len(codes) == 1 else np.concatenate(codes), values)


def _convert(text: str, column: ColumnLayout) -> Any:
    return text if column.convert is None else column.convert(text)


def _numbers_of_texts(texts: pa.Array, column: ColumnLayout, layout: Layout) -> np.ndarray:
    """Numbers of a column that has other texts too: those that fit in one go, others one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.match_substring_regex(texts, rf"\A{number_pattern(layout.decimal)}\z")
    fit = plain.to_numpy(zero_copy_only=False)
    found = np.empty(len(texts))
    try:
        numbers = texts.filter(plain).cast(pa.string())
        if layout.decimal != ".":
            numbers = pc.replace_substring(numbers, layout.decimal, ".")
        found[fit] = numbers.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        fit[:] = False
    odd = texts.filter(pa.array(~fit)).dictionary_encode()
    values = [raw.decode(layout.encoding, "replace") for raw in odd.dictionary.to_pylist()]
    found[~fit] = column.reader.read_all(values)[odd.indices.to_numpy()]
    return found
