"""Record what the curator answered, and play it back over another table.

Differential privacy says that the output may depend on the rows through the noisy answers alone.
So: run a fit on a table and record its answers; run it again on a neighbouring table and hand out
*the recorded answers*. If anything but the answers reached the output (an un-noised value, a
division by the number of rows, an early stop), the two outputs or the two lists of questions
differ; and the exact sums behind each answer must differ by no more than the declared sensitivity.
No statistics, no false alarms. (The idea is that of Cebere et al. 2026, arXiv 2602.17454.)

A tape holds exact sums, so a recorded fit is never private, and its statement says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np


class ReplayMismatchError(AssertionError):
    """The second run asked something else than the first: its questions depend on the data."""


@dataclass(frozen=True)
class Question:
    """All that identifies a question: if any of it depends on un-noised data, that is a leak."""

    query: str
    event: tuple[str, float, float]
    bound: float
    sensitivity: float
    std: float
    coordinates: int
    point: str


@dataclass(frozen=True)
class RecordedAnswer:
    """One answer: the question, the exact sum behind it, and what was given out."""

    question: Question
    exact: np.ndarray
    given: np.ndarray


@dataclass
class Tape:
    """Answers in order. With a ``source``, answers are played back from it."""

    source: Tape | None = None
    entries: list[RecordedAnswer] = field(default_factory=list)

    def exchange(
        self, question: Question, exact: np.ndarray, draw: Callable[[], np.ndarray]
    ) -> np.ndarray:
        """Record an answer and return it; it is drawn afresh, or played back from the source."""
        given = draw() if self.source is None else self._play_back(question)
        self.entries.append(RecordedAnswer(question, exact.copy(), given.copy()))
        return given

    def exchange_at(
        self,
        question: Question,
        draw: Callable[[], np.ndarray],
        exact_at: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Record an answer that comes before what stands behind it.

        The minimum of a tilted objective determines the tilt on each table: ``exact_at(given)``,
        which differs between neighbours by no more than a row's gradient.
        """
        given = draw() if self.source is None else self._play_back(question)
        self.entries.append(RecordedAnswer(question, exact_at(given).copy(), given.copy()))
        return given

    def _play_back(self, question: Question) -> np.ndarray:
        assert self.source is not None
        position = len(self.entries)
        if position >= len(self.source.entries):
            raise ReplayMismatchError(f"question {position} was not asked in the first run.")
        entry = self.source.entries[position]
        if entry.question != question:
            changed = [
                name
                for name in Question.__dataclass_fields__
                if getattr(entry.question, name) != getattr(question, name)
            ]
            raise ReplayMismatchError(
                f"question {position} differs between the runs in {', '.join(changed)}."
            )
        return entry.given.copy()


#: The tape of the surrounding ``recording`` or ``replaying`` block; ``None`` outside of one.
CURRENT_TAPE: ContextVar[Tape | None] = ContextVar("veilspan_tape", default=None)


@contextmanager
def on_tape(tape: Tape) -> Iterator[Tape]:
    """Send the answers of every curator used inside the block to a tape of your own."""
    yield from _with(tape)


@contextmanager
def recording() -> Iterator[Tape]:
    """Record the answers of every curator used inside the block."""
    yield from _with(Tape())


@contextmanager
def replaying(source: Tape) -> Iterator[Tape]:
    """Play ``source``'s answers back to every curator used inside the block."""
    yield from _with(Tape(source))


def _with(tape: Tape) -> Iterator[Tape]:
    token = CURRENT_TAPE.set(tape)
    try:
        yield tape
    finally:
        CURRENT_TAPE.reset(token)


def fingerprint(point: Any) -> str:
    """Digest of a public point: equal points, bit for bit, have equal digests."""
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, point)
    return digest.hexdigest()


def _feed(digest: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"{part.dtype}{part.shape}".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, (tuple, list)):
        digest.update(f"{len(part)}(".encode())
        for item in part:
            _feed(digest, item)
    else:
        digest.update(repr(part).encode())
