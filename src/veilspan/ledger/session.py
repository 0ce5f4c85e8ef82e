"""Which dataset a fit charges: the one it was given, else that of the surrounding session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError

_CURRENT: ContextVar[Dataset | None] = ContextVar("veilspan_ledger", default=None)
# Sessions that are open anywhere in this process.
_OPEN: list[Dataset] = []
_LOCK = threading.Lock()


def current_dataset() -> Dataset | None:
    """The dataset of the surrounding session, if any.

    A thread that has no session of its own shares the one that is open in this process: it may have
    been started inside, and a fit that goes uncharged is worse than one charged too many. If
    several are open it must say which it means.
    """
    own = _CURRENT.get()
    if own is not None:
        return own
    with _LOCK:
        anywhere = set(_OPEN)
    if len(anywhere) > 1:
        raise LedgerError(
            "sessions of several datasets are open in this process and none of them in this "
            "thread: say which account to charge, by the estimator's ledger=..."
        )
    return next(iter(anywhere), None)


@contextmanager
def session(dataset: Dataset) -> Iterator[Dataset]:
    """Charge every fit inside the block to a dataset, unless it names its own.

    A copy or a pickle of an estimator that is made inside the block takes the dataset with it, so
    that a grid search over several processes is charged too.
    """
    token = _CURRENT.set(dataset)
    with _LOCK:
        _OPEN.append(dataset)
    try:
        yield dataset
    finally:
        with _LOCK:
            _OPEN.remove(dataset)
        _CURRENT.reset(token)


def dataset_of(ledger: Any) -> Dataset | None:
    """The dataset that a parameter ``ledger`` names, or that of the session."""
    if ledger is None:
        return current_dataset()
    if not isinstance(ledger, Dataset):
        raise TypeError(
            "ledger must be a dataset of a ledger, Ledger(...).dataset(name), or None; "
            f"got {type(ledger).__name__}."
        )
    return ledger
