"""The recommendation experiments on tiny ratings: readers, labels, printed algorithms, figures."""

import csv
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "recommend"

if not (FOLDER / "run.py").exists():  # the source distribution holds tests without experiments
    pytest.skip("experiments are not here", allow_module_level=True)

NAMES = ("data", "printed", "peers")


@pytest.fixture(scope="module")
def scripts():
    """The scripts as modules; their short names are forgotten afterwards."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(str(FOLDER))
        for name in NAMES:
            sys.modules.pop(name, None)


def call(*arguments):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    return subprocess.run(
        [sys.executable, FOLDER / "run.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


def test_a_tiny_figure_labels_the_printed_algorithms(tmp_path):
    done = call("fig2", "--tiny", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "fig2.csv").open() as file:
        rows = list(csv.DictReader(file))
    true = {r["method"]: float(r["true_epsilon"]) for r in rows if r["epsilon"] == "5.0"}
    assert true["frank-wolfe as printed"] == pytest.approx(4.617)  # nominal 5, by replace-one
    assert true["default (auto)"] == 5
    found = {r["method"]: float(r["rmse"]) for r in rows if r["epsilon"] in ("5.0", "inf")}
    # With a usable budget the default is far below the mean; the printed algorithm is between.
    assert found["default without noise"] < found["default (auto)"] < 0.5 * found["user mean"]
    assert found["default (auto)"] < found["frank-wolfe as printed"]
    assert "goals are for 500,000 users" in done.stdout
    assert (tmp_path / "fig2.png").stat().st_size > 10_000


def test_an_unknown_figure_is_named(tmp_path):
    done = call("fig9", "--out", tmp_path)
    assert done.returncode == 2
    assert "no such figure: fig9" in done.stderr


@pytest.mark.parametrize(
    ("nominal", "neighbors", "true"),
    [(1, "replace-one", 0.790), (1, "add-remove", 0.545), (10, "replace-one", 10.35)],
)
def test_the_epsilon_of_printed_noise(scripts, nominal, neighbors, true):
    """Published noise, exact accounting: too much noise below epsilon 8, too little above."""
    found = scripts["printed"].true_epsilon(nominal, 1e-6, neighbors)
    assert found == pytest.approx(true, rel=2e-3)


def test_readers_keep_zeros_and_the_last_of_equal_pairs(scripts):
    table = scripts["data"].csr(
        np.array([1, 0, 1, 1]), np.array([2, 0, 0, 2]), np.array([3.0, 0.0, 1.0, 5.0]), (3, 3)
    )
    assert table.indptr.tolist() == [0, 1, 3, 3]
    assert table.indices.tolist() == [0, 0, 2]
    assert table.data.tolist() == [0, 1, 5]


def test_a_split_keeps_every_rating_once(scripts, tmp_path):
    rng = np.random.default_rng(0)
    lines = {(u, i): int(rng.integers(1, 6)) for u in range(1, 40) for i in range(1, 30) if u % i}
    folder = tmp_path / "movielens-100k"
    folder.mkdir()
    text = "\n".join(f"{u}\t{i}\t{r}\t0" for (u, i), r in lines.items())
    (folder / "u.data").write_text(text)
    found = scripts["data"].movielens_100k(tmp_path, most_items=29)
    assert found.train.nnz + found.test.nnz == len(lines)
    assert found.test.nnz > 0
    assert found.train.data.sum() + found.test.data.sum() == sum(lines.values())
    fewer = scripts["data"].movielens_100k(tmp_path, most_items=5)
    assert fewer.shape[1] == 5


def test_printed_frank_wolfe_stops_short_of_its_budget(scripts):
    """Without noise, steps 1/T from zero leave a share of about 1/e of a rank-one matrix."""
    data = scripts["data"].synthetic(800, 30, 30, held_out=0.1)
    size = np.sqrt((data.train.data**2).mean())
    nuclear = size * np.sqrt(800 * 30)
    left = [
        scripts["printed"].frank_wolfe(
            data, epsilon=np.inf, delta=1e-6, bound=1e9, nuclear_norm=nuclear, rounds=t, seed=0
        )
        for t in (5, 20)
    ]
    shares = np.array(left) / np.sqrt((data.test.data**2).mean())
    # (1 - 1/T)^(T-1): 0.41 and 0.38, up to what was held out.
    np.testing.assert_allclose(shares, [0.41, 0.38], atol=0.08)


def test_plain_als_finds_a_rank_one_matrix(scripts):
    data = scripts["data"].synthetic(600, 30, 20, held_out=0.05)
    rmse = scripts["peers"].plain_als(data, rank=2, penalty=0.1)
    assert rmse < 0.15 * np.sqrt((data.test.data**2).mean())
