"""The rows, checked at the door, handed out in blocks of bounded size, and summed.

What a sum returns is exact and stays with the curator. Rows also say how sums over them are put
together, by which the curator bounds what float64 rounding adds to a sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veilspan.curator.clipping import GROUP, PartSampling, Sampling, clip_weights, find_block_rows
from veilspan.curator.input_kinds import refuse_masked
from veilspan.curator.row_maps import row_map
from veilspan.curator.sparse_rows import cut_sparse, join_parts, sparse_squares

if TYPE_CHECKING:
    from veilspan.curator.query import RowQuery
    from veilspan.privacy.neighbors import Neighbors
    from veilspan.privacy.spaces import AnswerSpace

# Larger numbers would overflow when squared and summed; nothing measured is that large.
LARGEST_VALUE = 1e140
#: With a smaller sum of squares no number is larger, however the sum was rounded.
_SMALL_SQUARES = LARGEST_VALUE**2 / 4
#: A mapped table of at most so many bytes is kept, for solvers that walk over it hundreds of times.
#: It decides time and memory only: rows get the same bits whichever way they are mapped.
KEPT_BYTES = 64_000_000
#: Rows that are mapped in one go when the mapped table is kept.
MAPPED_AT_ONCE = 4096
#: Columns that ``np.einsum`` adds up in one go: half of its buffer.
_PIECE = 4096
#: Squared lengths in between are sums of squares that neither overflow nor lose bits to underflow.
_SAFE = 2.0**-900, 2.0**1000


@dataclass(frozen=True)
class Block:
    """Some rows: features ``x`` (float64, dense or CSR) and, where the method has them, targets.

    Dense blocks may be views of the user's array; they are read-only. CSR blocks of a table have
    every entry stored once, the columns of a row in order (see ``join_parts``).

    ``present`` tells rows that take part from *absent* ones: places that count as rows, and
    contribute zero to every answer (somebody without a target, a place that nobody fills). They
    keep their places, so that whoever exchanges a row for an absent one moves no other row.
    """

    x: Any
    y: np.ndarray | None = None
    present: np.ndarray | None = None
    n_rows: int = field(init=False, repr=False)
    is_sparse: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_rows", int(self.x.shape[0]))
        object.__setattr__(self, "is_sparse", not isinstance(self.x, np.ndarray))

    def dense(self) -> np.ndarray:
        """``x`` as a dense array (a block is small enough for that)."""
        return np.asarray(self.x.toarray()) if self.is_sparse else self.x

    @cached_property
    def squared_lengths(self) -> np.ndarray:
        """Squared length of each row, computed once; the same bits in a block of any size."""
        if not self.is_sparse:
            return row_dots(self.x, self.x)
        return sparse_squares(self.x)

    @cached_property
    def columns(self) -> Any:
        """``x`` transposed, made once: for a sparse block that takes as long as a product."""
        return self.x.T

    def take(self, mask: np.ndarray) -> Block:
        """Return the rows where ``mask`` is true."""
        y, present = (None if part is None else part[mask] for part in (self.y, self.present))
        return Block(self.x[mask], y, present)


class Rows:
    """A table of finite numbers, dense (any real dtype) or CSR, with at least two rows.

    Parameters
    ----------
    x : array or CSR matrix of shape (n, d)
        Kept by reference; never written to.
    y : array of shape (n,) or (n, k), optional
        Targets.
    present : bool array of shape (n,), optional
        Which rows take part; all by default.

    Raises
    ------
    ValueError, TypeError
        With the shape or dtype that is wrong, never with a value. That the table is well formed
        (finite, two-dimensional, long enough) is treated as public: the statement of every release
        says so.
    """

    n_rows: int
    n_features: int
    #: Whether blocks are CSR: public, as the form of the table is.
    is_sparse: bool
    #: A public bound on the sums of parts that are added up beyond those of one table: none here.
    extra_terms: ClassVar[Mapping[Neighbors, int]] = MappingProxyType(
        {"replace-one": 0, "add-remove": 0}
    )
    #: Whether a row that stays in its place is rounded alike on both neighbouring tables.
    rounds_alike: ClassVar[bool] = True
    #: What queries keep of blocks from one walk to the next of the same stride, by block: blocks of
    #: a table that is mapped, or read, in every walk do not last.
    _notes: tuple[int, dict[int, dict[str, Any]]] | None = None

    def __init__(self, x: Any, y: Any = None, present: np.ndarray | None = None) -> None:
        x = _check_features(x)
        self._hold(x, None if y is None else _check_targets(y, x.shape[0]), present)

    def _hold(self, x: Any, y: np.ndarray | None, present: np.ndarray | None = None) -> None:
        self._x, self._y, self._present = x, y, present
        self._views: tuple[int, list[Block]] | None = None
        self.n_rows, self.n_features = map(int, x.shape)
        self.is_sparse = not isinstance(x, np.ndarray)

    def clipped_sum(
        self,
        query: RowQuery,
        point: Any,
        space: AnswerSpace,
        sampling: Sampling | PartSampling | None = None,
        rows_per_block: int | None = None,
    ) -> np.ndarray:
        """Sum of all clipped contributions, in the coordinates of ``space``; the caller is quiet.

        With ``sampling`` each row takes part with its rate, independently (Poisson sampling).
        """
        coins = None if sampling is None else sampling.coins()

        def part(block: Block) -> Any:
            if sampling is not None and coins is not None:
                block = block.take(coins.random(block.n_rows) < sampling.rate)
                if block.n_rows == 0:
                    return 0.0
            return space.embed(clipped_block_sum(query, block, point))

        stride = rows_per_block or find_block_rows(query, self, point)
        total = self.total(part, stride, GROUP)
        whole = (space.coordinates,)
        # Zeros in every coordinate where a sample took nobody.
        return total if total.shape == whole else np.asarray(total + np.zeros(whole))

    def total(self, part: Callable[[Block], Any], rows_per_block: int, group: int) -> np.ndarray:
        """Sum of ``part`` over blocks, ``group`` at a time: what rounding bounds count on."""
        total: Any = 0.0
        subtotal: Any = 0.0
        if self._notes is None or self._notes[0] != rows_per_block:
            self._notes = rows_per_block, {}
        notes = self._notes[1]  # of this walk, should one of another stride begin before it ends
        for number, block in enumerate(self.blocks(rows_per_block)):
            block.__dict__["notes"] = notes.setdefault(number, {})
            subtotal = subtotal + part(block)
            if number % group == group - 1:
                total, subtotal = total + subtotal, 0.0
        return np.asarray(total + subtotal)

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """The table as float64 blocks of at most ``rows_per_block`` rows, in order.

        Blocks of a float64 table are views. They are kept for the next walk of the same stride:
        cutting a sparse table and measuring its rows takes longer than many a sum over them.
        """
        if self._x.dtype != np.float64:
            return self._cut(rows_per_block)
        if self._views is None or self._views[0] != rows_per_block:
            self._views = (rows_per_block, list(self._cut(rows_per_block)))
        return iter(self._views[1])

    def _cut(self, rows_per_block: int) -> Iterator[Block]:
        for start in range(0, self.n_rows, rows_per_block):
            part = slice(start, start + rows_per_block)
            targets = None if self._y is None else self._y[part]
            present = None if self._present is None else self._present[part]
            yield Block(as_float(_rows_of(self._x, part)), targets, present)

    def mapped(self, row_map: Callable[[Block], Block], n_features: int) -> Rows:
        """The rows after a public map that looks at one row at a time.

        Neighbouring tables stay neighbouring: whoever exchanges, adds or removes one row before the
        map does so after it. The map is a part of the preparation of rows and costs nothing.

        Parameters
        ----------
        row_map : callable
            From a block to a block with the same rows in the same order, targets included: a row
            and its target are one person's, and may both be mapped. A map that takes long says in
            ``kept_bytes`` up to what size its table is kept as it is, and by ``on_grid`` that its
            rows can be kept in less room (:mod:`veilspan.curator.grid_rows`).
        n_features : int
            Columns after the map.

        Returns
        -------
        Rows
            No row is read here. They are mapped in the first walk and kept if the mapped table is
            small or on a grid; block by block, in every walk, if not.
        """
        small = self._size_with(n_features) <= getattr(row_map, "kept_bytes", KEPT_BYTES)
        if getattr(row_map, "on_grid", False) and not small:
            from veilspan.curator.grid_rows import GridRows

            return GridRows(self, row_map, n_features)
        return MappedRows(self, row_map, n_features, kept=small)

    def _size_with(self, n_features: int) -> float:
        """Bytes of the table if it had so many columns; no end of them if it is not in memory."""
        if isinstance(self._x, np.ndarray):
            return 8 * self.n_rows * n_features
        return 16 * (int(self._x.nnz) + self.n_rows)  # a number and its place

    def map_now(self, row_map: Callable[[Block], Block]) -> Rows:
        """Map all rows now, and return the mapped table as ordinary rows."""
        parts: list[Any] = []
        targets: list[Any] = []
        whole: np.ndarray | None = None
        kept, done = True, 0
        for block in self.blocks(MAPPED_AT_ONCE):
            mapped = row_map(block)
            if block.n_rows == self.n_rows:
                return Rows.checked_before(mapped.x, mapped.y, self._present)
            if done == 0 and isinstance(mapped.x, np.ndarray) and mapped.x.flags.c_contiguous:
                # Blocks go where they stay; in a list of parts they would be in memory twice.
                whole = np.empty((self.n_rows, mapped.x.shape[1]))
            if whole is None:
                parts.append(mapped.x)
            else:
                whole[done : done + block.n_rows] = mapped.x
            targets.append(mapped.y)
            kept = kept and mapped.y is block.y  # of the map's kind, not of rows
            done += block.n_rows
        y = self._y if kept else np.concatenate(targets)
        if whole is not None:
            return Rows.checked_before(whole, y, self._present)
        if isinstance(parts[0], np.ndarray):
            return Rows.checked_before(np.concatenate(parts), y, self._present)
        from scipy import sparse

        x = sparse.csr_array(sparse.vstack(parts, format="csr"))
        return Rows.checked_before(x, y, self._present)

    @classmethod
    def checked_before(cls, x: Any, y: Any = None, present: np.ndarray | None = None) -> Rows:
        """Make rows of a table whose form was checked already, without a second look at it."""
        rows = cls.__new__(cls)
        rows._hold(x, y, present)
        return rows

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Differences of randomly paired rows, each row in at most one pair.

        The pairing is drawn without looking at the rows, so exchanging one row exchanges one
        difference: replace-one neighbours stay replace-one neighbours, with n // 2 rows.
        """
        if self.n_rows < least:
            raise ValueError(f"pairs need at least {least} rows.")
        from veilspan.curator.paired_rows import PairedRows

        return PairedRows(self, coins)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("rows are never pickled: a copy would leave the curator.")


class MappedRows(Rows):
    """Rows seen through a map: in every walk anew, or kept from the first one on.

    The rows may be mapped ones themselves: a map of each row after a map of each row is one.
    """

    def __init__(
        self, rows: Rows, row_map: Callable[[Block], Block], n_features: int, kept: bool = False
    ) -> None:
        self.n_rows, self.n_features = rows.n_rows, n_features  # a map leaves no row out
        self.is_sparse = rows.is_sparse
        self._before, self._map = rows, row_map
        self._keeps = kept
        self._whole: Rows | None = None

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """Blocks of at most ``rows_per_block`` rows, in order."""
        if not self._keeps:
            return self._walk(rows_per_block)
        if self._whole is None:
            self._whole = self._before.map_now(self._map)
        return self._whole.blocks(rows_per_block)

    def _walk(self, rows_per_block: int) -> Iterator[Block]:
        """Each block mapped when it is asked for."""
        for block in self._before.blocks(rows_per_block):
            mapped = self._map(block)
            # Whether a row takes part is nothing that a map decides, or could lose.
            yield mapped if block.present is None else replace(mapped, present=block.present)

    def _size_with(self, n_features: int) -> float:
        """Bytes of the table if it had so many columns, as before the map."""
        return self._before._size_with(n_features)

    def map_now(self, row_map: Callable[[Block], Block]) -> Rows:
        """Map all rows now, and return the mapped table as ordinary rows."""
        return self._before.map_now(lambda block: row_map(self._map(block)))

    def paired(self, coins: np.random.Generator, least: int = 4) -> Rows:
        """Not offered: no method pairs mapped rows."""
        raise TypeError("mapped rows are not paired: pair the rows first, then map them.")


def rows_of(table: Any, targets: Any = None) -> Any:
    """Rows for a curator: of a table in memory, or of one on a cluster."""
    from veilspan.curator.dask.table import DaskTable

    if isinstance(table, DaskTable):
        from veilspan.curator.dask.rows import DaskRows

        return DaskRows(table, targets)
    return Rows(table, targets)


#: Rows that a table in memory has at least, places that nobody is in included.
LEAST_ROWS = 2


def plain_rows(table: Any, targets: Any, *, of_any_number: bool, cut: bool) -> Rows:
    """Rows of a table in memory, whose form was checked.

    Parameters
    ----------
    table, targets : array or CSR matrix of shape (n, p), array of shape (n,)
        Without NaN and infinities.
    of_any_number : bool
        Whether none and one are rows as well, as where their number is private: they stand beside
        places that nobody is in.
    cut : bool
        Whether entries beyond the largest that rows may hold are cut to it. Whoever asks for it
        clips to ranges within.
    """
    present, is_array = None, isinstance(table, np.ndarray)
    if cut and _is_huge(table if is_array else table.data):
        from veilspan.curator.odd_tables import cut_huge

        table = cut_huge(table, LARGEST_VALUE)
    n_rows = table.shape[0]
    if of_any_number and n_rows < LEAST_ROWS:
        from veilspan.curator.odd_tables import with_empty

        present = np.arange(LEAST_ROWS) < n_rows
        table = with_empty(table, LEAST_ROWS - n_rows)
        targets = with_empty(targets, LEAST_ROWS - n_rows)
    if cut and is_array:  # every entry has been looked at
        return Rows.checked_before(table, _check_targets(targets, len(table)), present)
    return Rows(table, targets, present)


def clipped_block_sum(query: RowQuery, block: Block, point: Any) -> Any:
    """Clipped sum of one block: the only place where contributions are weighted."""
    prepared = query.prepare(block, point)
    norms = np.asarray(query.norms(prepared, point), dtype=np.float64)
    if norms.shape != (block.n_rows,):
        # The shape would tell how many rows the block has, which may be private.
        raise ValueError(f"{query.name}.norms must return one number per row of the block.")
    weights = clip_weights(norms, query.bound)
    if block.present is not None:  # an absent row has weight 0 and keeps its place
        weights = np.where(block.present, weights, 0.0)
    return query.weighted_sum(prepared, weights, point)


def scores_of(x: Any, theta: np.ndarray, factors: np.ndarray | None = None) -> np.ndarray:
    """<x_i, theta> of each row, times its factor; in memory score by score where several.

    What is done next for each row (its largest score, the sum of them) then runs over all rows at
    once, not over a few numbers of one row at a time.
    """
    plain = theta.ndim == 1 or not isinstance(x, np.ndarray)
    # ``dot`` does less than ``@`` before it calls BLAS, which counts where rows are few.
    products = np.asarray(x.dot(theta) if plain else (theta.T @ x.T).T)
    if factors is None:
        return products
    return np.asarray(products * (factors if products.ndim == 1 else factors[:, None]))


@row_map
def row_dots(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Inner product of each row of ``x`` with the same row of ``y``.

    Without BLAS, whose products over many rows round by a row's place among them. ``np.einsum``
    takes a row at a time, but one of more columns than its buffer (8,192) in another order if it is
    alone, so wider rows are added up in pieces. The bits of a row then depend on nothing but
    whether the table is stored by rows or by columns, which is public.
    """
    total = np.einsum("ij,ij->i", x[:, :_PIECE], y[:, :_PIECE])
    for first in range(_PIECE, x.shape[1], _PIECE):
        piece = slice(first, first + _PIECE)
        total += np.einsum("ij,ij->i", x[:, piece], y[:, piece])
    return np.asarray(total)


@row_map
def row_lengths(x: np.ndarray) -> np.ndarray:
    """Euclidean length of each row, to a few roundings whatever its size; NaN and inf stay.

    A row whose squares leave the range of floats is divided by a power of two first, which is
    exact: otherwise a row at the edge of overflow would have a length, or none, by its rounding.
    """
    squares = row_dots(x, x)
    lengths = np.sqrt(squares)
    odd = ~((squares > _SAFE[0]) & (squares < _SAFE[1]))
    if odd.any():
        rows = np.ascontiguousarray(x[odd])
        _, power = np.frexp(np.abs(rows).max(axis=1, initial=0.0))
        rows = np.ldexp(rows, -power[:, None])
        lengths[odd] = np.ldexp(np.sqrt(row_dots(rows, rows)), power)
    return np.asarray(lengths)


def _rows_of(x: Any, part: slice) -> Any:
    """Some rows of a table, without a copy."""
    return x[part] if isinstance(x, np.ndarray) else cut_sparse(x, part)


def as_float(part: Any) -> Any:
    """Rows as float64: a read-only view where they are, joined where an entry is in parts."""
    if isinstance(part, np.ndarray):
        block = np.asarray(part, dtype=np.float64)
        if block is part or np.shares_memory(block, part):
            block = block.view()
            block.flags.writeable = False
        return block
    # Joined as float64: parts of whole numbers may add up to more than their type holds.
    return join_parts(part if part.dtype == np.float64 else part.astype(np.float64))


def _check_features(x: Any) -> Any:
    from scipy import sparse

    if hasattr(x, "__dask_graph__"):
        raise TypeError(
            "a Dask collection is not loaded into memory behind your back; pass X.compute() "
            "if it fits."
        )
    if type(x) is not np.ndarray:
        refuse_masked(x)
    if sparse.issparse(x):
        x = sparse.csr_array(x)
        values = x.data
    else:
        x = np.asarray(x)
        values = x
    if x.ndim != 2:
        raise ValueError(f"X must be two-dimensional (rows x columns); got {x.ndim} dimension(s).")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers; got dtype {x.dtype}.")
    if x.shape[0] < 2:
        raise ValueError("X must have at least 2 rows.")
    if x.shape[1] < 1:
        raise ValueError("X must have at least 1 column.")
    _check_finite(values, "X")
    return x


def _check_targets(y: Any, n_rows: int) -> np.ndarray:
    if type(y) is not np.ndarray:
        refuse_masked(y, "y")
    y = np.asarray(y)
    if y.dtype.kind not in "fiub":
        raise TypeError(f"y must hold real numbers; got dtype {y.dtype}.")
    if y.ndim not in (1, 2) or y.shape[0] != n_rows:
        raise ValueError("y must have one entry, or one row of them, per row of X.")
    _check_finite(y, "y")
    return np.asarray(y, dtype=np.float64)


def _is_huge(values: np.ndarray) -> bool:
    """Whether an entry is NaN, infinite or absurdly large, without a temporary as large."""
    if values.dtype.kind != "f" or values.size == 0:
        return False
    plain = values.dtype == np.float64 and values.flags.c_contiguous
    if plain and np.vdot(values, values) <= _SMALL_SQUARES:  # told in half of the time
        return False
    # A NaN anywhere makes the extremes NaN, so that the comparison is false.
    return not (float(values.max()) <= LARGEST_VALUE and float(values.min()) >= -LARGEST_VALUE)


def _check_finite(values: np.ndarray, name: str) -> None:
    if _is_huge(values):
        raise ValueError(
            f"{name} contains NaN, infinity or a value too large to square. Fill or drop such "
            "entries first, by a rule that does not look at other people's rows."
        )
