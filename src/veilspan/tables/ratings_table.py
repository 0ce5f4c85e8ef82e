"""Long tables of ratings: lines of user, item and, if any, rating become one row a user.

A user's row is a function of that user's lines alone. A line without a user is left out; one whose
item is not in the schema's list, or whose rating is missing, is dropped and its user stays; of two
ratings of an item by a user the later counts, by the schema's column of role ``time`` if there is
one (lines without a time come first), else by their order in the table. Where the schema has no
ratings, every line counts as 1: its user has the item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from veilspan.tables.cell_rules import CellReader
from veilspan.tables.encoding import read_values
from veilspan.tables.persons.person_ids import read_id

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.table_source import TableSource


class Ratings(NamedTuple):
    """Ratings by numbers of users and places of items, the later ones behind the earlier."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    ids: dict[str, int]


def check_rates(schema: Schema) -> None:
    """Refuse a schema that does not say which columns hold users, items and ratings."""
    if schema.column_of_role("rating") is None:
        raise ValueError(
            f"the schema {schema.name!r} has no ratings: give columns the roles user, item and "
            "rating."
        )


def check_has_items(schema: Schema) -> None:
    """Refuse a schema that does not say which columns hold users and items."""
    if schema.column_of_role("item") is None:
        raise ValueError(
            f"the schema {schema.name!r} has no items: give columns the roles user and item (and "
            "rating, where there are ratings)."
        )


def read_ratings(schema: Schema, source: TableSource, ids: dict[str, int] | None = None) -> Ratings:
    """Read all ratings of a table.

    Parameters
    ----------
    schema : Schema
        With columns of the roles user and item, and rating where there are ratings.
    source : TableSource
        The table; its columns were checked.
    ids : dict, optional
        Numbers of users that are known already; others get the next numbers.
    """
    ids = {} if ids is None else dict(ids)
    found = {role: schema.column_of_role(role) for role in ("user", "item", "rating", "time")}
    columns = {role: column for role, column in found.items() if column is not None}
    wanted = list(columns.values())
    readers = [CellReader(column, schema.file) for column in wanted]
    parts: list[list[np.ndarray]] = []
    for batch in source.batches(tuple(wanted)):
        users = _number_users(readers[0], batch[wanted[0].name], ids)
        others = [read_values(r, batch[r.column.name]) for r in readers[1:]]
        parts.append([users, *others])
    if not parts:
        parts = [[np.empty(0, dtype=np.int64), *(np.empty(0) for _ in readers[1:])]]
    read = dict(zip(columns, (np.concatenate(part) for part in zip(*parts))))
    users, items, values = read["user"], read["item"], np.ones(len(read["user"]))
    if "rating" in read:
        low, high = columns["rating"].range  # type: ignore[attr-defined]
        values = np.clip(readers[2].round(read["rating"]), low, high)
    known = (users >= 0) & ~np.isnan(items) & ~np.isnan(values)
    order = np.flatnonzero(known)
    if "time" in read:
        moments = np.where(np.isnan(read["time"]), -np.inf, read["time"])
        order = order[np.argsort(moments[order], kind="stable")]
    return Ratings(users[order], items[order].astype(np.int64), values[order], ids)


def _number_users(reader: CellReader, cells: Any, ids: dict[str, int]) -> np.ndarray:
    """The number of each line's user; -1 where a line has none."""
    found = cells.distinct()
    numbers = np.full(len(found.values) + 1, -1, dtype=np.int64)
    for place, value in enumerate(found.values):
        name = read_id(value)
        if name not in reader.missing_words:
            numbers[place] = ids.setdefault(name, len(ids))
    return numbers[found.codes]
