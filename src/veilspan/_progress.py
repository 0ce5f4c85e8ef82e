"""The progress bar: what long work shows on a terminal while it runs.

Everything is drawn on the error stream and wiped off at the end, so that results stay alone on the
output stream. Where nobody looks (the stream is a file or a pipe) nothing is drawn, and ``rich`` is
not even imported.

*What a bar may show of rows.* How many rows a table has may be private (under add-remove, and
wherever a person may have several), and a bar that counts them is an answer without noise. It goes
to one place alone: the terminal of whoever started the command, and who can read the table anyway,
since the command reads it in their name. So rows are counted by commands only, never by ``fit`` in
Python; on a terminal only, never in a file, a pipe or ``--json``; the count is wiped off at the end
and recorded nowhere, neither in a release nor in a log; and it is rounded down to two digits, so
that a look over a shoulder, or a picture of the screen, does not tell whether one more person is in
the table. Like the running time, it is not protected by the promise of a release: do not show it to
people who may not know how large the table is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from veilspan._printable import printable

T = TypeVar("T")
Batch = TypeVar("Batch", bound=Mapping[str, Sized])


class ProgressBar:
    """Told by the work how far it is. This one draws nothing: it stands in where nobody looks."""

    def describe(self, label: str) -> None:
        """Say what the step is that begins now."""

    def advance(self) -> None:
        """Count one more step as done."""

    def show(self, label: str, done: int, total: int) -> None:
        """Set everything at once, for work that counts its steps itself.

        A new label begins a new bar, whose clock and rate start again.
        """

    def count_rows(self, done: int, seconds: float) -> None:
        """Say roughly how many rows were read, and how many a second; 0 takes it back."""


#: The bar that somebody looks at while rows are read; none but inside :func:`show_progress`.
_watched: ContextVar[ProgressBar | None] = ContextVar("veilspan_watched", default=None)


class _DrawnBar(ProgressBar):
    """A bar on the terminal, drawn by ``rich``."""

    def __init__(self, drawing: Any, label: str, total: int | None) -> None:
        self._drawing = drawing
        self._label = label
        self._task = drawing.add_task(printable(label), total=total)

    def describe(self, label: str) -> None:
        self._label = label
        self._drawing.update(self._task, description=printable(label))

    def advance(self) -> None:
        self._drawing.advance(self._task)

    def show(self, label: str, done: int, total: int) -> None:
        if label != self._label:
            self._drawing.remove_task(self._task)
            self._label = label
            self._task = self._drawing.add_task(printable(label), total=total)
        self._drawing.update(self._task, completed=done, total=total)

    def count_rows(self, done: int, seconds: float) -> None:
        told = ""
        if done:
            told = f" · {round_down(done)} rows read, {round_down(done / seconds)} a second"
        self._drawing.update(self._task, description=printable(self._label) + told)


def round_down(number: float) -> str:
    """A number with its first two digits, and zeros behind them."""
    whole = max(0, int(number))
    unit = 10 ** max(0, len(str(whole)) - 2)
    return f"{whole // unit * unit:,}"


@contextmanager
def show_progress(
    label: str, total: int | None = None, *, quiet: bool = False
) -> Iterator[ProgressBar]:
    """Show a bar while the block runs; yields what moves it.

    Parameters
    ----------
    label : str
        What is being done. Characters that a terminal would obey are shown as escapes.
    total : int, optional
        Number of steps. Without it nothing can be counted: a spinner turns beside the time.
    quiet : bool
        Draw nothing, for output that is read by a program.
    """
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield ProgressBar()
        return
    with _make_drawing(counted=total is not None) as drawing:
        bar = _DrawnBar(drawing, label, total)
        before = _watched.set(bar)
        try:
            yield bar
        finally:
            _watched.reset(before)


def watch_rows(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Pass batches of columns on; a bar that somebody looks at says how fast rows are read."""
    bar = _watched.get()
    if bar is None:
        yield from batches
        return
    done, start = 0, time.monotonic()
    for batch in batches:
        yield batch
        done += len(next(iter(batch.values())))
        bar.count_rows(done, max(1e-3, time.monotonic() - start))
    bar.count_rows(0, 1.0)


def track_progress(items: Iterable[T], label: str, *, quiet: bool = False) -> Iterator[T]:
    """Loop over ``items`` with a bar that counts them."""
    listed = list(items)
    with show_progress(label, len(listed), quiet=quiet) as bar:
        for item in listed:
            yield item
            bar.advance()


def _make_drawing(*, counted: bool) -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps per second, once two of them are done."""

        def render(self, task: Any) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "")

    # Labels may hold names of files: their brackets are no markup.
    label = TextColumn("{task.description}", markup=False)
    columns: tuple[ProgressColumn, ...] = (SpinnerColumn(), label, TimeElapsedColumn())
    if counted:
        columns = (label, BarColumn(), MofNCompleteColumn(), Rate(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
