"""CSV files by the standard library and NumPy: numbers, labels, and errors that quote no cell."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from veilspan.tables.sources.first_line import (
    GAPS,
    find_other_separator,
    is_number,
    may_be_value,
)

#: Put between cells that are handed to NumPy: a control character that separates units.
_BETWEEN = "\x1f"
#: What a cell may be that is no number.
GAP, COMMA, TEXT = "gap", "decimal comma", "text"

#: Columns that an error lists.
_MOST_SHOWN = 12


@dataclass(frozen=True)
class CsvFile:
    """A file whose first line was read.

    A row that is taken for names is published: names of columns go into releases and errors. So,
    unless the user says what the first line is, it names the columns only if every cell of it is
    text that cannot be a value; it is a row if every cell is a number; all else is refused. And as
    long as nobody has said so, names of columns that hold text are not quoted.

    Attributes
    ----------
    path : Path
        The file.
    separator : str
        Between cells.
    names : tuple of str
        Of the columns; their numbers where the first line is a row.
    has_header : bool
        Whether the first line names the columns.
    declared : bool
        Whether names may be quoted whatever the columns hold: the user said that the first line
        holds them, or they are numbers.
    encoding : str
        How letters are stored.
    """

    path: Path
    separator: str
    names: tuple[str, ...]
    has_header: bool
    declared: bool
    encoding: str = "utf-8"

    @classmethod
    def open(
        cls,
        path: Path,
        separator: str | None = None,
        *,
        header: bool | None = None,
        encoding: str | None = None,
    ) -> CsvFile:
        """Read the first line; ``header`` says whether it names the columns."""
        encoding = _check_encoding(encoding)
        if separator is None:
            separator = "\t" if path.suffix == ".tsv" else ","
        if len(separator) != 1:
            raise ValueError("--separator is one character; for a tab name the file .tsv.")
        first = next(_read_lines(path, separator, encoding), None)
        if first is None:
            raise ValueError(f"{path.name} is empty.")
        if len(first) == 1:
            _check_separator(path, separator, first[0])
        named = _is_header(path, first) if header is None else header
        if not named:
            numbers = tuple(map(str, range(len(first))))
            return cls(path, separator, numbers, False, True, encoding)
        names = tuple(cell.strip() for cell in first)
        if any(len(name.splitlines()) > 1 for name in names):
            # A quote that stays open runs on into the rows below, and would publish them.
            raise ValueError(
                f"the first line of {path.name} has a quote that stays open, or a name with a line "
                "end in it: mend it, or say --no-header if it is a row."
            )
        if len(set(names)) < len(names) or "" in names:
            raise ValueError(
                f"the first line of {path.name} must name every column, each by another name."
            )
        if header is None and any(map(may_be_value, names)):
            raise ValueError(
                f"the first line of {path.name} holds what may be values of a row (dates, amounts, "
                "marks of missing values): say --header if it names the columns, --no-header if it "
                "is a row."
            )
        return cls(path, separator, names, True, header is True, encoding)

    def _find_places(self, names: Sequence[str]) -> list[int]:
        number = {name: place for place, name in enumerate(self.names)}
        return [number[name] for name in names]

    def read_numbers(self, names: Sequence[str]) -> np.ndarray:
        """Columns as an array of floats; what is not a number is refused by its column alone."""
        places = self._find_places(names)
        count = 0

        def chosen() -> Iterator[str]:
            nonlocal count
            for line in self._read_records():
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
            raise ValueError(self._explain(places))
        return table

    def read_column(self, name: str) -> list[str]:
        """One column as text, without the blanks around its cells; an empty cell is refused."""
        (place,) = self._find_places([name])
        cells = [line[place].strip() for line in self._read_records()]
        if "" in cells:
            raise ValueError(
                f"{self.path.name} has empty cells in {name}: {point_to_schema(self.path.name)}."
            )
        return cells

    def read_labels(self, name: str) -> np.ndarray:
        """One column as whole numbers, numbers or text, whichever fits first."""
        cells = self.read_column(name)
        if not all(is_number(cell) for cell in cells):
            return np.array(cells)
        numbers = np.array([float(cell) for cell in cells])
        whole = bool(np.all(numbers == np.rint(numbers))) and bool(np.all(abs(numbers) < 2**53))
        return numbers.astype(np.int64) if whole else numbers

    def _read_records(self) -> Iterator[list[str]]:
        """Lines below the names, each with a cell for every column."""
        lines = _read_lines(self.path, self.separator, self.encoding)
        if self.has_header:
            next(lines)
        for line in lines:
            if len(line) != len(self.names):
                raise ValueError(
                    f"the lines of {self.path.name} have different numbers of cells: is the "
                    "separator right, and are texts with commas in quotes?"
                )
            yield line

    def _explain(self, places: Sequence[int]) -> str:
        """Why the columns are not numbers: by names of columns, without a cell or a row number."""
        found: dict[str, set[int]] = {GAP: set(), COMMA: set(), TEXT: set()}
        any_number = False
        for line in self._read_records():
            any_number = any_number or any(map(is_number, line))
            for place in places:
                if not is_number(cell := line[place].strip()):
                    found[name_cell(cell)].add(place)
        name, way_out = self.path.name, point_to_schema(self.path.name)
        if not any_number and not found[COMMA]:
            return f"{name} holds no numbers: {way_out}."  # the first line may be a row as well
        if found[TEXT]:
            return (
                f"{name} holds text, not numbers, in {self._point_at(found[TEXT])}: {way_out}; or "
                "leave them out by --columns."
            )
        if found[COMMA]:
            return (
                f"{name} writes numbers with a decimal comma in {self._point_at(found[COMMA])}: "
                f'{way_out}, with decimal = "," under [file].'
            )
        if found[GAP]:
            return (
                f"{name} has cells that are empty or say NA in {self._join_names(found[GAP])}: "
                f"{way_out}."
            )
        return f"{name} could not be read as a table of numbers."

    def _point_at(self, places: set[int]) -> str:
        """Their names, or where they stand: the first line may be a row like those below it."""
        if self.declared:
            return self._join_names(places)
        shown = [str(place + 1) for place in sorted(places)[:_MOST_SHOWN]]
        more = ", ..." if len(places) > len(shown) else ""
        return f"column {', '.join(shown)}{more} (the first is 1; --header allows their names)"

    def _join_names(self, places: set[int]) -> str:
        shown = [self.names[place] for place in sorted(places)[:_MOST_SHOWN]]
        return ", ".join(shown) + (", ..." if len(places) > len(shown) else "")


def point_to_schema(data: str) -> str:
    """The way out for a file that is no plain table of numbers, in the words of an error."""
    return (
        "texts, categories, dates and gaps are read by a schema, which says what is public of each "
        f"column (veilspan schema init {data} --out schema.toml, then --schema schema.toml)"
    )


def _check_encoding(encoding: str | None) -> str:
    """The name of a known encoding; UTF-8 if nothing was said."""
    from veilspan.tables.file_format import ENCODINGS

    spelled = "utf-8" if encoding is None else encoding.strip().lower().replace("_", "-")
    if spelled not in ENCODINGS:
        known = ", ".join(dict.fromkeys(ENCODINGS.values()))
        raise ValueError(f"unknown --encoding {encoding!r}; known are {known}.")
    return ENCODINGS[spelled]


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[TextIO]:
    failed = False
    codec = "utf-8-sig" if encoding == "utf-8" else encoding  # a mark at the start is no letter
    try:
        with open(path, encoding=codec, newline="") as stream:
            yield stream
    except UnicodeDecodeError:
        failed = True
    if failed:  # out here: the original holds bytes of the file
        wanted = "UTF-8" if encoding == "utf-8" else encoding
        raise ValueError(
            f"{path.name} is not {wanted} text: say how its letters are stored, --encoding latin-1 "
            "or --encoding cp1252 (Windows), say."
        )


def _read_lines(path: Path, separator: str, encoding: str) -> Iterator[list[str]]:
    """Lines as cells; blank lines are left out."""
    broken = False
    with _open_text(path, encoding) as stream:
        try:
            yield from (line for line in csv.reader(stream, delimiter=separator) if line)
        except csv.Error:
            broken = True
    if broken:
        raise ValueError(f"{path.name} is not a CSV file.")


def _check_separator(path: Path, separator: str, first: str) -> None:
    name = find_other_separator(first)
    if name is not None:
        raise ValueError(
            f"{path.name} has one column only, and its first line looks separated otherwise: "
            f"try {name}."
        )


def _is_header(path: Path, first: Sequence[str]) -> bool:
    """Whether a first line of which nothing was said names the columns."""
    numbers = sum(map(is_number, first))
    if 0 < numbers < len(first):
        raise ValueError(
            f"the first line of {path.name} mixes numbers and text: say --header if it names the "
            "columns, --no-header if it is a row."
        )
    return numbers == 0


def name_cell(cell: str) -> str:
    """What a cell is that is no number: a gap, a number with a decimal comma, or a text."""
    if cell.casefold() in GAPS:
        return GAP
    return COMMA if cell.count(",") == 1 and is_number(cell.replace(",", ".")) else TEXT
