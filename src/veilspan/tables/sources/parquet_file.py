"""Parquet and Arrow IPC files, in record batches: memory does not grow with the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veilspan._printable import printable
from veilspan.tables.cells import Cells
from veilspan.tables.columns import Column
from veilspan.tables.sources.arrow_stream import BATCH_ROWS, NEEDS_PYARROW, batch_cells, kind_of
from veilspan.tables.sources.table_source import (
    TableError,
    TableSource,
    check_header,
    raise_alone,
)

if TYPE_CHECKING:
    import pyarrow as pa


class _ArrowFile(TableSource):
    """A file with types of its own."""

    _format: str

    def __init__(self, path: Path) -> None:
        self._path = Path(path)
        self.label = printable(str(path))

    @cached_property
    def _schema(self) -> pa.Schema:
        with self._sentences():
            return self._read_schema()

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of its columns, trimmed, as the file states them."""
        return check_header(self._schema.names, self.label)

    @property
    def kinds(self) -> dict[str, str]:  # type: ignore[override]
        """What the types that the file states are called in a schema."""
        return {n: kind_of(field.type) for n, field in zip(self.names, self._schema, strict=True)}

    def _read_schema(self) -> pa.Schema:
        raise NotImplementedError

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turn errors of pyarrow, which may quote what they found, into one that does not."""
        try:
            import pyarrow as pa
        except ImportError:
            raise TableError(f"{self.label}: a {self._format} file {NEEDS_PYARROW}") from None
        failed = ""
        try:
            yield
        except FileNotFoundError:
            failed = "there is no such file"
        except PermissionError:
            failed = "no permission to read it"
        except (pa.ArrowException, OSError):
            failed = f"it is damaged, or no {self._format} file"
        if failed:
            raise_alone(TableError(f"{self.label} cannot be read: {failed}."))


class ParquetFile(_ArrowFile):
    """A Parquet file, whose metadata tell names, types and the number of rows."""

    _format = "Parquet"

    def _open(self, texts: Sequence[str] = ()) -> Any:
        import pyarrow.parquet as pq

        # Without it all of the file would be read ahead, and stay in memory until the end.
        return pq.ParquetFile(self._path, read_dictionary=list(texts), pre_buffer=False)

    def _read_schema(self) -> pa.Schema:
        with self._open() as file:
            return file.schema_arrow

    def count_rows(self) -> int:
        """The number of rows that the file's metadata state."""
        with self._sentences(), self._open() as file:
            return int(file.metadata.num_rows)

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield record batches; texts stay dictionaries, as they are stored."""
        stored = dict(zip(self.names, self._schema.names, strict=True))
        wanted = [stored[column.name] for column in columns]
        texts = [stored[c.name] for c in columns if self.kinds[c.name] == "text"]
        with self._sentences(), self._open(texts) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False):
                if batch.num_rows:
                    yield batch_cells(batch.select(wanted), columns)


class ArrowFile(_ArrowFile):
    """An Arrow IPC file (Feather), or a stream of Arrow messages in a file."""

    _format = "Arrow"

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow as pa

        with pa.memory_map(str(self._path)) as raw:
            try:
                reader = pa.ipc.open_file(raw)
            except pa.ArrowInvalid:
                raw.seek(0)
                reader = pa.ipc.open_stream(raw)
            yield reader

    def _read_schema(self) -> pa.Schema:
        with self._open() as reader:
            return reader.schema

    def count_rows(self) -> int:
        """The number of rows of its batches."""
        with self._sentences(), self._open() as reader:
            return sum(batch.num_rows for batch in _record_batches(reader))

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield its record batches as they were written."""
        stored = dict(zip(self.names, self._schema.names, strict=True))
        wanted = [stored[column.name] for column in columns]
        with self._sentences(), self._open() as reader:
            for batch in _record_batches(reader):
                if batch.num_rows:
                    yield batch_cells(batch.select(wanted), columns)


def _record_batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        yield from reader
