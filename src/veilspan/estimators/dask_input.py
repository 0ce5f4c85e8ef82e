"""Dask input: checked where it lies, mapped lazily, never loaded into this process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted, validate_data

from veilspan.curator.dask.table import (
    DaskTable,
    column_names,
    dask_table,
    dask_targets,
    is_lazy,
)
from veilspan.curator.dask.tasks import dask_module

_MISSING = object()


def validate_lazy(
    estimator: Any,
    X: Any,
    *,
    y: Any = _MISSING,
    accept_sparse: Any = False,
    ensure_min_samples: int = 1,
    reset: bool = True,
    **_: Any,
) -> Any:
    """What ``validate_table`` does for tables in memory, for a Dask array or data frame.

    Sets or checks ``n_features_in_`` and ``feature_names_in_``. Without targets the entries are
    checked to be finite, by one pass on the cluster; with them the caller does so once the targets
    have been turned into numbers.

    Returns
    -------
    DaskTable, or (DaskTable, DaskTargets)
    """
    if y is None:
        raise ValueError(f"This {type(estimator).__name__} estimator requires y to be passed.")
    table = X if isinstance(X, DaskTable) else dask_table(X, accept_sparse=bool(accept_sparse))
    validate_data(estimator, _form_of(X, table.shape[1]), reset=reset, skip_check_array=True)
    if table.shape[0] < ensure_min_samples:
        raise ValueError(f"X must have at least {ensure_min_samples} rows.")
    fits = table.fits()
    table = table.keep_parts()  # read once for the check and all sums
    if y is _MISSING:
        table.check()
        return table
    targets = dask_targets(y, table)
    return table, targets.keep_parts() if fits else targets


def _form_of(X: Any, width: int) -> Any:
    """An empty table with the columns of X: all that scikit-learn needs for its own attributes."""
    names = column_names(X)
    if names is None:
        return np.empty((0, width))
    import pandas as pd

    return pd.DataFrame(columns=names)


def lazily(
    X: Any,
    function: Callable[[Any], np.ndarray],
    columns: int | tuple[int, ...] | None,
    dtype: Any = np.float64,
) -> Any:
    """A Dask array of ``function`` of blocks of rows, computed when and where it is asked for.

    Parameters
    ----------
    X : dask array or data frame
        The caller's own rows.
    function : callable
        From a block of rows to as many rows, or numbers if ``columns`` is None.
    columns : int, tuple of int or None
        Columns of the result, or the shape of one of its rows.
    dtype : dtype
        Of the result.
    """
    array = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if any(count > 1 for count in array.numblocks[1:]):
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    shape = () if columns is None else (columns,) if isinstance(columns, int) else columns
    return array.map_blocks(
        partial(_of_block, function=function, nothing=np.empty((0, *shape), dtype=dtype)),
        dtype=dtype,
        chunks=(array.chunks[0], *((length,) for length in shape)),
        drop_axis=list(range(len(shape) + 1, array.ndim)),
        new_axis=list(range(array.ndim, len(shape) + 1)) or None,
        meta=np.empty((0, *shape), dtype=dtype),
    )


def _of_frames(X: Any, function: Callable[[Any], np.ndarray], columns: Any, dtype: Any) -> Any:
    """The same for the parts of a data frame, which a schema reads as they are."""
    if not hasattr(X, "map_partitions") or not hasattr(X, "columns"):
        raise TypeError("with a schema, a Dask table is a data frame: its columns need names.")
    shape = () if columns is None else (columns,) if isinstance(columns, int) else columns
    nothing = np.empty((0, *shape), dtype=dtype)
    of_part = partial(_of_block, function=function, nothing=nothing)
    array = dask_module("dask.array")
    parts = [dask_module().delayed(of_part)(part) for part in X.to_delayed()]
    made = [array.from_delayed(part, (np.nan, *shape), dtype=dtype, meta=nothing) for part in parts]
    return array.concatenate(made, allow_unknown_chunksizes=True)


def _of_block(block: Any, function: Callable[[Any], np.ndarray], nothing: np.ndarray) -> Any:
    """What the function makes of a block, which after filtering may hold nothing."""
    return function(block) if block.shape[0] else nothing


def lazy_for_dask(
    columns: Callable[[Any], int | tuple[int, ...] | None],
    dtype: Callable[[Any], Any] = lambda _: np.float64,
    *,
    of_rows: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a method of the caller's own rows lazy for lazy rows.

    Parameters
    ----------
    columns : callable
        From the fitted estimator to the columns of the result (the shape of a row of it, if that
        has more dimensions); None for one number per row.
    dtype : callable
        From the fitted estimator to the dtype of the result.
    of_rows : bool
        Whether the input is rows like those of the fit, with their columns, or something else.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(method)

        @wraps(method)
        def either(self: Any, *given: Any, **named: Any) -> Any:
            if not any(is_lazy(each) for each in (*given, *named.values())):
                return method(self, *given, **named)
            _, X = signature.bind(self, *given, **named).arguments.values()
            check_is_fitted(self)
            if method.__name__ == "transform":
                _refuse_containers(self)
            alone = OfBlock(method, self)
            if of_rows and getattr(self, "schema", None) is not None:
                return _of_frames(X, alone, columns(self), dtype(self))
            if of_rows and X.ndim == 2:
                # Names are compared here, once; blocks that come to the method have none.
                form = _form_of(X, X.shape[1])
                validate_data(self, form, reset=False, skip_check_array=True)
                alone.attributes.pop("feature_names_in_", None)
            return lazily(X, alone, columns(self), dtype(self))

        return either

    return decorate


class OfBlock:
    """A method of a fitted estimator that goes to workers without the estimator's account.

    The estimator itself is not pickled: inside a session of a ledger its pickle would take the
    account along. Nothing is spent, so workers need not know of it.
    """

    def __init__(self, method: Callable[..., Any], estimator: Any) -> None:
        self.method, self.kind = method, type(estimator)
        self.attributes = {**vars(estimator)}
        if hasattr(estimator, "ledger"):
            self.attributes["ledger"] = None

    def __call__(self, block: Any) -> np.ndarray:
        """The method of a block of rows in memory."""
        estimator = object.__new__(self.kind)
        vars(estimator).update(self.attributes)
        return np.asarray(self.method(estimator, block))


def _refuse_containers(estimator: Any) -> None:
    """Refuse the output as a data frame, for which scikit-learn would load lazy rows."""
    if not hasattr(estimator, "get_feature_names_out"):
        return  # scikit-learn then leaves the output as it is
    asked = getattr(estimator, "_sklearn_output_config", {}).get("transform")
    if (asked or get_config()["transform_output"]) != "default":
        raise TypeError(
            "a Dask collection is not loaded into memory behind your back; output as a data frame "
            'would load it: call set_output(transform="default").'
        )


def flat_lazy(X: Any, row_shape: tuple[int, ...]) -> Any:
    """A stack of points on a cluster, one flat row each."""
    width = int(np.prod(row_shape))
    return lazily(X, lambda block: np.asarray(block).reshape(len(block), -1), width, X.dtype)


__all__ = ["flat_lazy", "is_lazy", "lazily", "lazy_for_dask", "validate_lazy"]
