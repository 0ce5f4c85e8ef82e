"""``veilspan schema init``: drafts without a look at a cell, and guesses that say what they are."""

import io
import os
import stat
import sys
import tomllib

import pytest

from cli.commands import refused, run
from cli.ward import HOSTILE, SECRET, save_ward, ward_csv
from veilspan import Schema, SchemaError, open_table
from veilspan.cli.schema.guess import round_outwards
from veilspan.tables.columns import UNCONFIRMED
from veilspan.tables.suggestions import suggest_lines


@pytest.fixture
def ward(tmp_path):
    return save_ward(tmp_path)[0]


def test_a_draft_names_every_column_and_knows_nothing_else(ward, tmp_path):
    out = tmp_path / "draft.toml"
    said = run("schema", "init", ward, "--out", out).out
    assert f"A draft with 9 columns of {ward} is in {out} (no cell was read)." in said
    assert f"veilspan schema check {out} {ward}" in said
    document = tomllib.loads(out.read_text())
    assert 'the column that models are to predict needs   role = "target"' in out.read_text()
    assert list(document["columns"]) == ward_csv().split("\n")[0].split(",")
    assert all(facts == {"source": ""} for facts in document["columns"].values())
    assert document["name"] == "ward"
    with pytest.raises(SchemaError) as caught:
        Schema.load(out)
    assert {problem.place for problem in caught.value.problems} == {
        f"columns.{name}.type" for name in document["columns"]
    }


def test_suggestions_that_only_lost_their_mark_are_still_to_do(ward, tmp_path):
    """Ranges and lists in a draft are empty: nobody takes over a number that nobody has said."""
    run("schema", "init", ward, "--out", tmp_path / "d.toml")
    head, *columns = (tmp_path / "d.toml").read_text().split("[columns.")
    lines = "[columns.".join([head, *(part.replace("\n# ", "\n") for part in columns)])
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(lines)
    places = {problem.place for problem in caught.value.problems}
    assert {"columns.age.range", "columns.age.source", "columns.sex.categories"} <= places
    assert {"columns.admitted.range", "columns.smoker.true"} <= places
    assert not any(place.startswith(("columns.patient_id", "columns.note")) for place in places)


def test_no_cell_is_read(tmp_path):
    """The file ends inside a row that nobody could read; only its first line is there to read."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"age,sex\n" + SECRET.encode() + b"\xff\x00")
    run("schema", "init", path, "--out", tmp_path / "a.toml")
    assert SECRET not in (tmp_path / "a.toml").read_text()


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("patientId", "role", '"id"'),
        ("Notes", "role", '"ignore"'),
        ("date_of_birth", "type", '"date"'),
        ("age", "type", '"integer"'),
        ("sex", "type", '"category"'),
        ("is_married", "type", '"boolean"'),
        ("creatinine", "type", '"number"'),
        ("Visit No", "role", '"id"'),
        ("insurance_number", "role", '"id"'),
        ("number_of_children", "type", '"integer"'),
        ("Insurance", "type", '"category"'),  # public or private, not whose it is
        ("No-show", "type", '"number"'),  # nothing is known of it
    ],
)
def test_names_suggest_types(name, key, value):
    first = suggest_lines(name, "text")[0]
    assert (first.key, first.value, first.suggested) == (key, value, True)


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_declared_types_are_taken(suffix, tmp_path):
    frame = pytest.importorskip("pandas").DataFrame({
        "a": [1, 2], "b": [0.5, 1.5], "c": [True, False], "d": [SECRET, "x"],
    })  # fmt: skip
    frame["e"] = frame["a"].astype("datetime64[s]")
    frame["f"] = frame["d"].astype("category")
    pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{suffix}"
    frame.to_parquet(path) if suffix == "parquet" else frame.to_feather(path)
    run("schema", "init", path, "--out", tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text()
    assert SECRET not in text
    assert "names and declared types of its columns: no cell was read" in text
    found = {name: facts.get("type") for name, facts in tomllib.loads(text)["columns"].items()}
    assert [found[name] for name in "abcde"] == ["integer", "number", "boolean", None, "date"]
    assert "[file]" not in text


def test_a_guess_says_what_it_is_and_no_fit_takes_it(ward, tmp_path):
    out = tmp_path / "guess.toml"
    result = run("schema", "init", ward, "--out", out, "--guess")
    assert "its cells were looked at" in result.out
    assert "not public" in result.err
    assert "not covered by its promise" in result.err
    text = out.read_text()
    assert "# WARNING: made with --guess" in text
    if os.name == "posix":
        assert stat.S_IMODE(out.stat().st_mode) == 0o600  # it tells of rows
    schema = Schema.load(out)
    types = {column.name: column.type for column in schema.columns}
    assert types == {
        "patient_id": "", "age": "integer", "creatinine": "number", "sex": "category",
        "ward": "category", "smoker": "boolean", "admitted": "date", "readmitted": "boolean",
        "note": "category",
    }  # fmt: skip
    assert {c.source for c in schema.columns if c.type} == {UNCONFIRMED}
    said = run("schema", "check", out, expect=1).out
    assert "columns.age.source: was imported and is not confirmed" in said
    result = run("fit", "pca", ward, "--schema", out, "--out", tmp_path / "r", expect=1)
    assert "columns.age.source: was imported and is not confirmed" in result.err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_guess_shows_no_cell_on_the_screen(what, ward, tmp_path):
    """The draft may hold cells, and says so; the screen and the errors hold none."""
    lines = ward_csv().splitlines()
    for place in range(3, 300):
        cells = lines[place].split(",")
        cells[3] = HOSTILE[what][:100]
        lines[place] = ",".join(cells)
    ward.write_bytes("\n".join(lines).encode())
    result = run("schema", "init", ward, "--out", tmp_path / "g.toml", "--guess")
    assert SECRET not in result.out + result.err
    tomllib.loads((tmp_path / "g.toml").read_text())
    said = run("schema", "check", tmp_path / "g.toml", ward, expect=1)
    assert "\x1b" not in said.out + said.err


def test_guesses_of_stored_types(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({
        "n": [1, 2, None] * 4, "b": [True, False, None] * 4, "empty": [None] * 12,
        "id": [f"x{i}" for i in range(12)], "d": pandas.to_datetime(["2021-05-06"] * 12),
        "many": [f"t{i % 6}" for i in range(12)], "de": ["1.2.2020", "31.12.2021", ""] * 4,
    })  # fmt: skip
    frame.to_parquet(tmp_path / "a.parquet")
    run("schema", "init", tmp_path / "a.parquet", "--out", tmp_path / "a.toml", "--guess")
    columns = tomllib.loads((tmp_path / "a.toml").read_text())["columns"]
    assert columns["b"]["type"] == "boolean"
    assert columns["empty"]["role"] == "ignore"
    assert columns["id"]["role"] == "id"
    assert [str(day) for day in columns["d"]["range"]] == ["2021-01-01", "2021-12-31"]
    assert columns["de"]["format"] == "%d.%m.%Y"
    assert len(columns["many"]["categories"]) == 6
    Schema.load(tmp_path / "a.toml")


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (0, 104, (0, 110)), (3, 97, (0, 100)), (-99, 104, (-100, 110)), (5, 5, (4, 6)),
        (0.013, 0.018, (0.013, 0.018)), (1.2e6, 3.4e6, (1.2e6, 3.4e6)), (0, 0, (-1, 1)),
    ],
)  # fmt: skip
def test_ranges_are_rounded_outwards(low, high, wanted):
    first, last = round_outwards(low, high)
    assert first <= low
    assert last >= high
    assert (first, last) == pytest.approx(wanted)


def test_german_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe;gewicht\n1,75;80,5\n1,8;90\n".encode("latin-1"))
    assert "try --separator ';'" in refused("schema", "init", path, "--out", tmp_path / "a.toml")
    words = ("--separator", ";", "--decimal", ",", "--encoding", "latin-1", "--guess")
    run("schema", "init", path, "--out", tmp_path / "a.toml", *words)
    schema = Schema.load(tmp_path / "a.toml")
    assert (schema.file.separator, schema.file.decimal, schema.file.encoding) == (
        ";", ",", "latin-1"
    )  # fmt: skip
    assert [column.name for column in schema.columns] == ["größe", "gewicht"]
    assert schema.columns[0].type == "number"
    said = refused("schema", "init", path, "--out", tmp_path / "b.toml", "--separator", "::")
    assert said.startswith("--separator is one ASCII character")
    said = refused("schema", "init", path, "--out", tmp_path / "b.toml", "--encoding", "utf-61")
    assert "is none of utf-8" in said


def test_a_guess_names_the_other_decimal_mark(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("weight;town\n" + "".join(f"{60 + i},5;A\n" for i in range(60)))
    words = ("schema", "init", path, "--separator", ";", "--guess", "--force")
    run(*words, "--out", tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text()
    assert "# numbers like 1,5? Then init with --decimal ','\n" in text
    assert text.count("--decimal") == 1
    run(*words, "--out", tmp_path / "a.toml", "--decimal", ",")
    text = (tmp_path / "a.toml").read_text()
    assert "--decimal" not in text
    assert tomllib.loads(text)["columns"]["weight"]["type"] == "number"


@pytest.mark.parametrize(
    "first", [f"{SECRET},1.5,2", f"{SECRET},2020-01-31", f"{SECRET},NA", f"{SECRET},,x"]
)
def test_a_row_is_not_taken_for_names(first, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\n{first}\n")
    said = refused("schema", "init", path, "--out", tmp_path / "a.toml")
    assert "may be a row and not the names of the columns" in said
    assert SECRET not in said
    assert not (tmp_path / "a.toml").exists()
    run("schema", "init", path, "--out", tmp_path / "a.toml", "--header")


def test_the_index_of_a_data_frame_is_ignored(tmp_path):
    """pandas writes it in front, without a name: the most usual file of all."""
    path, out = tmp_path / "a.csv", tmp_path / "a.toml"
    path.write_text(",age\n0,41\n1,42\n")
    assert "--header" in refused("schema", "init", path, "--out", out)
    run("schema", "init", path, "--out", out, "--header")
    text = out.read_text()
    assert tomllib.loads(text)["columns"][""]["role"] == "ignore"
    text = text.replace("# type", "type").replace("# range = []", "range = [0, 110]")
    out.write_text(text.replace('source = ""', 'source = "nobody is older"'))
    assert "no problems" in run("schema", "check", out, path).out
    schema = Schema.load(out)
    assert Schema.from_toml(schema.to_toml()) == schema
    assert len(schema.encode(open_table(path))) == 2


def test_lines_that_end_with_a_carriage_return_alone_are_no_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(f"name,town\r{SECRET},Bern\r".encode())
    said = refused("schema", "init", path, "--out", tmp_path / "a.toml", "--header")
    assert "carriage return alone" in said
    assert SECRET not in said
    assert not (tmp_path / "a.toml").exists()


def test_standard_input(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"age,sex\n1,2\n")))
    said = run("schema", "init", "-", "--out", tmp_path / "a.toml").out
    assert "standard input" in said
    assert list(tomllib.loads((tmp_path / "a.toml").read_text())["columns"]) == ["age", "sex"]


def test_what_cannot_be_drafted(ward, tmp_path):
    out = ("--out", tmp_path / "a.toml")
    assert "there is no file" in refused("schema", "init", tmp_path / "no.csv", *out)
    assert "must end in .toml" in refused("schema", "init", ward, "--out", tmp_path / "a.txt")
    (tmp_path / "a.toml").write_text("hours of work")
    assert "exists; choose another" in refused("schema", "init", ward, *out)
    assert (tmp_path / "a.toml").read_text() == "hours of work"
    run("schema", "init", ward, *out, "--force")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    out = ("--out", tmp_path / "b.toml")
    assert "is empty" in refused("schema", "init", empty, *out)
    empty.write_text(",".join(f"c{i}" for i in range(2_000_000)) + "\n")
    assert "has 2,000,000 columns; at most 100,000" in refused("schema", "init", empty, *out)
    empty.write_text(f"{SECRET},b,{SECRET}\n")
    said = run("schema", "init", empty, *out, expect=1).err
    assert "each by another name; two are the same" in said
    assert SECRET not in said
    url = "postgresql://me:" + SECRET + "@localhost/db"
    said = refused("schema", "init", url, "--table", "t", *out)
    assert SECRET not in said
    assert "PGPASSWORD" in said


def test_names_of_every_kind(tmp_path):
    """What is a column's name is no TOML, and no escape for a terminal."""
    path = tmp_path / "a.csv"
    names = ["blood pressure", "a.b", 'say ""x""', "größe", "x\x1b[31m", "#", "[t]"]
    path.write_text(",".join(f'"{name}"' for name in names) + "\n")
    run("schema", "init", path, "--out", tmp_path / "a.toml")
    text = (tmp_path / "a.toml").read_text()
    assert "\x1b" not in text
    found = list(tomllib.loads(text)["columns"])
    assert found == [name.replace('""', '"') for name in names]
