"""``veilspan fit``, ``plan``, ``transform`` and ``predict`` with ``--schema``."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from cli.commands import read_csv, refused, run
from cli.ward import COUNT, HOSTILE, SECRET, save_ward, ward_csv, ward_toml
from ledger.server import fresh_database, running_server, why_no_server
from veilspan import Ledger, Schema
from veilspan.releases import load

#: Quicker than the solver that is chosen by default.
QUICK = ("-p", "solver=objective")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the table, its schema and a classifier that was fitted by it."""
    folder = tmp_path_factory.mktemp("ward")
    table, schema = save_ward(folder)
    run("fit", "logistic", table, "--schema", schema, "--out", folder / "logistic", *QUICK)
    return folder


@pytest.fixture
def files(place):
    return place / "ward.csv", place / "ward.toml"


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("pca", ("-p", "n_components=2")),
        ("robust-pca", ("-p", "n_components=2")),
        ("logistic", QUICK),
        ("svc", QUICK),
    ],
)
def test_kinds(kind, more, files, tmp_path):
    table, schema = files
    result = run("fit", kind, table, "--schema", schema, "--out", tmp_path / "r", *more, "--json")
    digest = Schema.load(schema).digest
    assert result.json["schema"] == {"name": "ward", "digest": digest}
    assert result.json["privacy"]["schema"]["digest"] == digest
    assert result.json["columns"] == list(Schema.load(schema).columns_out)
    model = load(tmp_path / "r")
    assert model.schema == Schema.load(schema)
    assert model.privacy_.unit == "patient" or "patient" in model.privacy_.unit
    assert result.json["report"]


def test_a_number_is_predicted(place, tmp_path):
    text = ward_toml().replace('[columns.readmitted]\nrole       = "target"\n',
                               '[columns.readmitted]\nfill = "no"\n')  # fmt: skip
    text = text.replace("[columns.age]\n", '[columns.age]\nrole = "target"\n')
    (tmp_path / "s.toml").write_text(text.replace("fill   = 50\n", ""))
    words = ("fit", "ridge", place / "ward.csv", "--schema", tmp_path / "s.toml")
    run(*words, "--out", tmp_path / "r", "-p", "solver=statistics")
    run("predict", tmp_path / "r", place / "ward.csv", "--out", tmp_path / "p.csv")
    ages = np.array([line[0] for line in read_csv(tmp_path / "p.csv")[1:]], dtype=float)
    assert len(ages) == COUNT
    said = refused("fit", "logistic", place / "ward.csv", "--schema", tmp_path / "s.toml",
                   "--out", tmp_path / "q")  # fmt: skip
    assert "predicts classes, and the schema's target holds numbers: use linear, ridge" in said


def test_what_is_printed(files, tmp_path):
    table, schema = files
    shown = run("fit", "logistic", table, "--schema", schema, "--out", tmp_path / "r", *QUICK).out
    assert "protects   one patient" in shown
    assert (
        "Learned from age, creatinine, sex, ward, smoker, admitted to predict readmitted, read by "
        "the schema\nward, digest "
    ) in shown
    assert "which is part of the release." in shown


# Every sort of table gives the same rows.


def predict_all(place, data, tmp_path, *more):
    out = tmp_path / "p.csv"
    run("predict", place / "logistic", data, "--out", out, "--proba", *more)
    lines = read_csv(out)
    assert lines[0] == ["probability_no", "probability_yes"]
    return np.array(lines[1:], dtype=float)


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "feather", "arrow", "-"])
def test_every_sort_of_table(suffix, place, tmp_path, monkeypatch):
    wanted = predict_all(place, place / "ward.csv", tmp_path)
    assert wanted.shape == (COUNT, 2)
    np.testing.assert_allclose(wanted.sum(axis=1), 1)
    path = tmp_path / f"ward.{suffix}"
    if suffix in ("parquet", "feather", "arrow"):
        pytest.importorskip("pyarrow")
        frame = pytest.importorskip("pandas").read_csv(
            io.StringIO(ward_csv()), dtype=str, keep_default_na=False
        )
        frame.to_parquet(path) if suffix == "parquet" else frame.to_feather(path)
    elif suffix == "tsv":
        path.write_text("\n".join("\t".join(line) for line in read_csv(place / "ward.csv")))
    else:
        path = "-"
        stream = io.TextIOWrapper(io.BytesIO(ward_csv().encode()))
        monkeypatch.setattr(sys, "stdin", stream)
    np.testing.assert_array_equal(predict_all(place, path, tmp_path), wanted)


def test_a_fit_reads_the_standard_input(place, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ward_csv().encode())))
    words = ("--schema", place / "ward.toml", "--out", tmp_path / "r", "-p", "n_components=1")
    run("fit", "pca", "-", *words)
    assert load(tmp_path / "r").n_features_in_ == 22


def test_a_table_of_a_database(place, tmp_path):
    if why_no_server():
        pytest.skip(why_no_server())
    psycopg = pytest.importorskip("psycopg")
    with running_server() as server, fresh_database(server) as url:
        names = ward_csv().partition("\n")[0].split(",")
        with psycopg.connect(url, autocommit=True) as connection:
            columns = ", ".join(f'"{name}" text' for name in names)
            connection.execute(f"CREATE TABLE visits ({columns})")
            with connection.cursor().copy("COPY visits FROM STDIN (FORMAT csv, HEADER)") as copy:
                copy.write(ward_csv())
        found = predict_all(place, url, tmp_path, "--table", "visits")
        assert sorted(map(tuple, found)) == sorted(
            map(tuple, predict_all(place, place / "ward.csv", tmp_path))
        )
        run("schema", "check", place / "ward.toml", url, "--table", "visits")
        run("schema", "init", url, "--table", "visits", "--out", tmp_path / "d.toml")
        assert "[columns.creatinine]" in (tmp_path / "d.toml").read_text()
        words = ("--schema", place / "ward.toml", "--out", tmp_path / "r", *QUICK)
        run("fit", "logistic", url, "--table", "visits", *words)
        run("fit", "logistic", url, "--table", "nothing", *words, "--force", expect=1)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@localhost/db",
        f"postgres://localhost/db?user=me&password={SECRET}",
        f"postgresql://localhost/db?sslpassword={SECRET}",
        f"postgresql://me:a/{SECRET}@localhost/db",
    ],
)
def test_a_password_on_the_command_line_is_refused(url, place, tmp_path):
    words = ("--table", "t", "--schema", place / "ward.toml", "--out", tmp_path / "r")
    said = refused("fit", "logistic", url, *words)
    assert SECRET not in said
    assert said.endswith("leave it out and set PGPASSWORD, or use ~/.pgpass.")


# Options that a schema answers.


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--columns", "age"),
            "beside --schema leave out --columns: the schema says which columns",
        ),
        (("--target", "age"), "leave out --target: the schema says which column is predicted."),
        (("--separator", ";"), "leave out --separator: the schema says how the file is written"),
        (("--encoding", "latin-1"), "leave out --encoding"),
        (("--no-header",), "leave out --header"),
        (("-p", "classes=no,yes"), "leave out -p classes: the schema says the classes."),
        (("-p", "feature_range=0,1", "--items", "observed"), "leave out --items, -p feature_range"),
        (("-p", "schema=x"), "schema is set by --schema, not by --param."),
        (("--neighbors", "add-remove"), "the schema promises replace-one, --neighbors says add"),
        (("--table", "visits"), "--table is for postgresql://host/database, not for files."),
    ],
)
def test_nothing_is_said_twice(words, sentence, files, tmp_path):
    table, schema = files
    out = ("--out", tmp_path / "r")
    said = refused("fit", "logistic", table, "--schema", schema, *out, *words)
    assert sentence in said
    assert not (tmp_path / "r").exists()


def test_kinds_that_a_schema_cannot_feed(files, tmp_path):
    table, schema = files
    words = (table, "--schema", schema, "--out", tmp_path / "r")
    assert "reads points, not columns" in refused("fit", "frechet", *words)
    assert "roles user, item and rating" in refused("fit", "recommend", *words)
    assert "predicts numbers, and the schema's target holds classes" in refused(
        "fit", "ridge", *words
    )
    plain = tmp_path / "s.toml"
    plain.write_text(ward_toml().replace('role       = "target"', 'fill = "no"'))
    said = refused("fit", "logistic", table, "--schema", plain, "--out", tmp_path / "r")
    assert said == (
        'logistic predicts a column: give one of the schema\'s columns role = "target".'
    )
    assert "there is no schema" in refused("fit", "pca", table, "--schema", tmp_path / "no.toml",
                                           "--out", tmp_path / "r")  # fmt: skip
    assert "there is no file" in refused("fit", "pca", tmp_path / "no.csv", *words[1:])


def test_folders_are_for_tables_of_numbers(files, tmp_path):
    for data in (tmp_path, tmp_path / "*.parquet"):
        said = refused("fit", "pca", data, "--schema", files[1], "--out", tmp_path / "r")
        assert said.startswith("by a schema one file is read at a time, no folder or pattern")


@pytest.mark.parametrize("data", ["-", "ward.arrow", "postgresql://localhost/db"])
def test_some_tables_are_read_by_a_schema_only(data, tmp_path):
    said = refused("fit", "pca", data, "--out", tmp_path / "r")
    assert "are read by a schema: veilspan schema init" in said


def test_people_without_a_public_number_are_refused(files, tmp_path):
    table, _ = files
    schema = tmp_path / "s.toml"
    text = ward_toml().replace("[unit]", '[unit]\nid = "patient_id"').replace("count", "# count")
    schema.write_text(text.replace('[columns.patient_id]\nrole = "ignore"',
                                   '[columns.patient_id]\nrole = "id"'))  # fmt: skip
    result = run("fit", "pca", table, "--schema", schema, "--out", tmp_path / "r", expect=1)
    assert "how many patients there are is not read off their rows" in result.err
    assert "unit.count" in run("schema", "check", schema, expect=1).out


# The account.


def test_the_dataset_is_the_schema_s(files, tmp_path):
    table, schema = files
    key = tmp_path / "key"
    ledger = Ledger(tmp_path / "l.db", key=key)
    account = ledger.dataset("ward", 3.0, 1e-5, unit="patient")
    words = ("fit", "logistic", table, "--schema", schema, *QUICK, "--ledger", tmp_path / "l.db",
             "--key", key)  # fmt: skip
    result = run(*words, "--out", tmp_path / "r", "--json").json
    assert result["privacy"]["ledger"]["dataset"] == "ward"
    assert account.spent().charges == 1
    said = refused(*words, "--out", tmp_path / "s", "--epsilon", 5, expect=4)
    assert "ward" in said
    nameless = tmp_path / "s.toml"
    nameless.write_text(ward_toml().replace('name    = "ward"', 'name = ""'))
    words = [nameless if word == schema else word for word in words]
    assert "give the schema a name" in refused(*words, "--out", tmp_path / "s")
    assert account.spent().charges == 1


def test_a_form_error_comes_before_the_charge(files, tmp_path):
    _, schema = files
    key = tmp_path / "key"
    account = Ledger(tmp_path / "l.db", key=key).dataset("ward", 3.0, 1e-5, unit="patient")
    header, _, rows = ward_csv().partition("\n")
    table = tmp_path / "t.csv"
    for text in (
        "",
        "\n",
        f"{header.replace('age', 'Age')}\n{rows}",
        f"{header.replace('note', 'age')}\n{rows}",
        ward_csv().replace(",", ";"),
        rows,
        ",".join(map(str, range(2_000_000))) + "\n1\n",
    ):
        table.write_text(text)
        words = ("--schema", schema, "--ledger", tmp_path / "l.db", "--key", key)
        result = run("fit", "logistic", table, *words, "--out", tmp_path / "r", expect=1)
        assert result.out == ""
        assert account.spent().charges == 0
        assert not (tmp_path / "r").exists()


# A release knows its schema.


def test_another_schema_is_refused(place, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(ward_toml().replace("[0, 110]", "[0, 120]"))
    words = (place / "logistic", place / "ward.csv", "--out", tmp_path / "p.csv")
    for command in ("predict", "transform"):
        said = refused(command, *words, "--schema", other)
        assert "is another schema" in said
        assert "leave --schema out, the release holds its own." in said
        run(command, *words, "--schema", place / "ward.toml")
        assert "beside this release leave out --columns" in refused(
            command, *words, "--columns", "age"
        )


def test_new_rows_need_no_target_and_no_ids(place, tmp_path):
    wanted = predict_all(place, place / "ward.csv", tmp_path)
    names = ward_csv().partition("\n")[0].split(",")
    kept = [place for place, name in enumerate(names) if name not in ("readmitted", "note")]
    lines = read_csv(place / "ward.csv")
    (tmp_path / "new.csv").write_text(
        "\n".join(",".join(line[place] for place in kept[::-1]) for line in lines)
    )
    np.testing.assert_array_equal(predict_all(place, tmp_path / "new.csv", tmp_path), wanted)


def test_new_rows_may_be_written_otherwise(place, tmp_path):
    """Another separator, decimal mark, encoding, and columns that the release does not know."""
    run("predict", place / "logistic", place / "ward.csv", "--out", tmp_path / "p.csv")
    expected = read_csv(tmp_path / "p.csv")
    lines = [line.split(",") for line in ward_csv().splitlines()]
    other = [["", *lines[0], "été"], *([str(i), *line, "à"] for i, line in enumerate(lines[1:]))]
    text = "\n".join(";".join(cell.replace(".", ",") for cell in line) for line in other)
    new = tmp_path / "new.csv"
    new.write_bytes(text.encode("latin-1"))
    words = ("predict", place / "logistic", new, "--out", tmp_path / "q.csv")
    said = refused(*words)
    assert said.startswith(f"{new} is separated by \";\", it seems: say --separator ';'")
    how = ("--separator", ";", "--decimal", ",", "--encoding", "latin-1")
    told = run(*words, *how)
    assert read_csv(tmp_path / "q.csv") == expected
    assert told.err.strip() == (
        "veilspan: note: columns that the release does not know are ignored: the one without a "
        'name, "été".'
    )
    assert "separates cells already" in refused(*words, "--decimal", ",")
    new.write_text(ward_csv().replace(",", "\t"))
    for tab in ("\\t", "tab", "\t"):  # as people type it
        out = tmp_path / f"{len(tab)}.csv"
        run("predict", place / "logistic", new, "--separator", tab, "--out", out)
        assert read_csv(out) == expected
    new.write_bytes(text.encode("latin-1"))
    # A fit keeps to its schema; a first line that may be a row is not shown.
    fit = ("fit", "logistic", new, "--schema", place / "ward.toml", "--out", tmp_path / "r")
    assert "leave out --separator" in refused(*fit, "--separator", ";")
    new.write_text(ward_csv().partition("\n")[2])
    assert "must name the columns" in run(*words, expect=1).err


def test_predict_is_for_models_that_predict(place, releases, files, tmp_path):
    words = ("--schema", files[1], "--out", tmp_path / "pca", "-p", "n_components=2")
    run("fit", "pca", files[0], *words)
    out = ("--out", tmp_path / "p.csv")
    said = refused("predict", tmp_path / "pca", files[0], *out)
    assert said == "PCA predicts nothing: veilspan transform gives coordinates of rows."
    run("transform", tmp_path / "pca", files[0], *out)
    assert len(read_csv(tmp_path / "p.csv")) == COUNT + 1
    assert "veilspan recommend" in refused("predict", releases / "recommend", files[0], *out)
    # Releases from before there were schemas predict as they did.
    run("predict", releases / "logistic", releases / "labels.csv", *out)
    assert read_csv(tmp_path / "p.csv")[0] == ["prediction"]
    said = refused("predict", releases / "logistic", releases / "labels.csv", *out, "--schema",
                   files[1])  # fmt: skip
    assert "was fitted without a schema" in said


# Plans.


def test_a_plan_needs_nothing_but_the_schema(files, tmp_path):
    found = run("plan", "logistic", "--schema", files[1], "--no-simulate", "--json").json["plan"]
    assert (found["n_rows"], found["n_features"]) == (COUNT, 22)
    said = refused("plan", "logistic", "--schema", files[1], "--rows", 5)
    assert said == f"leave --rows out: the schema's count is {COUNT}."
    same = ("plan", "logistic", "--schema", files[1], "--rows", COUNT, "--no-simulate", "--json")
    assert run(*same).json["plan"] == found  # the same number twice is no contradiction
    assert "leave --columns out" in refused("plan", "pca", "--schema", files[1], "--columns", 5)
    assert "holds classes" in refused("plan", "ridge", "--schema", files[1])
    plain = tmp_path / "s.toml"
    no_count = ward_toml().replace(f"count    = {COUNT}\n", "")
    plain.write_text(no_count)
    assert "--rows N, or count = N" in refused("plan", "pca", "--schema", plain)
    words = ("plan", "pca", "--schema", plain, "--no-simulate", "--json")
    assert run(*words, "--rows", 70).json["plan"]["n_rows"] == 70
    plain.write_text(no_count.replace("[unit]", '[unit]\nneighbors = "add-remove"\nexpected = 600'))
    found = run("plan", "logistic", "--schema", plain, "--no-simulate", "--json").json["plan"]
    assert found["neighbors"] == "add-remove"
    assert found["n_rows"] is None
    assert "needs --rows and --columns, or --schema" in refused("plan", "pca", "--rows", 5)


def test_a_plan_is_simulated(files, monkeypatch):
    from veilspan.planning import simulate

    monkeypatch.setattr(simulate, "GRID", 2)
    shown = run("plan", "pca", "--schema", files[1]).out
    assert f"{COUNT} rows x 22 columns" in shown
    assert "Simulated on made-up tables" in shown


RATINGS = """
veilspan_schema = 1
name = "shop"
[unit]
protects = "user"
[columns.user]
role = "user"
[columns.item]
role = "item"
type = "category"
categories = ["a", "b", "c", "d", "e"]
source = "catalogue"
[columns.rating]
role = "rating"
type = "number"
range = [1, 5]
source = "stars"
"""


def test_ratings(tmp_path):
    (tmp_path / "s.toml").write_text(RATINGS)
    lines = [f"u{u},{'abcde'[(u + k) % 5]},{1 + (u * k) % 5}" for u in range(60) for k in range(3)]
    (tmp_path / "r.csv").write_text("\n".join(["user,item,rating", *lines]))
    words = ("fit", "recommend", tmp_path / "r.csv", "--schema", tmp_path / "s.toml", "--out")
    run(*words, tmp_path / "shop")
    shown = run("recommend", tmp_path / "shop", tmp_path / "r.csv", "--k", 1, "--user", "u7").out
    assert shown.startswith("u7: ")
    said = refused(*words, tmp_path / "x", "-p", "rating_range=1,5")
    assert "leave out -p rating_range: the schema says the range of the ratings." in said
    words = ("--schema", tmp_path / "s.toml", "--rows", 60, "--no-simulate", "--json")
    assert run("plan", "recommend", *words).json["plan"]["n_features"] == 5


# Hostile cells.


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("column", [1, 3, 6])
def test_a_secret_in_a_cell_appears_nowhere(what, column, place, tmp_path, capfd):
    if what == "ten megabytes" and column != 3:
        pytest.skip("once is enough")
    lines = ward_csv().splitlines()
    cells = lines[7].split(",")
    cells[column] = HOSTILE[what]
    lines[7] = ",".join(cells)
    table = tmp_path / "t.csv"
    table.write_bytes("\n".join(lines).encode())
    words = ("fit", "logistic", table, "--schema", place / "ward.toml", *QUICK)
    result = run(*words, "--out", tmp_path / "r")
    told = [result.out, result.err, *capfd.readouterr()]
    result = run("predict", tmp_path / "r", table, "--out", tmp_path / "p.csv", "--json")
    assert result.json["rows"] == COUNT
    told += [result.out, result.err, (tmp_path / "p.csv").read_text()]
    told += [path.read_bytes().decode("latin-1") for path in (tmp_path / "r").iterdir()]
    told += run("schema", "check", place / "ward.toml", table).out.splitlines()
    assert not any(SECRET in text for text in told)


def test_debug_shows_no_cell(place, tmp_path):
    """A traceback may hold a line of code, and no cell."""
    table = tmp_path / "t.csv"
    table.write_bytes(ward_csv().encode().replace(b"female", f"\xff{SECRET}".encode("latin-1")))
    words = ["--debug", "fit", "logistic", table, "--schema", place / "ward.toml", *QUICK, "--out",
             tmp_path / "r"]  # fmt: skip
    code = "from veilspan.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stderr
    assert SECRET not in ended.stdout + ended.stderr


# Nobody reads to the end.


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize("words", ["--help", "schema show {schema}", "schema show {schema} --json"])
def test_a_reader_that_goes_away_is_no_error(words, place):
    command = words.format(schema=place / "ward.toml")
    code = "import sys; sys.argv[0] = 'veilspan'; from veilspan.cli import main; main()"
    read, write = os.pipe()
    os.close(read)  # whoever writes is told at once that nobody reads
    try:
        ended = subprocess.run(
            [sys.executable, "-c", code, *command.split()],
            stdout=write, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
    finally:
        os.close(write)
    assert ended.returncode == 0
    assert ended.stderr == ""


def test_problems_as_json(place, tmp_path):
    bad = tmp_path / "s.toml"
    bad.write_text(ward_toml().replace("[0, 110]", "[110, 0]"))
    words = ("fit", "pca", place / "ward.csv", "--schema", bad, "--out", tmp_path / "r", "--json")
    said = json.loads(run(*words, expect=1).err)
    assert said["exit_code"] == 1
    assert [problem["place"] for problem in said["problems"]] == ["columns.age.range"]


def test_a_temporary_folder_without_room_is_told_before_the_charge(files, tmp_path, monkeypatch):
    """In one sentence, with what to do; nothing was charged and nothing is left behind."""
    from veilspan.curator import row_store

    monkeypatch.setattr(row_store, "KEPT_BYTES", 0)
    monkeypatch.setenv("VEILSPAN_TEMP", str(tmp_path / "nowhere"))
    table, schema = files
    said = refused("fit", "pca", table, "--schema", schema, "--out", tmp_path / "r")
    assert "nowhere" in said
    assert "name another folder in the variable VEILSPAN_TEMP" in said
    assert list(tmp_path.iterdir()) == []
