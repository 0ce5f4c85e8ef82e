"""Locks of trackers, beside them: a pickle or a copy of a tracker has one of its own."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakKeyDictionary

_LOCKS: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()
_MAKING = threading.Lock()


def lock_of(tracker: Any) -> threading.RLock:
    """The lock of a tracker, made when it is first asked for."""
    with _MAKING:
        return _LOCKS.setdefault(tracker, threading.RLock())


def _forget() -> None:
    """A forked child has none of the threads that may have held a lock."""
    global _MAKING
    _MAKING = threading.Lock()
    _LOCKS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
