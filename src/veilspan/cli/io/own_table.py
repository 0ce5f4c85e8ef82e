"""A table of one's own, read by the schema of a release that cannot be changed any more.

What columns mean is the release's to say. How the file is written, and what else stands in it, may
be another matter than at the fit: nothing is learned here, so it is said on the command line, and
columns that the release does not know are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veilspan.cli.io.declared_data import choose_format
from veilspan.tables.problems import show
from veilspan.tables.sources.check_names import find_separator
from veilspan.tables.sources.csv_file import CsvFile
from veilspan.tables.sources.table_source import TableSource

if TYPE_CHECKING:
    from veilspan.tables.cells import Cells
    from veilspan.tables.columns import Column
    from veilspan.tables.file_format import FileFormat
    from veilspan.tables.schema import Schema


class OwnTable(TableSource):
    """A table without some of its columns, written as it is whatever a schema says.

    Parameters
    ----------
    source : TableSource
        The table, its format said already.
    ignored : sequence of str
        Columns that are left out.
    """

    def __init__(self, source: TableSource, ignored: Sequence[str]) -> None:
        self._source = source
        self.label, self.in_memory = source.label, source.in_memory
        self.names = tuple(name for name in source.names if name not in ignored)
        self.kinds = {name: source.kinds[name] for name in self.names}

    def count_rows(self) -> int:
        """The number of its rows."""
        return self._source.count_rows()

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the cells of some columns in batches of rows, in order."""
        return self._source.batches(columns)

    def with_format(self, file: FileFormat) -> OwnTable:
        """Itself: how it is written was said."""
        return self


def open_own(source: TableSource, schema: Schema, said: Mapping[str, Any]) -> tuple[OwnTable, Any]:
    """The table as a release is to read it, and the columns that it leaves out.

    Parameters
    ----------
    source : TableSource
        The table.
    schema : Schema
        That of the release.
    said : mapping of str to str or None
        ``separator``, ``decimal`` and ``encoding`` as the command line says them.
    """
    file = choose_format(schema.file, said)
    if file != schema.file and not isinstance(source, CsvFile):
        raise ValueError(
            "--separator, --decimal and --encoding are for text files: leave them out."
        )
    source = source.with_format(file)
    known = [column.name for column in schema.columns]
    names = source.names
    separator = find_separator(names, known)
    if separator:
        way = "name it .tsv" if separator == "\\t" else f"say --separator {separator!r}"
        raise ValueError(f"{source.label} is separated by {show(separator)}, it seems: {way}.")
    # Only a first line that has all that is needed is surely one of names, which may be shown.
    used = {column.name for column in schema.columns if column.role == "use"}
    ignored = [name for name in names if name not in known] if used <= set(names) else []
    return OwnTable(source, ignored), ignored
