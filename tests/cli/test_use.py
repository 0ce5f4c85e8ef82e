"""``transform``, ``recommend``, ``report``, ``datasets`` and ``plan``."""

import csv

import numpy as np
import pytest

from cli.commands import refused, run
from veilspan.cli import plan as plan_command
from veilspan.cli.samples import GENERATORS
from veilspan.releases import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A subspace, a classifier and a recommender, each with the table it was learned from."""
    place = tmp_path_factory.mktemp("releases")
    for name in ("haystack", "labels", "ratings"):
        run("datasets", name, "--rows", 300, "--out", place / f"{name}.csv")
    run("fit", "pca", place / "haystack.csv", "--out", place / "pca", "-p", "n_components=2",
        "--key", place / "key")  # fmt: skip
    run("fit", "logistic", place / "labels.csv", "--out", place / "logistic", "--target", "label",
        "-p", "feature_range=-1,1", "-p", "classes=0,1", "-p", "solver=objective")  # fmt: skip
    run("fit", "recommend", place / "ratings.csv", "--out", place / "recommend",
        "-p", "rating_range=1,5", "--items", "observed")  # fmt: skip
    return place


def read(path):
    with open(path, newline="") as stream:
        return list(csv.reader(stream))


def test_coordinates(folder, tmp_path):
    out = tmp_path / "z.csv"
    words = ("transform", folder / "pca", folder / "haystack.csv", "--out")
    assert run(*words, out, "--json").json == {
        "file": str(out), "rows": 300, "columns": ["pca0", "pca1"]
    }  # fmt: skip
    lines = read(out)
    assert lines[0] == ["pca0", "pca1"]
    run(*words, tmp_path / "z.npy")
    found = np.load(tmp_path / "z.npy")
    np.testing.assert_array_equal(np.array(lines[1:], dtype=float), found)
    rows = np.array(read(folder / "haystack.csv")[1:], dtype=float)
    model = load(folder / "pca")
    np.testing.assert_array_equal(found, rows @ model.components_.T)


def test_columns_are_found_by_name(folder, tmp_path):
    """A file with the columns in another order, and others beside them, gives the same."""
    lines = read(folder / "labels.csv")
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(",".join(line[::-1]) for line in lines))
    for source, out in ((folder / "labels.csv", "a.npy"), (turned, "b.npy")):
        run("transform", folder / "logistic", source, "--out", tmp_path / out)
    first = np.load(tmp_path / "a.npy")
    np.testing.assert_array_equal(first, np.load(tmp_path / "b.npy"))
    assert set(first) == {0, 1}


def test_probabilities(folder, tmp_path):
    words = (folder / "labels.csv", "--out", tmp_path / "p.csv", "--proba")
    run("transform", folder / "logistic", *words)
    lines = read(tmp_path / "p.csv")
    assert lines[0] == ["probability_0", "probability_1"]
    np.testing.assert_allclose(np.array(lines[1:], dtype=float).sum(axis=1), 1)
    words = (folder / "haystack.csv", "--out", tmp_path / "q.csv", "--proba")
    assert "PCA has no probabilities" in refused("transform", folder / "pca", *words)


def test_transform_refusals(folder, tmp_path):
    data = folder / "haystack.csv"
    out = ("--out", tmp_path / "z.csv")
    assert "must end in .csv" in refused("transform", folder / "pca", data, "--out", "z.txt")
    assert "there is no release" in refused("transform", tmp_path / "no", data, *out)
    assert "veilspan recommend" in refused("transform", folder / "recommend", data, *out)
    assert "has no column" in refused("transform", folder / "pca", folder / "labels.csv", *out)
    assert "fit this key" in _with_another_key(folder, tmp_path, data, out)
    run("transform", folder / "pca", data, *out, "--key", folder / "key")
    document = folder / "logistic" / "release.json"
    text = document.read_text()
    try:
        document.write_text(text.replace('"epsilon": 1.0', '"epsilon": 0.1'))
        said = refused("transform", folder / "logistic", folder / "labels.csv", *out)
    finally:
        document.write_text(text)
    assert "was changed after it was written" in said


def _with_another_key(folder, tmp_path, data, out):
    (tmp_path / "other.key").write_text("cd" * 32)
    (tmp_path / "other.key").chmod(0o600)
    return refused("transform", folder / "pca", data, *out, "--key", tmp_path / "other.key")


def test_recommendations(folder, tmp_path):
    words = ("recommend", folder / "recommend", folder / "ratings.csv")
    (mine,) = run(*words, "--k", 3, "--user", 7, "--json").json
    assert mine["user"] == 7
    items = [entry["item"] for entry in mine["items"]]
    rated = {int(line[1]) for line in read(folder / "ratings.csv")[1:] if line[0] == "7"}
    assert len(set(items)) == 3
    assert not rated & set(items)
    shown = run(*words, "-k", 2).out.splitlines()
    assert shown[0].startswith("0: ")
    assert shown[-1].startswith("... and 280 more users")
    run(*words, "--k", 2, "--out", tmp_path / "r.csv")
    lines = read(tmp_path / "r.csv")
    assert lines[0] == ["user", "rank", "item", "predicted"]
    assert len(lines) == 1 + 2 * 300


def test_recommend_refusals(folder):
    words = ("recommend", folder / "recommend", folder / "ratings.csv")
    assert "no ratings of the user 'zoe'" in refused(*words, "--user", "zoe")
    assert "--k must be at least 1" in refused(*words, "--k", 0)
    assert "go to a .csv file" in refused(*words, "--out", "r.npy")
    assert "is no recommender; it is a PCA" in refused("recommend", folder / "pca", words[2])


def test_report(folder, tmp_path):
    run("report", folder / "pca", "--out", tmp_path / "page.html")
    assert "epsilon" in (tmp_path / "page.html").read_text()
    assert run("report", folder / "pca", "--json").json


@pytest.mark.parametrize("name", GENERATORS)
def test_datasets(name, tmp_path):
    out = tmp_path / "made.csv"
    columns = 9 if name != "tree" else 3
    words = ("--rows", 40, "--columns", columns, "--out", out, "--json")
    made = run("datasets", name, *words).json
    lines = read(out)
    assert made["rows"] == len(lines) - 1
    assert made["columns"] == len(lines[0])
    before = out.read_bytes()
    assert refused("datasets", name, *words[:-1], "--seed", 1).startswith(f"{out} exists; choose")
    assert out.read_bytes() == before
    run("datasets", name, *words, "--force")
    assert out.read_bytes() == before
    run("datasets", name, *words, "--force", "--seed", 1)
    assert out.read_bytes() != before


def test_datasets_list_and_refusals(tmp_path):
    assert {entry["name"] for entry in run("datasets", "--json").json} == set(GENERATORS)
    assert "veilspan datasets NAME" in run("datasets").out
    assert "unknown dataset 'iris'; known are" in refused("datasets", "iris")
    assert "must be at least 1" in refused("datasets", "haystack", "--rows", 0)
    assert refused("datasets", "haystack", "--seed", -1) == "--seed must not be negative."
    assert "no square number" in refused("datasets", "spd", "--columns", 8)
    assert "must end in .csv" in refused("datasets", "haystack", "--out", tmp_path / "x.xls")
    assert list(tmp_path.iterdir()) == []


SHAPES = {"frechet": 4}


@pytest.mark.parametrize(
    "kind", ["pca", "robust-pca", "frechet", "recommend", "logistic", "svc", "ridge", "huber"]
)
def test_plan(kind, monkeypatch):
    monkeypatch.setattr(plan_command, "SEEDS", 1)
    monkeypatch.setattr(plan_command, "EPSILONS", (0.1, 10.0))
    columns = SHAPES.get(kind, 8)
    found = run("plan", kind, "--rows", 400, "--columns", columns, "--json").json
    assert found["plan"]["n_rows"] == 400
    assert found["plan"]["events"] or found["plan"]["adaptive"]
    errors = found["simulated"]["errors"]
    assert list(errors) == ["0.1", "1", "10", "inf"]
    assert errors["0.1"] > errors["inf"]


def test_plan_in_words(monkeypatch):
    monkeypatch.setattr(plan_command, "SEEDS", 1)
    monkeypatch.setattr(plan_command, "EPSILONS", (3.0,))
    shown = run("plan", "pca", "--rows", 3_000_000, "--columns", 5, "--epsilon", 2).out
    assert shown.startswith("Plan for PCA: 3,000,000 rows x 5 columns, epsilon = 2")
    assert "2  " in shown.split("<- asked for")[0].splitlines()[-1]
    assert "no privacy" in shown
    assert "made-up tables of 400,000 rows" in shown
    assert "Fewer rows than the 3,000,000 asked about" in shown
    wide = run("plan", "pca", "--rows", 1000, "--columns", 501).out
    assert "Not simulated: more than 500 columns" in wide
    short = run("plan", "pca", "--rows", 1000, "--columns", 5, "--no-simulate").out
    assert "Simulated" not in short


def test_plan_refusals():
    shape = ("--rows", 100, "--columns", 5)
    assert "unknown kind 'nope'" in run("plan", "nope", *shape, expect=2).err
    assert "epsilon must be positive" in refused("plan", "pca", *shape, "--epsilon", 0)
    assert "at least 2" in refused("plan", "pca", "--rows", 1, "--columns", 5)
    assert "no square number" in refused("plan", "frechet", *shape)
    sphere = ("-p", "manifold=sphere", "-p", "radius=1", "-p", "eigenvalues=1,2")
    assert "one of eigenvalues, norm and radius" in refused("plan", "frechet", *shape, *sphere)
    assert "Missing option '--rows'" in run("plan", "pca", "--columns", 5, expect=2).err
