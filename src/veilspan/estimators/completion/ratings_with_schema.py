"""Ratings of a long table with a schema, as the users x items that a fit takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.curator.silence import quiet
from veilspan.estimators.completion.ratings_input import from_positions
from veilspan.estimators.schema_input import refuse_people


def item_names(schema: Any) -> tuple[str, ...]:
    """The public list of items."""
    return tuple(_of_role(schema, "item").categories)


def has_ratings(schema: Any) -> bool:
    """Whether the schema has a column of ratings; lists do without."""
    return schema.column_of_role("rating") is not None


def rating_range_of(schema: Any) -> tuple[float, float]:
    """The public range of ratings."""
    low, high = _of_role(schema, "rating").range
    return float(low), float(high)


def read_users(
    schema: Any, X: Any, ids: dict[str, int] | None = None
) -> tuple[Any, dict[str, int]]:
    """Users x items of a long table, users in the order in which they appear, and their numbers."""
    from veilspan.tables.ratings_table import read_ratings
    from veilspan.tables.sources.check_names import check_names
    from veilspan.tables.sources.open_table import as_source

    items = item_names(schema)
    source = as_source(X, schema.file)
    needed = tuple(c for c in schema.columns if c.role in ("user", "item", "rating", "time"))
    check_names(source, schema, needed=needed)
    with quiet():
        found = read_ratings(schema, source, ids)
        shape = (len(found.ids), len(items))
        return from_positions(found.users, found.items, found.values, shape), found.ids


def place_users(schema: Any, X: Any, coins: np.random.Generator) -> Any:
    """Users x items of a long table, users in a secret random order.

    Where a user's lines stand in the table is that user's own matter, so the order of users must
    not follow from it: whoever exchanges one user's lines for others would move all users behind.
    In a random order one place changes (:mod:`veilspan.estimators.schema_input`, which also says
    how users are brought to the schema's ``count``).
    """
    table, _ = read_users(schema, X)
    n = table.shape[0]
    count = n
    if schema.neighbors == "replace-one" and schema.count is not None:
        count = schema.count
    order = coins.permutation(max(n, count))[:count]
    if count > n:  # places that nobody takes are users without ratings
        ends = np.concatenate([table.indptr, np.full(count - n, table.indptr[-1])])
        table = type(table)((table.data, table.indices, ends), shape=(count, table.shape[1]))
    placed = table[order]
    placed.sort_indices()
    placed.has_canonical_format = True
    return placed


def _of_role(schema: Any, role: str) -> Any:
    from veilspan.tables.ratings_table import check_has_items, check_rates

    check_rates(schema) if role == "rating" else check_has_items(schema)
    refuse_people(
        schema,
        "MatrixCompletion",
        "the column of role user says whose line it is, and max_ratings_per_user how many count.",
    )
    return schema.column_of_role(role)
