"""What ``veilspan schema check`` says beside problems: what is allowed, and may not be meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema


def find_hints(schema: Schema) -> Iterator[str]:
    """What a schema leaves open or to a rule of ours, by itself."""
    if schema.target is None and schema.column_of_role("item") is None:
        yield 'no column has role = "target" yet: models that predict need one, profiles do not.'
    yield from _tell_middles(schema)


def find_table_hints(schema: Schema, source: Any) -> Iterator[str]:
    """What is to be known of a table beside its header: words that are read, and its length."""
    yield from _tell_words(schema, source)
    yield from _compare_lengths(schema, source)


def _tell_middles(schema: Schema) -> Iterator[str]:
    """Columns of numbers whose empty cells count as the middle of their range."""
    from veilspan.cli.io.tables import join_names
    from veilspan.tables.columns import NumberColumn

    found = [
        f"{column.name} as {column.fill:,.6g}"
        for column in schema.columns
        if isinstance(column, NumberColumn) and column.role == "use"
        if column.fill == column.middle() and not column.missing_column
    ]
    if found:
        yield (
            f"empty cells count as the middle of the range: {join_names(found)}. If that is not "
            "what they mean, say fill = ... or missing_column = true."
        )


def _tell_words(schema: Schema, source: Any) -> Iterator[str]:
    """Which words of texts count as yes and no: others are missing, and no message may tell."""
    from veilspan.tables.columns import UNTYPED_ROLES, BooleanColumn
    from veilspan.tables.problems import show

    for column in schema.columns:
        texts = getattr(source, "kinds", {}).get(column.name) == "text"
        if isinstance(column, BooleanColumn) and texts and column.role not in UNTYPED_ROLES:
            yes, no = (", ".join(words) for words in (column.true, column.false))
            yield f"{show(column.name)}: {yes} is true; {no} is false; other words count as empty."


def _compare_lengths(schema: Schema, source: Any) -> Iterator[str]:
    """Whether the table has as many rows as the schema says, where a fit would tell of it."""
    from veilspan.estimators.schema_input import choose_places

    ratings = schema.column_of_role("item") is not None  # users are counted there, not lines
    if schema.count is None or schema.unit.id is not None or ratings:
        return
    try:
        _, cautions = choose_places(schema, source.count_rows(), len(source.names))
    except ValueError as error:  # too few rows
        yield str(error)
        return
    for _, said in cautions:
        yield said
