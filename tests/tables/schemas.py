"""Schemas for tests: the ward's, small ones, and any valid schema that hypothesis can think of."""

import re
from pathlib import Path

from hypothesis import strategies as st

from veilspan.tables.columns import (
    UNCONFIRMED,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    clean_text,
    is_clean_name,
)
from veilspan.tables.schema import FileFormat, Schema, Unit

WARD = Path(__file__).with_name("ward.toml")
HEAD = 'veilspan_schema = 1\nname = "small"\n'
AGE = '[columns.age]\ntype = "integer"\nrange = [0, 110]\nsource = "Nobody is older."\n'


def without_unit(text):
    """A schema's text in which every row is another person."""
    return re.sub(r"^\[unit\].*?(?=^\[file\])", "", text, flags=re.S | re.M)


def small(columns=AGE, **sections):
    """A small schema from TOML of its columns, and of other tables by their names."""
    tables = "".join(f"[{name}]\n{body}\n" for name, body in sections.items())
    return Schema.from_toml(HEAD + tables + columns)


LETTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.text(LETTERS, max_size=8)
LABEL = TEXT.map(clean_text).filter(
    lambda text: is_clean_name(text) and text not in ("(other)", "(missing)", "NA")
)
SOURCE = st.one_of(TEXT.filter(lambda text: clean_text(text)), st.just(UNCONFIRMED))
BOUND = st.floats(-1e300, 1e300, allow_nan=False)


@st.composite
def numbers(draw, name):
    integer = draw(st.booleans())
    bound = st.integers(-(2**53), 2**53).map(float) if integer else BOUND
    low, high = sorted(draw(st.lists(bound, min_size=2, max_size=2, unique=True)))
    log = draw(st.booleans()) and low > 0
    fill = draw(st.one_of(st.none(), st.sampled_from([low, high])))
    return NumberColumn(
        name, range=(low, high), fill=fill, integer=integer, scale="log" if log else "linear",
        unit=draw(TEXT), source=draw(SOURCE), missing_column=draw(st.booleans()),
    )  # fmt: skip


@st.composite
def categories(draw, name):
    labels = draw(st.lists(LABEL, min_size=1, max_size=4, unique=True))
    other = draw(st.booleans())
    return CategoryColumn(
        name, categories=labels, other=other, fill=None if other else labels[0],
        missing_column=not other and draw(st.booleans()), source=draw(SOURCE),
    )  # fmt: skip


@st.composite
def booleans(draw, name):
    words = draw(st.lists(LABEL, min_size=2, max_size=4, unique=True))
    return BooleanColumn(
        name, true=words[:1], false=words[1:], fill=draw(st.sampled_from([None, True, False])),
        missing_column=draw(st.booleans()), source=draw(SOURCE),
    )  # fmt: skip


@st.composite
def dates(draw, name):
    days = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
    parts = draw(st.lists(st.sampled_from(["days", "weekday", "month"]), min_size=1, unique=True))
    return DateColumn(
        name, range=days, parts=parts, fill=draw(st.sampled_from([None, *days])),
        format=draw(st.sampled_from(["%Y-%m-%d", "%d. %B %Y", "%j/%y", "%d%b%Y %H:%M:%S"])),
        missing_column=draw(st.booleans()), source=draw(SOURCE),
    )  # fmt: skip


@st.composite
def units(draw):
    relation = draw(st.sampled_from(["replace-one", "add-remove"]))
    number = draw(st.one_of(st.none(), st.integers(1, 2**53)))
    name = "count" if relation == "replace-one" else "expected"
    return Unit(protects=draw(LABEL), neighbors=relation, source=draw(SOURCE), **{name: number})


FORMATS = st.builds(
    FileFormat,
    separator=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "ascii", "latin-1", "iso-8859-15", "cp1252"]),
    missing=st.just(("", "NA")),
)


@st.composite
def schemas(draw):
    names = draw(st.lists(LABEL.filter(lambda n: not set("=:") & set(n)), min_size=1, max_size=5,
                          unique=True))  # fmt: skip
    kinds = st.sampled_from([numbers, categories, booleans, dates])
    columns = [draw(draw(kinds)(name)) for name in names]
    if draw(st.booleans()):
        columns.append(Column("a=note", role=draw(st.sampled_from(["ignore", "id"]))))
    return Schema(
        name=draw(TEXT), version=draw(TEXT), about=draw(TEXT), owner=draw(TEXT),
        notes=draw(TEXT), unit=draw(units()), file=draw(FORMATS), columns=columns,
    )  # fmt: skip
