r"""The row rule of ratings: what is kept of a user's row before anything is summed.

Ratings are clipped to the public range [low, high] and rounded to a grid of ``LEVELS`` steps; at
most ``max_ratings`` of them are kept, chosen at random; the user's own mean (of the kept ones) is
subtracted. It is a function of one row and public numbers. All of it is done in whole numbers below
2^53, so a row's result does not depend on where the row stands in its block, bit for bit.

Why the choice is random and yet a row rule: the keep-or-drop order of a row's ratings is a hash of
the row itself and of ``salt``, a secret number drawn once per fit. The sensitivity holds for every
salt, so the guarantee does not rest on it; the hash only makes the choice even.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan._scales import check_derived_scale, check_location
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block

#: Steps of the rating range: finer than any scale in use, and squares still sum exactly.
LEVELS = 2**16
#: Most items: 20 bits hold a rating's place in its row when some of a row are chosen.
MOST_ITEMS = 2**20
#: Rows that are sorted together: 16 bits hold a row's number.
MOST_ROWS = 2**16


@dataclass(frozen=True)
class KeptRatings:
    """Kept, centred ratings of a block of users, in steps of the grid.

    Attributes
    ----------
    starts : array of shape (users + 1,)
        Where each user's ratings begin.
    items : array
        Item of each rating.
    steps : float array
        Centred rating, a whole number of grid steps of magnitude at most ``LEVELS``.
    n_items : int
        Number of items.
    """

    starts: np.ndarray
    items: np.ndarray
    steps: np.ndarray
    n_items: int

    @property
    def counts(self) -> np.ndarray:
        """How many ratings of each user were kept."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class RatingRule:
    """What happens to a user's row before it is summed: the same for every query of a fit.

    Parameters
    ----------
    low, high : float
        Public rating range; ratings outside are clipped to it.
    max_ratings : int
        At most so many ratings of a user are kept.
    center : {"user", "middle"}
        What is subtracted: the mean of the user's kept ratings, or the middle of the range.
    salt : int
        Decides which ratings of a long row are kept.
    """

    low: float
    high: float
    max_ratings: int
    center: str = "user"
    salt: int = 0

    def __post_init__(self) -> None:
        check_location((self.low, self.high), "a range of ratings")
        check_derived_scale(self.high - self.low, "the width of a range of ratings")

    @property
    def step(self) -> float:
        """One step of the grid, in units of ratings."""
        return (self.high - self.low) / LEVELS

    @row_map
    def keep(self, block: Block) -> KeptRatings:
        """Apply the rule to a block; in a dense block every item is rated."""
        starts, items, ratings = _entries(block)
        steps = np.clip(ratings, self.low, self.high)
        steps -= self.low
        steps *= LEVELS / (self.high - self.low)
        np.rint(steps, out=steps)
        keep = _choose(starts, items, steps, self.max_ratings, self.salt)
        if keep is not None:
            items, steps = items[keep], steps[keep]
            starts = _starts(np.minimum(np.diff(starts), self.max_ratings))
        counts = np.diff(starts)
        if self.center == "user":
            mean = np.rint(row_sums(steps, starts) / np.maximum(counts, 1))
            steps -= np.repeat(mean, counts)
        else:
            steps -= LEVELS / 2
        return KeptRatings(starts, items, steps, int(block.x.shape[1]))


def row_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sum of each row's entries; exact, in any order, for whole numbers below 2^53."""
    totals = np.zeros(len(starts) - 1)
    filled = np.diff(starts) > 0
    if filled.any():
        totals[filled] = np.add.reduceat(values, starts[:-1][filled])
    return totals


def _entries(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, items and ratings of a block."""
    if block.is_sparse:
        return block.x.indptr, block.x.indices, block.x.data
    users, n_items = block.x.shape
    return _starts(np.full(users, n_items)), np.tile(np.arange(n_items), users), block.x.ravel()


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def _choose(
    starts: np.ndarray, items: np.ndarray, steps: np.ndarray, limit: int, salt: int
) -> np.ndarray | None:
    """Mask of ``limit`` ratings of each longer row, or ``None`` if no row is longer.

    Ratings are ordered by a hash of (salt, whole row, item).
    """
    counts = np.diff(starts)
    long = counts > limit
    if not long.any():
        return None
    entries = np.flatnonzero(np.repeat(long, counts))
    lengths = counts[long]
    hashes = hash_ratings(_starts(lengths), items[entries], steps[entries], salt)
    chosen = _smallest(hashes, lengths, limit)
    keep = np.ones(len(items), dtype=bool)
    keep[entries] = chosen
    return keep


def hash_ratings(starts: np.ndarray, items: np.ndarray, steps: np.ndarray, salt: int) -> np.ndarray:
    """A number of 64 bits for each rating: a hash of (salt, whole row, item).

    Sums of hashes modulo 2^64 do not depend on the order of summation, so neither the key of a row
    nor the numbers of its ratings depend on its place.
    """
    codes = _mix(items.astype(np.uint64) + np.uint64(salt))
    codes = _mix(codes ^ steps.astype(np.int64).astype(np.uint64))
    until = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes, dtype=np.uint64)])
    row_keys = until[starts[1:]] - until[starts[:-1]]
    return _mix(codes ^ np.repeat(row_keys, np.diff(starts)))


def _smallest(hashes: np.ndarray, lengths: np.ndarray, limit: int) -> np.ndarray:
    """Mask of the ``limit`` smallest hashes of every row; all rows are longer than that.

    One sort of whole numbers: row, then 28 bits of the hash, then the place in the row, which
    makes all of them different. The split of the bits is fixed, so that a row's choice does not
    depend on other rows.
    """
    chosen = np.empty(len(hashes), dtype=bool)
    first = _starts(lengths)
    for begin in range(0, len(lengths), MOST_ROWS):
        end = min(begin + MOST_ROWS, len(lengths))
        part = slice(first[begin], first[end])
        own, own_first = lengths[begin:end], first[begin:end] - first[begin]
        place = np.arange(len(hashes[part])) - np.repeat(own_first, own)
        keys = np.repeat(np.arange(end - begin, dtype=np.uint64) << np.uint64(48), own)
        keys |= (hashes[part] >> np.uint64(36)) << np.uint64(20)
        keys |= place.astype(np.uint64)
        last = np.sort(keys)[own_first + limit - 1]
        chosen[part] = keys <= np.repeat(last, own)
    return chosen


def _mix(x: np.ndarray) -> np.ndarray:
    """Finaliser of SplitMix64 (Steele, Lea & Flood 2014): every bit depends on every bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
