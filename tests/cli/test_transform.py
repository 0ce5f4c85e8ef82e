"""``veilspan transform``: coordinates, predictions and probabilities of rows of one's own."""

import numpy as np

from cli.commands import read_csv, refused, run
from veilspan.releases import load


def test_coordinates(releases, tmp_path):
    out = tmp_path / "z.csv"
    words = ("transform", releases / "pca", releases / "haystack.csv", "--out")
    assert run(*words, out, "--json").json == {
        "file": str(out), "rows": 300, "columns": ["pca0", "pca1"]
    }  # fmt: skip
    lines = read_csv(out)
    assert lines[0] == ["pca0", "pca1"]
    run(*words, tmp_path / "z.npy")
    found = np.load(tmp_path / "z.npy")
    np.testing.assert_array_equal(np.array(lines[1:], dtype=float), found)
    rows = np.array(read_csv(releases / "haystack.csv")[1:], dtype=float)
    model = load(releases / "pca")
    expected = (rows - model.mean_) @ model.components_.T
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_columns_are_found_by_name(releases, tmp_path):
    """A file with the columns in another order, and others beside them, gives the same."""
    lines = read_csv(releases / "labels.csv")
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join(",".join(line[::-1]) for line in lines))
    for source, out in ((releases / "labels.csv", "a.npy"), (turned, "b.npy")):
        run("transform", releases / "logistic", source, "--out", tmp_path / out)
    first = np.load(tmp_path / "a.npy")
    np.testing.assert_array_equal(first, np.load(tmp_path / "b.npy"))
    assert set(first) == {0, 1}


def test_probabilities(releases, tmp_path):
    words = (releases / "labels.csv", "--out", tmp_path / "p.csv", "--proba")
    run("transform", releases / "logistic", *words)
    lines = read_csv(tmp_path / "p.csv")
    assert lines[0] == ["probability_0", "probability_1"]
    np.testing.assert_allclose(np.array(lines[1:], dtype=float).sum(axis=1), 1)
    words = (releases / "haystack.csv", "--out", tmp_path / "q.csv", "--proba")
    assert "PCA has no probabilities" in refused("transform", releases / "pca", *words)


def test_transform_refusals(releases, tmp_path):
    data = releases / "haystack.csv"
    out = ("--out", tmp_path / "z.csv")
    assert "must end in .csv" in refused("transform", releases / "pca", data, "--out", "z.txt")
    assert "there is no release" in refused("transform", tmp_path / "no", data, *out)
    assert "veilspan recommend" in refused("transform", releases / "recommend", data, *out)
    assert "has no column" in refused("transform", releases / "pca", releases / "labels.csv", *out)
    assert "fit this key" in _with_another_key(releases, tmp_path, data, out)
    run("transform", releases / "pca", data, *out, "--key", releases / "key")
    document = releases / "logistic" / "release.json"
    text = document.read_text()
    try:
        document.write_text(text.replace('"epsilon": 1.0', '"epsilon": 0.1'))
        said = refused("transform", releases / "logistic", releases / "labels.csv", *out)
    finally:
        document.write_text(text)
    assert "was changed after it was written" in said


def _with_another_key(releases, tmp_path, data, out):
    (tmp_path / "other.key").write_text("cd" * 32)
    (tmp_path / "other.key").chmod(0o600)
    return refused("transform", releases / "pca", data, *out, "--key", tmp_path / "other.key")
