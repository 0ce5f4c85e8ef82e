"""CSV files by the standard library and NumPy: numbers, labels, and errors that quote no cell."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

#: Put between cells that are handed to NumPy: a control character that separates units.
_BETWEEN = "\x1f"


@dataclass(frozen=True)
class CsvFile:
    """A file whose first line was read.

    Attributes
    ----------
    path : Path
        The file.
    separator : str
        Between cells.
    names : tuple of str
        Of the columns; their numbers where the first line holds numbers only.
    has_header : bool
        Whether the first line names the columns.
    """

    path: Path
    separator: str
    names: tuple[str, ...]
    has_header: bool

    @classmethod
    def open(cls, path: Path, separator: str | None = None) -> CsvFile:
        """Read the first line."""
        if separator is None:
            separator = "\t" if path.suffix == ".tsv" else ","
        if len(separator) != 1:
            raise ValueError("--separator is one character; for a tab name the file .tsv.")
        first = next(_lines(path, separator), None)
        if first is None:
            raise ValueError(f"{path.name} is empty.")
        if len(first) == 1:
            _check_separator(path, separator, first[0])
        numbers = sum(map(_is_number, first))
        if 0 < numbers < len(first):
            raise ValueError(
                f"the first line of {path.name} mixes numbers and text: if it names the columns, "
                "no name may be a number; if it is a row, put a line of names above it."
            )
        if numbers:
            return cls(path, separator, tuple(map(str, range(len(first)))), False)
        names = tuple(cell.strip() for cell in first)
        if len(set(names)) < len(names) or "" in names:
            raise ValueError(
                f"the first line of {path.name} must name every column, each by another name."
            )
        return cls(path, separator, names, True)

    def numbers(self, names: Sequence[str]) -> np.ndarray:
        """Columns as an array of floats."""
        places = [self.names.index(name) for name in names]
        count = 0

        def chosen() -> Iterator[str]:
            nonlocal count
            for line in self._records():
                count += 1
                yield _BETWEEN.join([line[place].strip() for place in places])

        table = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a file without rows
                table = np.loadtxt(chosen(), delimiter=_BETWEEN, comments=None, ndmin=2)
        except ValueError:
            pass  # NumPy quotes the cell; what is said below does not
        if table is not None and count == 0:
            raise ValueError(f"{self.path.name} has no rows below the names of its columns.")
        # NumPy leaves out lines without a cell, and cells may hold what is put between them.
        if table is None or table.shape != (count, len(places)):
            raise ValueError(self._diagnosis(places))
        return table

    def column(self, name: str) -> list[str]:
        """One column as text."""
        place = self.names.index(name)
        cells = [line[place].strip() for line in self._records()]
        if "" in cells:
            raise ValueError(f"{self.path.name} has empty cells in {name}: fill or drop them.")
        return cells

    def labels(self, name: str) -> np.ndarray:
        """One column as whole numbers, numbers or text, whichever fits first."""
        cells = self.column(name)
        if not all(_is_number(cell) for cell in cells):
            return np.array(cells)
        numbers = np.array([float(cell) for cell in cells])
        whole = bool(np.all(numbers == np.rint(numbers))) and bool(np.all(abs(numbers) < 2**53))
        return numbers.astype(np.int64) if whole else numbers

    def _records(self) -> Iterator[list[str]]:
        """Lines below the names, each with a cell for every column."""
        lines = _lines(self.path, self.separator)
        if self.has_header:
            next(lines)
        for line in lines:
            if len(line) != len(self.names):
                raise ValueError(
                    f"the lines of {self.path.name} have different numbers of cells: is the "
                    "separator right, and are texts with commas in quotes?"
                )
            yield line

    def _diagnosis(self, places: Sequence[int]) -> str:
        """Why the columns are no numbers: by names of columns, without a cell or a row number."""
        text, gaps, any_number = set(), set(), False
        for line in self._records():
            any_number = any_number or any(map(_is_number, line))
            for place in places:
                cell = line[place].strip()
                if not cell:
                    gaps.add(place)
                elif not _is_number(cell):
                    text.add(place)
        if not any_number:  # the first line may be a row as well: its cells are not quoted
            return (
                f"{self.path.name} holds no numbers: leave texts out by --columns, and turn "
                "categories into numbers (a column of 0 and 1 for each) first."
            )
        if text:
            return (
                f"{self.path.name} holds text, not numbers, in {self._named(text)}: leave ids out "
                "by --columns, and turn categories into numbers (a column of 0 and 1 for each) "
                "first."
            )
        if gaps:
            return f"{self.path.name} has empty cells in {self._named(gaps)}: fill or drop them."
        return f"{self.path.name} could not be read as a table of numbers."

    def _named(self, places: set[int]) -> str:
        return ", ".join(self.names[place] for place in sorted(places))


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    failed = False
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            yield stream
    except UnicodeDecodeError:
        failed = True
    if failed:  # out here: the original holds bytes of the file
        raise ValueError(f"{path.name} is no UTF-8 text.")


def _lines(path: Path, separator: str) -> Iterator[list[str]]:
    """Lines as cells; blank lines are left out."""
    broken = False
    with _opened(path) as stream:
        try:
            yield from (line for line in csv.reader(stream, delimiter=separator) if line)
        except csv.Error:
            broken = True
    if broken:
        raise ValueError(f"{path.name} is no CSV file.")


def _check_separator(path: Path, separator: str, first: str) -> None:
    for other in (";", "\t", "|", ","):
        if other != separator and other in first:
            name = "a tab (name the file .tsv)" if other == "\t" else f"--separator '{other}'"
            raise ValueError(
                f"{path.name} has one column only, and its first line looks separated otherwise: "
                f"try {name}."
            )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000, people mean a name


def csv_text(names: Sequence[str], columns: Sequence[Any]) -> str:
    """Columns as the text of a CSV file; numbers keep every digit."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(getattr(c, "tolist", lambda c=c: c)() for c in columns)))
    return stream.getvalue()
