"""``veilspan fit``: every kind, every sort of file, and what goes wrong."""

import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import veilspan.releases
import veilspan.reports
from cli.commands import refused, run, write_csv
from veilspan import Ledger
from veilspan.cli.arguments.estimators import KINDS
from veilspan.cli.console import NOT_PRIVATE
from veilspan.cli.io import release_folder
from veilspan.privacy.statement import PrivacyStatement
from veilspan.releases import load

RNG = np.random.default_rng(0)


LINEAR = ("-p", "feature_range=-1,1")

LABELS = (*LINEAR, "-p", "classes=0,1", "--target", "label", "-p", "solver=objective")

REGRESSION = (*LINEAR, "-p", "target_range=-1,1", "--target", "target")

# What a kind reads: a made-up table of it, how many rows, and what must be said of them.
TABLES = {
    "rows": ("haystack", 300, ("-p", "n_components=2")),
    "points": ("spd", 300, ("-p", "eigenvalues=0.01,100")),
    "ratings": ("ratings", 200, ("-p", "rating_range=1,5", "--items", "observed")),
    "labels": ("labels", 300, (*LINEAR, "-p", "classes=0,1", "--target", "label")),
    "numbers": ("numbers", 300, (*LINEAR, "-p", "target_range=-1,1", "--target", "target")),
}
# Solvers that are quicker than the one that is chosen by default.
QUICK = dict.fromkeys(("logistic", "svc"), ("-p", "solver=objective")) | dict.fromkeys(
    ("linear", "ridge", "lasso", "elastic-net"), ("-p", "solver=statistics")
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """One made-up table of each sort."""
    folder = tmp_path_factory.mktemp("tables")
    for name, rows, _ in TABLES.values():
        run("datasets", name, "--rows", rows, "--out", folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize("kind", [name for name in KINDS if KINDS[name].reads in TABLES])
def test_every_kind(kind, tables, tmp_path):
    name, _, options = TABLES[KINDS[kind].reads]
    out = tmp_path / "release"
    result = run("fit", kind, tables / f"{name}.csv", "--out", out, *options,
                 *QUICK.get(kind, ()), "--json").json  # fmt: skip
    assert result["release"] == str(out)
    assert PrivacyStatement.from_dict(result["privacy"]).verify()
    model = load(out)
    assert type(model).__name__ == KINDS[kind].estimator
    assert model.privacy_.to_dict() == result["privacy"]
    assert result["privacy"]["private"]
    files = {path.name.partition("-")[0] for path in out.iterdir()}
    assert files == {"release.json", "arrays"} | ({"report.html"} if result["report"] else set())
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_what_is_printed_is_the_statement(tables, tmp_path):
    shown = run("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "r").out
    assert shown.startswith("PCA: epsilon = 1 at delta = 1e-06\n  protects   one row of the table")
    assert f"Saved in {tmp_path / 'r'}" in shown


def test_columns_are_remembered_by_name(tables, tmp_path):
    run("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "r", "--columns", "x3, x1")
    assert list(load(tmp_path / "r").feature_names_in_) == ["x3", "x1"]


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet", "tsv"])
def test_other_files(suffix, tmp_path):
    rows = np.random.default_rng(0).standard_normal((50, 3))
    path = tmp_path / f"a.{suffix}"
    if suffix == "npy":
        np.save(path, rows)
    elif suffix == "npz":
        np.savez(path, X=rows)
    elif suffix == "tsv":
        path.write_text("a\tb\tc\n" + "\n".join("\t".join(map(str, row)) for row in rows))
    else:
        pytest.importorskip("pyarrow")
        pd.DataFrame(rows, columns=list("abc")).to_parquet(path)
    run("fit", "pca", path, "--out", tmp_path / "r", "-p", "n_components=1")
    assert load(tmp_path / "r").n_features_in_ == 3


def test_a_folder_of_parquet_files_is_fitted_by_dask(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("dask.dataframe")
    rows = np.random.default_rng(0).standard_normal((100, 3))
    (tmp_path / "data").mkdir()
    for part in range(2):
        frame = pd.DataFrame(rows[50 * part :][:50], columns=list("abc"))
        frame.to_parquet(tmp_path / "data" / f"{part}.parquet")
    words = ("--epsilon", "inf", "-p", "n_components=1", "-p", "row_norm=9")
    run("fit", "pca", tmp_path / "data", "--out", tmp_path / "lazy", *words, expect=NOT_PRIVATE)
    np.save(tmp_path / "all.npy", rows)
    run("fit", "pca", tmp_path / "all.npy", "--out", tmp_path / "here", *words, expect=NOT_PRIVATE)
    lazy, here = (load(tmp_path / name) for name in ("lazy", "here"))
    np.testing.assert_allclose(lazy.components_, here.components_, atol=1e-6)
    run("transform", tmp_path / "lazy", tmp_path / "data", "--out", tmp_path / "z.npy")
    expected = (rows - lazy.mean_) @ lazy.components_[0]
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, atol=1e-12)


BAD = {
    "no file": (("pca", "nothing.csv"), "there is no file nothing.csv."),
    "epsilon": (("pca", "{csv}", "--epsilon", "-1"), "epsilon must be positive; got -1.0."),
    "epsilon 0": (("pca", "{csv}", "--epsilon", "0"), "epsilon must be positive"),
    "delta": (("pca", "{csv}", "--delta", "2"), "delta must"),
    "neighbours": (("pca", "{csv}", "--neighbors", "some"), "neighbors must be"),
    "missing target": (("linear", "{csv}", *LINEAR), "linear needs --target NAME"),
    "needless target": (("pca", "{csv}", "--target", "x1"), "pca predicts no column"),
    "wrong target": (
        ("linear", "{csv}", *LINEAR, "-p", "target_range=0,1", "--target", "zz"),
        "haystack.csv has no column 'zz'",
    ),
    "no items": (("recommend", "{csv}"), "recommend needs --items FILE"),
    "needless items": (("pca", "{csv}", "--items", "observed"), "--items is for recommend."),
    "no such column": (("pca", "{csv}", "--columns", "a,b"), "haystack.csv has no column 'a', 'b'"),
    "no such parameter": (("pca", "{csv}", "-p", "size=2"), "pca has no parameter 'size'; it has"),
    "no value": (("pca", "{csv}", "-p", "size"), "--param takes name=value; got 'size'."),
    "reserved": (("pca", "{csv}", "-p", "epsilon=2"), "epsilon is set by --epsilon"),
    "too many": (("pca", "{csv}", "-p", "n_components=99"), "n_components must lie between 1 and"),
    "no bounds": (
        ("linear", "{csv}", "-p", "target_range=-1,1", "--target", "x1"),
        "linear needs the public range of its columns (-p feature_range=0,100 say",
    ),
    "no range": (
        ("linear", "{csv}", *LINEAR, "--target", "x1"),
        "linear needs the public range of what it predicts (-p target_range=0,10 say)",
    ),
    "half a ledger": (("pca", "{csv}", "--ledger", "l.db"), "--ledger and --dataset go together"),
    "no square": (("frechet", "{csv}", "-p", "eigenvalues=1,2"), "a matrix has k x k entries"),
    "manifold": (("frechet", "{csv}", "-p", "manifold=torus"), "unknown manifold 'torus'"),
    "ball": (("frechet", "{csv}", "-p", "manifold=euclidean"), "a private mean needs to know"),
    "two balls": (
        ("frechet", "{csv}", "-p", "manifold=euclidean", "-p", "norm=1", "-p", "radius=2"),
        "say where points live by one of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_commands(case, tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, sentence = BAD[case]
    words = [word.format(csv=tables / "haystack.csv") for word in words]
    assert refused("fit", *words, "--out", "deep/release").startswith(sentence)
    assert list(tmp_path.iterdir()) == []


SECRET = "Karoline"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "bad.csv is empty."),
        ("a,b\n1,2\n", "Found array with 1 sample(s)"),
        (f"a,b\n1,2\n3,{SECRET}\n", "bad.csv holds text, not numbers, in column 2"),
        ("a,b\n1,2\n3,nan\n", "bad.csv holds NaN or infinite numbers in b"),
        ("a;b\n1;2\n3;4\n", "bad.csv has one column only"),
    ],
)
def test_bad_tables(text, sentence, tmp_path):
    (tmp_path / "bad.csv").write_text(text)
    said = refused("fit", "pca", tmp_path / "bad.csv", "--out", tmp_path / "r")
    assert said.startswith(sentence)
    assert SECRET not in said
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_taken_folders(tables, tmp_path):
    words = ("fit", "pca", tables / "haystack.csv", "--out")
    out = tmp_path / "r"
    out.mkdir()
    run(*words, out)  # an empty folder is free
    first = load(out).privacy_.release_id
    assert "holds a release already" in refused(*words, out)
    assert load(out).privacy_.release_id == first
    run(*words, out, "--force")
    assert load(out).privacy_.release_id != first
    (out / "thesis.tex").write_text("years of work")
    assert "holds files that are not a release" in refused(*words, out, "--force")
    assert (out / "thesis.tex").exists()
    assert "is a file; --out names a folder" in refused(*words, out / "thesis.tex", "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tables, tmp_path):
    (tmp_path / "closed").mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    said = refused("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "closed" / "r")
    assert "Permission denied" in said


def test_a_folder_without_permission(tables, tmp_path, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(release_folder.Path, "mkdir", denied)
    said = refused("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "new" / "r")
    assert said == f"{tmp_path}: Permission denied."


def test_a_place_that_cannot_be_written_is_found_before_the_charge(tables, tmp_path):
    ledger = Ledger(tmp_path / "l.db", key=tmp_path / "key")
    account = ledger.dataset("trial", 3.0, 1e-6)
    (tmp_path / "file").write_text("")
    charged = ("--ledger", tmp_path / "l.db", "--dataset", "trial", "--key", tmp_path / "key")
    words = ("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "file" / "r", *charged)
    said = refused(*words)
    assert "File exists" in said
    assert account.spent().charges == 0


def test_the_ledger_is_charged_and_refuses_with_code_4(tables, tmp_path):
    key = tmp_path / "key"
    account = Ledger(tmp_path / "l.db", key=key).dataset("trial", 1.5, 1e-5)
    charged = ("--ledger", tmp_path / "l.db", "--dataset", "trial", "--key", key)
    words = ("fit", "pca", tables / "haystack.csv", *charged, "--out")
    result = run(*words, tmp_path / "a", "--json").json
    assert result["privacy"]["ledger"]["dataset"] == "trial"
    assert account.spent().charges == 1
    assert load(tmp_path / "a", key=key).privacy_.ledger["entry"] > 0  # sealed by the same key
    said = refused(*words, tmp_path / "b", "--epsilon", "3", expect=4)
    assert "trial" in said
    assert not (tmp_path / "b").exists()
    assert account.spent().charges == 1
    other = ("--ledger", tmp_path / "l.db", "--dataset", "other", "--key", key)
    refused("fit", "pca", tables / "haystack.csv", *other, "--out", tmp_path / "c")


def test_a_failing_report_does_not_lose_the_release(tables, tmp_path, monkeypatch):
    for error in (ZeroDivisionError, OSError(28, "No space left on device")):

        def broken(model, error=error):
            raise error

        monkeypatch.setattr(veilspan.reports, "report_html", broken)
        words = ("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "r", "--force")
        result = run(*words, "--json")
        assert result.json["report"] is None
        assert "no report was written (" in result.err
        assert load(tmp_path / "r").n_features_in_ == 20


def test_nothing_stays_behind_when_saving_fails(tables, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", str(tmp_path / "r"))

    monkeypatch.setattr(veilspan.releases, "save", full)
    said = refused("fit", "pca", tables / "haystack.csv", "--out", tmp_path / "r")
    assert said == f"{tmp_path / 'r'}: No space left on device."
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("before", [False, True])
def test_killed_before_the_end_there_is_no_release_or_a_whole_one(tables, tmp_path, before):
    """SIGKILL when the release is written and its report is not: one that replaces is there."""
    words = ["fit", "pca", str(tables / "haystack.csv"), "--out", str(tmp_path / "r"), "--force"]
    if before:
        run(*words)
        old = load(tmp_path / "r").privacy_.release_id
    code = (
        "import os, signal, sys\nfrom veilspan.cli import fit, main\n"
        "fit._write_report = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nmain(sys.argv[1:])"
    )
    ended = subprocess.run([sys.executable, "-c", code, *words], timeout=300)
    assert ended.returncode == -signal.SIGKILL
    if before:
        assert load(tmp_path / "r").privacy_.release_id != old
        assert not (tmp_path / "r" / "report.html").exists()
    else:
        assert not (tmp_path / "r").exists()
    run(*words)
    assert load(tmp_path / "r").n_features_in_ == 20


@pytest.mark.filterwarnings("default")
def test_notes_are_one_line(tables, tmp_path):
    words = ("--out", tmp_path / "r", "--delta", "0.01", "--allow-weak")
    result = run("fit", "pca", tables / "haystack.csv", *words)
    assert result.err.startswith("veilspan: note: delta = 0.01 is not below 1/n")
    assert all(line.startswith("veilspan: note: ") for line in result.err.splitlines())


def test_public_items_from_a_file(tables, tmp_path):
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(60))))
    words = ("-p", "rating_range=1,5", "--items", tmp_path / "items.txt")
    run("fit", "recommend", tables / "ratings.csv", "--out", tmp_path / "r", *words)
    assert load(tmp_path / "r").item_ids_ == tuple(range(60))


def test_one_line_per_row_without_names(tmp_path):
    rows = np.random.default_rng(0).standard_normal((40, 3))
    run("fit", "pca", write_csv(tmp_path / "a.csv", rows), "--out", tmp_path / "r")
    assert not hasattr(load(tmp_path / "r"), "feature_names_in_")


@pytest.fixture
def table(tmp_path):
    """Two features in [-1, 1], a label of text and one of numbers."""
    path = tmp_path / "table.csv"
    lines = [
        f"{a!r},{b!r},{'healthy' if a > 0 else 'ill'},{int(a > 0)}"
        for a, b in RNG.uniform(-1, 1, (60, 2)).tolist()
    ]
    path.write_text("\n".join(["a,b,health,flag", *lines]))
    return path


def test_a_target_of_text_is_no_number(table, tmp_path):
    words = ("-p", "feature_range=-1,1", "-p", "target_range=0,1", "--columns", "a,b")
    said = refused("fit", "ridge", table, "--out", tmp_path / "r", "--target", "health", *words)
    assert said == "health holds text, not numbers: it cannot be predicted by ridge."


LABELLED = ("--columns", "a,b", "-p", "feature_range=-1,1", "-p", "solver=objective")


@pytest.mark.parametrize("kind", ["logistic", "svc"])
def test_labels_are_taken_from_rows_only_if_somebody_says_so(kind, table, tmp_path):
    words = ("fit", kind, table, *LABELLED, "--target")
    said = refused(*words, "flag", "--out", tmp_path / "r")
    assert said == (
        f"{kind} needs the public labels (-p classes=0,1 say, or -p classes=observed if the set "
        "of labels in the file is public knowledge). Or declare all that is public in a schema: "
        f"veilspan schema init {table} --out schema.toml."
    )
    for number, (target, classes, labels) in enumerate((
        ("flag", "0,1", [0, 1]),
        ("flag", "observed", [0, 1]),
        ("health", "healthy, ill", ["healthy", "ill"]),
        ("health", "observed", ["healthy", "ill"]),
    )):  # fmt: skip
        out = tmp_path / f"r{number}"
        run(*words, target, "--out", out, "-p", f"classes={classes}")
        assert load(out).classes_.tolist() == labels
    run("plan", kind, "--rows", 200, "--columns", 2, "-p", "classes=healthy,ill")


def test_labels_that_are_not_among_the_classes_are_not_quoted(table, tmp_path):
    words = ("--target", "health", "--out", tmp_path / "r", "-p", "classes=ill,well")
    said = refused("fit", "logistic", table, *LABELLED, *words)
    assert "healthy" not in said
    assert not (tmp_path / "r").exists()
