"""Small tables of people with several rows, with everything that may go wrong in a cell."""

import numpy as np

from veilspan import Schema
from veilspan.tables.encoding import Encoded, Encoder
from veilspan.tables.persons import gather_people
from veilspan.tables.sources.open_table import as_source

HEAD = """
veilspan_schema = 1
name = "visits"
[unit]
protects = "patient"
id = "who"
{max_rows}
keep = "{keep}"
combine = "{combine}"
order_by = "when"
neighbors = "{neighbors}"
{count}
source = "made up"
[file]
missing = ["", "NA", "-99"]
[columns.who]
role = "id"
[columns.when]
type = "date"
range = [2020-01-01, 2020-12-31]
source = "made up"
[columns.age]
type = "number"
range = [0, 100]
missing_column = true
source = "made up"
[columns.kind]
type = "category"
categories = ["a", "b"]
other = true
source = "made up"
[columns.label]
role = "target"
{label}
source = "made up"
"""
CLASSES = 'type = "category"\ncategories = ["yes", "no"]'
IDS = ("p1", "p2", " p3 ", "p3", "17", "e\u0301va", "\u00e9va", "p4", "p5", "p6", "p7", "p8")


def make_schema(
    *,
    keep="random",
    combine="mean",
    target="majority",
    numbers=None,
    max_rows=3,
    neighbors="replace-one",
    count=40,
):
    label = CLASSES if numbers is None else 'type = "number"\nrange = [-10, 12.5]'
    how = target if numbers is None else numbers
    if how is not None:
        label += f'\ncombine = "{how}"'
    known = f"count = {count}" if neighbors == "replace-one" and count else ""
    most = "" if max_rows is None else f"max_rows = {max_rows}"
    return Schema.from_toml(
        HEAD.format(
            keep=keep, combine=combine, label=label, neighbors=neighbors, count=known, max_rows=most
        )
    )


def random_lines(rng, n=40, ids=IDS):
    """Lines as dicts of texts; ids of few people, some missing, some rows alike."""
    people = [*ids, "", "NA", "-99", "-99.0"]
    return [
        {
            "who": str(rng.choice(people)),
            "when": str(rng.choice(["2020-01-01", "2020-03-05", "2020-07-01", "2021-05-05", "?"])),
            "age": str(rng.choice([*map(str, rng.uniform(-5, 105, 6)), "", "x"])),
            "kind": str(rng.choice(["a", "b", "c", ""])),
            "label": str(rng.choice(["yes", "no", "", "3.25", "7"])),
        }
        for _ in range(n)
    ]


def to_columns(lines):
    names = ("who", "when", "age", "kind", "label")
    return {name: [line[name] for line in lines] for name in names}


def units_of(schema, table, seed, *, target=True):
    """All units of a table, with the coins of a seed."""
    source = as_source(table, schema.file)
    encoder = Encoder(schema, target=target)
    coins = np.random.default_rng(seed)
    parts = list(gather_people(source, encoder, schema.unit, coins))
    return Encoded(*(
        None if getattr(parts[0], name) is None
        else np.concatenate([getattr(part, name) for part in parts])
        for name in ("x", "y", "present")
    ))  # fmt: skip
