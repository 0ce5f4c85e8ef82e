"""The experiments on linear models: they run, go on, and costs are right."""

import csv
import json
import math
import sys

import numpy as np
import pytest

from experiments.environments import PeerUnavailable
from experiments.erm import (
    complexity,
    costs,
    fits,
    printed,
    regression,
    sets,
    table1,
    table2,
    table3,
    tables,
)
from experiments.job import Cost
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.events import GaussianEvent

# ---------------------------------------------------------------- runs


@pytest.fixture
def few_methods(monkeypatch):
    """Costs and methods whose noise takes long to calibrate are not what these tests are about."""
    cheap = [Cost("made up", 1.0, 790.0, 1e-6, "add-remove")]
    for module in (table1, table2):
        monkeypatch.setattr(module, "costs_of", lambda job: cheap)
    monkeypatch.setattr(table3, "leak_costs", lambda: [Cost("DP-AccMD", 1.0, 3.0, 1e-6, "r")])
    fit = complexity.fit

    def quick(data, name, ridge, seed):
        return fit(data, name if name in ("output", "as printed") else "gd", ridge, seed)

    monkeypatch.setattr(complexity, "fit", quick)
    monkeypatch.setattr(printed, "INNER", 2)
    monkeypatch.setattr(printed, "svrg_plan", lambda *settings: (2, 50, 0.1, 0.1))


@pytest.mark.parametrize("name", ["erm-table1", "erm-table2", "erm-table3"])
def test_a_tiny_table_writes_its_files(name, tiny_job, few_methods):
    module = {"erm-table1": table1, "erm-table2": table2, "erm-table3": table3}[name]
    job = tiny_job(name)
    module.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert {claim["who"] for claim in record["claims"]} == {"paper", "ours"}
    printed_table = record["facts"]["table"]
    assert {"method", "utility", "gradients", "measured"} <= set(printed_table[0])
    assert printed_table[-1]["method"].startswith("this paper")
    assert printed_table[-1]["measured"]["excess"] > 0
    with job.file("csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(module.METHODS)


def test_an_interrupted_regression_goes_on(tiny_job, monkeypatch):
    """The same rows as without an interruption, and finished parts are not computed again."""
    monkeypatch.setattr(regression, "score", lambda *case: len(repr(case[2:])) / 100)
    job = tiny_job("erm-regression")
    regression.run(job)
    whole = job.file("csv").read_text()
    calls, one_table = [], regression.one_table

    def breaks(*case):
        calls.append(case)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return one_table(*case)

    monkeypatch.setattr(regression, "one_table", breaks)
    with pytest.raises(KeyboardInterrupt):
        regression.run(tiny_job("erm-regression"))
    regression.run(tiny_job("erm-regression"))
    assert job.file("csv").read_text() == whole
    assert len(calls) == 3
    assert calls[1] == calls[2]


def test_a_regression_without_noise_explains_what_there_is():
    table = regression.normal_rows(2000, 5, 0, 0)
    assert regression.score("LinearRegression", table, math.inf, "gd", 0) == pytest.approx(
        0.64, abs=0.06
    )


def test_tiny_accuracies_are_judged(tiny_job, monkeypatch):
    monkeypatch.setattr(tables, "ONE_PASS", ("newton",))
    job = tiny_job("erm-accuracy")
    tables.run(job)
    record = json.loads(job.file("json").read_text())
    assert record["source"] == "sets that come with scikit-learn"
    assert any("Seeds of the default" in note for note in record["notes"])
    assert record["claims"][0]["claim"].startswith("the default reaches 0.945")
    assert job.file("png").stat().st_size > 10_000


def test_missing_files_and_a_missing_library_are_said(tiny_job, tmp_path, monkeypatch):
    """A set without its files is left out; without the other library ours is measured still."""
    job = tiny_job("erm-accuracy", scale="full", data=tmp_path, peers=True)
    monkeypatch.setattr(tables, "PLANS", {"digits": (1, 1, None), "a9a": (1, 1, None)})
    monkeypatch.setattr(tables, "EPSILONS", (1.0,))
    monkeypatch.setattr(tables, "SOLVERS", ("newton",))
    makers = {"digits": sets.digits, "a9a": lambda seed: sets.a9a(tmp_path, seed)}
    monkeypatch.setattr(sets, "sources", lambda folder: makers)

    def unavailable(*settings):
        raise PeerUnavailable("no network.")

    monkeypatch.setattr(tables.peers, "diffprivlib", unavailable)
    found, missing = tables.study(job)
    assert {row["data"] for row in found} == {"digits >= 5"}
    assert missing == [
        "diffprivlib is missing for some seeds of digits: no network.",
        "a9a was left out: its files are not in the folder of --data.",
    ]


def test_a_library_that_failed_is_asked_again_by_a_run_that_goes_on(tiny_job, monkeypatch):
    """Ours is kept and not computed again; what the other library could not do is not kept."""
    monkeypatch.setattr(tables, "PLANS", {"digits": (1, 1, None)})
    monkeypatch.setattr(tables, "EPSILONS", (1.0,))
    monkeypatch.setattr(sets, "sources", lambda folder: {"digits": sets.digits})
    ours, asked = [], []

    def one_fit(data, method, epsilon, seed):
        ours.append(method)
        return tables.record(data, method, epsilon, seed, data.minimum, 0.0)

    def fails_once(data, epsilons, seed, record):
        asked.append(seed)
        if len(asked) == 1:
            raise PeerUnavailable("no network.")
        return [record(data, "diffprivlib C=1", 1.0, seed, data.minimum, 0.0)]

    monkeypatch.setattr(tables, "measure", one_fit)
    monkeypatch.setattr(tables.peers, "diffprivlib", fails_once)

    def study():
        found, missing = tables.study(tiny_job("erm-accuracy", scale="full", peers=True))
        return {row["method"] for row in found} & {"auto", "diffprivlib C=1"}, missing

    first, missing = study()
    assert first == {"auto"}
    assert len(missing) == 1
    fitted = len(ours)
    assert study() == ({"auto", "diffprivlib C=1"}, [])
    assert study() == ({"auto", "diffprivlib C=1"}, [])
    assert len(ours) == fitted
    assert len(asked) == 2  # an answer is kept


def test_a_parquet_file_that_is_missing_or_broken_leaves_its_set_out(
    tiny_job, tmp_path, monkeypatch
):
    """No environment is made for a file that is not there; a reader that fails is said."""
    made = []

    def this_python(name, packages):
        made.append(name)
        return sys.executable

    monkeypatch.setattr(sets, "peer_python", this_python)
    monkeypatch.setattr(tables, "PLANS", {"adult": (1, 1, None)})
    monkeypatch.setattr(
        sets, "sources", lambda folder: {"adult": lambda seed: sets.adult(folder, seed)}
    )
    options = {"scale": "full", "data": tmp_path, "peers": True}
    assert tables.study(tiny_job("erm-accuracy", **options)) == (
        [], ["adult was left out: its files are not in the folder of --data."]
    )  # fmt: skip
    assert made == []
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.parquet").write_bytes(b"no parquet")
    found, (note,) = tables.study(tiny_job("erm-accuracy", **options))
    assert found == []
    assert note == (
        "adult was left out, its file could not be read: adult.parquet is not readable "
        "(exit code 1)."
    )
    assert made == ["parquet"]


# ---------------------------------------------------------------- sets and fits


def test_bounds_hold_without_looking_at_rows():
    split = sets.breast_cancer(0)
    low, high = split.settings["feature_range"]
    rows = np.vstack([split.train[0], split.test[0]])
    assert rows.shape[0] == 569
    # The description rounds to three digits.
    assert (rows >= low - 1e-3).all()
    assert (rows <= high * 1.005 + 1e-3).all()
    assert set(split.train[1]) == {-1.0, 1.0}


def test_a_split_repeats_and_a_fixed_one_does_not_follow_the_seed():
    one, again, other, fixed = (sets.digits(seed).train[0] for seed in (3, 3, 4, None))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.array_equal(fixed, sets.digits(None).train[0])
    part = sets.digits(0).part(100, 1)
    assert part.shape == (100, 64)
    assert len(part.test[1]) == 360


def test_one_fit_agrees_with_the_estimator():
    """Scaling once is scaling at every question: the same theta up to rounding of noise."""
    from veilspan.estimators.linear.classification import LogisticRegression
    from veilspan.solvers.linear.gradient_descent import GradientDescent

    split = sets.digits(0)
    data = fits.scaled(split)
    solver = GradientDescent(steps=5)
    theta, _, events = fits.private(data, solver, math.inf, 0, "replace-one")
    model = LogisticRegression(
        solver=solver, epsilon=math.inf, classes=[-1.0, 1.0], C=None, **split.settings
    ).fit(*split.train)
    coefficients, constant = data.row_map.user_coefficients(theta)
    np.testing.assert_allclose(model.coef_[0], coefficients, atol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], constant, atol=1e-9)
    assert fits.gradients(events, 1437) == 5 * 1437
    assert model.score(*split.test) == pytest.approx(data.accuracy(theta))


def test_the_minimum_without_privacy_has_no_excess():
    data = fits.scaled(sets.breast_cancer(0))
    assert data.risk(data.minimum) == data.least_risk
    assert data.risk(np.zeros(31)) == pytest.approx(math.log(2))
    assert data.risk(data.minimum) < 0.2


# ---------------------------------------------------------------- printed methods and their costs


@pytest.mark.parametrize("ridge", [0.01, 0.0])
def test_printed_variance_reduction_ends_at_the_minimum_without_noise(ridge, monkeypatch):
    """At an epsilon of a million its noise is nothing: what is left is a correct SVRG."""
    data = complexity.even(300, 3, 0)
    run = (printed.svrg, (data, ridge)) if ridge else (printed.svrg_plus, (data,))
    monkeypatch.setattr(printed, "svrg_plan", lambda *a: (8, 2000, 0.1, 0.0))
    monkeypatch.setattr(printed, "svrg_plus_plan", lambda *a: (8, 40, 0.3, 0.0))
    theta, asked = run[0](*run[1], 1e6, 1e-6, 0)
    best = fits.plain(data.rows, data.signs, 300 * (ridge or 1e-7), 1e-8)
    assert data.risk(theta, ridge) - data.risk(best, ridge) < 1e-3
    assert asked == (8 * (300 + 4000) if ridge else 8 * 300 + 2 * 40 * 510)


def test_no_inner_loop_is_long_enough_at_the_printed_step():
    """The condition of Theorem 4.2 fails at eta = 1/(12 L) for every m, and holds as we run it."""

    def left(share, inner, kappa=26):
        eta_l = share
        first = kappa / (eta_l * (1 - 8 * eta_l) * inner)
        return first + 8 * eta_l * (inner + 1) / (inner * (1 - 8 * eta_l))

    assert left(1 / 12, 10**12) > 0.5
    assert left(printed.STEP, 200 * 26) < 0.5


def test_constants_and_leaks_of_the_printed_noise():
    assert costs.constant(0.1) == pytest.approx(3.82, abs=0.01)
    assert costs.constant(100.0) == pytest.approx(27.7, abs=0.1)
    assert costs.with_constant(costs.constant(1.0), 1.0) == pytest.approx(1.0, rel=1e-3)
    assert costs.open_epsilon(1) == math.inf
    assert costs.open_epsilon(3) == pytest.approx(2.75, abs=0.01)
    whole = epsilon_spent([GaussianEvent("all", 1 / 0.2367, 1)], 1e-6)
    assert costs.open_epsilon(40) > whole == pytest.approx(1.0, abs=0.01)


def test_a_bound_output_names_its_table():
    """Simulated: printed DP-AccMD on [-1, 1] ends at points that its neighbour never reaches.

    20,000 runs; four standard errors of the frequency, false alarm 6e-5 with a fixed seed.
    """
    rng, steps, rows, smooth = np.random.default_rng(0), 3, 1000, 0.01
    std = 2 * math.sqrt(steps) / (rows * 0.2367)
    runs = 20_000
    y = z = np.zeros(runs)
    for k in range(steps):
        share, size = 2 / (k + 2), (k + 2) / (4 * smooth)
        x = share * z + (1 - share) * y
        gradient = smooth / 2 * x
        y = np.clip(x - gradient / smooth, -1, 1)
        z = np.clip(z - size * (gradient + std * rng.standard_normal(runs)), -1, 1)
    ours, others = (
        {round(p, 9) for p, _ in costs._points(steps, mean, smooth, std)} for mean in (0.0, 0.002)
    )
    seen = np.mean([round(value, 9) in ours - others for value in y])
    expected = costs.bound_delta(steps)
    assert abs(seen - expected) < 4 * math.sqrt(expected / runs)
