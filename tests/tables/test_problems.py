"""Schemas that are wrong: every problem at once, each with its place, nothing unprintable."""

import os
import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables.schemas import AGE, HEAD, WARD
from veilspan.tables import schema_toml
from veilspan.tables.columns import CategoryColumn, Column, DateColumn, NumberColumn
from veilspan.tables.schema import FileFormat, Schema, SchemaError, Unit


def problems_of(text, folder=None):
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text, folder)
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    return caught.value.problems


def places(text, folder=None):
    return [problem.place for problem in problems_of(text, folder)]


def column(kind, *lines, name="x"):
    said = "\n".join([f"[columns.{name}]", f'type = "{kind}"', *lines])
    return f'{said}\nsource = "s"\n'


def test_all_problems_at_once():
    text = """
veilspan_schema = 1
nmae = "ward"
version = 3

[unit]
protects = ""
max_rows = 0
neighbors = "friends"
count = true

[file]
separator = "ab"
decimal = ";"
encoding = "utf-16"
missing = [-99]
quote = "'"

[columns.a]
type = "integer"
range = [110.5, 0]
fil = 3

[columns.b]
type = "category"
categories = ["x", "x ", "(other)", 3]
fill = "z"
source = "s"

[columns.c]
type = "date"
range = [2020-01-01T00:00:00, 2021-01-01]
format = "%Y-%U"
as = ["hour"]
source = "s"

[columns.d]
role = "target"

[columns.e]
type = "colour"
"""
    assert set(places(text)) == {
        "nmae", "version", "unit.protects", "unit.max_rows", "unit.neighbors", "unit.count",
        "unit.source", "file.separator", "file.decimal", "file.encoding", "file.missing",
        "file.quote", "columns.a.fil", "columns.a.source", "columns.a.range",
        "columns.b.categories", "columns.b.fill", "columns.c.range", "columns.c.format",
        "columns.c.as", "columns.d.type", "columns.e.type",
    }  # fmt: skip
    assert len([place for place in places(text) if place == "columns.b.categories"]) == 3


# What is written, the place that is named, and words of what is said.
WRONG = {
    "no columns": ("", "columns", "declare every column"),
    "nothing used": ('[columns.a]\nrole = "ignore"\n', "columns", "none is used"),
    "no type": ("[columns.a]\n", "columns.a.type", 'role = "ignore"'),
    "unknown key": (AGE + "fil = 3\n", "columns.age.fil", 'Did you mean "fill"'),
    "key of another type": (column("boolean", "range = [0, 1]"), "columns.x.range", "of type bool"),
    "key without a type": ('[columns.a]\nrole = "id"\nfill = 3\n', "columns.a.fill", "without a"),
    "a dot": ("[columns.a.b]\nx = 1\n", "columns.a.b", '[columns."a.b"]'),
    "no table": ("columns = 3\n", "columns", "is a table"),
    "no table of a column": ("[columns]\na = 3\n", "columns.a", "is a table"),
    "type": (column("integr"), "columns.x.type", 'Did you mean "integer"'),
    "type of a type": ("[columns.x]\ntype = 3\n", "columns.x.type", "none of"),
    "role": (AGE + 'role = "uses"\n', "columns.age.role", "none of use"),
    "role list": (AGE + 'role = ["use"]\n', "columns.age.role", "none of use"),
    "no source": (AGE.replace("Nobody is older.", " "), "columns.age.source", "is missing"),
    "source number": (AGE.replace('"Nobody is older."', "3"), "columns.age.source", "not 3"),
    "empty name": ('[columns.""]\nrole = "id"\n', 'columns.""', "can only have role"),
    "control name": ('[columns."a\\u001b"]\nrole = "id"\n', 'columns."a\\x1b"', "control"),
    "twins": (AGE + '[columns." age"]\nrole = "id"\n', "columns.age", "declared twice"),
    "twins NFC": (
        '[columns."é"]\nrole = "id"\n[columns."e\\u0301"]\nrole = "id"\n', 'columns."é"', "twice",
    ),
    "twins out": (
        column("category", 'categories = ["b"]', "other = true", name="a")
        + column("boolean", name='"a=b"'), 'columns."a=b"', "another column is encoded",
    ),
    "range missing": (column("number"), "columns.x.range", "is missing"),
    "range of one": (column("number", "range = [1]"), "columns.x.range", "[low, high]"),
    "range turned": (column("number", "range = [2, 1]"), "columns.x.range", "lower bound first"),
    "range empty": (column("number", "range = [1, 1.0]"), "columns.x.range", "not below"),
    "range nan": (column("number", "range = [nan, 1]"), "columns.x.range", "finite"),
    "range inf": (column("number", "range = [0, inf]"), "columns.x.range", "finite"),
    "range -inf": (column("integer", "range = [-inf, 3]"), "columns.x.range", "finite"),
    "range huge": (column("number", "range = [0, 1e308]"), "columns.x.range", "1e+300"),
    "range of 400 digits": (
        column("number", f"range = [0, 1{'0' * 400}]"), "columns.x.range", "finite",
    ),
    "range bool": (column("number", "range = [false, true]"), "columns.x.range", "pair of numbers"),
    "range text": (column("number", 'range = ["0", "1"]'), "columns.x.range", "pair of numbers"),
    "range -0.0": (column("number", "range = [-0.0, 0.0]"), "columns.x.range", "not below"),
    "range half": (column("integer", "range = [0, 1.5]"), "columns.x.range", "whole bounds"),
    "range 2^60": (column("integer", f"range = [0, {2**60}]"), "columns.x.range", "whole bounds"),
    "log at 0": (
        column("number", "range = [0, 1]", 'scale = "log"'), "columns.x.range", "above 0",
    ),
    "scale": (column("number", "range = [0, 1]", 'scale = "sqrt"'), "columns.x.scale", "neither"),
    "unit": (column("number", "range = [0, 1]", "unit = 3"), "columns.x.unit", "is a text"),
    "fill outside": (AGE + "fill = 111\n", "columns.age.fill", "from 0 to 110"),
    "fill nan": (AGE + "fill = nan\n", "columns.age.fill", "whole number"),
    "fill bool": (AGE + "fill = true\n", "columns.age.fill", "whole number"),
    "fill half": (AGE + "fill = 1.5\n", "columns.age.fill", "whole number"),
    "fill text": (AGE + 'fill = "1"\n', "columns.age.fill", "whole number"),
    "missing column": (AGE + "missing_column = 1\n", "columns.age.missing_column", "true or false"),
    "missing and other": (
        column("category", 'categories = ["a"]', "other = true", "missing_column = true"),
        "columns.x.missing_column", "takes missing cells already",
    ),
    "combine of a feature": (AGE + 'combine = "mean"\n', "columns.age.combine", "unit.combine"),
    "no categories": (column("category", "other = true"), "columns.x.categories", "is missing"),
    "empty list": (
        column("category", "categories = []", "other = true"), "columns.x.categories", "missing",
    ),
    "category number": (
        column("category", "categories = [1, 2]", "other = true"), "columns.x.categories", "quotes",
    ),
    "category empty": (
        column("category", 'categories = ["a", " "]', "other = true"),
        "columns.x.categories", "entry 2 is empty",
    ),
    "category control": (
        column("category", 'categories = ["a\\u0000"]', "other = true"),
        "columns.x.categories", "control characters",
    ),
    "category own": (
        column("category", 'categories = ["(other)"]', "other = true"),
        "columns.x.categories", "own name",
    ),
    "category own too": (
        column("category", 'categories = ["(missing)"]', "other = true"),
        "columns.x.categories", "own name",
    ),
    "category NFC": (
        column("category", 'categories = ["\\u00e9", "e\\u0301"]', "other = true"),
        "columns.x.categories", "twice",
    ),
    "category missing": (
        column("category", 'categories = ["DE", "NA"]', "other = true"),
        "columns.x.categories", "file.missing",
    ),
    "other": (
        column("category", 'categories = ["a"]', 'other = "yes"'), "columns.x.other", "true or",
    ),
    "no fill": (column("category", 'categories = ["a"]'), "columns.x.fill", "or say other"),
    "fill unknown": (
        column("category", 'categories = ["a"]', 'fill = "b"'), "columns.x.fill", "one of the cat",
    ),
    "fill and other": (
        column("category", 'categories = ["a"]', "other = true", 'fill = "a"'),
        "columns.x.fill", "leave it out",
    ),
    "words": (column("boolean", 'true = "yes"'), "columns.x.true", "list of texts"),
    "words of both": (
        column("boolean", 'true = ["x"]', 'false = ["x "]'), "columns.x.true", "in false as well",
    ),
    "words none": (column("boolean", "false = []"), "columns.x.false", "list of texts"),
    "words bool": (column("boolean", "true = [true]"), "columns.x.true", "no text"),
    "boolean fill": (column("boolean", "fill = 0"), "columns.x.fill", "true or false"),
    "date no range": (column("date"), "columns.x.range", "pair of dates"),
    "date texts": (
        column("date", 'range = ["2020-01-01", "2021-01-01"]'), "columns.x.range", "without quotes",
    ),
    "date times": (
        column("date", "range = [2020-01-01T10:00:00Z, 2021-01-01T10:00:00Z]"),
        "columns.x.range", "without time",
    ),
    "date turned": (
        column("date", "range = [2021-01-01, 2020-01-01]"), "columns.x.range", "earlier date first",
    ),
    "date fill": (
        column("date", "range = [2020-01-01, 2021-01-01]", "fill = 2022-01-01"),
        "columns.x.fill", "within the range",
    ),
    "date fill time": (
        column("date", "range = [2020-01-01, 2021-01-01]", "fill = 2020-02-01T10:00:00"),
        "columns.x.fill", "without time",
    ),
    "date parts": (
        column("date", "range = [2020-01-01, 2021-01-01]", "as = []"), "columns.x.as", "some of",
    ),
    "date parts twice": (
        column("date", "range = [2020-01-01, 2021-01-01]", 'as = ["days", "days"]'),
        "columns.x.as", "each once",
    ),
    "date target": (
        column("date", "range = [2020-01-01, 2021-01-01]", 'role = "target"'),
        "columns.x.type", "cannot be the target",
    ),
    "target fill": (AGE + 'role = "target"\nfill = 3\n', "columns.age.fill", "nothing is made up"),
    "target other": (
        column("category", 'categories = ["a", "b"]', 'role = "target"', "other = true"),
        "columns.x.other", "contributes nothing",
    ),
    "target of one": (
        column("category", 'categories = ["a"]', 'role = "target"'), "columns.x.categories", "two",
    ),
    "target any of three": (
        column("category", 'categories = ["a", "b", "c"]', 'role = "target"', 'combine = "any"'),
        "columns.x.combine", "none of majority",
    ),
    "two targets": (
        AGE + 'role = "target"\n' + column("boolean", 'role = "target"'),
        "columns", "one column can be the target",
    ),
    "user alone": (AGE + '[columns.u]\nrole = "user"\n', "columns", "item, rating is missing"),
    "item number": (AGE + 'role = "item"\n', "columns.age.type", "an item is a category"),
    "rating boolean": (column("boolean", 'role = "rating"'), "columns.x.type", "is a number"),
    "a newer version": ("veilspan_schema = 2\n" + AGE, "veilspan_schema", "upgrade"),
    "version true": ("veilspan_schema = true\n" + AGE, "veilspan_schema", "version of the format"),
    "version 0": ("veilspan_schema = 0\n" + AGE, "veilspan_schema", "version of the format"),
    "version 1.0": ("veilspan_schema = 1.0\n" + AGE, "veilspan_schema", "version of the format"),
    "version of hex": (
        f"veilspan_schema = 0x{'f' * 9999}\n" + AGE, "veilspan_schema", "more than sixty digits",
    ),
    "name": ("veilspan_schema = 1\nname = 3\n" + AGE, "name", "is a text"),
    "unit section": ("unit = 3\n" + AGE, "unit", "is a table, [unit]"),
    "count": ("[unit]\ncount = 1.5\n" + AGE, "unit.count", "whole number"),
    "count source": ("[unit]\ncount = 5\n" + AGE, "unit.source", "count is known from"),
    "count private": (
        '[unit]\ncount = 5\nsource = "s"\nneighbors = "add-remove"\n' + AGE,
        "unit.count", "expected",
    ),
    "expected": ("[unit]\nexpected = 5\n" + AGE, "unit.expected", "count = ..."),
    "keep alone": ('[unit]\nkeep = "last"\n' + AGE, "unit.keep", "unit.id = ..."),
    "unknown id": ('[unit]\nid = "agee"\n' + AGE, "unit.id", 'Did you mean "age"'),
    "id in use": ('[unit]\nid = "age"\n' + AGE, "columns.age.role", 'is "id"'),
    "id number": ("[unit]\nid = 3\n" + AGE, "unit.id", "name of a column"),
    "no order": (
        '[unit]\nid = "p"\nkeep = "last"\n[columns.p]\nrole = "id"\n' + AGE,
        "unit.order_by", "which is last",
    ),
    "order by text": (
        '[unit]\nid = "p"\nkeep = "last"\norder_by = "p"\n[columns.p]\nrole = "id"\n' + AGE,
        "unit.order_by", "dates or numbers",
    ),
    "none without a limit": (
        '[unit]\nid = "p"\ncombine = "none"\n[columns.p]\nrole = "id"\n' + AGE,
        "unit.max_rows", "needs it",
    ),
    "separator": ('[file]\nseparator = "\\n"\n' + AGE, "file.separator", "one ASCII character"),
    "separator mark": ('[file]\ndecimal = ","\n' + AGE, "file.decimal", "separates cells already"),
    "encoding": ('[file]\nencoding = "utf-16"\n' + AGE, "file.encoding", "none of utf-8"),
    "missing number": ("[file]\nmissing = [-99]\n" + AGE, "file.missing", "put it in quotes"),
    "missing text": ('[file]\nmissing = "NA"\n' + AGE, "file.missing", "list of texts"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_schema_says_where_and_what(name):
    text, place, words = WRONG[name]
    if "veilspan_schema" not in text:
        text = "veilspan_schema = 1\n" + text
    found = problems_of(text)
    assert [p for p in found if p.place == place and words in str(p)], found


def test_a_missing_number_is_no_label():
    text = HEAD + '[file]\nmissing = ["-99"]\n'
    text += column("category", 'categories = ["-99.0"]', "other = true")
    assert places(text) == ["columns.x.categories"]


def test_followers_of_a_broken_column_are_not_told():
    text = HEAD + '[unit]\nid = "p"\nprotects = "patient"\n[columns.p]\ntype = "idd"\nrole = "id"\n'
    assert places(text) == ["columns.p.type"]


def test_schemas_made_in_python_are_checked_alike():
    with pytest.raises(SchemaError) as caught:
        Schema(
            columns=[
                NumberColumn("a", range=(1, 0), source="s"),
                CategoryColumn("b", categories="ab", other=True, source="s"),
                DateColumn("c", range=None, format=None, parts="days", source="s"),
                Column(3, role=None),
            ],
            unit=Unit(id=4, count="5"),
            file=FileFormat(encoding=None, missing=None),
        )
    assert len(caught.value.problems) >= 9
    with pytest.raises(TypeError, match="read from a text"):
        Schema.from_toml(b"veilspan_schema = 1")


def test_errors_are_pickled_whole():
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml("")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.problems == caught.value.problems
    assert str(again) == str(caught.value)


def test_very_many_problems_are_counted():
    text = HEAD + AGE + "".join(f"k{i} = 1\n" for i in range(1000))
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(text)
    assert len(caught.value.problems) == 1000
    assert str(caught.value).endswith("and 800 more.")


# Hostile texts.

HOSTILE = {
    "nothing": "",
    "not TOML": "veilspan_schema 1",
    "a key twice": HEAD + HEAD,
    "nested lists": "a = " + "[" * 100_000,
    "nested tables": "a = " + "{a = " * 100_000,
    "nested lists that close": HEAD + AGE + f"x = {'[' * 200}{']' * 200}\n",
    "dotted keys": "a" + ".a" * 1_000_000 + " = 1",
    "dotted quoted keys": '"a b"' + '."a b"' * 100_000 + " = 1",
    "one long word": "a" * 2_000_000,
    "one long word, quoted": '"' + '\\"' * 500_000,
    "long line of spaces": "a" + " " * 2_000_000,
    "quotes": '"' * 100_001,
    "many digits": "veilspan_schema = " + "9" * 100_000,
    "no date": HEAD + "[columns.a]\nfill = 2020-02-31\n",
    "control characters": "\x1b[31mred = 1",
    "NUL": "name = '\0'",
    "escaped control characters": '"\\u001b[31m" = "\\u001b[31m"\n[columns."\\u0007"]\nrole="x"',
    "surrogates": HEAD + 'about = "\\ud800"\n',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_in_time(name):
    start = time.perf_counter()
    assert problems_of(HOSTILE[name])
    assert time.perf_counter() - start < 20


def test_long_prose_is_no_key():
    text = HEAD + f'notes = "{"One. Two. " * 2000}"\n' + AGE
    assert len(Schema.from_toml(text).notes) == 20_000


def test_a_text_that_is_too_long(monkeypatch):
    monkeypatch.setattr("veilspan.tables.schema_toml.MOST_BYTES", 100)
    assert "longer than any schema" in str(problems_of(HEAD + AGE + "#" * 100)[0])


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates(),
        st.datetimes(), st.times(),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(["integer", "number", "category", "boolean", "date"]), st.data())
def test_any_value_in_any_place_is_taken_or_told(kind, data):
    """No value makes a schema fail in another way than by its list of problems."""
    keys = ("role", "source", "missing_column", "combine", *schema_toml.KEYS[kind])
    facts = {"type": kind, **{key: data.draw(VALUES) for key in keys if data.draw(st.booleans())}}
    document = {
        "veilspan_schema": data.draw(st.one_of(st.just(1), VALUES)),
        "unit": data.draw(st.dictionaries(st.sampled_from(schema_toml.UNIT), VALUES)),
        "file": data.draw(st.dictionaries(st.sampled_from(schema_toml.FILE), VALUES)),
        "columns": {data.draw(st.text(max_size=3)): facts},
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema_toml, "_parse_toml", lambda text, origin: document)
        said, schema = "", None
        try:
            schema = schema_toml.parse_schema("")
        except SchemaError as error:
            said = str(error)
    assert said.replace("\n", "").isprintable()
    if schema is None:
        return
    assert Schema.from_toml(schema.to_toml()) == schema
    str(schema)


# Files.


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError):
        Schema.load(tmp_path / "absent.toml")
    with pytest.raises(SchemaError, match="is a folder"):
        Schema.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'veilspan_schema = 1\nname = "\xe9"')
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.load(tmp_path / "latin.toml")


def test_pipes_are_refused_and_links_followed(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SchemaError, match="not a regular file"):
        Schema.load(tmp_path / "pipe")
    (tmp_path / "link.toml").symlink_to(WARD)
    assert Schema.load(tmp_path / "link.toml") == Schema.load(WARD)
    (tmp_path / "codes").symlink_to(tmp_path / "pipe")
    text = HEAD + column("category", 'categories = {file = "codes"}', "other = true")
    assert "not a regular file" in str(problems_of(text, tmp_path)[0])
    (tmp_path / "list.txt").write_text("a\nb\n")
    (tmp_path / "linked.txt").symlink_to("list.txt")
    read = Schema.from_toml(text.replace('"codes"', '"linked.txt"'), tmp_path)
    assert read.columns[0].categories == ("a", "b")


def test_a_schema_is_saved_and_loaded(tmp_path):
    schema = Schema.load(WARD)
    schema.save(tmp_path / "again.toml")
    assert Schema.load(tmp_path / "again.toml") == schema
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + WARD.read_bytes())
    assert Schema.load(tmp_path / "bom.toml") == schema


SECRET = "Alice Example, HIV positive"
BAD_LISTS = {
    "empty": b"\n\n",
    "Latin-1": SECRET.encode() + b"\xe9\n",
    "NUL": SECRET.encode() + b"\0\n",
    "escape": SECRET.encode() + b"\x1b[31m\n",
    "lone CR": SECRET.encode() + b"\r" + SECRET.encode() + b"\n",
    "twice": f"{SECRET}\n{SECRET}\n".encode(),
    "missing": f"{SECRET}\nNA\n".encode(),
    "own name": f"{SECRET}\n(other)\n".encode(),
    "line separator": f"{SECRET}\u2028x\n".encode(),
}


@pytest.mark.parametrize("name", BAD_LISTS)
def test_wrong_category_files_are_never_quoted(tmp_path, name):
    """The file may be the table itself by mistake, so its lines are cells."""
    (tmp_path / "table.csv").write_bytes(BAD_LISTS[name])
    text = HEAD + column("category", 'categories = {file = "table.csv"}', "other = true")
    found = problems_of(text, tmp_path)
    assert all(problem.place == "columns.x.categories" for problem in found)
    assert "Alice" not in " ".join(map(str, found))


@pytest.mark.parametrize(
    "where",
    ['{file = "../a.txt"}', '{file = "/etc/passwd"}', '{file = "C:\\\\a"}', '{file = ""}',
     '{file = "a\\u0000"}', "{file = 3}", '{file = "a.txt", more = 1}', "{}",
     '{file = "absent.txt"}', '{file = "."}', '{file = "sub\\\\..\\\\..\\\\a"}'],
)  # fmt: skip
def test_category_files_elsewhere_are_refused(tmp_path, where):
    (tmp_path / "a.txt").write_text("a\n")
    folder = tmp_path / "inside"
    folder.mkdir()
    text = HEAD + column("category", f"categories = {where}", "other = true")
    assert places(text, folder) == ["columns.x.categories"]


def test_long_lists_are_counted_not_told():
    labels = ", ".join('"a"' for _ in range(1000))
    text = HEAD + column("category", f"categories = [{labels}]", "other = true")
    found = problems_of(text)
    assert len(found) == 11
    assert "989 more" in str(found[-1])


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("veilspan.tables.category_files.MOST_BYTES", 3)
    (tmp_path / "a.txt").write_text("abcd\n")
    text = HEAD + column("category", 'categories = {file = "a.txt"}', "other = true")
    assert "larger than any file" in str(problems_of(text, tmp_path)[0])
