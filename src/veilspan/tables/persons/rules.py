"""What a schema says about the rows of one person, with what it takes to do it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veilspan.tables.cell_rules import CellReader
from veilspan.tables.cells import Cells
from veilspan.tables.columns import BooleanColumn, CategoryColumn, Column
from veilspan.tables.number_block import read_values
from veilspan.tables.problems import Problem, SchemaError, place_of

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema
    from veilspan.tables.unit import Unit


@dataclass(frozen=True)
class TargetRule:
    """How the targets of one person's rows become one.

    Attributes
    ----------
    how : {"any", "majority", "first", "last", "mean", "sum"}
        As the target's ``combine`` says.
    wanted : float
        For ``any``: the class that one row is enough for, as targets are encoded.
    range : (float, float) or None
        Where the total of numbers is kept to.
    """

    how: str
    wanted: float = 1.0
    range: tuple[float, float] | None = None


@dataclass(frozen=True)
class PersonRules:
    """Which rows of a person are kept and how they become one: public, from a schema.

    Attributes
    ----------
    max_rows : int or None
        Kept at most.
    keep : {"random", "first", "last"}
        Which of more.
    combine : {"mean", "sum", "first", "last", "none"}
        How they become one.
    order : CellReader or None
        Of the column that says what is first and last.
    target : TargetRule or None
        For targets, where there are any.
    """

    max_rows: int | None
    keep: str
    combine: str
    order: CellReader | None = None
    target: TargetRule | None = None

    @classmethod
    def of(
        cls, schema: Schema, unit: Unit | None = None, combine: str | None = None
    ) -> PersonRules:
        """The rules of a schema; ``unit`` and ``combine`` may say otherwise than it does."""
        unit = schema.unit if unit is None else unit
        how = unit.combine if combine is None else combine
        if how in ("none", "sum") and unit.max_rows is None:
            raise SchemaError(
                [Problem("unit.max_rows", f'is missing: combine = "{how}" needs it.')]
            )
        column = next((c for c in schema.columns if c.name == unit.order_by), None)
        order = None if column is None else CellReader(column, schema.file)
        if how in ("first", "last") and order is None:
            raise SchemaError(
                [Problem("unit.order_by", f'is missing: combine = "{how}" needs it.')]
            )
        assert unit.keep is not None
        assert how is not None
        return cls(unit.max_rows, unit.keep, how, order)

    def with_target(self, schema: Schema) -> PersonRules:
        """The same with the rule of the schema's target, which must say one of its own."""
        return replace(self, target=find_target_rule(schema, self.combine))

    @property
    def slots(self) -> int:
        """Encoded rows of one unit."""
        return self.max_rows or 1 if self.combine == "none" else 1

    def read_order(self, cells: Cells) -> np.ndarray:
        """What rows are ordered by, read as any other cell of the column; NaN where missing."""
        assert self.order is not None
        values = self.order.round(read_values(self.order, cells))
        low, high = self.order.scale.low, self.order.scale.high
        return np.asarray(np.clip(values, low, high))  # NaN stays


def find_target_rule(schema: Schema, combine: str) -> TargetRule | None:
    """The rule of the target, or a sentence: labels and numbers are never averaged silently."""
    target = schema.target
    if target is None or combine == "none":
        return None
    how = target.combine
    if how is None and combine in ("first", "last"):
        how = combine
    if how is None:
        known = ", ".join(target._combinations())
        place = f"{place_of('columns', target.name)}.combine"
        raise SchemaError([
            Problem(place, f"is missing: say how the targets of a {schema.protects}'s rows become "
                    f"one, {known}."),
        ])  # fmt: skip
    return TargetRule(how, _wanted_class(schema, target), schema.target_range)


def _wanted_class(schema: Schema, target: Column) -> float:
    """The class that ``any`` looks for: true, or the second of two categories."""
    if isinstance(target, CategoryColumn) and len(target.categories) == 2:
        return float((schema.classes or ()).index(target.categories[1]))
    return float(isinstance(target, BooleanColumn))
