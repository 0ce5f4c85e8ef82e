"""Which dataset a fit charges: the one it was given, else that of the surrounding session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from veilspan.ledger.dataset import Dataset

_CURRENT: ContextVar[Dataset | None] = ContextVar("veilspan_ledger", default=None)


def current_dataset() -> Dataset | None:
    """The dataset of the surrounding session, if any."""
    return _CURRENT.get()


@contextmanager
def session(dataset: Dataset) -> Iterator[Dataset]:
    """Charge every fit inside the block to a dataset, unless it names its own.

    A copy or a pickle of an estimator that is made inside the block takes the dataset with it, so
    that a grid search over several processes is charged too. A thread started inside the block has
    no session: give its estimators ``ledger=...``.
    """
    token = _CURRENT.set(dataset)
    try:
        yield dataset
    finally:
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
