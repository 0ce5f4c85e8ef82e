"""Signals that ask a command to stop: they end it like Ctrl-C, with nothing half-written left.

By default Python dies at once of SIGTERM (a batch system's end of time, ``docker stop``) and of
SIGHUP (a terminal that is closed), without running any ``finally``.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def stop_like_ctrl_c() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt when the system asks to stop; yields the signals that came.

    A signal that somebody else handles or ignores (``nohup``) is left to them, and so is one in a
    child process that was forked meanwhile. Only the first one interrupts: what cleans up after it
    is not disturbed by a second.
    """
    came: list[int] = []
    owner = os.getpid()

    def stop(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if not came:
            came.append(number)
            raise KeyboardInterrupt

    taken = []
    if threading.current_thread() is threading.main_thread():
        for number in (getattr(signal, name, None) for name in _NAMES):
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, stop)
                taken.append(number)
    try:
        yield came
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
