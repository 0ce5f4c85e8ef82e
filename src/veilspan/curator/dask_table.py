"""A table on a Dask cluster: parts that can be computed again, and what is public of them.

A table enters as the tasks that read or make its parts, never as data sent from here: a worker that
dies takes its parts with it, and tasks are simply run again. Parts are never brought into this
process. Functions of parts are run by :func:`guarded`, which returns a refusal instead of raising:
when a task fails, Dask writes its arguments, rows among them, into the worker's log.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veilspan.curator.rows import Rows

#: Share of the workers' memory that a table may fill to be kept there between steps.
KEPT_SHARE = 0.4


def is_lazy(x: Any) -> bool:
    """Whether ``x`` is a Dask collection."""
    return hasattr(x, "__dask_graph__")


def dask_module(name: str = "dask") -> Any:
    """Dask, which is there if somebody has a Dask collection."""
    return importlib.import_module(name)


class Refusal:
    """An error of a part, as a value: its type and a message that holds no value of a row."""

    def __init__(self, error: Exception) -> None:
        ours = isinstance(error, (ValueError, TypeError))
        self.kind = type(error) if ours else RuntimeError
        # Other errors come from libraries whose messages may quote what they stumbled over.
        self.text = str(error) if ours else f"a part could not be computed: {type(error).__name__}."

    def raise_here(self) -> None:
        """Raise the error in this process."""
        raise self.kind(self.text)


class Call:
    """A function and its public arguments, opaque to Dask, which would look for tasks in them."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, *parts: Any) -> Any:
        """Apply the function to parts."""
        return self.function(*parts, *self.arguments)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", "call")


def guarded(call: Call, *parts: Any) -> Any:
    """The result of a call on some parts; the refusal if it, or a part, is one."""
    for part in _flat(parts):
        if isinstance(part, Refusal):
            return part
    try:
        with np.errstate(all="ignore"):  # a warning about arithmetic could tell something of a row
            return call(*parts)
    except Exception as error:
        return Refusal(error)


def _flat(parts: Sequence[Any]) -> list[Any]:
    return [p for part in parts for p in (part if isinstance(part, list) else [part])]


def task(function: Callable[..., Any], parts: Sequence[Any], *arguments: Any) -> Any:
    """A task that applies a function to parts and public arguments.

    Run again because its worker died, it is the same pure function of the same inputs.
    """
    delayed = dask_module().delayed
    call = delayed(Call(function, *arguments), pure=False, traverse=False)
    return delayed(guarded, pure=False)(call, *parts)


def results(tasks: Sequence[Any]) -> list[Any]:
    """Compute tasks where the cluster is; the first refusal is raised here."""
    found = list(dask_module().compute(*tasks))
    for each in found:
        if isinstance(each, Refusal):
            each.raise_here()
    return found


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
    """

    def __init__(
        self, parts: list[Any], sizes: Sequence[int], width: int, dtype: Any, is_sparse: bool
    ) -> None:
        self.parts = parts
        self.sizes = tuple(int(size) for size in sizes)
        self.shape = (sum(self.sizes), width)
        self.dtype = np.dtype(dtype)
        self.is_sparse = is_sparse

    def mapped(self, function: Callable[..., Any], width: int, *arguments: Any) -> DaskTable:
        """The table after a public function of each part that treats rows one by one."""
        parts = [task(function, [part], *arguments) for part in self.parts]
        return DaskTable(parts, self.sizes, width, np.float64, self.is_sparse)

    def as_sparse(self) -> DaskTable:
        """The same, known to hold CSR parts."""
        return DaskTable(self.parts, self.sizes, self.shape[1], self.dtype, is_sparse=True)

    def check(self, targets: DaskTargets | None = None) -> None:
        """Refuse a table that is not finite real numbers, part by part, where the parts are."""
        paired = zip(self.parts, targets.parts if targets is not None else [None] * len(self.parts))
        results([task(_check_part, [x] if y is None else [x, y]) for x, y in paired])

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a table is never pickled: a copy would leave the curator.")


class DaskTargets:
    """Targets in parts that match a table's."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def mapped(self, function: Callable[..., Any], *arguments: Any) -> DaskTargets:
        """Targets after a public function of each."""
        return DaskTargets([task(function, [part], *arguments) for part in self.parts])

    def distinct(self) -> np.ndarray:
        """All different values, in order."""
        return np.unique(np.concatenate(results([task(np.unique, [p]) for p in self.parts])))


def _check_part(x: Any, y: Any = None) -> int:
    if x.shape[0]:
        # One row has a form as good as two; the number of all rows is checked elsewhere.
        twice = x if x.shape[0] > 1 else _twice(x)
        Rows(twice, None if y is None else y if x.shape[0] > 1 else np.concatenate([y, y]))
    return int(x.shape[0])


def _twice(x: Any) -> Any:
    from scipy import sparse

    return sparse.vstack([x, x], format="csr") if sparse.issparse(x) else np.concatenate([x, x])


def dask_table(x: Any, *, accept_sparse: bool = True) -> DaskTable:
    """A Dask array or data frame as parts, one or several whole rows each.

    Chunks that split columns are joined. Where the sizes of chunks are not known (data frames,
    filtered arrays) they are counted on the cluster.
    """
    array = _as_array(x)
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
    parts = list(array.to_delayed().ravel())
    table = DaskTable(parts, array.chunks[0], array.shape[1], array.dtype, is_sparse)
    return table.mapped(_csr, array.shape[1]) if is_sparse else table


def _csr(x: Any) -> Any:
    from scipy import sparse

    return sparse.csr_array(x)


def dask_targets(y: Any, table: DaskTable) -> DaskTargets:
    """Targets cut like the table: a Dask array or series, or numbers that are here already."""
    delayed = dask_module().delayed
    if is_lazy(y):
        y = _as_array(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape[0] != table.shape[0]:
            raise ValueError("X and y have different numbers of rows.")
        if y.chunks[0] != table.sizes:
            y = y.rechunk({0: table.sizes})
        return DaskTargets(list(y.to_delayed().ravel()))
    y = np.asarray(y)
    if y.shape[:1] != table.shape[:1]:
        raise ValueError("X and y have different numbers of rows.")
    cuts = np.cumsum(table.sizes)[:-1]
    return DaskTargets([delayed(piece, traverse=False) for piece in np.split(y, cuts)])


def _as_array(x: Any) -> Any:
    """A Dask array with known sizes."""
    if hasattr(x, "to_dask_array"):
        return x.to_dask_array(lengths=True)
    if not hasattr(x, "chunks"):
        raise TypeError(
            f"a Dask {type(x).__name__} is not a table: pass a dask array or a dask data frame."
        )
    if any(np.isnan(size) for size in x.chunks[0]):
        x = x.compute_chunk_sizes()
    return x


def column_names(x: Any) -> list[Any] | None:
    """Names of the columns of a data frame."""
    columns = getattr(x, "columns", None)
    return None if columns is None else list(columns)
