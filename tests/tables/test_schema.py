"""What a schema says: of the ward's table, of itself as a parameter, and to people."""

import copy
import datetime
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import BaseEstimator, clone

import veilspan
from tables.schemas import AGE, WARD, schemas, small, without_unit
from veilspan.ledger.releases import pack, question_of, unpack
from veilspan.releases.encoding import Encoder, decode
from veilspan.tables.schema import Schema, SchemaError


@pytest.fixture(scope="module")
def ward():
    return Schema.load(WARD)


def test_the_example_becomes_bounded_columns(ward):
    weekdays = [f"admitted:weekday={d}" for d in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")]
    assert ward.columns_out == (
        "age", "creatinine", "creatinine=(missing)",
        "sex=female", "sex=male", "sex=diverse", "sex=(other)",
        "ward=A", "ward=B", "ward=C", "ward=D", "ward=E", "ward=(other)",
        "smoker", "admitted", *weekdays,
    )  # fmt: skip
    low, high = ward.bounds_out
    assert dict(zip(ward.columns_out, low))["creatinine"] == -1
    assert {name for name, bound in zip(ward.columns_out, low) if bound} == {
        "age", "creatinine", "admitted",
    }  # fmt: skip
    assert (high == 1).all()
    # age 1, creatinine 1 + 1, sex 1, ward 1, smoker 1, admitted 1 + 1
    assert ward.row_norm == np.sqrt(8)


def test_the_example_says_whom_it_protects(ward):
    assert (ward.protects, ward.neighbors, ward.count, ward.expected) == (
        "patient", "replace-one", 61_000, None,
    )  # fmt: skip
    assert ward.classes == ("no", "yes")
    assert ward.target.name == "readmitted"
    assert ward.target_range is None
    ward.check_people()
    ward.check_confirmed()


def test_the_example_without_its_unit_protects_rows():
    schema = Schema.from_toml(without_unit(WARD.read_text()))
    assert (schema.protects, schema.count) == ("row", None)
    schema.check_people()
    assert schema != Schema.load(WARD)


def test_targets_of_other_types():
    number = '[columns.y]\ntype = "number"\nrange = [-3, 5.5]\nrole = "target"\nsource = "s"\n'
    schema = small(AGE + number)
    assert schema.target_range == (-3.0, 5.5)
    assert schema.classes is None
    boolean = '[columns.y]\ntype = "boolean"\nrole = "target"\nsource = "s"\n'
    assert small(AGE + boolean).classes == (False, True)
    assert small(AGE + boolean).target.fill is None
    labels = '[columns.y]\ntype = "category"\ncategories = ["b", "Z", "a"]\nrole = "target"\n'
    schema = small(AGE + labels + 'source = "s"\n')
    assert schema.classes == ("Z", "a", "b")
    assert list(schema.classes) == np.unique(np.array(["b", "Z", "a"])).tolist()


def test_fills_that_are_left_out_are_the_middle():
    schema = small(
        '[columns.a]\ntype = "number"\nrange = [1, 100]\nscale = "log"\nsource = "s"\n'
        '[columns.b]\ntype = "integer"\nrange = [0, 5]\nsource = "s"\n'
        '[columns.c]\ntype = "date"\nrange = [2020-01-01, 2020-01-31]\nsource = "s"\n'
        '[columns.d]\ntype = "boolean"\nsource = "s"\n'
    )
    fills = [column.fill for column in schema.columns]
    assert fills == [pytest.approx(10), 2.0, datetime.date(2020, 1, 16), False]


def test_a_table_of_ratings():
    schema = small(
        '[columns.who]\nrole = "user"\n'
        '[columns.film]\nrole = "item"\ntype = "category"\ncategories = ["x", "y"]\nsource = "s"\n'
        '[columns.stars]\nrole = "rating"\ntype = "number"\nrange = [1, 5]\nsource = "s"\n'
        '[columns.when]\nrole = "time"\ntype = "date"\nrange = [2020-01-01, 2021-01-01]\n'
        'source = "s"\n'
    )
    assert schema.columns_out == ()
    assert schema.row_norm == 0
    assert schema.column_of_role("rating").range == (1.0, 5.0)
    assert [bound.shape for bound in schema.bounds_out] == [(0,), (0,)]


@settings(max_examples=60, deadline=None)
@given(schemas())
def test_names_bounds_and_lengths_fit_together(schema):
    low, high = schema.bounds_out
    assert len(schema.columns_out) == len(set(schema.columns_out)) == len(low) == len(high)
    assert (np.abs(low) <= 1).all()
    assert schema.row_norm <= np.sqrt(len(low)) + 1e-12


# As a parameter of an estimator.


def test_equal_by_digest(ward):
    again = Schema.from_toml(ward.to_toml())
    assert again == ward
    assert hash(again) == hash(ward)
    assert ward != small()
    assert ward != "ward"
    assert len({ward, again, small()}) == 2


def test_copies_are_itself_and_pickles_are_equal(ward):
    assert copy.copy(ward) is ward
    assert copy.deepcopy([ward])[0] is ward
    assert pickle.loads(pickle.dumps(ward)) == ward


def test_an_estimator_with_a_schema_is_cloned_and_shown(ward):
    class Model(BaseEstimator):
        def __init__(self, schema=None):
            self.schema = schema

    model = clone(Model(schema=ward))
    assert model.schema is ward
    assert "Schema ward-visits" in repr(model)


def test_a_ledger_knows_it_by_its_digest(ward):
    again = Schema.from_toml(ward.to_toml())
    assert question_of({"schema": ward}) == question_of({"schema": again})
    assert question_of({"schema": ward}) != question_of({"schema": small()})
    assert question_of({"schema": ward}) != question_of({"schema": ward.digest})
    assert unpack(pack({"schema_": ward}))["schema_"] == ward


def test_a_release_holds_the_whole_schema(ward):
    encoder = Encoder()
    record = encoder.encode(ward, "schema")
    assert record == {"veilspan": "schema", "arguments": [ward.to_toml()]}
    assert decode(record, encoder.arrays) == ward


def test_a_release_that_names_a_file_opens_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "codes.txt").write_text("A\n")
    text = (
        'veilspan_schema = 1\n[columns.a]\ntype = "category"\nother = true\nsource = "s"\n'
        'categories = {file = "codes.txt"}\n'
    )
    with pytest.raises(SchemaError, match="opens no file"):
        decode({"veilspan": "schema", "arguments": [text]}, {})
    folder = str(tmp_path)
    for more in ({"arguments": [text], "folder": folder}, {"arguments": [text, folder]}, {},
                 {"arguments": [3]}):  # fmt: skip
        with pytest.raises(ValueError, match="its schema is not a text"):
            decode({"veilspan": "schema", **more}, {})


def test_the_package_exports_it_late():
    assert veilspan.Schema is Schema
    assert veilspan.SchemaError is SchemaError
    assert issubclass(SchemaError, ValueError)


# For people.


def test_a_line_and_a_table(ward):
    assert repr(ward) == (
        "<Schema ward-visits: 9 columns, 22 encoded, one patient is protected, digest "
        f"{ward.digest[:12]}>"
    )
    lines = str(ward).splitlines()
    assert lines[0] == "Schema ward-visits, version 2026-11-16"
    assert any(line.startswith("age") and "Nobody is older." in line for line in lines)
    assert max(map(len, lines)) <= 130


def test_a_notebook_shows_a_table_without_markup_of_the_schema():
    schema = small(
        '[columns."<b>"]\ntype = "boolean"\nsource = "<script>alert(1)</script> \\u001b[31m"\n'
    )
    html = schema._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;" in html
    for text in (html, str(schema), repr(schema)):
        assert "\x1b" not in text


def test_unconfirmed_facts_are_named():
    schema = small(AGE.replace("Nobody is older.", "imported, unconfirmed"))
    assert schema.unconfirmed == ("columns.age",)
    assert "NOT CONFIRMED" in str(schema)
    with pytest.raises(SchemaError, match=r"columns\.age\.source"):
        schema.check_confirmed()
