r"""Rows of people until all of them were read: in memory while they are few, else on a disk.

On the disk rows are dealt into buckets by the first bits of their person's mark, a keyed function
of her id (:mod:`veilspan.tables.persons.secret_order`). So all rows of a person fall into one
bucket, in the order of the table, and buckets are about equally full, whatever the ids are: without
the key nobody could choose ids that fall into one. Some buckets at a time are taken back into
memory and gathered there.

*Nothing depends on where rows waited.* Units come in the order of marks, bucket after bucket is
the order of marks, and a unit is a function of its person's rows, in the order of the table, and
of the key. So units on a disk and in memory are the same, bit for bit, in the same order, and all
that is proved of the one (:mod:`veilspan.tables.persons.gathering`) holds for the other.

The rows of one person must fit into memory: somebody with a large share of a large table does not
get flat memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veilspan.curator.array_file import DealtFile, Form
from veilspan.tables.persons.person_rows import PersonRows

#: Rows of people of at most so many bytes are gathered in memory, which takes some three times as
#: much for a moment.
KEPT_BYTES = 48_000_000
#: Bytes that are sorted into buckets, and of buckets that are gathered, in one go.
DEALT_BYTES = 16_000_000
#: Bits of a mark that say its bucket: enough that buckets of 60 GB fit into the above.
BUCKET_BITS = 12


class PersonStore:
    """Takes rows of people in batches, and gives them back with each person's rows together."""

    def __init__(self) -> None:
        self._batches: list[PersonRows] = []
        self._waiting = 0
        self._dealt: DealtFile | None = None

    def add(self, rows: PersonRows) -> None:
        """Take a batch of rows that all have an id."""
        self._batches.append(rows)
        self._waiting += size_of(rows)
        if self._waiting > (KEPT_BYTES if self._dealt is None else DEALT_BYTES):
            self._deal()

    def parts(self) -> Iterator[PersonRows]:
        """Yield all rows, some people at a time, in the order of their marks.

        Each person's rows are in one part, in the order in which they came.
        """
        if self._dealt is None:
            if self._batches:
                yield PersonRows.join(self._batches)
            return
        if self._batches:
            self._deal()
        for first, last in _group(self._dealt.sizes, max(1, DEALT_BYTES // self._dealt.row_bytes)):
            marks, x, y, present, order = self._dealt.collect(first, last)
            assert marks is not None
            assert x is not None
            yield PersonRows(marks, x, y, present, order)
        self._dealt.close()

    def _deal(self) -> None:
        """Write all that waits, some batches at a time, and let go of it."""
        if self._dealt is None:
            self._dealt = DealtFile(_forms_of(self._batches[0]), 1 << BUCKET_BITS)
        self._batches.reverse()
        while self._batches:
            some = [self._batches.pop()]
            size = size_of(some[0])
            while self._batches and size < DEALT_BYTES:
                some.append(self._batches.pop())
                size += size_of(some[-1])
            rows = PersonRows.join(some)
            codes = (rows.marks[:, 0] >> np.uint64(64 - BUCKET_BITS)).astype(np.uint16)
            self._dealt.deal(codes, *_arrays_of(rows))
        self._waiting = 0


def size_of(rows: PersonRows) -> int:
    """Bytes of some rows in memory."""
    return sum(part.nbytes for part in _arrays_of(rows) if part is not None)


def _arrays_of(rows: PersonRows) -> tuple[np.ndarray | None, ...]:
    return rows.marks, rows.x, rows.y, rows.present, rows.order


def _forms_of(rows: PersonRows) -> list[Form]:
    return [None if part is None else (part.shape[1:], part.dtype) for part in _arrays_of(rows)]


def _group(sizes: np.ndarray, most: int) -> Iterator[tuple[int, int]]:
    """Neighbouring buckets that have at most so many rows together, or one that has more."""
    first, rows = 0, 0
    for bucket, size in enumerate(sizes.tolist()):
        if rows and rows + size > most:
            yield first, bucket
            first, rows = bucket, 0
        rows += size
    if rows:
        yield first, len(sizes)
