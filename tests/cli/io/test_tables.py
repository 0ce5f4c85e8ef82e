"""Tables in files: what is read, and errors that name columns and quote nothing."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cli.commands import write_csv
from veilspan.cli.io.tables import read_table

SECRET = "Karoline"

RNG = np.random.default_rng(0)

ROWS = RNG.standard_normal((20, 3))


def error_of(path, **options):
    with pytest.raises((ValueError, OSError, ImportError)) as caught:
        read_table(str(path), **options)
    # Neither the text nor anything that hangs on it holds a cell.
    seen = f"{caught.value} {caught.value.__context__} {caught.value.__cause__}"
    assert SECRET not in seen
    return str(caught.value)


def test_csv_with_and_without_names(tmp_path):
    named = read_table(str(write_csv(tmp_path / "a.csv", ROWS, "abc")))
    np.testing.assert_array_equal(named.rows, ROWS)
    assert named.names == ("a", "b", "c")
    plain = read_table(str(write_csv(tmp_path / "b.csv", ROWS)))
    np.testing.assert_array_equal(plain.rows, ROWS)
    assert plain.names is None
    assert plain.n_columns == 3


def test_columns_and_targets(tmp_path):
    path = str(write_csv(tmp_path / "a.csv", ROWS, "abc"))
    table = read_table(path, columns=["c", "a"], target="b")
    np.testing.assert_array_equal(table.rows, ROWS[:, [2, 0]])
    np.testing.assert_array_equal(table.targets, ROWS[:, 1])
    rest = read_table(path, target="b")
    assert rest.names == ("a", "c")
    assert error_of(path, columns=["d"]) == (
        "a.csv has no column 'd'; its first line has 3 names, and --header allows to list them."
    )
    assert "cannot be one of the columns" in error_of(path, columns=["b"], target="b")


def test_labels_keep_their_kind(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y,z,w\n1,yes,0,0.5\n2,no,1,1.5\n")
    assert read_table(str(path), columns=["x"], target="y").targets.tolist() == ["yes", "no"]
    assert read_table(str(path), columns=["x"], target="z").targets.dtype.kind == "i"
    assert read_table(str(path), columns=["x"], target="w").targets.tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a.csv is empty."),
        ("\n\n", "a.csv is empty."),
        ("x,y\n", "a.csv has no rows below the names of its columns."),
        (f"x,name,town\n1,{SECRET},Ulm\n", "a.csv holds text, not numbers, in column 2, 3 (the"),
        (
            "x,y\n1,\n2,3\n",
            "a.csv has cells that are empty or say NA in y: texts, categories, dates and gaps",
        ),
        ("x,y\n1,nan\n2,3\n", "a.csv holds NaN or infinite numbers in y: texts, categories"),
        ("x,y\n1,2\n1,2,3\n4,oh\n", "the lines of a.csv have different numbers of cells"),
        (f"x;name\n1;{SECRET}\n", "a.csv has one column only, and its first line looks"),
        ("x,x\n1,2\n", "the first line of a.csv must name every column"),
        ("x,\n1,2\n", "the first line of a.csv must name every column"),
    ],
)
def test_bad_csv(tmp_path, text, sentence):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert error_of(path).startswith(sentence)


def test_separators_quotes_and_encodings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('﻿"size, cm";y\r\n1;2\r\n3;4\r\n'.encode())
    table = read_table(str(path), separator=";")
    assert table.names == ("size, cm", "y")
    assert table.rows.tolist() == [[1, 2], [3, 4]]
    assert "--separator is one character" in error_of(path, separator=";;")
    (tmp_path / "b.tsv").write_text("x\ty\n1\t2\n")
    assert read_table(str(tmp_path / "b.tsv")).rows.tolist() == [[1, 2]]
    path.write_bytes(b"x,y\n1,\xff\xfe\n")
    assert error_of(path) == (
        "a.csv is not UTF-8 text: say how its letters are stored, --encoding latin-1 or --encoding "
        "cp1252 (Windows), say."
    )
    path.write_bytes("größe,y\n1,2\n".encode("cp1252"))
    assert read_table(str(path), encoding="Windows-1252").names == ("größe", "y")
    with pytest.raises(ValueError, match="unknown --encoding 'klingon'; known are utf-8, ascii"):
        read_table(str(path), encoding="klingon")


def test_a_whole_row_of_a_thousand_is_not_a_name(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1_000,x\n3,4\n")
    assert "may be values of a row" in error_of(path)
    assert read_table(str(path), header=True).names == ("1_000", "x")


def test_numpy_files(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    np.testing.assert_array_equal(read_table(str(tmp_path / "a.npy")).rows, ROWS)
    picked = read_table(str(tmp_path / "a.npy"), columns=["2"], target="0")
    np.testing.assert_array_equal(picked.rows, ROWS[:, 2:])
    np.testing.assert_array_equal(picked.targets, ROWS[:, 0])
    np.savez(tmp_path / "b.npz", X=ROWS, y=np.arange(20))
    assert read_table(str(tmp_path / "b.npz"), target="y").targets[3] == 3
    sparse.save_npz(tmp_path / "c.npz", sparse.csr_array(ROWS))
    assert read_table(str(tmp_path / "c.npz")).rows.shape == (20, 3)
    np.save(tmp_path / "m.npy", np.ones((4, 2, 2)))
    assert read_table(str(tmp_path / "m.npy")).n_columns == 4


def test_bad_numpy_files(tmp_path):
    (tmp_path / "a.npy").write_bytes(b"nothing of the kind")
    assert "is not a NumPy file" in error_of(tmp_path / "a.npy")
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 and then nothing")
    assert "is not a NumPy file" in error_of(tmp_path / "a.npz")
    np.save(tmp_path / "b.npy", np.array([SECRET]))
    assert "must hold a table of numbers" in error_of(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.array([{SECRET: 1}]), allow_pickle=True)
    assert "is not a NumPy file" in error_of(tmp_path / "c.npy")
    np.savez(tmp_path / "d.npz", one=ROWS, two=ROWS)
    assert "must hold an array X" in error_of(tmp_path / "d.npz")
    assert "there is no file" in error_of(tmp_path / "nothing.csv")
    (tmp_path / "a.xlsx").write_bytes(b"1")
    assert "ends in none of" in error_of(tmp_path / "a.xlsx")


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(ROWS, columns=list("abc")).assign(name=SECRET, flag=True)
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(str(tmp_path / "a.parquet"), columns=["a", "c", "flag"], target="b")
    np.testing.assert_array_equal(table.rows[:, :2], ROWS[:, [0, 2]])
    assert "holds text, not numbers, in name" in error_of(tmp_path / "a.parquet")
    pd.DataFrame({"a": [1.0, None], "b": [1, 2]}).to_parquet(tmp_path / "b.parquet")
    assert "in a: texts, categories" in error_of(tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1 or so")
    assert "is not a parquet file" in error_of(tmp_path / "c.parquet")


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "dask.dataframe", None)
    assert "pip install pyarrow" in error_of(tmp_path / "a.parquet")
    assert "pip install 'veilspan[dask]'" in error_of(tmp_path)
    assert "pip install 'veilspan[dask]'" in error_of(tmp_path / "*.parquet")


def test_folders_of_parquet_files_stay_lazy(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("dask.dataframe")
    for part in range(2):
        frame = pd.DataFrame(ROWS[10 * part :][:10], columns=list("abc"))
        frame.assign(name=SECRET).to_parquet(tmp_path / f"part-{part}.parquet")
    table = read_table(str(tmp_path / "part-*.parquet"), columns=["a", "b"], target="c")
    assert table.n_columns == 2
    assert hasattr(table.rows, "__dask_graph__")
    assert "holds text, not numbers, in name" in error_of(tmp_path)
    (tmp_path / "empty").mkdir()
    assert "holds no parquet files" in error_of(tmp_path / "empty")


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
    with pytest.raises(ValueError, match="is not a NumPy file of numbers, or is cut off"):
        read_table(str(path))
