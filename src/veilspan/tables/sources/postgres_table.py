r"""Tables of a PostgreSQL server, by ``COPY ... TO STDOUT``: one line a row, escaped by the server.

The server writes line breaks, tabs and backslashes of texts as ``\n``, ``\t`` and ``\\``, and
``\N`` for NULL, so every line is one row and has the right number of cells, whatever they hold.
Types are declared: numbers, booleans and dates are read as what they are, whatever decimal mark or
words for true a schema states for text files.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from veilspan._passwords import is_unclear, without_password
from veilspan.tables.cell_rules import CellReader
from veilspan.tables.cells import Cells
from veilspan.tables.columns import Column, NumberColumn
from veilspan.tables.file_format import FileFormat
from veilspan.tables.problems import show
from veilspan.tables.sources.csv_file import choose_parser, parse_ahead
from veilspan.tables.sources.csv_lines import ColumnLayout, Layout
from veilspan.tables.sources.table_source import (
    TableError,
    TableSource,
    check_header,
    raise_alone,
)

#: Seconds to wait for a server that does not answer.
CONNECT_PATIENCE = 20
#: Types of PostgreSQL by what a schema calls them; all others are texts.
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "integer"),
    **dict.fromkeys(("float4", "float8", "numeric"), "number"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "date"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("bytea",), "other"),
}
#: How values are written must not depend on settings of the server or the user.
_SETTINGS = (
    b"SET client_encoding TO 'UTF8'; SET datestyle TO 'ISO, YMD'; SET timezone TO 'UTC'; "
    b"SET extra_float_digits TO 1; SET bytea_output TO 'hex'"
)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?: [^B]*)?")
_FAR_AHEAD = re.compile(r"[0-9]{5,}-[0-9]{2}-[0-9]{2}(?:[ T].*)?", re.ASCII)
_BEFORE_CHRIST = re.compile(r"[0-9]+-[0-9]{2}-[0-9]{2}(?:[ T].*)? BC", re.ASCII)


class PostgresTable(TableSource):
    """A table or view of a PostgreSQL server.

    Parameters
    ----------
    url : str
        ``postgresql://user@server/database``. A password is better kept in ``~/.pgpass`` or in the
        variable ``PGPASSWORD``; one in the address is never shown.
    table : str
        Its name, after the name of its schema and a dot if need be. A name that has dots itself
        is given as a tuple of names.
    """

    def __init__(
        self, url: str, table: str | tuple[str, ...], file: FileFormat | None = None
    ) -> None:
        if is_unclear(url):
            raise TableError(
                f"the address {without_password(url)} can be read in two ways: write special "
                "characters of names and passwords as %40 (for @), %2F (for /) and the like."
            )
        self._url = url
        self._table = tuple(table.split(".")) if isinstance(table, str) else tuple(table)
        self.file = FileFormat() if file is None else file
        self.label = f"the table {show('.'.join(self._table))} of {without_password(url)}"

    def with_format(self, file: FileFormat) -> PostgresTable:
        """The same table, with the words for missing cells that ``file`` states."""
        return PostgresTable(self._url, self._table, file)

    @cached_property
    def _declared(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names as they are stored, and types, by a query that returns no row."""
        from psycopg import sql

        with self._connect() as connection:
            query = sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(*self._table))
            described = connection.execute(query).description or ()
            types = connection.adapters.types
            names = tuple(each.name for each in described)
            kinds = tuple(_kind_of(types.get(each.type_code), each.type_code) for each in described)
        return names, kinds

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of its columns, trimmed, as the server states them."""
        return check_header(self._declared[0], self.label)

    @property
    def kinds(self) -> dict[str, str]:  # type: ignore[override]
        """What the types that the server states are called in a schema."""
        return dict(zip(self.names, self._declared[1], strict=True))

    def count_rows(self) -> int:
        """The number of rows at this moment."""
        from psycopg import sql

        with self._connect() as connection:
            query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(*self._table))
            row = connection.execute(query).fetchone()
            return int(row[0])

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the cells of some columns, some thousand rows at a time."""
        from psycopg import sql

        stored = dict(zip(self.names, self._declared[0], strict=True))
        query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT text)").format(
            sql.SQL(", ").join(sql.Identifier(stored[column.name]) for column in columns),
            sql.Identifier(*self._table),
        )
        layout = self._layout(columns)
        parse, size = choose_parser()
        with self._connect() as connection, connection.cursor().copy(query) as copy:
            yield from parse_ahead(parse, layout, _join_rows(copy, size))

    def _layout(self, columns: Sequence[Column]) -> Layout:
        """Lines of ``COPY``: tabs, no quotes, decimal points."""
        found = []
        for place, column in enumerate(columns):
            kind = self.kinds[column.name]
            number = isinstance(column, NumberColumn) and kind in ("integer", "number")
            reader = CellReader(column, self.file)
            if number:  # stored numbers have a point, whatever decimal mark text files have
                reader = CellReader(column, FileFormat(missing=self.file.missing))
            found.append(ColumnLayout(place, reader, number, _CONVERT[kind]))
        return Layout(len(columns), "\t", ".", "utf-8", tuple(found), quoting=False)

    @contextmanager
    def _connect(self) -> Iterator[Any]:
        """A connection that only reads; its errors quote neither a row nor a password."""
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise TableError(
                "a table of PostgreSQL needs psycopg: pip install 'veilspan[postgres]'."
            ) from None
        failed = ""
        try:
            options: dict[str, Any] = {"connect_timeout": CONNECT_PATIENCE}
            options |= conninfo_to_dict(self._url)
            with psycopg.connect(**options, autocommit=True) as connection:
                connection.execute(_SETTINGS)
                connection.read_only = True
                yield connection
        except psycopg.Error as error:
            failed = _explain(error)
        if failed:
            raise_alone(TableError(f"{self.label} {failed}."))


def _kind_of(found: Any, code: int) -> str:
    """What a type is called in a schema; an array, which goes by its elements' name, is a text."""
    known = found is not None and found.oid == code
    return _KINDS.get(found.name, "text") if known else "text"


def _explain(error: Any) -> str:
    """What an error of the server means, in our words: its own may quote a row."""
    state = error.sqlstate or ""
    known = {
        "42P01": "does not exist",
        "3F000": "does not exist: there is no such schema",
        "42501": "may not be read by this user",
        "28P01": "cannot be read: the server refused the password",
        "28000": "cannot be read: the server refused the user",
        "3D000": "cannot be read: there is no such database",
    }
    if state in known:
        return known[state]
    if not state:
        return "cannot be reached: see whether the server runs, and check address and password"
    return f"cannot be read: PostgreSQL's error {state}"


def _join_rows(rows: Any, size: int) -> Iterator[bytes]:
    """Blocks of about ``size`` bytes from single rows."""
    parts: list[bytes] = []
    length = 0
    for row in rows:
        parts.append(bytes(row))
        length += len(row)
        if length >= size:
            yield b"".join(parts)
            parts, length = [], 0
    if parts:
        yield b"".join(parts)


# From the texts of COPY to values.


def _unescape(text: str) -> str | None:
    if "\\" not in text:
        return text
    if text == "\\N":
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[1], match[1]), text)


def _to_number(text: str) -> float | int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _to_boolean(text: str) -> bool | None:
    return {"t": True, "f": False}.get(text)


def _to_date(text: str) -> datetime.date | None:
    match = _DAY.fullmatch(text)
    if match is None:
        # Days that Python does not have go to the border of any range, as those of Arrow do.
        if _BEFORE_CHRIST.fullmatch(text):
            return datetime.date.min
        return datetime.date.max if _FAR_AHEAD.fullmatch(text) else None  # NULL, infinity
    try:
        return datetime.date(*map(int, match.groups()))
    except ValueError:
        return None


_CONVERT: dict[str, Callable[[str], Any]] = {
    "integer": _to_number,
    "number": _to_number,
    "boolean": _to_boolean,
    "date": _to_date,
    "text": _unescape,
    "other": lambda text: None,
}
