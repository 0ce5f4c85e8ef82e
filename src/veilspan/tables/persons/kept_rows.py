"""Which rows of a person are kept, and in which order they stand: by her rows and coins alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.tables.persons.person_rows import PersonRows
from veilspan.tables.persons.rules import PersonRules
from veilspan.tables.persons.secret_order import PersonCoins


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Kept rows of people in the secret order of people, each person's side by side.

    Attributes
    ----------
    rows : PersonRows
        The kept rows; those of a person in the order in which they were chosen.
    coins : array of uint64
        Of each kept row.
    starts : array of int of shape (n_people + 1,)
        Where each person's rows begin.
    """

    rows: PersonRows
    coins: np.ndarray
    starts: np.ndarray

    @property
    def n_people(self) -> int:
        """People that have a row."""
        return len(self.starts) - 1

    @property
    def counts(self) -> np.ndarray:
        """Kept rows of each person, at least one."""
        return np.diff(self.starts)

    @property
    def owners(self) -> np.ndarray:
        """The number of each kept row's person."""
        return np.repeat(np.arange(self.n_people), self.counts)


def choose_rows(rows: PersonRows, rules: PersonRules, coins: PersonCoins) -> KeptRows:
    """Keep at most ``max_rows`` of each person.

    The rows of a person are ranked by coins (``keep = "random"``), or by ``order_by``, rows without
    it behind all others, ties by coins; the first ``max_rows`` are kept.
    """
    rows = rows.with_ids()
    # Stable: the rows of a person stay in the order in which the table has them.
    by_person = np.lexsort((rows.marks[:, 1], rows.marks[:, 0]))
    rows = rows.take(by_person)
    starts = _find_starts(rows.marks)
    counts = np.diff(starts)
    numbers = np.arange(len(rows)) - np.repeat(starts[:-1], counts)
    tossed = _toss(rows.marks, numbers, counts, coins)
    owners = np.repeat(np.arange(len(counts)), counts)
    if rules.keep == "random" or rows.order is None:
        chosen = np.lexsort((tossed, owners))
    else:
        chosen = np.lexsort((tossed, rank_order(rows.order, rules.keep), owners))
    if rules.max_rows is not None:
        # Places within a person are the same before and after sorting: her rows stay together.
        chosen = chosen[numbers < rules.max_rows]
        counts = np.minimum(counts, rules.max_rows)
    return KeptRows(rows.take(chosen), tossed[chosen], np.concatenate([[0], np.cumsum(counts)]))


def rank_order(order: np.ndarray, which: str) -> np.ndarray:
    """Numbers that sort the first, or the last, to the front, and rows without an order behind."""
    signed = order if which == "first" else -order
    return np.where(np.isnan(order), np.inf, signed)


def _find_starts(marks: np.ndarray) -> np.ndarray:
    """Where each person's rows begin among rows that are sorted by person, and where all end."""
    if not len(marks):
        return np.zeros(1, dtype=np.int64)
    new = np.flatnonzero((marks[1:] != marks[:-1]).any(axis=1)) + 1
    return np.concatenate([[0], new, [len(marks)]]).astype(np.int64)


def _toss(
    marks: np.ndarray, numbers: np.ndarray, counts: np.ndarray, coins: PersonCoins
) -> np.ndarray:
    """Coins of rows; whoever has a single row needs none."""
    tossed = np.zeros(len(numbers), dtype=np.uint64)
    several = np.repeat(counts > 1, counts)
    tossed[several] = coins.toss_for_rows(marks[several], numbers[several])
    return tossed
