"""The scripts on linear models: they run, and their verdicts follow the numbers."""

import csv
import importlib
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "erm"
NAMES = ("sets", "peers", "fits", "tables", "verdicts", "complexity")


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


def test_a_tiny_complexity_writes_its_files(tmp_path):
    done = call("complexity", "--tiny", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "complexity.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["case"] for row in rows} >= {"strongly convex", "convex", "wide, decaying"}
    assert "verdict: wide, even" in done.stdout
    assert (tmp_path / "complexity.png").stat().st_size > 10_000


def test_an_unknown_part_is_named(tmp_path):
    done = call("fig9", "--out", tmp_path)
    assert done.returncode == 2
    assert "no such part: fig9" in done.stderr


def test_bounds_hold_without_looking_at_rows(scripts):
    split = scripts["sets"].breast_cancer(0)
    low, high = split.settings["feature_range"]
    rows = np.vstack([split.train[0], split.test[0]])
    assert rows.shape[0] == 569
    # The description rounds to three digits.
    assert (rows >= low - 1e-3).all()
    assert (rows <= high * 1.005 + 1e-3).all()
    assert set(split.train[1]) == {-1.0, 1.0}


def test_a_split_repeats_and_a_fixed_one_does_not_follow_the_seed(scripts):
    sets = scripts["sets"]
    one, again, other, fixed = (sets.digits(seed).train[0] for seed in (3, 3, 4, None))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.array_equal(fixed, sets.digits(None).train[0])
    part = sets.digits(0).part(100, 1)
    assert part.shape == (100, 64)
    assert len(part.test[1]) == 360


def test_one_fit_agrees_with_the_estimator(scripts):
    """Scaling once is scaling at every question: the same theta up to rounding of noise."""
    from veilspan.estimators.linear_classification import LogisticRegression
    from veilspan.solvers.linear_gd import GradientDescent

    split = scripts["sets"].digits(0)
    data = scripts["fits"].scaled(split)
    solver = GradientDescent(steps=5)
    theta, _, events = scripts["fits"].private(data, solver, math.inf, 0, "replace-one")
    model = LogisticRegression(
        solver=solver, epsilon=math.inf, classes=[-1.0, 1.0], C=None, **split.settings
    ).fit(*split.train)
    coefficients, constant = data.row_map.user_coefficients(theta)
    np.testing.assert_allclose(model.coef_[0], coefficients, atol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], constant, atol=1e-9)
    assert scripts["fits"].gradients(events, 1437) == 5 * 1437
    assert model.score(*split.test) == pytest.approx(data.accuracy(theta))


def test_the_minimum_without_privacy_has_no_excess(scripts):
    data = scripts["fits"].scaled(scripts["sets"].breast_cancer(0))
    assert data.risk(data.minimum) == data.least_risk
    assert data.risk(np.zeros(31)) == pytest.approx(math.log(2))
    assert data.risk(data.minimum) < 0.2


def cell(method, accuracy, epsilon=1.0, data="a9a", seed=0):
    return {
        "data": data, "rows": 10, "columns": 2, "method": method, "epsilon": epsilon,
        "seed": seed, "accuracy": accuracy, "excess": 0.1, "cpu": 0.1, "note": "",
    }  # fmt: skip


def test_verdicts_follow_the_numbers(scripts, capsys):
    tables, verdicts = scripts["tables"], scripts["verdicts"]
    found = [
        *(cell("auto", a, seed=s) for s, a in enumerate((0.80, 0.82))),
        *(cell("gd", a, seed=s) for s, a in enumerate((0.83, 0.83))),
        *(cell("diffprivlib C=1", a, seed=s) for s, a in enumerate((0.70, 0.72))),
        *(cell("diffprivlib C=10", a, seed=s) for s, a in enumerate((0.75, 0.77))),
        cell("scikit-learn, not private", 0.85, math.inf),
        *(cell("auto", a, data="adult", seed=s) for s, a in enumerate((0.80, 0.82))),
        *(cell("gd", a, data="adult", seed=s) for s, a in enumerate((0.812, 0.812))),
    ]
    kept = tables.best_of_peer(found)
    best = [row for row in kept if row["method"] == "diffprivlib, best C"]
    assert {row["note"] for row in best} == {"diffprivlib C=10"}
    verdicts.show(kept, (1.0,))
    text = capsys.readouterr().out
    assert "a9a at epsilon 1: 0.8100 +- 0.0100, goal 0.850: MISSED" in text
    assert "more than one standard error in 1 of 1 cells" in text
    assert "adult: furthest behind the best of our solvers +0.0020 (gd at epsilon 1)" in text
    assert "goal 0.005: met" in text


def test_powers_are_slopes_of_logarithms(scripts):
    x = np.array([10, 100, 1000])
    assert scripts["complexity"].power(x, 5.0 * x**-1.5) == pytest.approx(-1.5)
