"""What the command line refuses so that no cell is told, no charge wasted, no input destroyed."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

from cli.commands import refused, run, write_csv
from veilspan import Ledger
from veilspan._errors import raised_by_us
from veilspan.cli import datasets as datasets_command
from veilspan.cli.io import release_folder
from veilspan.cli.io.ratings import read_ratings
from veilspan.cli.io.tables import read_table
from veilspan.releases import load
from veilspan.reports.extras import audit_of

SECRET = "Karoline"
RNG = np.random.default_rng(0)


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


def error_of(text, path, **options):
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        read_table(str(path), **options)
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("first", [f"{SECRET},1.5,2", f"1.5,2,{SECRET}", "1.5,,2"])
def test_a_first_row_of_data_is_not_taken_for_names(first, tmp_path):
    said = error_of(f"{first}\nPaul,2,3\n", tmp_path / "a.csv")
    assert said == (
        "the first line of a.csv mixes numbers and text: say --header if it names the columns, "
        "--no-header if it is a row."
    )


def test_a_first_line_that_may_be_a_row_is_not_quoted(tmp_path):
    text = f"{SECRET},Ulm\nPaul,Bonn\n"
    assert error_of(text, tmp_path / "a.csv").startswith("a.csv holds no numbers: leave texts out")
    said = error_of(text, tmp_path / "a.csv", columns=["x"])
    assert said == "a.csv has no column 'x'; its first line has 2 names."


@pytest.mark.parametrize("columns", [None, ["x"], ["x", "y"]])
@pytest.mark.parametrize("line", ["1,2,3,4", "1,2"])
def test_ragged_lines_are_refused_whatever_is_read(columns, line, tmp_path):
    text = f"x,y,z\n1,2,3\n{line}\n"
    said = error_of(text, tmp_path / "a.csv", columns=columns)
    assert said.startswith("the lines of a.csv have different numbers of cells")
    said = error_of(text, tmp_path / "a.csv", columns=["x"], target="y")
    assert said.startswith("the lines of a.csv have different numbers of cells")


def test_records_are_counted_as_csv_counts_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('\n\n"size, cm",y\n1,2\n\n"3"," 4 "\n')
    found = read_table(str(path))
    assert found.names == ("size, cm", "y")
    assert found.rows.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y\n1,\N{FULLWIDTH DIGIT TWO}\n", "a.csv could not be read as a table of numbers."),
        ('x,y\n1,"2\x1f3"\n', "a.csv holds text, not numbers, in column 2 (the first is 1"),
        ('x,y\n1,"2,3"\n', "a.csv holds text, not numbers, in column 2 (the first is 1"),
        ('x\n1\n""\n2\n', "a.csv has empty cells in x: fill or drop them."),
    ],
)
def test_what_is_wrong_with_a_table_is_told_rightly(text, sentence, tmp_path):
    assert error_of(text, tmp_path / "a.csv").startswith(sentence)


def test_columns_that_are_named_twice(tmp_path):
    said = error_of("x,y\n1,2\n3,4\n", tmp_path / "a.csv", columns=["x", "x"])
    assert said == "--columns names a column twice."
    (tmp_path / "r.csv").write_text("user,item,rating\n1,2,3\n")
    with pytest.raises(ValueError, match="names a column twice"):
        read_ratings(str(tmp_path / "r.csv"), None, "user,user,rating")


def test_arrays_without_columns_to_choose(tmp_path):
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(np.eye(4)))
    np.save(tmp_path / "m.npy", np.ones((4, 2, 2)))
    for name in ("s.npz", "m.npy"):
        for options in ({"columns": ["0"]}, {"target": "0"}):
            with pytest.raises(ValueError, match="all of which is read: --columns and --target"):
                read_table(str(tmp_path / name), **options)


def test_bad_archives(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, indptr=np.arange(3), data=np.ones(2))
    with pytest.raises(ValueError, match=r"a\.npz holds no whole sparse matrix of numbers\."):
        read_table(str(path))
    np.savez(path, X=np.ones((4, 2)), y=np.ones(3))
    with pytest.raises(ValueError, match="must hold one target for each row"):
        read_table(str(path), target="y")
    with pytest.raises(ValueError, match="has no column 'X'"):
        read_table(str(path), target="X")
    np.savez_compressed(path, X=np.ones((400, 20)))
    whole = bytearray(path.read_bytes())
    whole[60:90] = b"\xff" * 30
    path.write_bytes(bytes(whole))
    with pytest.raises(ValueError, match="is no NumPy file of numbers, or is cut off"):
        read_table(str(path))


def test_a_target_of_text_is_no_number(table, tmp_path):
    words = ("-p", "feature_range=-1,1", "-p", "target_range=0,1", "--columns", "a,b")
    said = refused("fit", "ridge", table, "--out", tmp_path / "r", "--target", "health", *words)
    assert said == "health holds text, not numbers: it cannot be predicted by ridge."


def test_texts_of_compiled_code_are_not_shown(monkeypatch):
    """They come from a line of veilspan, but not from a ``raise``."""

    def compiled(**_):
        exec(f"float({SECRET!r})", {"__name__": "veilspan.cli.datasets"})

    monkeypatch.setattr(datasets_command, "show_generators", compiled)
    assert refused("datasets") == "unexpected: ValueError; run again with --debug."


def test_whose_words_an_error_speaks():
    assert not raised_by_us(ValueError("never raised"))
    for name, code, ours in (
        ("veilspan.cli.fit", "raise ValueError('a')", True),
        ("veilspan.audit", "raise ValueError('a') from None", True),
        ("experiments.erm", "raise ValueError('a')", False),  # or anybody's package of that name
        ("veilspan", "int('a')", False),
        ("numpy", "raise ValueError('a')", False),
        ("veilspanner", "raise ValueError('a')", False),
    ):
        with pytest.raises(ValueError) as caught:
            exec(code, {"__name__": name})
        assert raised_by_us(caught.value) is ours, code


@pytest.fixture
def charged(tmp_path):
    """Options that charge a ledger, and the account."""
    key = tmp_path / "key"
    account = Ledger(tmp_path / "l.db", key=key).dataset("trial", 3.0, 1e-5)
    return ("--ledger", tmp_path / "l.db", "--dataset", "trial", "--key", key), account


def rows_file(tmp_path):
    return write_csv(tmp_path / "rows.csv", RNG.standard_normal((50, 3)), "abc")


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_places_that_cannot_be_replaced_are_found_before_the_charge(charged, tmp_path, monkeypatch):
    options, account = charged
    words = ("fit", "pca", rows_file(tmp_path), *options, "--out")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert "is a link that leads nowhere" in refused(*words, tmp_path / "dangling")
    inside = tmp_path / "work" / "inside"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    (tmp_path / "home").symlink_to(inside)
    for out in (".", "..", inside, tmp_path / "home", "/"):
        assert "is a folder that is in use" in refused(*words, out)
        assert "is a folder that is in use" in refused(*words, out, "--force")
    assert account.spent().charges == 0


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_links_to_folders_are_followed(charged, tmp_path):
    options, account = charged
    words = ("fit", "pca", rows_file(tmp_path), *options, "--out", tmp_path / "link")
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    result = run(*words, "--json").json
    assert result["release"] == str(tmp_path / "link")
    held = {path.name.partition("-")[0] for path in (tmp_path / "real").iterdir()}
    assert held == {"release.json", "arrays", "report.html"}
    first = load(tmp_path / "link").privacy_.release_id
    assert "holds a release already" in refused(*words)
    run(*words, "--force")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real").privacy_.release_id != first
    assert account.spent().charges == 2


def test_a_place_that_is_taken_meanwhile_is_left_alone(tmp_path):
    out = tmp_path / "r"

    def fit_slowly():
        with release_folder.open_folder(out, force=False) as folder:
            (folder / "release.json").write_text("mine")
            out.mkdir()
            (out / "release.json").write_text("theirs")

    with pytest.raises(FileExistsError, match="was taken by somebody else meanwhile"):
        fit_slowly()
    assert (out / "release.json").read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_what_a_killed_fit_left_is_no_release(tmp_path):
    """Arrays that nothing names do not stand in the way of the next try."""
    out = tmp_path / "r"
    out.mkdir()
    (out / f"arrays-{'a' * 32}.npz").write_bytes(b"left")
    (out / ".release.json.0123abcd").write_bytes(b"left")
    run("fit", "pca", rows_file(tmp_path), "--out", out)
    assert len(list(out.iterdir())) == 3


def test_outputs_do_not_destroy_inputs(tmp_path):
    data = rows_file(tmp_path)
    run("fit", "pca", data, "--out", tmp_path / "r")
    before = data.read_bytes()
    (tmp_path / "same.csv").hardlink_to(data)
    for out in (data, tmp_path / "r" / ".." / "rows.csv", tmp_path / "same.csv"):
        assert "is the file that is read" in refused(
            "transform", tmp_path / "r", data, "--out", out
        )
        assert "is the file that is read" in refused(
            "recommend", tmp_path / "r", data, "--out", out
        )
    said = refused("report", tmp_path / "r", "--out", data)
    assert said == "--out must end in .html or .htm; got 'rows.csv'."
    assert "--force to replace it" in refused("datasets", "haystack", "--out", data)
    assert data.read_bytes() == before
    run("report", tmp_path / "r", "--out", tmp_path / "page.HTM")


LABELLED = ("--columns", "a,b", "-p", "feature_range=-1,1", "-p", "solver=objective")


@pytest.mark.parametrize("kind", ["logistic", "svc"])
def test_labels_are_taken_from_rows_only_if_somebody_says_so(kind, table, tmp_path):
    words = ("fit", kind, table, *LABELLED, "--target")
    said = refused(*words, "flag", "--out", tmp_path / "r")
    assert said == (
        f"{kind} needs the public labels: -p classes=0,1 say, or -p classes=observed if the set "
        "of labels in the file is public knowledge."
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


def test_values_that_python_cannot_read(tmp_path):
    words = ("fit", "pca", rows_file(tmp_path), "--out", tmp_path / "r", "-p")
    said = refused(*words, "n_components={[]:1}")
    assert said == "--param cannot read '{[]:1}' as a value."


LINE = {"check": "replay", "claimed": 1.0, "lower_bound": None, "runs": 3, "verdict": "fine",
        "ok": True}  # fmt: skip
AUDIT = {"method": "PCA", "delta": 1e-6, "neighbors": "replace-one", "alpha": 0.01}


@pytest.mark.parametrize(
    "record",
    [
        {"checks": []},
        {**AUDIT, "checks": []},
        {**AUDIT, "checks": 3},
        {**AUDIT, "checks": [3]},
        {**AUDIT, "checks": [{}]},
        {**AUDIT, "checks": [{**LINE, "ok": "false"}]},
        {**AUDIT, "checks": [{**LINE, "claimed": "much"}]},
        {**AUDIT, "checks": [{**LINE, "more": 1}]},
        {**AUDIT, "checks": [LINE], "delta": None},
    ],
)
def test_a_wrong_audit_record(record, tmp_path):
    run("fit", "pca", rows_file(tmp_path), "--out", tmp_path / "r")
    (tmp_path / "audit.json").write_text(json.dumps(record))
    said = refused("report", tmp_path / "r", "--audit", tmp_path / "audit.json")
    assert said.startswith("audit must be the report of veilspan.audit.audit, or its to_dict()")
    assert audit_of({**AUDIT, "checks": [LINE]}).ok
