"""What a model says of people instead of rows: ``predict(table, by_person=True)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan.curator.dask.table import is_lazy


@dataclass(frozen=True, eq=False)
class ByPerson:
    """Answers about people of the caller's own table.

    Iterating gives pairs of an id and its answer.

    Attributes
    ----------
    ids : array of str, as objects
        Ids as they are compared (texts, trimmed), in the order in which they first appear. (NumPy's
        own texts would lose a NUL at the end, and be as wide as the longest id.)
    values : array of shape (n_people, ...)
        An answer for each.

    Examples
    --------
    >>> import numpy as np
    >>> found = ByPerson(np.array(["P1", "P2"]), np.array(["no", "yes"]))
    >>> dict(found)["P2"]
    'yes'
    """

    ids: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return zip(self.ids.tolist(), self.values.tolist())


@dataclass(frozen=True, eq=False)
class OwnPeople:
    """People of the caller's own table, encoded: taken by methods in the place of the table."""

    ids: np.ndarray
    encoded: Any


def also_by_person(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of the caller's own rows answer for people, by ``by_person=True``."""
    plain = inspect.signature(method)
    asked = inspect.Parameter("by_person", inspect.Parameter.KEYWORD_ONLY, default=False)

    @wraps(method)
    def either(self: Any, *given: Any, by_person: bool = False, **named: Any) -> Any:
        if not by_person:
            return method(self, *given, **named)
        _, X = plain.bind(self, *given, **named).arguments.values()
        people = gather_own(self, X)
        return ByPerson(people.ids, method(self, people))

    shown = plain.replace(parameters=[*plain.parameters.values(), asked])
    either.__signature__ = shown  # type: ignore[attr-defined]
    return either


def gather_own(estimator: Any, X: Any, *, target: bool = False) -> OwnPeople:
    """People of the caller's own table, gathered as those of the fit; nothing is spent.

    Which rows are kept at random is the same each time: a table has one answer.

    Parameters
    ----------
    estimator : fitted estimator with a schema
        Whose units have an id.
    X : Any
        A table in memory, or what ``veilspan.open_table`` opens.
    target : bool
        Whether targets are read as well.
    """
    from veilspan.estimators.schema_input import check_same_schema, schema_of

    check_is_fitted(estimator)
    schema = schema_of(estimator)
    if schema is None or schema.unit.id is None:
        raise ValueError(
            "by_person=True needs a schema that says whose row it is: [unit] id = ... names the "
            "column."
        )
    if schema.unit.combine == "none":
        raise ValueError(
            f'by_person=True needs rows that are combined; with combine = "none" a '
            f"{schema.protects} has an answer for each row: leave it out."
        )
    if is_lazy(X):
        raise TypeError("by_person=True takes a table in memory: pass X.compute().")
    check_same_schema(estimator, schema)
    return _gather(schema, X, target)


def _gather(schema: Any, X: Any, target: bool) -> OwnPeople:
    from veilspan.estimators.people_input import needed_columns
    from veilspan.tables.encoding import Encoded, Encoder
    from veilspan.tables.persons.combining import combine_rows
    from veilspan.tables.persons.gathering import reader_for
    from veilspan.tables.persons.kept_rows import choose_rows
    from veilspan.tables.persons.person_rows import PersonRows
    from veilspan.tables.persons.secret_order import PersonCoins
    from veilspan.tables.sources.check_names import check_names
    from veilspan.tables.sources.open_table import as_source

    source = as_source(X, schema.file)
    check_names(source, schema, needed=needed_columns(schema, with_target=target))
    encoder = Encoder(schema, target=target)
    coins = PersonCoins(bytes(32))  # no secret: the rows are the caller's own
    reader = reader_for(encoder, schema, coins)
    names: dict[str, None] = {}
    parts = []
    for batch in source.batches(reader.columns):
        found = batch[reader.ids.column.name].distinct()
        codes, first = np.unique(found.codes, return_index=True)
        for code in codes[np.argsort(first)]:
            name = reader.ids.read(found.values[code]) if code >= 0 else ""
            if name:
                names.setdefault(name)
        parts.append(reader.read(batch))
    if not names:
        return OwnPeople(np.array([], dtype=object), encoder.encode_nothing())
    kept = choose_rows(PersonRows.join(parts), reader.rules, coins)
    units = combine_rows(kept, reader.rules)
    marks = coins.mark_people(list(names))
    place = np.empty(len(names), dtype=np.int64)
    place[np.lexsort((marks[:, 1], marks[:, 0]))] = np.arange(len(names))
    y, present = (None if part is None else part[place] for part in (units.y, units.present))
    return OwnPeople(np.array(list(names), dtype=object), Encoded(units.x[place], y, present))
