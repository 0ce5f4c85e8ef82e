"""What the demo says while it works: one line a stage, with the time that it took.

The people are made up, so that a time tells nothing about anybody. Lines go to the error stream:
results stay alone on the output stream.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from veilspan._progress import ProgressBar
from veilspan.cli.console import say_stage

#: Room for the longest label, so that the times stand below each other.
WIDTH = 40


class StageLines(ProgressBar):
    """A line for every stage: its label when it begins, its time when it is done."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def describe(self, label: str) -> None:
        """Begin the line of a stage with what is being done."""
        self._start = time.perf_counter()
        say_stage(f"  {label:{WIDTH}}", whole=False)

    def advance(self) -> None:
        """End the line with how long it took."""
        say_stage(f"{time.perf_counter() - self._start:6.1f} s")


@contextmanager
def show_stages(*, quiet: bool) -> Iterator[ProgressBar]:
    """Yield what says the stages; with ``quiet`` nothing is said."""
    if quiet or sys.stderr is None:
        yield ProgressBar()
        return
    say_stage("Veilspan demo: a map from made-up genes.")
    yield StageLines()
