"""Open any table: a file by its name, a database by its address, or what is in memory already."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from veilspan._printable import printable
from veilspan.tables.file_format import FileFormat
from veilspan.tables.sources.table_source import TableError, TableSource

#: Endings of compressed files, with the command that unpacks them.
_PACKED = {
    ".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zst": "unzstd", ".zip": "unzip",
}  # fmt: skip
_TEXTS = (".csv", ".txt", ".tsv", ".tab")
_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".feather", ".ipc", ".arrows")
_DATABASES = ("postgresql://", "postgres://")


def open_table(source: Any, *, table: str | None = None) -> TableSource:
    """Open a table for reading; no cell is read yet.

    Parameters
    ----------
    source : path, str or table
        A file (``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``), ``"-"`` for CSV from
        standard input, the address of a database (``"postgresql://server/database"``; its password
        is better kept in ``~/.pgpass`` or the variable ``PGPASSWORD``), or a table in memory.
    table : str, optional
        The table of a database, with its schema if need be: ``"ward.visits"``.

    Returns
    -------
    TableSource
        Something that ``fit``, ``transform`` and ``predict`` take together with a schema.

    Raises
    ------
    TableError
        If there is no such table; never with a cell or a password in its text.
    """
    if not isinstance(source, (str, os.PathLike)):
        return as_source(source, FileFormat())
    name = os.fspath(source)
    if isinstance(name, bytes):
        name = os.fsdecode(name)
    if name.startswith(_DATABASES):
        if not table:
            raise TableError('say which table of the database: open_table(..., table="name").')
        from veilspan.tables.sources.postgres_table import PostgresTable

        return PostgresTable(name, table)
    if table is not None:
        raise TableError("table= is for databases; a file has one table.")
    return _open_stdin() if name == "-" else _open_file(Path(name))


def _open_stdin() -> TableSource:
    from veilspan.tables.sources.csv_file import CsvFile, KeptStream

    return CsvFile(KeptStream(sys.stdin.buffer), label="standard input")


def _open_file(path: Path) -> TableSource:
    shown, suffix = printable(str(path)), path.suffix.lower()
    if suffix in _PACKED:
        raise TableError(
            f"{shown} is compressed, which is not read: unpack it first, for example with "
            f"{_PACKED[suffix]}."
        )
    if suffix not in (*_TEXTS, *_PARQUET, *_ARROW):
        raise TableError(
            f"{shown}: files that are read end in .csv, .tsv, .parquet, .arrow or .feather. Save "
            "other tables as one of them."
        )
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise TableError(f"{shown} {what}.")
    if suffix in _TEXTS:
        from veilspan.tables.sources.csv_file import open_csv

        return open_csv(path)
    from veilspan.tables.sources.parquet_file import ArrowFile, ParquetFile

    return ParquetFile(path) if suffix in _PARQUET else ArrowFile(path)


def as_source(table: Any, file: FileFormat) -> TableSource:
    """Take any table: a source, a data frame, an Arrow table, or arrays by name.

    Parameters
    ----------
    table : TableSource, pandas or polars data frame, Arrow table, dict of arrays, ...
        Anything with ``__arrow_c_stream__`` too.
    file : FileFormat
        How a text file writes its cells.
    """
    if isinstance(table, TableSource):
        return table.with_format(file)
    from veilspan.tables.sources import frames

    if frames.is_pandas(table):
        return frames.PandasFrame(table)
    if isinstance(table, dict):
        return frames.ArrayColumns(table)
    names = getattr(getattr(table, "dtype", None), "names", None)
    if names:
        return frames.ArrayColumns({name: table[name] for name in names})
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        from veilspan.tables.sources.arrow_stream import read_stream

        return read_stream(table)
    if hasattr(table, "collect"):
        raise TypeError(f"a {type(table).__name__} holds no rows yet: pass table.collect().")
    raise TypeError(
        f"a {type(table).__name__} is no table with names of columns: pass a pandas, polars or "
        "Arrow table, a dict of arrays, or veilspan.open_table(...)."
    )
