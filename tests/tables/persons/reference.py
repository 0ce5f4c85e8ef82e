"""People gathered slowly, in plain Python: a dict of lists, one row at a time."""

import datetime
import math
from collections import Counter

from veilspan.tables.cell_rules import CellReader
from veilspan.tables.columns import BooleanColumn, CategoryColumn, NumberColumn
from veilspan.tables.persons.person_ids import read_id


def gather_slowly(schema, lines, coins, combine=None, *, target=True):
    """Units of lines (dicts of cells), as tuples (x, y, present), by id.

    ``coins`` is a :class:`PersonCoins`. ``combine="none"`` gives a list of slots an id.
    """
    unit = schema.unit
    combine = unit.combine if combine is None else combine
    target = schema.target if target else None
    people = {}
    missing = CellReader(schema.columns[0], schema.file)
    for line in lines:
        name = read_id(line[unit.id])
        number = missing._read_number(name)
        if name in missing.missing_words or number in missing.missing_numbers:
            continue
        people.setdefault(name, []).append(line)
    return {
        name: _one_person(schema, name, rows, coins, combine, target)
        for name, rows in people.items()
    }


def _one_person(schema, name, rows, coins, combine, target):
    unit = schema.unit
    (mark,) = coins.mark_people([name])
    rows = [
        {
            "x": _encode(schema, row),
            "y": None if target is None else _target(schema, target, row),
            "order": _order(schema, row),
            "coin": _coin(coins, mark, j) if len(rows) > 1 else 0,
        }
        for j, row in enumerate(rows)
    ]
    rows.sort(key=lambda row: (_rank(row, unit.keep), row["coin"]))
    if unit.max_rows is not None:
        rows = rows[: unit.max_rows]
    if combine == "none":
        return [(row["x"], row["y"]) for row in rows]
    if combine in ("first", "last"):
        x = min(rows, key=lambda row: (_rank(row, combine), row["coin"]))["x"]
    else:
        x = list(rows[0]["x"])
        for row in rows[1:]:
            x = [a + b for a, b in zip(x, row["x"])]
        by = unit.max_rows if combine == "sum" else len(rows)
        x = [entry / float(by) for entry in x]
    return tuple(x), None if target is None else _combine_targets(schema, target, rows)


def _rank(row, which):
    if which == "random":
        return 0.0
    if row["order"] is None:
        return math.inf
    return row["order"] if which == "first" else -row["order"]


def _coin(coins, mark, j):
    import numpy as np

    return int(coins.toss_for_rows(mark[None, :], np.array([j]))[0])


def _encode(schema, row):
    x = []
    for column in schema.features:
        reader = CellReader(column, schema.file)
        x.extend(reader.encode(reader.read(row[column.name])))
    return tuple(x)


def _order(schema, row):
    column = next((c for c in schema.columns if c.name == schema.unit.order_by), None)
    if column is None:
        return None
    reader = CellReader(column, schema.file)
    value = reader.read(row[column.name])
    if math.isnan(value):
        return None
    low, high = column.range
    if isinstance(low, datetime.date):
        low, high = (d.toordinal() - datetime.date(1970, 1, 1).toordinal() for d in (low, high))
    return min(max(float(reader.round(value)), low), high)


def _target(schema, column, row):
    reader = CellReader(column, schema.file)
    value = reader.read(row[column.name])
    if math.isnan(value):
        return None
    if isinstance(column, NumberColumn):
        return min(max(float(reader.round(value)), column.range[0]), column.range[1])
    if isinstance(column, CategoryColumn):
        return float(schema.classes.index(column.categories[int(value)]))
    return value


def _combine_targets(schema, column, rows):
    rows = [row for row in rows if row["y"] is not None]
    if not rows:
        return None
    how = column.combine or schema.unit.combine
    values = [row["y"] for row in rows]
    if how == "any":
        wanted = 1.0
        if not isinstance(column, BooleanColumn):
            wanted = float(schema.classes.index(column.categories[1]))
        return wanted if wanted in values else 1.0 - wanted
    if how == "majority":
        counts = Counter(values)
        most = max(counts.values())
        tied = [row for row in rows if counts[row["y"]] == most]
        return min(tied, key=lambda row: row["coin"])["y"]
    if how in ("first", "last"):
        return min(rows, key=lambda row: (_rank(row, how), row["coin"]))["y"]
    total = 0.0
    for value in values:
        total += value
    total = total / len(values) if how == "mean" else total
    return min(max(total, column.range[0]), column.range[1])
