"""Rows that know whose they are: read batch by batch, joined, and cut into parts by person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.tables.cells import Cells
from veilspan.tables.columns import Column
from veilspan.tables.encoding import Encoded
from veilspan.tables.file_format import FileFormat
from veilspan.tables.persons.person_ids import IdReader
from veilspan.tables.persons.rules import PersonRules
from veilspan.tables.persons.secret_order import PersonCoins


@dataclass(frozen=True, eq=False)
class PersonRows:
    """Encoded rows and whose they are; as sensitive as the table.

    Attributes
    ----------
    marks : array of uint64 of shape (n, 2)
        Of the person (:mod:`veilspan.tables.persons.secret_order`); 0, 0 where a row has no id.
    x, y, present : arrays
        As in :class:`veilspan.tables.encoding.Encoded`.
    order : array of shape (n,) or None
        What rows are ordered by, NaN where missing.
    """

    marks: np.ndarray
    x: np.ndarray
    y: np.ndarray | None = None
    present: np.ndarray | None = None
    order: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.marks)

    def take(self, which: np.ndarray) -> PersonRows:
        """Some of the rows, by their places or by a mask."""
        return PersonRows(
            self.marks[which], self.x[which], *(
                None if part is None else part[which] for part in (self.y, self.present, self.order)
            ),
        )  # fmt: skip

    def with_ids(self) -> PersonRows:
        """The rows that have an id; all others are left out."""
        known = np.asarray(self.marks.any(axis=1))
        return self if known.all() else self.take(known)

    @classmethod
    def join(cls, parts: Sequence[PersonRows]) -> PersonRows:
        """Several batches as one, in their order."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]

        def joined(name: str) -> Any:
            if getattr(first, name) is None:
                return None
            return np.concatenate([getattr(part, name) for part in parts])

        return cls(*(joined(name) for name in ("marks", "x", "y", "present", "order")))


class PersonReader:
    """Reads the rows of people: their ids, their order, and what an encoder makes of them.

    Parameters
    ----------
    encoder : Encoder or alike
        With ``columns``, ``width`` and ``encode_batch``.
    id_name : str
        The column of ids.
    file : FileFormat
        Which words are missing.
    rules : PersonRules
        Whether rows have an order.
    coins : PersonCoins
        The secret of this walk.
    """

    def __init__(
        self,
        encoder: Any,
        id_name: str,
        file: FileFormat,
        rules: PersonRules,
        coins: PersonCoins,
    ) -> None:
        self.encoder, self.rules, self.coins = encoder, rules, coins
        self.ids = IdReader(id_name, file)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns whose cells it needs, each once."""
        more = [self.ids.column]
        if self.rules.order is not None:
            more.append(self.rules.order.column)
        wanted = {column.name: column for column in (*more, *self.encoder.columns)}
        return tuple(wanted.values())

    @row_map
    def read(self, batch: Mapping[str, Cells]) -> PersonRows:
        """All rows of a batch, those without an id included."""
        found = batch[self.ids.column.name].distinct()
        names = [self.ids.read(value) for value in found.values]
        marks = self.coins.mark_people([*names, ""])[found.codes]  # -1 is missing: the last
        encoded: Encoded = self.encoder.encode_batch(batch)
        order = None
        if self.rules.order is not None:
            order = self.rules.read_order(batch[self.rules.order.column.name])
        return PersonRows(marks, encoded.x, encoded.y, encoded.present, order)
