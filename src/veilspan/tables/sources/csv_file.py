"""CSV and TSV files, read line by line or, with pyarrow, in blocks of lines."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

from veilspan._printable import printable
from veilspan.curator.secret_file import temporary_folder, use_folder
from veilspan.tables.cell_rules import CellReader
from veilspan.tables.cells import Cells
from veilspan.tables.columns import Column, NumberColumn
from veilspan.tables.file_format import FileFormat
from veilspan.tables.sources.csv_lines import (
    BOM,
    ColumnLayout,
    Layout,
    count_breaks,
    parse_lines,
    read_blocks,
    split_lines,
    split_quoted,
)
from veilspan.tables.sources.table_source import (
    MOST_COLUMNS,
    TableError,
    TableSource,
    check_header,
    raise_alone,
)

#: Bytes that are parsed at once. By pyarrow: from 1 to 8 MB the time is the same within noise. In
#: plain Python a block becomes some ten times as large; much smaller ones cost wide tables time.
ARROW_BLOCK = 4 * 1024 * 1024
PYTHON_BLOCK = 4 * 1024 * 1024
#: Bytes in which line breaks are counted at once: they stay in the cache of a core.
_COUNTED_BYTES = 256 * 1024
#: Blocks that are parsed side by side, as far as there are cores; each takes memory.
MOST_THREADS = 4
#: Bytes of a header line; longer ones are no header.
_LONGEST_HEADER = 64 * 1024 * 1024

#: A shared file has one place: whoever moves it reads before the next one moves it.
_MOVING = threading.Lock()

T = TypeVar("T")
Block = TypeVar("Block")


class CsvFile(TableSource):
    """A text file with a header line and one row a line.

    Parameters
    ----------
    path : path, or a binary file that can seek (KeptStream)
        The file. It is opened anew for every walk.
    file : FileFormat
        How its cells are written.
    label : str, optional
        What it is called in messages; its name if left out.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | IO[bytes] | KeptStream,
        file: FileFormat | None = None,
        *,
        label: str | None = None,
    ) -> None:
        self._path = path
        self.file = FileFormat() if file is None else file
        named = getattr(path, "name", "the table") if hasattr(path, "read") else path
        self.label = printable(str(named)) if label is None else label

    def with_format(self, file: FileFormat) -> CsvFile:
        """The same file, written as ``file`` says."""
        return CsvFile(self._path, file, label=self.label)

    @cached_property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the header line, trimmed."""
        with self._open() as stream:
            line = _read_header(stream, self.label)
        first = split_lines(line)[0]
        if b"\r" in first:  # the rows are in that line too: it must not become names
            raise TableError(
                f"{self.label}: its lines end with a carriage return alone, as old programs wrote "
                "them. Save it with usual line breaks."
            )
        text = first.decode(self.file.encoding, "replace")
        if text.count(self.file.separator) >= MOST_COLUMNS:
            found: list[str] | None = text.split(self.file.separator)
        else:
            found = split_quoted(text, self.file.separator)
        if found is None:
            raise TableError(f"{self.label}: the quotes of its header line do not fit.")
        return check_header(found, self.label, may_be_row=True)

    @property
    def kinds(self) -> dict[str, str]:  # type: ignore[override]
        """All text: a file of lines declares no types."""
        return dict.fromkeys(self.names, "text")

    def count_rows(self) -> int:
        """The number of lines after the header."""
        n, ends = 0, True
        room = bytearray(_COUNTED_BYTES)
        with self._open() as stream:
            _read_header(stream, self.label)
            while size := stream.readinto(room):  # type: ignore[attr-defined]
                n += count_breaks(memoryview(room)[:size])
                ends = room.endswith(b"\n", 0, size)
        return n + (not ends)

    def batches(self, columns: Sequence[Column]) -> Iterator[Mapping[str, Cells]]:
        """Yield the cells of some columns, a block of lines at a time."""
        layout = self._layout(columns)
        parse, size = choose_parser()
        with self._open() as stream:
            _read_header(stream, self.label)
            yield from parse_ahead(parse, layout, read_blocks(stream, size))

    def _layout(self, columns: Sequence[Column]) -> Layout:
        places = {name: place for place, name in enumerate(self.names)}
        file = self.file
        found = tuple(
            ColumnLayout(places[c.name], CellReader(c, file), isinstance(c, NumberColumn))
            for c in columns
        )
        return Layout(
            len(self.names), file.separator, file.decimal, file.encoding, found, file.missing
        )

    def _open(self) -> IO[bytes]:
        if hasattr(self._path, "read"):
            return io.BufferedReader(_Walk(self._path))
        try:
            return open(self._path, "rb")
        except OSError as error:
            reason = error.strerror or "it cannot be opened"
            raise_alone(TableError(f"{self.label} cannot be read: {reason}."))


class TsvFile(CsvFile):
    """A text file whose cells are separated by tabs, whatever a schema says of separators."""

    def __init__(self, path: Any, file: FileFormat | None = None, **options: Any) -> None:
        tabs = replace(FileFormat() if file is None else file, separator="\t")
        super().__init__(path, tabs, **options)

    def with_format(self, file: FileFormat) -> TsvFile:
        """The same file, written as ``file`` says but for the tabs."""
        return TsvFile(self._path, file, label=self.label)


class _Walk(io.RawIOBase):
    """An open file from its beginning, with a place of its own: walks do not disturb each other."""

    def __init__(self, file: Any) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to a buffer's length."""
        with _MOVING:
            self._file.seek(self._place)
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._place += len(data)
        return len(data)


class KeptStream:
    """A copy of a stream that can be read twice, in a file without a name that only we can open.

    ``TemporaryFile`` makes it with mode 0600 and removes its name at once, so that nothing is left
    behind whatever happens to this process.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        folder = temporary_folder()
        self._file: IO[bytes] = use_folder(
            folder,
            lambda: tempfile.TemporaryFile(dir=folder),  # noqa: SIM115 (it lives as long as this)
        )
        use_folder(folder, lambda: self._fill(stream))
        self.seek, self.read = self._file.seek, self._file.read

    def _fill(self, stream: IO[bytes]) -> None:
        shutil.copyfileobj(stream, self._file, ARROW_BLOCK)
        self._file.flush()  # a full disk is seen here, not in the middle of a fit

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def choose_parser() -> tuple[Callable[[bytes, Layout], dict[str, Cells]], int]:
    """The parser of blocks and their size: pyarrow's if it is there, else the one in Python."""
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        return parse_lines, PYTHON_BLOCK
    from veilspan.tables.sources.csv_arrow import parse_block

    return parse_block, ARROW_BLOCK


def parse_ahead(
    parse: Callable[[Any, Layout], dict[str, Cells]], layout: Layout, blocks: Iterable[Any]
) -> Iterator[dict[str, Cells]]:
    """Yield the cells of blocks of lines; pyarrow is at the next ones meanwhile."""
    if parse is parse_lines:
        return (parse(bytes(block), layout) for block in blocks)
    return read_ahead(lambda block: parse(block, layout), blocks)


def read_ahead(work: Callable[[Block], T], blocks: Iterable[Block]) -> Iterator[T]:
    """Yield ``work`` of each block, in order, while threads are at the next ones.

    They help where pyarrow does the work, which needs no lock of Python's. Each runs in a copy of
    the caller's context, so that what is silent here is silent there.
    """
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="veilspan-read") as pool:
        for block in blocks:
            waiting.append(pool.submit(copy_context().run, work, block))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _read_header(stream: IO[bytes], label: str) -> bytes:
    """The header line; the stream stands after it."""
    line = stream.readline(_LONGEST_HEADER)
    line = line.removeprefix(BOM)
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{label} is written in UTF-16: save it as UTF-8.")
    if not line.strip():
        what = "begins with an empty line" if line else "is empty"
        raise TableError(f"{label} {what}: its first line must name the columns.")
    if len(line) >= _LONGEST_HEADER:
        raise TableError(f"{label} has no header line: its first line is longer than any header.")
    return line


def open_csv(path: Path) -> CsvFile:
    """A file by its name, ``.tsv`` or any other."""
    return TsvFile(path) if path.suffix.lower() in (".tsv", ".tab") else CsvFile(path)
