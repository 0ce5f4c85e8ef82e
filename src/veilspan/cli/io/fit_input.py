"""From a file to how a fit learns from it: rows, ratings, or any table by a schema.

What can be refused without reading rows is refused by the checks; the readers return how to learn,
so that nothing is fitted before its place is free and its account is open.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veilspan._progress import show_progress
from veilspan.catalogue import Kind
from veilspan.cli.arguments.estimators import OBSERVED, list_kinds, make_estimator
from veilspan.cli.arguments.options import split_names
from veilspan.cli.io.declared_data import (
    open_data,
    refuse_beside_schema,
    refuse_without_schema,
)

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

#: From parameters and the budget to a fitted model.
Learn = Callable[[dict[str, Any], dict[str, Any]], Any]


class Reading(NamedTuple):
    """How the user says that the file is to be read."""

    columns: str | None = None
    target: str | None = None
    items: str | None = None
    separator: str | None = None
    header: bool | None = None
    encoding: str | None = None
    table: str | None = None


def check_reading(kind: Kind, data: str, reading: Reading) -> None:
    """Refuse options that this kind has no use for, and ask for those that it needs."""
    refuse_without_schema(data, reading.table)
    if kind.reads == "cells":
        raise ValueError(
            f"{kind.command} needs --schema FILE, which says what is public of each column; "
            "veilspan schema init makes a draft."
        )
    if kind.needs_target and reading.target is None:
        raise ValueError(f"{kind.command} needs --target NAME, the column to predict.")
    if not kind.needs_target and reading.target is not None:
        raise ValueError(f"{kind.command} predicts no column: leave --target out.")
    if kind.reads == "ratings" and reading.items is None:
        raise ValueError(
            f"{kind.command} needs --items FILE, the public list of items (one a line), or --items "
            "observed if the list of rated items is public knowledge."
        )
    if kind.reads != "ratings" and reading.items is not None:
        raise ValueError(f"--items is for {list_kinds('ratings')}.")


def check_public_facts(kind: Kind, data: str, settings: dict[str, Any]) -> None:
    """Ask for what must be public of the columns, in the words of the command line."""
    needed = []
    # Which labels there are may tell of a row: somebody must say that it is public.
    if kind.reads == "labels" and "classes" not in settings:
        needed.append(
            "the public labels (-p classes=0,1 say, or -p classes=observed if the set of labels in "
            "the file is public knowledge)"
        )
    if kind.needs_target and not {"feature_range", "row_norm", "bounds"} & set(settings):
        needed.append(
            "the public range of its columns (-p feature_range=0,100 say, or -p bounds=private to "
            "have ranges estimated from the budget)"
        )
    if kind.reads == "numbers" and "target_range" not in settings:
        needed.append("the public range of what it predicts (-p target_range=0,10 say)")
    if needed:
        raise ValueError(
            f"{kind.command} needs {' and '.join(needed)}. Or declare all that is public in a "
            f"schema: veilspan schema init {data} --out schema.toml."
        )


def check_schema(kind: Kind, schema: Schema, reading: Reading, settings: dict[str, Any]) -> None:
    """Refuse what cannot be fitted by this schema, and what is said beside it."""
    options = reading._asdict()
    options.pop("table")
    # Which columns a profile counts is a choice, and no fact that the schema says.
    beside = {k: v for k, v in settings.items() if not (kind.reads == "cells" and k == "columns")}
    refuse_beside_schema(options, beside)
    if "schema" not in kind.load_class()._get_param_names():  # type: ignore[attr-defined]
        raise ValueError(f"{kind.command} reads points, not columns: leave --schema out.")
    schema.check_confirmed()
    schema.check_people()
    lists = settings.get("task") == "rank"  # which need no ratings
    has_ratings = schema.column_of_role("item" if lists else "rating") is not None
    if kind.reads == "ratings" and not has_ratings:
        raise ValueError(
            f"{kind.command} needs columns of the roles user, item and rating in the schema."
        )
    if kind.reads not in ("ratings", "cells") and not schema.columns_out:
        raise ValueError(f'{kind.command} needs columns of role "use" in the schema.')
    if kind.needs_target and schema.target is None:
        raise ValueError(
            f'{kind.command} predicts a column: give one of the schema\'s columns role = "target".'
        )
    if kind.reads == "labels" and schema.classes is None:
        raise ValueError(
            f"{kind.command} predicts classes, and the schema's target holds numbers: use "
            f"{list_kinds('numbers')}, or declare the target as a category or boolean."
        )
    if kind.reads == "numbers" and schema.target_range is None:
        raise ValueError(
            f"{kind.command} predicts numbers, and the schema's target holds classes: use "
            f"{list_kinds('labels')}, or declare the target as a number."
        )


def open_input(
    kind: Kind, data: str, reading: Reading, schema: Schema | None, *, quiet: bool
) -> Learn:
    """Open the data, with a word on a terminal unless ``quiet``; return how to learn from them."""
    with show_progress(f"reading {name_data(data)}", quiet=quiet):
        if schema is not None:
            return _learn_by_schema(kind, schema, open_data(data, reading.table))
        read = _read_ratings if kind.reads == "ratings" else _read_rows
        return read(kind, data, reading)


def name_data(data: str) -> str:
    """What the data are called beside a progress bar."""
    return "the standard input" if data == "-" else Path(data).name


def _learn_by_schema(kind: Kind, schema: Schema, source: Any) -> Learn:
    def learn(settings: dict[str, Any], budget: dict[str, Any]) -> Any:
        model = kind.load_class()(**settings, schema=schema, **budget)
        return model.fit(source)

    return learn


def _read_rows(kind: Kind, data: str, reading: Reading) -> Learn:
    """Read a table; return how to learn from it."""
    from veilspan.cli.io.tables import read_table

    table = read_table(
        data,
        columns=None if reading.columns is None else split_names(reading.columns),
        target=reading.target,
        separator=reading.separator,
        header=reading.header,
        encoding=reading.encoding,
    )
    text = table.targets is not None and table.targets.dtype.kind not in "fiub"
    if text and kind.reads == "numbers":
        raise ValueError(
            f"{reading.target} holds text, not numbers: it cannot be predicted by {kind.command}."
        )

    def learn(settings: dict[str, Any], budget: dict[str, Any]) -> Any:
        if text and settings.get("classes") != OBSERVED:  # as they are written in the file
            settings = {**settings, "classes": [str(label) for label in settings["classes"]]}
        model = make_estimator(kind, table.n_columns, settings, **budget)
        model.fit(*((table.rows, table.targets) if kind.needs_target else (table.rows,)))
        if table.names is not None:  # for the report, and so that transform finds its columns
            import numpy as np

            model.feature_names_in_ = np.array(table.names, dtype=object)
        return model

    return learn


def _read_ratings(kind: Kind, data: str, reading: Reading) -> Learn:
    """Read ratings; return how to learn from them."""
    from veilspan.cli.io.ratings import read_items, read_ratings

    public = read_items(reading.items or OBSERVED)
    how = (reading.columns, reading.separator, reading.header, reading.encoding)
    triples = read_ratings(data, public, *how)

    def learn(settings: dict[str, Any], budget: dict[str, Any]) -> Any:
        model = make_estimator(kind, 0, settings, **budget)
        return model.fit_triples(*triples, items=OBSERVED if public is None else public)

    return learn
