r"""Differences of randomly paired rows, for methods that need no centre.

*Why that is private.* The matching is drawn from coins of its own: it is independent of rows, of
noise and of all answers, and depends on the public number n of rows alone. Each row stands in at
most one pair. So, given the matching, tables that differ in one row have n // 2 differences of
which at most one differs: replace-one neighbours, whatever the matching is, and each question about
differences has the sensitivity that its query derives for rows. Under add-remove one row more moves
others to other partners, and there is nothing like it: refused.

Rows may be paired from the beginning (``center="pairs"``), or by a later stage of a fit, after
questions about single rows (:meth:`veilspan.curator.curator.Curator.paired`). *Whether* they are
paired is then a function of answers. Given these and the matching the argument is the same, and the
composition adds up what each question costs, whatever it was about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from veilspan.curator.rows import Block, Rows, as_float
from veilspan.privacy.errors import PrivacyError

if TYPE_CHECKING:
    from veilspan.curator.curator import Curator

C = TypeVar("C", bound="Curator")


def open_pairs(curator: C, view: C) -> C:
    """Turn a view of a curator to the differences of its paired rows.

    Parameters
    ----------
    curator : Curator
        Under replace-one, with rows that were not mapped.
    view : Curator
        The same door, with the budget and the events of what comes next.
    """
    if curator.plan.n_rows is None:
        raise PrivacyError('differences of paired rows need neighbors="replace-one".')
    view._rows = curator._rows.paired(curator.coins("pairs"))
    view._places = view._rows.n_rows
    view._plan = replace(view._plan, n_rows=view._places)
    return view


class PairedRows(Rows):
    """Differences x_i - x_j over a random perfect matching of the rows (one left out if odd)."""

    def __init__(self, rows: Rows, coins: np.random.Generator) -> None:
        self._hold(rows._x, None)
        half = rows.n_rows // 2
        self.n_rows, self.is_sparse = half, False  # pairs, whose differences are dense
        order = coins.permutation(rows.n_rows)
        self._first, self._second = order[:half], order[half : 2 * half]
        if rows._present is not None:  # a pair takes part if both of its rows do
            self._present = rows._present[self._first] & rows._present[self._second]

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Yield differences as dense float64 blocks."""
        for start in range(0, self.n_rows, rows_per_block):
            part = slice(start, start + rows_per_block)
            first, second = (
                Block(as_float(self._x[index[part]])).dense()
                for index in (self._first, self._second)
            )
            present = None if self._present is None else self._present[part]
            yield Block(first - second, present=present)
