"""People with several rows on the command line: from the schema to predictions by person."""

import pytest

from cli.commands import read_csv, refused, run
from veilspan.datasets import make_visits

VISITS = make_visits(150)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    VISITS.save(folder / "visits.csv", folder / "visits.toml")
    return folder / "visits.csv", folder / "visits.toml"


@pytest.fixture(scope="module")
def release(files, tmp_path_factory):
    table, schema = files
    folder = tmp_path_factory.mktemp("release") / "r"
    run("fit", "logistic", table, "--schema", schema, "--epsilon", 3, "--out", folder)
    return folder


def people():
    return {name for name in VISITS.columns["patient_id"] if name not in ("", "NA")}


def test_a_schema_of_people_is_checked_and_planned(files):
    table, schema = files
    assert "no problems" in run("schema", "check", schema, table).out
    shown = run("plan", "logistic", "--schema", schema, "--no-simulate").out
    assert "max_rows = 8 (chosen) uses" in shown
    assert "150 patients" in shown
    found = run("plan", "pca", "--schema", schema, "--no-simulate", "--json").json
    assert found["plan"]["events"][0]["name"] == "people"


def test_predictions_by_person(files, release, tmp_path):
    table, _ = files
    out = tmp_path / "p.csv"
    said = run("predict", release, table, "--by-person", "--out", out).out
    assert f"{len(people())} people" in said
    head, *lines = read_csv(out)
    assert head == ["patient_id", "prediction"]
    assert {line[0] for line in lines} == people()
    assert len(lines) == len(people())
    assert {line[1] for line in lines} <= {"no", "yes"}
    run("predict", release, table, "--by-person", "--proba", "--out", out)
    head, *lines = read_csv(out)
    assert head == ["patient_id", "probability_no", "probability_yes"]
    assert all(abs(float(a) + float(b) - 1) < 1e-9 for _, a, b in lines)
    run("predict", release, table, "--out", out)
    assert len(read_csv(out)) == 1 + len(VISITS.columns["age"])


def test_coordinates_by_person(files, tmp_path):
    table, schema = files
    folder, out = tmp_path / "r", tmp_path / "c.csv"
    words = ("fit", "pca", table, "--schema", schema, "-p", "n_components=2", "--out", folder)
    run(*words)
    run("transform", folder, table, "--by-person", "--out", out)
    head, *lines = read_csv(out)
    assert head == ["patient_id", "pca0", "pca1"]
    assert len(lines) == len(people())


def test_by_person_needs_ids(files, tmp_path):
    table, _ = files
    text = VISITS.schema_toml.replace('combine   = "mean"', 'combine   = "none"')
    own = tmp_path / "none.toml"
    own.write_text(text.replace('combine    = "any"\n', ""))
    folder, out = tmp_path / "r", tmp_path / "c.csv"
    run("fit", "pca", table, "--schema", own, "-p", "n_components=2", "--out", folder)
    told = refused("transform", folder, table, "--by-person", "--out", out)
    assert "combines no rows" in told
    told = refused("fit", "logistic", table, "--schema", own, "-p", "solver=sgd", "--out", "x")
    assert 'combine = "none" protects all rows of a patient' in told
    assert "Not simulated" in run("plan", "pca", "--schema", own).out
    plain = tmp_path / "plain"
    numbers = tmp_path / "n.csv"
    numbers.write_text("a,b\n" + "1,2\n2,1\n0,1\n" * 5)
    run("fit", "pca", numbers, "-p", "n_components=1", "--out", plain)
    assert "whose row it is" in refused("transform", plain, numbers, "--by-person", "--out", out)
