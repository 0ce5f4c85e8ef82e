"""Who is working on a release under a key: others who ask the same wait for it.

A key is one release. While the first fit under it runs, a second one, in another thread or another
process, must neither run (it would draw other noise) nor be sent away (a new key would be charged
again). It waits, and gets the stored release. A *claim* says that somebody is at work: it is taken
before the charge and ends with the release, with the fit that fails, with its receipt, with its
thread, or with its process, whichever comes first. So nobody waits for work that nobody does any
more. If a key was charged, has no release and nobody claims it, its fit has broken off.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from veilspan.ledger.stores.base import open_store

#: What a claim is about: the ledger, the dataset and the key.
Place = tuple[str, str, str]

# Seconds after which a waiting thread looks whether the other one is still alive. A thread that
# ends its claim wakes the others at once; this is for one that died without.
_LOOK = 0.2


class _Work:
    """What a claim stands for; kept apart from it, so that a forgotten claim is noticed."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.thread = threading.current_thread()
        self.let_go: Callable[[], None] | None = None

    def end(self) -> None:
        # Let go before others are told: whoever wakes up must find the store's lock free. That may
        # wait for the database, so it is done outside of the lock.
        with _CHANGED:
            let_go, self.let_go = self.let_go, None
        if let_go is not None:
            let_go()
        with _CHANGED:
            if _RUNNING.get(self.place) is self:
                del _RUNNING[self.place]
            _CHANGED.notify_all()


_RUNNING: dict[Place, _Work] = {}
# A condition may be taken again by the thread that has it, as a finaliser may end a claim any time.
_CHANGED = threading.Condition()


class Claim:
    """A key that somebody is working on, until :meth:`end` or until nobody holds this object."""

    def __init__(self, work: _Work) -> None:
        self.end = weakref.finalize(self, work.end)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """A copy, or a receipt that is sent elsewhere, claims nothing: it becomes None."""
        return type(None), ()


def claim(url: str, dataset: str, key: str) -> Claim:
    """Claim a key; waits until nobody else, in this process or another, is working on it."""
    one = url if "://" in url else os.path.realpath(url)
    work = _Work((one, dataset, key))
    with _CHANGED:
        while (other := _RUNNING.get(work.place)) is not None:
            if other.thread is work.thread or not other.thread.is_alive():
                other.end()  # it will never come to its release while we wait here
                continue
            _CHANGED.wait(_LOOK)
        _RUNNING[work.place] = work
    try:
        work.let_go = open_store(one).hold("\0".join((dataset, key)))
    except BaseException:
        work.end()
        raise
    return Claim(work)


@contextmanager
def ending_claims() -> Iterator[None]:
    """End the claims that this thread takes inside the block: its fit is over, or has failed."""
    thread = threading.current_thread()
    with _CHANGED:
        before = list(_RUNNING.values())
    try:
        yield
    finally:
        with _CHANGED:
            mine = [w for w in _RUNNING.values() if w.thread is thread and w not in before]
        for work in mine:
            work.end()


def _forget() -> None:
    """Forget all claims in the child of a fork: they are its parent's, and so are their locks."""
    global _CHANGED
    _CHANGED = threading.Condition()
    for work in _RUNNING.values():
        work.let_go = None
    _RUNNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
