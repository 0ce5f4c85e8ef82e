"""A table on a Dask cluster: parts that can be computed again, and what is public of them.

A table enters as the tasks that read or make its parts, never as data sent from here: a worker that
dies takes its parts with it, and tasks are simply run again. Parts are never brought into this
process.

Public is the form of a table: columns and type, and under replace-one how many parts it has and how
many rows each. So which part a row lies in must not depend on what it says about a person. Under
add-remove, where one row more may make one part more, no noise depends on either.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veilspan.curator.dask.tasks import current_client, dask_module, results, task, wait_for
from veilspan.curator.input_kinds import refuse_dates, refuse_masked
from veilspan.curator.rows import Rows

#: Share of the workers' memory that a table may fill to be kept there between steps. Dask itself
#: begins to move data to the disk at 0.6, and steps need room of their own.
KEPT_SHARE = 0.4
#: Most parts: a public number, since noise covers what adding up their sums may round.
MOST_PARTS = 2**14


def is_lazy(x: Any) -> bool:
    """Whether ``x`` is a Dask collection."""
    return hasattr(x, "__dask_graph__")


class DaskTable:
    """Parts of a table (tasks), with the shape that is public.

    Attributes
    ----------
    parts : list
        One task per part; each gives a two-dimensional array or CSR matrix.
    sizes : tuple of int
        Rows of each part.
    shape : (int, int)
        Of the whole table.
    dtype : numpy dtype
        Of its entries.
    is_sparse : bool
        Whether parts are CSR.
    held : int
        Bytes that are kept for this table already, as itself or as what it is made from.
    """

    def __init__(
        self,
        parts: list[Any],
        sizes: Sequence[int],
        width: int,
        dtype: Any,
        is_sparse: bool,
        held: int = 0,
    ) -> None:
        self.parts = parts
        self.sizes = tuple(int(size) for size in sizes)
        self.shape = (sum(self.sizes), width)
        self.dtype = np.dtype(dtype)
        self.is_sparse = is_sparse
        self.held = held

    def mapped(self, function: Callable[..., Any], width: int, *arguments: Any) -> DaskTable:
        """The table after a public function of each part that treats rows one by one."""
        parts = [task(function, [part], *arguments) for part in self.parts]
        return DaskTable(parts, self.sizes, width, np.float64, self.is_sparse, self.held)

    def as_sparse(self) -> DaskTable:
        """The same, known to hold CSR parts."""
        return DaskTable(self.parts, self.sizes, self.shape[1], self.dtype, True, self.held)

    def fits(self) -> bool:
        """Whether the workers have room to keep the parts, by public numbers.

        Those are the table's shape and the workers' limits. How full a sparse table is is not
        public: it is kept, and Dask moves to disk what is too much.
        """
        client = current_client()
        if client is None:  # keeping would load the table into this process
            return False
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        room = KEPT_SHARE * sum(worker["memory_limit"] or 0 for worker in workers)
        return self.is_sparse or self.held + self._bytes() <= room

    def keep_parts(self) -> DaskTable:
        """The same with parts that stay in the workers' memory, if they fit there.

        Kept parts are results of tasks: those of a worker that dies are computed again by another.
        """
        if not self.fits():
            return self
        parts = persist(self.parts)
        return DaskTable(
            parts, self.sizes, self.shape[1], self.dtype, self.is_sparse, self.held + self._bytes()
        )

    def _bytes(self) -> int:
        return 0 if self.is_sparse else self.shape[0] * self.shape[1] * self.dtype.itemsize

    def check(self, targets: DaskTargets | None = None) -> None:
        """Refuse a table that is not finite real numbers, part by part, where the parts are."""
        inputs = [[x] for x in self.parts] if targets is None else zip(self.parts, targets.parts)
        form = (self.shape[1], self.is_sparse)
        found = results([task(_check_part, list(pair), *form) for pair in inputs])
        if tuple(found) != self.sizes:
            raise ValueError("chunks of X do not have the numbers of rows that X says they have.")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a table is never pickled: a copy would leave the curator.")


class DaskTargets:
    """Targets in parts that match a table's."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def mapped(self, function: Callable[..., Any], *arguments: Any) -> DaskTargets:
        """Return the targets after a public function of each."""
        return DaskTargets([task(function, [part], *arguments) for part in self.parts])

    def keep_parts(self) -> DaskTargets:
        """The same, kept on the workers as a table that fits there is, and read as often."""
        return DaskTargets(persist(self.parts))

    def distinct(self, of_part: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """All different values, by a function that gives those of a part."""
        found = results([task(of_part, [part]) for part in self.parts])
        return np.concatenate([values for values in found if len(values)] or found[:1])


def persist(parts: Sequence[Any]) -> list[Any]:
    """Tasks that start now and whose results stay on the cluster."""
    return list(current_client().persist(list(parts)))


def _check_part(x: Any, *rest: Any) -> int:
    """Rows of a part, if it is well formed; ``rest`` is targets, if any, width and sparseness."""
    from scipy import sparse

    *targets, width, is_sparse = rest
    refuse_masked(x)
    if sparse.issparse(x) != is_sparse:
        raise TypeError(
            "chunks of X are sparse where X says they are dense, or the reverse: name meta=... "
            "where they are made."
        )
    if x.ndim != 2 or x.shape[1] != width:
        raise ValueError("chunks of X do not have the number of columns that X says they have.")
    y = targets[0] if targets else None
    if x.shape[0] == 1:  # one row has a form as good as two; the number of all is checked elsewhere
        x, y = _twice(x), None if y is None else np.concatenate([y, y])
        return Rows(x, y).n_rows // 2
    return Rows(x, y).n_rows if x.shape[0] else 0


def _twice(x: Any) -> Any:
    from scipy import sparse

    return sparse.vstack([x, x], format="csr") if sparse.issparse(x) else np.concatenate([x, x])


def dask_table(x: Any, *, accept_sparse: bool = True, as_csr: bool = True) -> DaskTable:
    """A Dask array or data frame as parts, one or several whole rows each.

    Chunks that split columns are joined. Where the sizes of chunks are not known (data frames,
    filtered arrays) they are counted on the cluster. Sparse chunks become CSR, which adds up
    entries that are stored twice, unless ``as_csr`` is false.
    """
    array = _as_array(x)
    refuse_dates(array)
    if as_csr:  # else the caller reads a mask as gaps, part by part
        refuse_masked(array)
    if array.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional (rows x columns); got {array.ndim} dimension(s)."
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"X must hold real numbers; got dtype {array.dtype}.")
    if array.shape[1] < 1:
        raise ValueError("X must have at least 1 column.")
    is_sparse = hasattr(array._meta, "nnz") or hasattr(array._meta, "indptr")
    if is_sparse and not accept_sparse:
        raise TypeError("Sparse data was passed for X, but dense data is required.")
    if array.numblocks[1] > 1:
        array = array.rechunk({1: -1})
    if array.numblocks[0] > MOST_PARTS:
        raise ValueError(
            f"X has more than {MOST_PARTS:,} chunks of rows: rechunk it to larger ones."
        )
    parts = list(array.to_delayed().ravel())
    table = DaskTable(parts, array.chunks[0], array.shape[1], array.dtype, is_sparse)
    return table.mapped(_csr, array.shape[1]) if is_sparse and as_csr else table


def _csr(x: Any) -> Any:
    from scipy import sparse

    return sparse.csr_array(x)


def dask_targets(y: Any, table: DaskTable) -> DaskTargets:
    """Targets cut like the table: a Dask array or series, or numbers that are here already."""
    refuse_masked(y, "y")
    y = _as_array(y) if is_lazy(y) else np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one entry per row of X; got {y.ndim} dimension(s).")
    if y.shape[0] != table.shape[0]:
        raise ValueError("X and y have different numbers of rows.")
    if is_lazy(y):
        if y.chunks[0] != table.sizes:
            y = y.rechunk({0: table.sizes})
        return DaskTargets(list(y.to_delayed().ravel()))
    pieces = np.split(y, np.cumsum(table.sizes)[:-1])
    # A name that is a function of the labels would tell who has equal ones.
    delayed = dask_module().delayed
    return DaskTargets([delayed(piece, traverse=False, pure=False) for piece in pieces])


def _as_array(x: Any) -> Any:
    """A Dask array with known sizes."""
    if isinstance(x, dask_module("dask.delayed").Delayed):  # it has an attribute of any name
        raise TypeError(
            "a Dask Delayed is not a table: say what it holds, with dask.array.from_delayed."
        )
    if hasattr(x, "to_dask_array"):
        refuse_dates(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that words become objects
            return wait_for(lambda: x.to_dask_array(lengths=True))
    if not hasattr(x, "chunks"):
        raise TypeError(
            f"a Dask {type(x).__name__} is not a table: pass a dask array or a dask data frame."
        )
    if x.ndim and any(np.isnan(size) for size in x.chunks[0]):
        unknown = x
        x = wait_for(lambda: unknown.copy().compute_chunk_sizes())  # it writes into what it is of
    return x


def column_names(x: Any) -> list[Any] | None:
    """Names of the columns of a data frame."""
    columns = getattr(x, "columns", None)
    return None if columns is None else list(columns)
