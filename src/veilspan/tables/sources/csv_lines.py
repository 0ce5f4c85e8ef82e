r"""Lines of a text table: a line break always ends a row, and a row is read by itself.

The usual readers let an open quote swallow the rows after it. Here a line break (``\n``, with the
``\r`` before it if there is one) ends a row inside quotes too, and a lone ``\r`` never does. A line
with quotes that do not fit, with too few or too many cells, or with nothing in it is a row in which
every cell is missing. So a change of one row, short of writing a line break into it, changes the
cells of that row and of no other, and the number of rows is the number of lines. (One file cannot
keep to it: with a single column and no line break at its end, its last line is no line any more
once its only cell is empty. End the file with a line break.)

This is the definition, in plain Python, and the fallback without pyarrow.
:mod:`veilspan.tables.sources.csv_arrow` is fast and held to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.tables.cell_rules import MISSING, CellReader
from veilspan.tables.cells import Cells, NumberCells, ValueCells, encode_values

BOM = b"\xef\xbb\xbf"
QUOTE = '"'
_LINE_BREAK = ord("\n")


@dataclass(frozen=True)
class ColumnLayout:
    """A column that is wanted from the lines of a file.

    Attributes
    ----------
    place : int
        Where its cells stand in a line.
    reader : CellReader
        What its cells mean.
    is_number : bool
        Whether it may be parsed as numbers right away.
    convert : callable, optional
        From the text of a cell to the value that was stored, where the file is a way of sending
        values that have types.
    """

    place: int
    reader: CellReader
    is_number: bool
    convert: Callable[[str], Any] | None = None

    @property
    def name(self) -> str:
        """The name of the column that its reader reads."""
        return self.reader.column.name


@dataclass(frozen=True)
class Layout:
    """How lines are cut into cells, and which of them are wanted."""

    width: int
    separator: str
    decimal: str
    encoding: str
    columns: tuple[ColumnLayout, ...]
    missing: tuple[str, ...] = ("",)
    quoting: bool = True

    @cached_property
    def blank(self) -> bytes:
        """A line of empty cells."""
        return self.separator.encode() * (self.width - 1)

    def cells_of(self, line: str) -> list[str] | None:
        """The cells of a line without its line break, or None if all are missing."""
        if self.quoting and QUOTE in line:
            cells = split_quoted(line, self.separator)
        else:
            cells = line.split(self.separator)
        return cells if cells is not None and len(cells) == self.width else None


def split_quoted(line: str, separator: str) -> list[str] | None:
    r"""Cut a line with quotes into cells, or return None if the quotes do not fit.

    As ``csv.reader(strict=True)`` does it to one line: a cell that begins with a quote ends with
    one, and a quote inside is written twice; in other cells a quote is a letter. Unlike there a
    lone ``\r`` is a letter too, and a cell may have any length.
    """
    cells, place = [], 0
    quoted = _quoted_cell(separator)
    while True:
        if line.startswith(QUOTE, place):
            match = quoted.match(line, place)
            if match is None:
                return None
            cells.append(match[1].replace('""', QUOTE))
            place = match.end()
        else:
            end = line.find(separator, place)
            end = len(line) if end < 0 else end
            cells.append(line[place:end])
            place = end
        if place == len(line):
            return cells
        place += 1


_QUOTED: dict[str, re.Pattern[str]] = {}


def _quoted_cell(separator: str) -> re.Pattern[str]:
    """One quoted cell, up to the separator or the end of the line."""
    if separator not in _QUOTED:
        after = f"(?={re.escape(separator)}|\\Z)"
        _QUOTED[separator] = re.compile(f'"([^"]*+(?:""[^"]*+)*+)"{after}')
    return _QUOTED[separator]


def split_lines(block: bytes) -> list[bytes]:
    """The lines of a block without their line breaks; the last one may have none."""
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def count_breaks(block: Any) -> int:
    """How many line breaks are in some bytes; NumPy is quicker at it than ``bytes.count``."""
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == _LINE_BREAK))


def count_lines(block: bytes) -> int:
    """How many rows a block is."""
    return count_breaks(block) + (not block.endswith(b"\n") and bool(block))


@row_map
def parse_lines(block: bytes, layout: Layout) -> dict[str, Cells]:
    """The cells of whole lines, in plain Python: the definition."""
    lines = [line.decode(layout.encoding, "replace") for line in split_lines(block)]
    rows = [layout.cells_of(line) for line in lines]
    return {column.name: _column_cells(rows, column) for column in layout.columns}


def _column_cells(rows: Sequence[list[str] | None], column: ColumnLayout) -> Cells:
    place = column.place
    if column.is_number:
        read = column.reader.read
        return NumberCells(np.array([MISSING if row is None else read(row[place]) for row in rows]))
    found = encode_values(None if row is None else row[place] for row in rows)
    return found if column.convert is None else convert_values(found, column.convert)


def convert_values(cells: ValueCells, convert: Callable[[str], Any]) -> ValueCells:
    """The stored values of texts."""
    return ValueCells(cells.codes, [convert(text) for text in cells.values])


def read_blocks(stream: IO[bytes], size: int) -> Iterator[bytearray]:
    """Yield a stream in blocks of about ``size`` bytes that end where a line ends.

    A line that is longer than a block makes a longer one. Each block is read into its own memory
    and what is behind its last line break goes to the next one: nothing else is copied.
    """
    rest = b""
    while True:
        block = bytearray(len(rest) + max(size, len(rest)))  # twice as much of a long line
        block[: len(rest)] = rest
        with memoryview(block) as whole, whole[len(rest) :] as room:
            n = len(rest) + stream.readinto(room)  # type: ignore[attr-defined]
        if n == len(rest):
            if rest:
                yield bytearray(rest)
            return
        end = block.rfind(b"\n", 0, n) + 1
        rest = bytes(memoryview(block)[end:n])
        if end:
            del block[end:]
            yield block
