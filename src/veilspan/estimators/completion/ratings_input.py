"""Ratings in the forms that people have them: CSR, dense with gaps, triples, data frames."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from veilspan._scales import check_location, check_width
from veilspan.curator.dask.table import dask_table, is_lazy
from veilspan.curator.input_kinds import refuse_masked
from veilspan.estimators.validation import readable

OBSERVED = "observed"


def as_ratings(R: Any) -> Any:
    """Return users x items as CSR with sorted items and no item twice in a row.

    Sparse input keeps its stored zeros: they are ratings. In a dense array or frame, NaN says "not
    rated", as a mask does, and everything else is a rating. Of an item stored twice in a row the
    last counts. CSR input in order is returned as it is, not copied.
    """
    from scipy import sparse

    if sparse.issparse(R):
        readable(R, "R")
        if R.ndim != 2:
            raise ValueError(f"R must be two-dimensional (users x items); got {R.ndim} dimension.")
        if R.format == "csr" and R.has_canonical_format:
            return R
        if R.format == "csr":
            users = np.repeat(np.arange(R.shape[0]), np.diff(R.indptr))
            return from_positions(users, R.indices, R.data, R.shape)
        entries = R.tocoo(copy=False)
        return from_positions(entries.row, entries.col, entries.data, R.shape)
    if is_lazy(R):
        table = dask_table(R, as_csr=False)
        return table.mapped(as_ratings, table.shape[1]).as_sparse()
    return _from_dense(R)


def from_positions(users: Any, items: Any, ratings: Any, shape: tuple[int, int]) -> Any:
    """CSR from row and column numbers; of two ratings in one place the later counts."""
    from scipy import sparse

    order = np.lexsort((items, users))  # stable: equal places stay in their order
    users, items, ratings = users[order], items[order], ratings[order]
    last = np.ones(len(users), dtype=bool)
    last[:-1] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    users, items, ratings = users[last], items[last], ratings[last]
    starts = np.concatenate([[0], np.cumsum(np.bincount(users, minlength=shape[0]))])
    table = sparse.csr_array((ratings, items, starts), shape=shape)
    table.has_canonical_format = True
    return table


def triples_to_ratings(
    user: Any, item: Any, rating: Any, items: Any
) -> tuple[Any, tuple[Hashable, ...]]:
    """CSR of (user, item, rating) lists with any hashable ids, and the ids of its columns.

    Parameters
    ----------
    user, item, rating : sequences of the same length
        Ids and ratings. A rating of an item that is not in ``items`` is dropped; its user stays.
        Of two ratings of an item by a user the later counts.
    items : sequence or "observed"
        The public list of items. ``"observed"`` takes the rated items, which says that the list of
        rated items is public knowledge.
    """
    if not len(user) == len(item) == len(rating):
        raise ValueError(
            f"user, item and rating must have the same length; got {len(user)}, {len(item)}, "
            f"{len(rating)}."
        )
    if items is None:
        raise ValueError(
            "items is missing: give the public list of items (a user must not be able to add an "
            'item by rating it), or items="observed" if the list of rated items is public.'
        )
    for name, column in (("user", user), ("item", item)):
        refuse_masked(column, name)
    values = _numbers(readable(rating, "rating"), "rating")
    rows, names = _number_ids(user)
    if isinstance(items, str) and items == OBSERVED:
        columns, known = _number_ids(item)
    else:
        known = _distinct(items)
        position = {name: index for index, name in enumerate(known)}
        columns = np.fromiter((position.get(i, -1) for i in _to_list(item)), np.int64, len(item))
    listed = columns >= 0
    shape = (len(names), len(known))
    return from_positions(rows[listed], columns[listed], values[listed], shape), known


def frame_columns(
    frame: Any, columns: Sequence[str], *, rated: bool = True
) -> tuple[Any, Any, Any]:
    """Three columns of a data frame by name; two will do where ratings are not needed."""
    if len(columns) != 3 and (rated or len(columns) != 2):
        raise ValueError("columns must name the columns of users, items and ratings, in order.")
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise ValueError(f"the frame has no column named {', '.join(map(repr, missing))}.")
    user, item, *rating = (frame[name].to_numpy() for name in columns)
    return user, item, rating[0] if rating else None


def _from_dense(R: Any) -> Any:
    dense = _numbers(readable(R, "R", missing=True), "R")
    if dense.ndim != 2:
        raise ValueError(
            f"R must be two-dimensional (users x items); got {dense.ndim} dimension(s)."
        )
    # What a mask hides is not rated, as NaN is not.
    rated = ~np.isnan(dense) if dense.dtype.kind == "f" else np.ones(dense.shape, dtype=bool)
    users, items = np.nonzero(rated)
    return from_positions(users, items, dense[users, items], dense.shape)


def _to_list(values: Any) -> list[Hashable]:
    """Python objects, so that 3 and np.int64(3) are one id."""
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _number_ids(values: Any) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    """Number ids: whole numbers in their order, others by first appearance."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        names, numbers = np.unique(values, return_inverse=True)
        return numbers.reshape(-1), tuple(names.tolist())
    position: dict[Hashable, int] = {}
    try:
        order = [position.setdefault(name, len(position)) for name in _to_list(values)]
    except TypeError:
        order = None  # type: ignore[assignment]
    if order is None:
        raise TypeError("ids must be hashable.")
    return np.array(order, dtype=np.int64), tuple(position)


def _distinct(items: Any) -> tuple[Hashable, ...]:
    known = tuple(_to_list(items))
    if len(set(known)) != len(known):
        raise ValueError("items must not list an item twice.")
    if not known:
        raise ValueError("items must list at least one item.")
    return known


def _numbers(values: Any, name: str) -> np.ndarray:
    """Real numbers, or an error that quotes none of them; ``None`` reads as NaN."""
    numbers = None
    try:
        numbers = np.asarray(values)
        if numbers.dtype.kind in "OSU":
            numbers = numbers.astype(np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or numbers.dtype.kind not in "fiub":  # out here: the original may quote data
        raise ValueError(f"{name} could not be read as real numbers.")
    return numbers


def check_range(rating_range: Any) -> tuple[float, float]:
    """Lowest and highest rating as two finite numbers, or a sentence that says what is wrong."""
    try:
        low, high = (float(end) for end in rating_range)
    except (TypeError, ValueError):
        raise ValueError("rating_range must be two numbers (lowest, highest rating).") from None
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"rating_range must be finite and increasing; got ({low:g}, {high:g}).")
    check_location((low, high), "rating_range")
    check_width(low, high, "rating_range")
    return low, high
