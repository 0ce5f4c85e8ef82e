"""``veilspan schema show``, ``digest`` and ``import``."""

import json

import pytest

from cli.commands import refused, run
from cli.ward import save_ward, ward_toml
from veilspan import Schema
from veilspan.tables.columns import UNCONFIRMED


@pytest.fixture
def schema(tmp_path):
    return save_ward(tmp_path)[1]


def test_show(schema):
    said = run("schema", "show", schema).out
    assert said.startswith("Schema ward, version 1\n")
    assert "Protects one patient" in said
    assert "Laboratory manual" in said
    found = run("schema", "show", schema, "--json").json
    assert found["digest"] == Schema.load(schema).digest
    assert len(found["columns_out"]) == 22
    assert found["columns"][1] == {
        "name": "age", "role": "use", "type": "integer", "source": "Nobody is older."
    }  # fmt: skip


def test_the_digest_is_of_what_is_said(schema):
    first = run("schema", "digest", schema).out.strip()
    assert first == Schema.load(schema).digest
    schema.write_text("# a comment\n" + ward_toml().replace("[0, 110]", "[  0,110 ]"))
    assert run("schema", "digest", schema).out.strip() == first
    schema.write_text(ward_toml().replace("[0, 110]", "[0, 111]"))
    assert run("schema", "digest", schema, "--json").json["digest"] != first


def test_a_schema_with_problems_is_not_shown(schema):
    schema.write_text(
        ward_toml().replace("[0, 110]", "[110, 0]").replace("fill   = 80", "fill = 8")
    )
    for command in ("show", "digest"):
        result = run("schema", command, schema, expect=1)
        assert result.out == ""
        lines = result.err.splitlines()
        assert lines[0] == f"veilspan: the schema {schema} has 2 problems:"
        assert lines[1].startswith("  - columns.age.range: 110 is not below 0")
        said = json.loads(run("schema", command, schema, "--json", expect=1).err)
        assert [problem["place"] for problem in said["problems"]] == [
            "columns.age.range", "columns.creatinine.fill"
        ]  # fmt: skip


SMARTNOISE = """
"":
  ward:
    Visits:
      row_privacy: true
      age:
        type: int
        lower: 0
        upper: 110
      note:
        type: string
"""
FRICTIONLESS = {"fields": [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
]}  # fmt: skip
CSVW = {"@context": "http://www.w3.org/ns/csvw", "url": "ward.csv", "tableSchema": {"columns": [
    {"titles": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 110}},
]}}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.yaml", SMARTNOISE),
        ("a.json", json.dumps(FRICTIONLESS)),
        ("b.json", json.dumps(CSVW)),
    ],
)
def test_import(name, content, tmp_path):
    if name == "a.yaml":
        pytest.importorskip("yaml")
    (tmp_path / name).write_text(content)
    out = tmp_path / "s.toml"
    said = run("schema", "import", tmp_path / name, "--out", out).out
    assert f"is in {out}" in said
    assert "Nobody has confirmed" in said
    found = Schema.load(out)
    assert found.columns[0].source == UNCONFIRMED
    assert "columns.age.source" in run("schema", "check", out, expect=1).out
    assert "exists" in refused("schema", "import", tmp_path / name, "--out", out)
    again = run("schema", "import", tmp_path / name, "--out", out, "--force", "--json").json
    assert again["digest"] == found.digest


def test_what_cannot_be_imported(tmp_path):
    out = ("--out", tmp_path / "s.toml")
    assert "there is no file" in refused("schema", "import", tmp_path / "no.yaml", *out)
    (tmp_path / "a.json").write_text("{")
    assert "it is not JSON" in run("schema", "import", tmp_path / "a.json", *out, expect=1).err
    assert not (tmp_path / "s.toml").exists()
