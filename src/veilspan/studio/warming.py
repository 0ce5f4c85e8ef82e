"""Load what pages need, in the background, once the studio has told its link.

Slow modules are loaded late, so that the studio starts quickly; the pages that need them run in
threads. Two threads that load modules which need each other can stop one another, and one of them
then fails. So until all of them are there, one thread works at a time: pages first, and between
them the next module.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

#: In the order in which people come to the pages that need them; each takes some tenths of a
#: second, the longest time that a page waits for one.
MODULES = (
    "veilspan.ledger.ledger",
    "scipy.special",
    "scipy.optimize",
    "veilspan.tables.schema",
    "scipy.stats",
    "pandas",
    "sklearn.utils.validation",
    "veilspan.releases",
    "veilspan.estimators.linear.classification",
    "veilspan.estimators.linear.regression",
    "veilspan.estimators.profile.profile",
    "veilspan.estimators.subspace.robust_pca",
    "veilspan.reports",
)
_LOOK = 0.002


class Warming:
    """Whose turn it is to load modules; nobody waits before it was started or when it is over."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._over = threading.Event()
        self._over.set()
        self._counting, self._waiting = threading.Lock(), 0

    def start(self) -> None:
        """Begin to load, in a thread that ends by itself."""
        self._over.clear()
        threading.Thread(target=self._load, daemon=True).start()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Work that may load modules, alone as long as there are modules to load."""
        if self._over.is_set():
            yield
            return
        self._count(1)
        with self._turn:
            self._count(-1)
            yield

    def _count(self, change: int) -> None:
        with self._counting:
            self._waiting += change

    def _load(self) -> None:
        try:
            for name in MODULES:
                while self._waiting:  # whoever looks at a page goes first
                    self._over.wait(_LOOK)
                with self._turn, suppress(ImportError):  # pandas need not be there
                    import_module(name)
        finally:
            self._over.set()
