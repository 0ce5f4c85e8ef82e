r"""Rows of a stream that wait until their block is full; nothing is computed from them before.

A stream's rows come one after another, and a block of b of them is asked at a time. Those of a
block that is not full yet have to be kept somewhere: here, behind the door, and nowhere else.

**What waiting may not do to the promise.** The proof of a stream
(:mod:`veilspan.estimators.stream.private_tracker`) needs that each row is in exactly one block,
the one that its *place* in the stream says, and that nothing else depends on it:

1. *Each row in at most one block.* :meth:`WaitingRows.take_block` takes rows out before anybody
   asks about them. An error on the way loses the block; it can never be asked twice.
2. *Blocks by place.* Rows are put at the end and taken from the front, so the t-th block holds the
   places (t-1) b + 1, ..., t b, whatever the rows say and however they were cut into calls.
3. *Nothing is written.* A pickle or a deep copy holds no waiting row. It starts an empty block, and
   the rows that waited are in no block of the copy: a row can be missing from a release, never in
   two.
4. *Only the number of rows shows*, which is public in a stream. []
"""

from __future__ import annotations

from typing import Any

import numpy as np


class WaitingRows:
    """The rows of the next block, at most a call's worth more than a block of them."""

    def __init__(self) -> None:
        self._waiting = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self._waiting)

    def __repr__(self) -> str:
        return f"WaitingRows({len(self)} rows)"

    def __getstate__(self) -> dict[str, Any]:
        return {"_waiting": np.empty((0, 0))}

    def accept(self, rows: np.ndarray) -> None:
        """Put rows at the end of those that wait."""
        self._waiting = np.vstack([self._waiting, rows]) if len(self) else rows

    def take_block(self, size: int) -> np.ndarray:
        """Take the first ``size`` rows out, *before* they are asked about."""
        block, self._waiting = self._waiting[:size], self._waiting[size:]
        return block

    def let_go(self) -> None:
        """Copy what waits: a view would change with the caller's array and keep all of it alive."""
        self._waiting = self._waiting.copy()
