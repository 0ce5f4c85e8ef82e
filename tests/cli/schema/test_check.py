"""``veilspan schema check``: all problems at once, with what to do, and the header of a table."""

import json

import pytest

from cli.commands import refused, run
from cli.ward import SECRET, save_ward, ward_csv, ward_toml


@pytest.fixture
def ward(tmp_path):
    return save_ward(tmp_path)


def test_nothing_to_do(ward):
    table, schema = ward
    said = run("schema", "check", schema, table).out.splitlines()
    assert said[0].startswith(f"{schema}: no problems. Schema ward: 9 columns, 22 encoded")
    assert (
        said[1] == f"{table}: no problems. Its columns are those of the schema; no cell was read."
    )


def test_all_problems_at_once_each_with_what_to_do(ward):
    table, schema = ward
    text = ward_toml().replace('"integer"', '"interger"').replace("fill   = 80", "fill = 8")
    schema.write_text(text.replace('source = "Nobody is older."', 'sauce = ""').replace(
        'categories = ["A", "B", "C", "D", "E"]', 'categories = ["A", "A"]'))  # fmt: skip
    lines = run("schema", "check", schema, table, expect=1).out.splitlines()
    assert lines[0] == f"{schema} has 4 problems:"
    said = "\n".join(lines[1:5])
    for part in (
        'columns.age.type: "interger" is none of',
        'Did you mean "integer"?',
        'columns.age.sauce: is not a key. Did you mean "source"?',
        "columns.creatinine.fill: is a number within the range, from 20 to 1500.",
        'columns.ward.categories: "A" is there twice',
    ):
        assert part in said
    assert lines[5].startswith(f"{table}: no problems.")  # its header is compared all the same
    found = json.loads(run("schema", "check", schema, table, "--json", expect=1).out)
    assert len(found["problems"]) == 4
    assert found["digest"] is None
    assert found["data_problems"] == []


def test_the_header_of_a_table(ward):
    table, schema = ward
    header, _, rows = ward_csv().partition("\n")
    wrong = header.replace("age", "Age").replace("creatinine", "kreatinin")
    table.write_text(f"{wrong}\n{rows}")
    said = run("schema", "check", schema, table, expect=1).out
    assert 'It has no column "age". Did you mean "Age"?' in said
    assert 'It has no column "creatinine". Did you mean "kreatinin"?' in said
    assert 'It has a column "Age" that the schema does not declare' in said
    assert "no problems. Schema ward" in said
    table.write_text(f"{header.replace('note', 'age')}\n{rows}")
    said = run("schema", "check", schema, table, expect=1).out
    assert "each by another name; two are the same" in said
    table.write_text(ward_csv().replace(",", ";"))
    said = run("schema", "check", schema, table, expect=1).out
    assert 'It is separated by ";", it seems: say so in the schema' in said
    for text, what in (("", "is empty"), ("\n\n", "begins with an empty line")):
        table.write_text(text)
        assert what in run("schema", "check", schema, table, expect=1).out
    table.write_text(",".join(map(str, range(2_000_000))))
    assert "has 2,000,000 columns" in run("schema", "check", schema, table, expect=1).out


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_file_without_a_header_is_not_quoted(separator, ward):
    table, schema = ward
    row = f"{SECRET},61,71.5,female,B,no,2021-05-06,yes,see letter of {SECRET}\n"
    table.write_text(row.replace(",", separator))
    said = run("schema", "check", schema, table, expect=1)
    assert "must name the columns" in said.out
    assert SECRET not in said.out + said.err
    said = run("fit", "pca", table, "--schema", schema, "--out", table.parent / "r", expect=1)
    assert SECRET not in said.out + said.err
    assert "71.5" not in said.err


def test_columns_that_are_not_read_may_be_absent(ward):
    table, schema = ward
    lines = [line.partition(",")[2] for line in ward_csv().splitlines()]
    table.write_text("\n".join(lines))
    run("schema", "check", schema, table)


def test_what_is_no_schema(tmp_path):
    path = tmp_path / "a.toml"
    assert "there is no schema" in refused("schema", "check", path)
    path.write_text("name = [")
    assert "it is not TOML" in run("schema", "check", path, expect=1).out
    path.write_text("columns = 3\nfile = 4\n")
    assert "is a table, [columns], not 3" in run("schema", "check", path, expect=1).out
    (tmp_path / "a.csv").write_text("x,y\n")
    run("schema", "check", path, tmp_path / "a.csv", expect=1)
    path.write_text("[file]\nseparator = 3\n[columns]\nx = 2\n[columns.y]\nrole = 7\n")
    run("schema", "check", path, tmp_path / "a.csv", expect=1)
    path.unlink()
    path.mkdir()
    assert "is a folder" in run("schema", "check", path, expect=1).out


def test_several_rows_a_person_are_no_problem(ward):
    _, schema = ward
    text = ward_toml().replace("[unit]", '[unit]\nid = "patient_id"\nmax_rows = 3')
    schema.write_text(text.replace('[columns.patient_id]\nrole = "ignore"',
                                   '[columns.patient_id]\nrole = "id"'))  # fmt: skip
    result = run("schema", "check", schema)
    assert "no problems" in result.out


def test_columns_that_are_stored_as_what_is_not_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table, schema = tmp_path / "a.parquet", tmp_path / "a.toml"
    pq.write_table(pa.table({"age": [[1], [2]], "note": [b"a", b"b"]}), table)
    schema.write_text(
        'veilspan_schema = 1\n[columns.age]\ntype = "integer"\nrange = [0, 110]\nsource = "s"\n'
        '[columns.note]\nrole = "ignore"\n'
    )
    said = run("schema", "check", schema, table, expect=1).out
    assert 'column "age" is stored in a way that is not read' in said
    assert "note" not in said


def test_a_count_that_is_not_the_number_of_rows(ward):
    table, schema = ward
    lines = ward_csv().splitlines()
    for rows, said in (
        (10, "the table has 10 rows, the schema says"),
        (0, "the table must have at least 2 rows"),
    ):
        table.write_text("\n".join(lines[: rows + 1]) + "\n")
        assert said in run("schema", "check", schema, table).out
        told = json.loads(run("schema", "check", schema, table, "--json").out)
        assert any(hint.startswith(said) for hint in told["data_hints"])
    private = ward_toml().splitlines()
    private = [line for line in private if not line.startswith("count")]
    schema.write_text("\n".join(private).replace("[unit]", '[unit]\nneighbors = "add-remove"'))
    assert "rows" not in run("schema", "check", schema, table).out


def test_empty_cells_that_count_as_the_middle_are_said(ward):
    _, schema = ward
    assert "empty cells" not in run("schema", "check", schema).out  # all say what they count as
    schema.write_text(ward_toml().replace("fill   = 50\n", ""))
    said = run("schema", "check", schema).out
    assert "empty cells count as the middle of the range: age as 55. If that is not" in said
    assert "say fill = ... or missing_column = true" in said
    assert "creatinine" not in said  # which has a column of its own for them


def test_a_schema_without_a_target_says_so(ward):
    _, schema = ward
    assert "no column has role" not in run("schema", "check", schema).out
    schema.write_text(ward_toml().replace('role       = "target"', 'role = "use"\nother = true'))
    said = run("schema", "check", schema).out
    assert 'no column has role = "target" yet: models that predict need one' in said
