"""Descriptions of other tools become schemas that no fit takes before a person confirms them."""

import datetime
import json
import sys

import pytest

from veilspan.tables.importers import import_schema
from veilspan.tables.schema import Schema, SchemaError

SMARTNOISE = """
engine: postgres
clinic:
  public:
    visits:
      rows: 5000
      max_ids: 1
      pid:
        type: int
        private_id: True
      age:
        type: int
        lower: 0
        upper: 110
        missing_value: 40
      weight:
        type: float
        lower: 2.5
        upper: 300.0
      no:
        type: boolean
      name:
        type: string
        card: 300
      born:
        type: datetime
      income:
        type: int
"""
FRICTIONLESS = {
    "name": "ward",
    "resources": [
        {
            "name": "visits",
            "description": "Visits.",
            "encoding": "ISO-8859-1",
            "dialect": {"delimiter": ";"},
            "schema": {
                "primaryKey": ["pid"],
                "missingValues": ["", "-"],
                "fields": [
                    {"name": "pid", "type": "string"},
                    {"name": "age", "type": "integer",
                     "constraints": {"minimum": 0, "maximum": 110}},
                    {"name": "weight", "type": "number", "decimalChar": ",",
                     "constraints": {"minimum": "2.5", "maximum": 300}},
                    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
                    {"name": "grade", "type": "integer", "constraints": {"enum": [1, 2]}},
                    {"name": "size", "type": "string",
                     "categories": [{"value": "S", "label": "small"}, {"value": "L"}]},
                    {"name": "smoker", "type": "boolean", "trueValues": ["j"],
                     "falseValues": ["n"]},
                    {"name": "born", "type": "date", "format": "%d.%m.%Y",
                     "constraints": {"minimum": "1900-01-01", "maximum": "2025-12-31"}},
                    {"name": "note", "type": "string"},
                    {"name": "place", "type": "geopoint"},
                    {"name": "height", "type": "number"},
                    {"name": "dose", "type": "number",
                     "constraints": {"minimum": 0, "maximum": 5}},
                ],
            },
        }
    ],
}  # fmt: skip
CSVW = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "data/visits.csv",
    "dc:title": "Visits",
    "null": ["", "-"],
    "dialect": {"delimiter": "\t", "encoding": "utf-8"},
    "tableSchema": {
        "primaryKey": "pid",
        "columns": [
            {"name": "pid", "titles": "Patient"},
            {"name": "age", "titles": ["Age", "Years"],
             "datatype": {"base": "nonNegativeInteger", "minimum": 0, "maximum": "110"}},
            {"name": "weight", "titles": {"en": ["Weight"]},
             "datatype": {"base": "decimal", "minInclusive": 2.5, "maxInclusive": 300,
                          "format": {"decimalChar": ","}}},
            {"name": "smoker", "datatype": {"base": "boolean", "format": "Y|N"}},
            {"name": "sex", "datatype": {"base": "string", "format": "f|m"}},
            {"name": "born", "datatype": {"base": "date", "format": "dd.MM.yyyy",
                                          "minimum": "1900-01-01", "maximum": "2025-12-31"}},
            {"name": "note"},
            {"name": "where", "datatype": "anyURI"},
            {"name": "made", "virtual": True},
        ],
    },
}  # fmt: skip


def write(folder, document):
    path = folder / "description"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def roles(schema):
    return {column.name: (column.role, column.type) for column in schema.columns}


def test_smartnoise(tmp_path):
    schema = import_schema(write(tmp_path, SMARTNOISE))
    assert schema.name == "visits"
    assert roles(schema) == {
        "pid": ("id", ""), "age": ("use", "integer"), "weight": ("use", "number"),
        "no": ("use", "boolean"), "name": ("ignore", ""), "born": ("ignore", ""),
        "income": ("ignore", ""),
    }  # fmt: skip
    assert schema.columns[1].range == (0, 110)
    assert schema.columns[1].fill == 40
    assert schema.unit.protects == "person"
    assert (schema.unit.id, schema.neighbors, schema.expected) == (None, "add-remove", 5000)
    assert "columns.income, its range is not given" in schema.notes


def test_smartnoise_with_several_rows_a_person(tmp_path):
    schema = import_schema(write(tmp_path, SMARTNOISE.replace("max_ids: 1", "max_ids: 4")))
    assert (schema.unit.id, schema.unit.max_rows, schema.expected) == ("pid", 4, None)
    assert schema.unconfirmed[0] == "unit"
    by_row = SMARTNOISE.replace("max_ids: 1", "max_ids: 4\n      row_privacy: True")
    assert import_schema(write(tmp_path, by_row)).protects == "row"
    exact = import_schema(write(tmp_path, SMARTNOISE.replace("rows: 5000", "rows_exact: 5000")))
    assert (exact.neighbors, exact.count) == ("replace-one", 5000)


def test_frictionless(tmp_path):
    schema = import_schema(write(tmp_path, FRICTIONLESS))
    assert (schema.name, schema.about) == ("visits", "Visits.")
    assert roles(schema) == {
        "pid": ("id", ""), "age": ("use", "integer"), "weight": ("use", "number"),
        "sex": ("use", "category"), "grade": ("use", "category"), "size": ("use", "category"),
        "smoker": ("use", "boolean"), "born": ("use", "date"), "note": ("ignore", ""),
        "place": ("ignore", ""), "height": ("ignore", ""), "dose": ("ignore", ""),
    }  # fmt: skip
    by_name = {column.name: column for column in schema.columns}
    assert by_name["grade"].categories == ("1", "2")
    assert by_name["size"].categories == ("S", "L")
    assert by_name["smoker"].true == ("j",)
    assert by_name["born"].range == (datetime.date(1900, 1, 1), datetime.date(2025, 12, 31))
    assert (schema.file.separator, schema.file.decimal, schema.file.encoding) == (
        ";", ",", "latin-1",
    )  # fmt: skip


def test_frictionless_alone(tmp_path):
    alone = FRICTIONLESS["resources"][0]["schema"]
    with pytest.raises(SchemaError, match='"," separates cells already'):
        import_schema(write(tmp_path, alone))  # it says a mark, and no separator
    fields = [field for field in alone["fields"] if field["name"] != "weight"]
    assert len(import_schema(write(tmp_path, {**alone, "fields": fields})).columns) == 11
    assert len(import_schema(write(tmp_path, FRICTIONLESS["resources"][0])).columns) == 12


def test_csvw(tmp_path):
    schema = import_schema(write(tmp_path, CSVW))
    assert (schema.name, schema.about) == ("visits", "Visits")
    assert roles(schema) == {
        "Patient": ("id", ""), "Age": ("use", "integer"), "Weight": ("use", "number"),
        "smoker": ("use", "boolean"), "sex": ("use", "category"), "born": ("use", "date"),
        "note": ("ignore", ""), "where": ("ignore", ""),
    }  # fmt: skip
    by_name = {column.name: column for column in schema.columns}
    assert by_name["smoker"].true == ("Y",)
    assert by_name["born"].format == "%d.%m.%Y"
    assert (schema.file.separator, schema.file.decimal, schema.file.missing) == (
        "\t", ",", ("", "-"),
    )  # fmt: skip


def test_one_of_several_tables(tmp_path):
    two = {"@context": "http://www.w3.org/ns/csvw",
           "tables": [{**CSVW, "url": "a.csv"}, {**CSVW, "url": "b.csv"}]}  # fmt: skip
    path = write(tmp_path, two)
    with pytest.raises(SchemaError, match='say which table, of "a'):
        import_schema(path)
    assert import_schema(path, table="b.csv").name == "b"


@pytest.mark.parametrize("document", [SMARTNOISE, FRICTIONLESS, CSVW])
def test_no_imported_fact_is_confirmed(tmp_path, document):
    schema = import_schema(write(tmp_path, document))
    used = [f"columns.{column.name}" for column in schema.features]
    assert [place for place in schema.unconfirmed if place != "unit"] == used
    with pytest.raises(SchemaError, match="say where you know them from"):
        schema.check_confirmed()
    confirmed = schema.to_toml().replace("imported, unconfirmed", "Manual, page 3")
    Schema.from_toml(confirmed).check_confirmed()


WRONG = {
    "nothing": "",
    "a word": "word",
    "a list": "[1, 2]",
    "half of JSON": '{"fields": [',
    "keys twice": '{"fields": [], "fields": []}',
    "deep JSON": "[" * 100_000,
    "deep YAML": "a: " + "[" * 100_000,
    "YAML of objects": "a: !!python/object/apply:os.system ['echo']\nb: &x [*x",
    "tables of numbers": "a: {b: {c: 3}}",
    "no fields": '{"fields": 3}',
    "field of a number": '{"fields": [3]}',
    "field without a name": '{"fields": [{"type": "integer"}]}',
    "nothing to use": '{"fields": [{"name": "a", "type": "string"}]}',
    "range turned": '{"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": 3,'
    ' "maximum": 1}}]}',
    "range endless": '{"fields": [{"name": "a", "type": "number", "constraints": {"minimum": 3,'
    ' "maximum": Infinity}}]}',
    "labels of lists": '{"fields": [{"name": "a", "constraints": {"enum": [[1], {}]}}]}',
    "control characters": '{"fields": [{"name": "\\u001b[31m", "type": "boolean"}]}',
    "no schema": '{"@context": "http://www.w3.org/ns/csvw"}',
    "types of lists": '{"@context": "c", "tableSchema": {"columns": [{"name": "a", "datatype": '
    '{"base": [1]}}]}}',
    "titles of nothing": '{"@context": "c", "tableSchema": {"columns": [{"titles": []}]}}',
    "marks of lists": '{"fields": [{"name": "a", "type": "number", "decimalChar": [1],'
    ' "constraints": {"minimum": 0, "maximum": 1}}]}',
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_descriptions_are_refused(tmp_path, name):
    with pytest.raises(SchemaError) as caught:
        import_schema(write(tmp_path, WRONG[name]))
    assert str(caught.value).replace("\n", "").isprintable()


def test_files_that_are_none(tmp_path):
    with pytest.raises(SchemaError, match="is a folder"):
        import_schema(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="not UTF-8"):
        import_schema(tmp_path / "bytes")
    with pytest.raises(ValueError, match="form is one of"):
        import_schema(tmp_path / "bytes", "excel")


def test_yaml_is_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match="PyYAML"):
        import_schema(write(tmp_path, SMARTNOISE))
    assert import_schema(write(tmp_path, CSVW)).name == "visits"
