"""The digest sees every fact and nothing else."""

import re
import tomllib

import pytest
from hypothesis import given, settings

from tables.schemas import AGE, HEAD, WARD, schemas, small
from veilspan.tables.canonical import canonical_json
from veilspan.tables.schema import Schema
from veilspan.tables.toml_writer import write_value

WARD_TEXT = WARD.read_text()


@settings(max_examples=150, deadline=None)
@given(schemas())
def test_a_round_trip_keeps_the_digest(schema):
    text = schema.to_toml()
    again = Schema.from_toml(text)
    assert again.digest == schema.digest
    assert again.to_toml() == text
    assert again.columns == schema.columns


def test_the_digest_is_a_promise():
    """It is in releases and ledgers: it must be the same in every later version."""
    wanted = "9b48d703bd4cf88e46e42fd6ad2e24ffcfb97fbf8e78cbcbaa552d87f3515d42"
    assert Schema.load(WARD).digest == wanted


def test_layout_does_not_count():
    wanted = Schema.load(WARD).digest
    bare = re.sub(r"\s*#.*", "", WARD_TEXT)
    assert Schema.from_toml(bare).digest == wanted
    assert Schema.from_toml(WARD_TEXT.replace("\n", "\r\n")).digest == wanted
    blocks = re.split(r"^(?=\[)", bare, flags=re.M)
    turned = []
    for block in blocks:
        title, *keys = [line for line in block.splitlines() if line]
        turned.append("\n".join([title, *reversed(keys)]))
    assert turned[0].startswith("veilspan_schema")
    assert Schema.from_toml("\n".join(turned)).digest == wanted
    unit_last = [*turned[:1], *turned[2:], turned[1]]
    assert Schema.from_toml("\n".join(unit_last)).digest == wanted


DEFAULTS = [
    ("", {"file": 'separator = ","\ndecimal = "."\nencoding = "UTF-8"\nmissing = ["", "NA"]'}),
    ("", {"unit": 'protects = "row"\nneighbors = "replace-one"'}),
    ('role = "use"\nscale = "linear"\nmissing_column = false\nunit = ""\n', {}),
    ("fill = 55\n", {}),
    ("fill = 55.0\n", {}),
]


@pytest.mark.parametrize(("keys", "sections"), DEFAULTS)
def test_a_default_that_is_written_down_changes_nothing(keys, sections):
    assert small(AGE + keys, **sections).digest == small().digest


def test_numbers_count_by_value():
    assert small(AGE.replace("[0, 110]", "[-0.0, 1.1e2]")).digest == small().digest


def facts(document, path=()):
    """Every fact of a parsed schema with its place."""
    for key, value in document.items():
        if isinstance(value, dict):
            yield from facts(value, (*path, key))
        else:
            yield (*path, key), value


CHANGED = {
    "protects": "person", "max_rows": 9, "keep": "last", "combine": "sum", "count": 61_001,
    "neighbors": "add-remove", "separator": ";", "decimal": ",", "encoding": "latin-1",
    "missing": ["", "NA"], "fill": None, "missing_column": False, "scale": "linear",
    "other": False, "unit": "mg", "format": "%d.%m.%Y", "as": ["days"], "true": ["yes"],
    "false": ["no"],
}  # fmt: skip


def write(document):
    lines = [f"{k} = {toml(v)}" for k, v in document.items() if not isinstance(v, dict)]
    for name in ("unit", "file"):
        lines += [f"[{name}]", *(f"{k} = {toml(v)}" for k, v in document[name].items())]
    for name, column in document["columns"].items():
        lines += [f"[columns.{name}]", *(f"{k} = {toml(v)}" for k, v in column.items())]
    return "\n".join(lines)


def toml(value):
    return write_value(tuple(value) if isinstance(value, list) else value)


#: Types and roles make another schema altogether, and have tests of their own.
PLACES = [
    path
    for path, _ in facts(tomllib.loads(WARD_TEXT))
    if path[-1] not in ("veilspan_schema", "id", "type", "role")
]


@pytest.mark.parametrize("path", PLACES, ids=".".join)
def test_every_fact_counts(path):
    """Each fact of the example is changed by itself (with what the change makes necessary)."""
    document = tomllib.loads(WARD_TEXT)
    assert Schema.from_toml(write(document)).digest == Schema.load(WARD).digest
    table = document
    for key in path[:-1]:
        table = table[key]
    change(table, path[-1], document)
    assert Schema.from_toml(write(document)).digest != Schema.load(WARD).digest


def change(table, key, document):
    value = table[key]
    if key == "combine" and value == "any":
        table[key] = "majority"
    elif key == "range":
        table[key] = [value[0], value[1].replace(year=2026) if hasattr(value[1], "year") else 2000]
    elif key == "fill":
        table[key] = {50: 51, 80: 81, False: True}.get(value, value)
        if hasattr(value, "year"):
            table[key] = value.replace(day=30)
    elif key == "categories":
        table[key] = list(reversed(value))
    elif key in CHANGED:
        table[key] = CHANGED[key]
    else:
        table[key] = value + "!"
    if key == "neighbors":
        del table["count"]
    if key == "keep":
        table["order_by"] = "admitted"
    if key == "decimal":
        document["file"]["separator"] = ";"
    if key == "other":
        table["fill"] = table["categories"][0]


def test_types_and_roles_count():
    others = [
        AGE.replace("integer", "number"),
        AGE + 'role = "ignore"\n' + '[columns.b]\ntype = "boolean"\nsource = "s"\n',
        AGE + '[columns.b]\nrole = "ignore"\n',
        AGE + '[columns.b]\nrole = "id"\n',
    ]
    assert len({small(text).digest for text in [AGE, *others]}) == 5
    named = small(others[3], unit='id = "b"\nprotects = "x"')
    assert named != small(others[3], unit='protects = "x"')


def test_the_order_of_columns_counts():
    two = '[columns.b]\ntype = "boolean"\nsource = "s"\n'
    assert small(AGE + two).digest != small(two + AGE).digest


def test_a_category_file_counts_by_its_contents(tmp_path):
    column = '[columns.icd]\ntype = "category"\nother = true\nsource = "ICD"\ncategories = '
    listed = small(column + '["A00", "B99", "é"]\n')
    (tmp_path / "sub").mkdir()
    for name, data in {
        "codes.txt": "A00\nB99\ne\u0301\n".encode(),
        "sub/other.txt": b"\xef\xbb\xbf" + " A00 \r\n\r\nB99\r\né".encode(),
    }.items():
        (tmp_path / name).write_bytes(data)
        text = HEAD + column + f'{{file = "{name}"}}\n'
        read = Schema.from_toml(text, tmp_path)
        assert read.digest == listed.digest
        assert read == Schema.from_toml(read.to_toml())
        assert read.columns[0].categories_file == name
    (tmp_path / "codes.txt").write_text("A00\nB98\né\n")
    assert Schema.from_toml(HEAD + column + '{file = "codes.txt"}\n', tmp_path) != listed


def test_the_canonical_form_is_plain():
    assert canonical_json(small()) == (
        '{"columns":[{"fill":{"float":"0x1.b800000000000p+5"},"name":"age","range":[{"float":'
        '"0x0.0p+0"},{"float":"0x1.b800000000000p+6"}],"source":"Nobody is older.","type":'
        '"integer"}],"file":{},"name":"small","unit":{},"veilspan_schema":1}'
    )
