r"""Tables with a schema: read as they are, encoded where the rows are kept.

A schema is public. It turns every row of a table, by a map of that row alone
(:mod:`veilspan.tables.encoding`), into numbers, a target and whether the row takes part. So
neighbouring tables stay neighbouring, and what is proved for tables of numbers holds for tables of
texts, dates and gaps.

*The number of rows.* Under replace-one it is public: ``count`` of the schema, or else the number of
rows of the table. With a ``count`` there are so many places. Rows are put into places in a secret
random order that does not look at them; places that nobody takes are absent rows, which contribute
zero, and of too many rows some get no place. Then whoever exchanges, adds or removes a row of the
table exchanges at most one place (:mod:`veilspan.curator.row_places` has the proof).
Under add-remove the number of rows is private: nothing is filled up, cut or compared.

*A wrong count.* Where each row is another unit and replace-one is promised, a table with another
number of rows than ``count`` is told of, and one of fewer than two rows is refused. *That tells of
nobody.* Neighbouring tables then have equally many rows, so what is said, and whether, is the same
for both. It needs that cells do not decide how many rows there are. Tables with types of their own
have a length whatever their cells hold. In a text file a row is a line: no rule on cells can join,
split or drop lines, and a line of the wrong width or with quotes that do not fit is a row like any
other (:mod:`veilspan.tables.sources.csv_lines`). The exception there is an empty last line
without an end: no row with two columns or more is written so, one with a single column may be, so
tables of one column are not compared. A cell that was written with a line
break in it is no cell of a line: it makes more lines, each a row for itself, and how many lines
there are is public, with a ``count`` and without one. (Places hide who comes and goes as well,
which is more than replace-one promises; what is said of a wrong count does not.) Where units have
several rows (``unit.id``), their number is private and is told with noise
(:mod:`veilspan.estimators.people_plan`).

*Many rows.* Encoded rows are kept in memory, or on a disk where they are many
(:mod:`veilspan.curator.row_store`): the same bits, and places of the same law.

Before the charge only the form of a table is looked at: names of columns and how many rows there
are. Cells are read behind the curator's door, in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan._words import plural
from veilspan.curator.dask.table import is_lazy
from veilspan.curator.row_maps import row_map
from veilspan.curator.silence import quiet
from veilspan.estimators.cautions import Caution
from veilspan.privacy.errors import RowCountWarning

#: What a promise rests on when rows were read by a schema, in the place of ``base.PUBLIC_FORM``.
SCHEMA_FACTS = (
    "the schema named here (ranges, categories, fills, number of people) and all parameters were "
    "chosen without looking at the rows; the names of the table's columns are public, and so is, "
    "under replace-one, the number of rows that the schema or the table has"
)


def people_facts(schema: Any) -> str:
    """What a promise to people with several rows rests on, in the place of ``SCHEMA_FACTS``."""
    unit = schema.unit
    used = "all rows" if unit.max_rows is None else f"at most {unit.max_rows:,} rows"
    return (
        "the schema named here (ranges, categories, fills, number of "
        f"{plural(schema.protects)}) and all parameters were chosen without looking at the rows; "
        "the names and stored types of the table's columns are public. "
        f"All rows with one {unit.id} are one {schema.protects}'s, and rows without it are "
        f"left out; {used} of each are used, chosen by the {schema.protects}'s own rows and coins"
    )


class SchemaTable:
    """A table of any kind whose form fits a schema; no cell of it was looked at yet.

    Parameters
    ----------
    schema : Schema
        What is public of it.
    source : TableSource
        Where its rows come from.
    n_rows : int or None
        Public number of rows; ``None`` under add-remove, where it is private.
    targets : callable or None
        A public map of encoded targets to those of the loss; ``None`` if there are none.
    """

    #: Whether its rows lie on a Dask cluster.
    on_cluster = False
    #: What is wrong with its form, for a fit to warn of.
    cautions: tuple[Caution, ...] = ()

    def __init__(
        self,
        schema: Any,
        source: Any,
        n_rows: int | None,
        targets: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.schema, self._source, self._targets = schema, source, targets
        self.shape = (n_rows, len(schema.columns_out))

    def encode(self, coins: np.random.Generator) -> Any:
        """Read and encode all rows, for a curator: in memory, or on a disk where they are many.

        Parameters
        ----------
        coins : Generator
            Secret, and independent of everything else: who is left out of too many rows.
        """
        from veilspan._progress import watch_rows
        from veilspan.tables.encoded_rows import CellStore
        from veilspan.tables.encoding import Encoder

        with quiet():
            encoder = Encoder(self.schema, target=self._targets is not None)
            store = CellStore(encoder, self._targets, in_memory=self._source.in_memory)
            for batch in watch_rows(self._source.batches(encoder.columns)):
                store.add(batch)
            places = self.shape[0]
            if self.schema.count is None and places == store.n_rows:
                places = None  # there is one for each, unless the file grew since it was counted
            return store.finish(places, coins)


@row_map
def signs_of_classes(numbers: np.ndarray) -> np.ndarray:
    """-1 and 1 for the numbers 0 and 1 of two classes."""
    return 2.0 * numbers - 1.0


def numbers_of_classes(numbers: np.ndarray) -> np.ndarray:
    """Class numbers as they are, for losses of several classes."""
    return numbers


def schema_of(estimator: Any) -> Any:
    """The schema of an estimator, checked; ``None`` if it has none."""
    schema = getattr(estimator, "schema", None)
    if schema is None:
        return None
    from veilspan.tables.schema import Schema

    if not isinstance(schema, Schema):
        hint = f"Schema.load({schema!r})" if isinstance(schema, str) else 'Schema.load("file.toml")'
        raise TypeError(
            f"schema must be a veilspan.Schema; got {type(schema).__name__}. Say schema={hint}."
        )
    if schema.neighbors != estimator.neighbors:
        raise ValueError(
            f"the schema {schema.name!r} promises {schema.neighbors}, the estimator "
            f"{estimator.neighbors}: say neighbors={schema.neighbors!r}, so that both mean the "
            "same promise."
        )
    schema.check_confirmed()
    schema.check_people()
    return schema


def refuse_people(schema: Any, owner: str, instead: str) -> None:
    """Refuse units with several rows to an estimator that has its own way with people."""
    if schema is not None and schema.unit.id is not None:
        raise ValueError(
            f"{owner} takes no schema with unit.id: {instead} Leave out id, max_rows, keep, "
            "order_by and combine."
        )


def refuse_said_twice(estimator: Any, *names: str) -> None:
    """Refuse public facts that were given to the estimator beside its schema."""
    said = [name for name in names if getattr(estimator, name) is not None]
    if said:
        raise ValueError(
            f"{' and '.join(said)} cannot be given beside a schema, which says it already: change "
            "the schema instead."
        )


def open_schema_table(
    schema: Any,
    X: Any,
    *,
    targets: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Any:
    """A table with its form checked: its columns are those of the schema.

    Parameters
    ----------
    schema : Schema
        What is public of the table.
    X : Any
        A data frame, an Arrow table, a Dask frame, or what ``veilspan.open_table`` returns.
    targets : callable, optional
        A public map of encoded targets; without it the target column is not read.

    Returns
    -------
    SchemaTable
        ``shape`` is what a plan needs; rows are read later.
    """
    from veilspan.curator.row_store import check_store
    from veilspan.tables.encoding import Encoder
    from veilspan.tables.sources.check_names import check_names
    from veilspan.tables.sources.open_table import as_source

    if not schema.columns_out:
        raise ValueError(
            f"the schema {schema.name!r} has no column of role use: nothing could be learned."
        )
    if is_lazy(X) and schema.unit.id is not None:
        from veilspan.estimators.people_dask import DaskPeopleTable

        return DaskPeopleTable.open(schema, X, targets)
    if is_lazy(X):
        from veilspan.estimators.schema_dask import DaskSchemaTable

        return DaskSchemaTable.open(schema, X, targets)
    if schema.unit.id is not None:
        from veilspan.estimators.people_input import open_people_table

        return open_people_table(schema, X, targets)
    refuse_one_row(X)
    source = as_source(X, schema.file)
    encoder = Encoder(schema, target=targets is not None)
    check_names(source, schema, needed=encoder.columns)
    n_rows: int | None = None
    cautions: tuple[Caution, ...] = ()
    if schema.neighbors == "replace-one":
        n_rows, cautions = choose_places(schema, source.count_rows(), len(source.names))
        if schema.count is not None or not source.in_memory:  # others never go to a disk
            check_store(n_rows, encoder.width, with_targets=targets is not None)
    table = SchemaTable(schema, source, n_rows, targets)
    table.cautions = cautions
    return table


def choose_places(schema: Any, there: int, columns: int) -> tuple[int, tuple[Caution, ...]]:
    """How many rows a fit has under replace-one, and what is said of a table that has not.

    Why that may be told is proved above, for schemas without ``unit.id``.

    Parameters
    ----------
    schema : Schema
        Promises replace-one, and each row is another unit.
    there : int
        Rows of the table.
    columns : int
        Columns of the table.
    """
    count = there if schema.count is None else schema.count
    compared = schema.count is None or columns > 1
    if count < 2 or (compared and there < 2):
        raise ValueError("the table must have at least 2 rows.")
    if not compared or there == count:
        return count, ()
    rest = f"{abs(there - count):,} {'row is' if abs(there - count) == 1 else 'rows are'}"
    what = f"{rest} left out, chosen at random" if there > count else f"{rest} taken as missing"
    said = (
        f"the table has {there:,} rows, the schema says {count:,}: {what}. If that is not meant, "
        "correct count in the schema's [unit], or leave it out: then the table's number is used."
    )
    return count, ((RowCountWarning, said),)


def refuse_one_row(X: Any) -> None:
    """Refuse a row by itself, which has names and no columns, with how to make it a table."""
    if isinstance(X, dict):
        if any(
            isinstance(cell, (str, bytes)) or not hasattr(cell, "__len__") for cell in X.values()
        ):
            raise TypeError(
                "a dict holds columns, each a list or an array with an entry for every row: "
                '{"age": [36], ...} for one row.'
            )
    elif getattr(X, "ndim", 2) == 1 and hasattr(X, "iloc"):
        raise TypeError(
            f"a {type(X).__name__} is no table: for one row of a data frame say df.iloc[[0]], with "
            "two brackets."
        )


def encode_own(estimator: Any, X: Any, *, target: bool = False) -> Any:
    """Rows of the caller's own, encoded as the fit encoded its rows; nothing is spent.

    Parameters
    ----------
    estimator : fitted estimator with a schema
        Its schema must still be that of the fit.
    X : Any
        A table; its target column may be missing unless ``target`` is asked for.
    target : bool
        Whether targets are read as well.
    """
    from veilspan.estimators.by_person import OwnPeople
    from veilspan.tables.encoding import encode_table

    if isinstance(X, OwnPeople):
        return X.encoded
    refuse_one_row(X)
    schema = schema_of(estimator)
    check_same_schema(estimator, schema)
    return encode_table(schema, X, target=target)


def reads_by_schema(estimator: Any) -> bool:
    """Whether a fitted estimator reads tables; refused if its fit read rows in another way."""
    check_same_schema(estimator, estimator.schema)
    return estimator.schema is not None


def check_same_schema(estimator: Any, schema: Any) -> None:
    """Refuse another schema than that of the fit, one that came after it, and none any more."""
    statement = getattr(estimator, "privacy_", None)
    if statement is None:  # without privacy there is none, and nothing was promised
        return
    said = statement.schema
    if said is None and schema is not None:
        raise ValueError(
            "the model was fitted without a schema, and new rows must be read exactly as those of "
            "the fit: say schema=None, or fit it again."
        )
    if said is not None and schema is None:
        raise ValueError(
            f"the model was fitted with the schema {said['name']!r}, digest {said['digest'][:12]}, "
            "and has none any more. New rows must be read exactly as those of the fit: give it its "
            "schema back."
        )
    if said is not None and said["digest"] != schema.digest:
        raise ValueError(
            f"the model was fitted with the schema {said['name']!r}, digest {said['digest'][:12]}; "
            f"this one has the digest {schema.digest[:12]}. New rows must be read exactly as those "
            "of the fit: use its schema."
        )
