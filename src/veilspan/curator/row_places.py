r"""Rows in places: as many as are public, filled in a secret random order.

What is put into a place is a row, or a unit of several rows one after the other; below both are
called rows. Let there be n rows and ``count`` places, a public number. Rows are put into places in
a random order that does not look at them: the first ``count`` of a uniformly random order of
max(n, count) things, which are the rows and, where there are fewer of them, absent ones, which
contribute zero. Then whoever exchanges, adds or removes a row exchanges at most one place. *Proof.*
Exchanging is clear: the order is the same whatever the rows say. Let A have n rows and B one row
more. If n < count, the order is a uniformly random injection of rows into places. Draw one for A,
and put the further row of B into a uniformly random free place: that is such an injection for B,
and one place differs. If n >= count, the order is a uniformly random choice of ``count`` rows, one
after the other. Draw it for A; with probability count/(n+1) give a uniformly random place to the
further row instead: that is such a choice for B, and at most one place differs. So both releases
are mixtures, by the same coins, of releases of tables that differ in one row, and a hockey-stick
divergence of mixtures is at most their mean. []

*On a disk.* Rows are dealt into buckets by independent fair coins, absent ones too; each bucket is
put into a uniformly random order in memory, and the buckets are laid one after the other. *That is
a uniformly random order.* Let s be any renaming of the things. The coins are independent with the
same law for each thing, and given the buckets the order of each is uniform, so renaming the things
by s changes neither law: the joint order has the same probability as the renamed one. Any order is
a renaming of any other, so all are equally likely. [] What the rows hold plays no part in any of
it, and their number only says how many coins are drawn. The proof above needs the law alone; so it
is the same promise whether rows fit into memory or not.
"""

from __future__ import annotations

import numpy as np

from veilspan.curator.array_file import ArrayFile, DealtFile

#: Bytes of rows that are dealt, or put in order, in one go: what the shuffle needs of memory is a
#: few times this. Pieces of a bucket that lie together are then some 100 kB of a table of 1 GB.
SHUFFLED_BYTES = 16_000_000
#: Most buckets: what is remembered of where their pieces lie grows with them. They get larger than
#: the above only with tables of more than 64 GB.
MOST_BUCKETS = 4096
#: Absent rows whose coins are thrown in one go.
_COINS_AT_ONCE = 1_000_000


def place_by_coins(
    x: np.ndarray,
    y: np.ndarray | None,
    present: np.ndarray | None,
    count: int,
    coins: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """As many places as ``count``, filled by rows in a secret random order (proof above).

    Units of k rows are arrays of shape (n, k, width) for ``x`` and (n, k) for the others.
    """
    order = coins.permutation(max(count, len(x)))[:count]
    if len(x) >= count:
        y, present = (None if part is None else part[order] for part in (y, present))
        return x[order], y, present
    return fill_places(x, y, present, order)


def fill_places(
    x: np.ndarray, y: np.ndarray | None, present: np.ndarray | None, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Rows where the order says; places with a number beyond the rows' are absent."""
    taken = order < len(x)
    rows = order[taken]

    def put(part: np.ndarray) -> np.ndarray:
        placed = np.zeros((len(order), *part.shape[1:]), dtype=part.dtype)
        placed[taken] = part[rows]
        return placed

    if present is None:
        present = np.ones(x.shape[:-1], dtype=bool)
    return put(x), None if y is None else put(y), put(present)


def place_on_disk(
    rows: ArrayFile, count: int, coins: np.random.Generator, *, keep: bool = False
) -> ArrayFile:
    """The same for rows on a disk, with the same law; memory does not grow with their number.

    Parameters
    ----------
    rows : ArrayFile
        The rows: numbers, targets or none, and who takes part.
    count : int
        Number of places.
    coins : Generator
        Secret, and independent of everything else.
    keep : bool
        Whether the rows are used again; otherwise their room is given back.
    """
    absent = max(0, count - rows.n_rows)
    buckets = choose_buckets((rows.n_rows + absent) * rows.row_bytes)
    dealt = DealtFile(rows.forms, buckets)
    at_once = max(1, SHUFFLED_BYTES // rows.row_bytes)
    for start in range(0, rows.n_rows, at_once):
        some = rows.read(start, start + at_once)
        n = min(at_once, rows.n_rows - start)
        dealt.deal(coins.integers(buckets, size=n, dtype=np.uint16), *some)
    if not keep:
        rows.close()
    absent_in = _deal_absent(absent, buckets, coins)
    placed = ArrayFile(rows.forms)
    for bucket in range(buckets):
        x, y, present = dealt.collect(bucket, bucket + 1)
        assert x is not None
        order = coins.permutation(len(x) + int(absent_in[bucket]))
        placed.append(*fill_places(x, y, present, order[: count - placed.n_rows]))
        if placed.n_rows == count:
            break
    dealt.close()
    return placed


def choose_buckets(size: int) -> int:
    """Buckets for so many bytes, a power of two, so that fair coins choose among them."""
    wanted = max(1, -(-size // SHUFFLED_BYTES))
    return min(MOST_BUCKETS, 1 << (wanted - 1).bit_length())


def _deal_absent(absent: int, buckets: int, coins: np.random.Generator) -> np.ndarray:
    """How many absent rows fall into each bucket, by a coin for each of them."""
    found = np.zeros(buckets, dtype=np.int64)
    while absent > 0:
        n = min(absent, _COINS_AT_ONCE)
        codes = coins.integers(buckets, size=n, dtype=np.uint16)
        found += np.bincount(codes, minlength=buckets)
        absent -= n
    return found
