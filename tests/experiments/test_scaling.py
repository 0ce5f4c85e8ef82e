"""Exponents of time and memory: the fit and its judgement on made-up costs, and a tiny run."""

import json
import math

import numpy as np
import pytest

from experiments.scaling import fits, run, sweeps

SIZES = np.geomspace(10, 1000, 9)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 3.0])
def test_the_exponent_of_a_power_law_is_found_past_the_overhead(power):
    costs = 1e-6 * SIZES**power
    found = fits.exponent(SIZES, costs)
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.error < 1e-9
    assert found.first == pytest.approx(100)  # the upper half of the logarithms
    np.testing.assert_allclose(found.at(SIZES), costs)
    flat = np.where(SIZES < 99, 5.0, costs)  # what happens below does not matter
    assert fits.exponent(SIZES, flat) == found


def test_the_standard_error_is_that_of_least_squares():
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(400):
        noisy = SIZES * np.exp(0.1 * rng.standard_normal(len(SIZES)))
        found = fits.exponent(SIZES, noisy)
        errors.append((found.value - 1) / found.error)
    # Student's t with 3 degrees of freedom exceeds 12.9 with probability 1e-3; half lie in 0.765.
    assert 0.35 < np.mean(np.abs(errors) < 0.765) < 0.65  # 6 standard deviations of 400


def at(value, error=0.01):
    return fits.Exponent(value, error, 1.0, 10.0)


@pytest.mark.parametrize(
    ("value", "both", "at_most"),
    [(1.0, True, True), (1.24, True, True), (1.26, False, False), (0.7, False, True)],
)
def test_exponents_are_judged_by_a_quarter(value, both, at_most):
    assert fits.judged(at(value), 1) is both
    assert fits.judged(at(value), 1, at_most=True) is at_most
    assert fits.judged(at(value, error=0.3), 1) is None
    assert fits.judged(at(value, error=math.inf), 1) is None


def test_a_vague_exponent_far_below_its_bound_is_judged():
    assert fits.judged(at(-0.8, error=0.4), 0, at_most=True) is True
    assert fits.judged(at(-0.8, error=0.6), 0, at_most=True) is None
    assert fits.judged(at(-0.8, error=0.4), 0) is None


def sweep_of(name):
    return next(sweep for sweep in sweeps.SWEEPS if sweep.name == name)


def test_claims_come_out_both_ways():
    sweep, rows = sweep_of("PCA, n"), [{"extra_bytes": 2_000_000}]
    assert run.time_claim(sweep, at(1.1)).holds is True
    assert run.time_claim(sweep, at(2.0)).holds is False
    assert run.memory_claim(sweep, at(0.0), rows).holds is True
    grown = run.memory_claim(sweep, at(1.0), rows)
    assert grown.holds is False
    assert grown.claim == "memory of PCA beyond the table does not grow with n"
    assert "at most 2.0 MB" in grown.measured
    text = run.verdict_of([run.time_claim(sweep, at(1.1)), grown])
    assert "time follows the model of cost in 1 of 1 cases. memory" in text
    assert "not: memory of PCA beyond the table does not grow with n" in text


def test_ranges_span_two_orders_of_magnitude_at_full():
    for sweep in sweeps.SWEEPS:
        values = sweep.values("full")
        assert values[-1] >= 100 * values[0]
        assert len(values) == len(set(values)) >= 7
        assert len(sweep.values("quick")) >= 6
        assert sweep.variable not in sweep.sizes
        assert set(sweep.smaller) <= set(sweep.sizes)
    models = {sweep.model for sweep in sweeps.SWEEPS}
    assert models == set(sweeps._MODELS)


def test_no_table_is_larger_than_the_memory_allows():
    """At full, the table of dense doubles stays below 1.5 GB."""
    for sweep in sweeps.SWEEPS:
        sizes = sweep.at(sweep.values("full")[-1], "full")
        columns = sizes.get("D", sizes.get("d", 1) ** 2 if "rows" not in sizes else sizes["n"])
        rows = sizes.get("rows", sizes.get("users", sizes.get("n", 1)))
        columns = sweeps.RATINGS if "users" in sizes else columns
        assert 8 * rows * columns < 1.5e9


@pytest.fixture
def three(monkeypatch):
    """Three sweeps that take a moment."""
    names = ("PCA, n", "RobustPCA, r", "LogisticRegression, D")
    chosen = tuple(sweep_of(name) for name in names)
    monkeypatch.setattr(run, "SWEEPS", chosen)
    return chosen


@pytest.mark.long
def test_a_tiny_run_writes_everything(tiny_job, three):
    job = tiny_job("scaling")
    record = run.run(job)
    assert len(record["claims"]) == 2 * len(three)
    assert all(claim["who"] == "ours" for claim in record["claims"])
    for name in ("scaling-time", "scaling-memory"):
        for suffix in ("png", "svg"):
            assert (job.out / f"{name}.{suffix}").stat().st_size > 1000
    stored = json.loads(job.file("json").read_text())
    assert set(stored["facts"]["exponents"]) == {sweep.name for sweep in three}
    lines = job.file("csv").read_text().splitlines()
    assert len(lines) == 1 + sum(len(sweep.values("tiny")) for sweep in three)


def test_an_interrupted_run_goes_on(tiny_job, three, monkeypatch):
    """What was measured before the break is kept, not measured again."""
    real, calls = run.cpu_seconds, []

    def breaks(fit, *limits):
        calls.append(fit)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(fit, *limits)

    monkeypatch.setattr(run, "cpu_seconds", breaks)
    with pytest.raises(KeyboardInterrupt):
        run.run(tiny_job("scaling"))
    job = tiny_job("scaling")
    kept = [
        json.loads(line)["value"]
        for line in job.file("tiny.cells.jsonl").read_text().splitlines()[1:]
    ]
    assert len(kept) == 4
    run.run(job)
    total = sum(len(sweep.values("tiny")) for sweep in three)
    assert len(calls) == 5 + total - 4
    times = [line.split(",")[3] for line in job.file("csv").read_text().splitlines()[1:5]]
    assert [float(time) for time in times] == [value["seconds"] for value in kept]
