"""Who is told how far a fit has come: one call a question that its plan lets pass.

Under a fixed plan the questions and their order are public, so that a step tells nothing. An
adaptive plan chooses them by noisy answers, which are paid for. When a step comes is running time,
which no release protects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("veilspan_steps", default=None)


@contextmanager
def watch_steps(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call ``watcher(name of the event)`` at each question of the fits inside the block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell_step(name: str) -> None:
    """Tell whoever watches that a question was let pass; nobody by default."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(name)
