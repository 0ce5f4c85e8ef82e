r"""Gather people: a table of rows with ids becomes one of units, one a person.

Let T be a table. For an id i let T_i be the rows of i, in the order of the table; rows without an
id belong to nobody and are left out. A person's unit is U_i = g(T_i, w_i): g keeps at most
``max_rows`` of T_i, by the coins of her rows or by ``order_by`` with ties by coins, and combines
them (:mod:`veilspan.tables.persons.kept_rows`, :mod:`veilspan.tables.persons.combining`). w_i are
the coins of i (:mod:`veilspan.tables.persons.secret_order`), independent of those of all others.

*Theorem.* The joint law of the units is a product over people, and each factor depends on the rows
of that person alone. *Proof.* g reads nothing but T_i and w_i, to the last bit: rows are ranked and
added up within a person, entry by entry; and the w_i are independent. []

So let tables A and B differ in the rows of one person: she has other rows in B (replace-one), or
none (add-remove). With equal coins for all others every other unit is the same in both, to the last
bit: A's units and B's differ in one. *replace-one*: that one is exchanged, and an absent unit
stands for somebody without rows, so that whoever comes or goes exchanges one of ``count`` places
(:mod:`veilspan.estimators.schema_input` has the proof of the places). *add-remove*: it is added or
removed. Units are encoded as single rows are (:mod:`veilspan.tables.persons.combining` says why
they are no longer), so what is proved of tables with one row a person holds for people. With
``combine = "none"`` a person is ``max_rows`` rows, absent ones among them: that many rows are
exchanged, added or removed (:mod:`veilspan.curator.group_curator`).

Units come in the order of the marks of their people, a secret random order that follows neither
from the file nor from ids: where a person's rows stand in the file moves nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan._progress import watch_rows
from veilspan.tables.encoding import Encoded
from veilspan.tables.persons.combining import combine_rows
from veilspan.tables.persons.kept_rows import choose_rows
from veilspan.tables.persons.person_rows import PersonReader, PersonRows
from veilspan.tables.persons.person_store import PersonStore
from veilspan.tables.persons.rules import PersonRules
from veilspan.tables.persons.secret_order import PersonCoins

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.table_source import TableSource
    from veilspan.tables.unit import Unit

#: Units of a batch, as many as rows of a batch that sources give.
BATCH_UNITS = 65_536


def gather_people(
    source: TableSource,
    encoder: Any,
    unit: Unit,
    coins: np.random.Generator,
    combine: str | None = None,
    *,
    schema: Schema | None = None,
) -> Iterator[Encoded]:
    """Yield the units of a table in batches, in a secret random order of people.

    Parameters
    ----------
    source : TableSource
        The table; that it has the columns was checked. It is walked through once.
    encoder : Encoder or alike
        With ``columns``, ``width`` and ``encode_batch``.
    unit : Unit
        Whose rows are whose, and what becomes of them.
    coins : Generator
        Secret, and independent of everything else.
    combine : {"mean", "sum", "first", "last", "none"}, optional
        In the place of what the unit says.
    schema : Schema, optional
        For the words of missing cells, the column of the order and the target's rule; the
        encoder's if left out.

    Yields
    ------
    Encoded
        One row a unit; for ``"none"`` ``max_rows`` rows a unit, one after the other, where slots
        that nobody fills have ``present`` False. Nothing for a table without people.
    """
    reader = person_reader(encoder, unit, coins, combine, schema=schema)
    store = PersonStore()
    for batch in watch_rows(source.batches(reader.columns)):
        store.add(reader.read(batch).with_ids())
    for rows in store.parts():
        yield from make_units(rows, reader)


def person_reader(
    encoder: Any,
    unit: Unit,
    coins: np.random.Generator,
    combine: str | None = None,
    *,
    schema: Schema | None = None,
) -> PersonReader:
    """What reads the rows of people; the parameters are those of :func:`gather_people`."""
    schema = encoder.schema if schema is None else schema
    assert schema is not None
    return reader_for(encoder, schema, PersonCoins.draw(coins), unit, combine)


def reader_for(
    encoder: Any,
    schema: Schema,
    secret: PersonCoins,
    unit: Unit | None = None,
    combine: str | None = None,
) -> PersonReader:
    """The same with a secret that was drawn before, as parts of one table share it."""
    unit = schema.unit if unit is None else unit
    rules = PersonRules.of(schema, unit, combine)
    if any(column.role == "target" for column in encoder.columns):
        rules = rules.with_target(schema)
    assert unit.id is not None
    return PersonReader(encoder, unit.id, schema.file, rules, secret)


def make_units(rows: PersonRows, reader: PersonReader) -> Iterator[Encoded]:
    """Units of people all of whose rows are here, in batches, in the order of their marks."""
    kept = choose_rows(rows, reader.rules, reader.coins)
    units = combine_rows(kept, reader.rules)
    size = BATCH_UNITS * reader.rules.slots
    for start in range(0, len(units), size):
        part = slice(start, start + size)
        yield Encoded(
            units.x[part], *(None if p is None else p[part] for p in (units.y, units.present))
        )
