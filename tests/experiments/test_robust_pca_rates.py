"""Rates of robust PCA: a tiny run, batched formulas beside those of one table, fitted slopes."""

import json
import math

import numpy as np
import pytest

from experiments import powers
from experiments.robust_pca import batched, printed, rates
from veilspan.datasets import make_haystack
from veilspan.metrics import largest_angle_gap, squared_angle_distance
from veilspan.solvers.subspace.reaper import project_capped_simplex


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("robust-pca-rates")
    rates.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert [c["claim"].split(":")[0] for c in record["claims"]][:3] == [
        "Theorem 2", "Theorem 3", "Theorem 4"]  # fmt: skip
    assert {"restart GGD", "reap MD columns"} <= set(record["facts"]["powers"])


def test_batched_steps_are_those_of_one_table():
    rows, truth, inside = batched.haystacks(2, 60, 6, 2, 0.5)
    data = make_haystack(60, 6, 2, inlier_share=0.5, noise=0.0, random_state=0)
    np.testing.assert_array_equal(rows[0], data.rows)
    np.testing.assert_array_equal(inside[0], data.is_inlier)
    rng = np.random.default_rng(0)
    start = np.linalg.qr(rng.standard_normal((2, 6, 2)))[0]
    found = batched.ggd(rows, start, [0.3, 0.2], 0.0, rng)
    one = printed.geodesic_update(start[0], rows[0], 0.0, 0.3, 2, rng)
    one = printed.geodesic_update(one, rows[0], 0.0, 0.2, 2, rng)
    np.testing.assert_allclose(found[0], one, atol=1e-12)
    point = batched.reap(rows, 2, 1, 0.0, rng)[0]
    size = math.sqrt(4)
    np.testing.assert_allclose(
        point, printed.gradient_update(np.eye(6) / 3, rows[0], 0.0, size, 2, rng), atol=1e-9
    )
    assert batched.gap(found, truth)[0] == pytest.approx(largest_angle_gap(one.T, truth[0].T))
    d2 = squared_angle_distance(one.T, truth[0].T)
    assert batched.squared_angles(found, truth)[0] == pytest.approx(d2)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_projections_to_the_set_of_reap(rank):
    values = np.sort(np.random.default_rng(1).standard_normal((20, 5)) * 2, axis=1)
    for row, found in zip(values, batched.capped(values, rank)):
        np.testing.assert_allclose(found, project_capped_simplex(row, rank), atol=1e-9)
    found = batched.entropic(values, rank)
    np.testing.assert_allclose(found.sum(axis=1), rank)
    assert found.max() <= 1 + 1e-12
    free = found < 1 - 1e-9
    shift = np.where(free, values - np.log(found), np.nan)  # one number for all that are free
    np.testing.assert_allclose(np.nanmax(shift, axis=1), np.nanmin(shift, axis=1), atol=1e-9)


def test_noise_of_steps():
    """T Gaussian answers of sensitivity 2/N are as private as one of mu."""
    std = batched.step_std(2.0, 1000, 50, 0.5)
    assert math.sqrt(50) * 2 / 1000 / std == pytest.approx(0.5)
    assert batched.step_std(2.0, 1000, 50, math.inf) == 0.0


def test_powers_and_promises():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    slope, error = powers.fit_power(x, 3 * x**-1.5)
    assert slope == pytest.approx(-1.5)
    assert error == pytest.approx(0.0, abs=1e-12)
    assert powers.not_above((-1.0, 0.01), -1.01) is True
    assert powers.not_above((-0.7, 0.01), -1.0) is False
    assert powers.not_above((-0.85, 0.01), -1.0) is True  # sizes are finite
    rows = [{"n": n, "table": t, "v": n * f} for n in (1, 2, 4) for t in (0, 1) for f in (1, 3)]
    assert powers.fit_means(rows, "n", lambda r: r["v"])[0] == pytest.approx(1.0)
    assert powers.not_above((-0.9, 0.3), -1.0) is None
    assert powers.not_above((-3.0, 0.4), -1.0) is True
    assert powers.not_above((math.nan, math.nan), -1.0) is None
    assert powers.not_below((2.0, 0.1), 1.0) is True
    assert [r["n"] for r in powers.large([{"n": n} for n in (1, 2, 2, 4, 8)], "n")] == [4, 8]
    assert powers.all_hold(True, None) is None
    assert powers.all_hold(None, False) is False


def test_a_start_is_judged_by_what_it_gains():
    def judged(gain, scatter):
        found = []
        for method, better in (("PCA", 0.0), ("GD-REAP", gain), ("MD-REAP", 0.0)):
            for k, noise in enumerate(np.linspace(-scatter, scatter, 20)):
                value = 10 ** (-3.0 - better + noise * (method != "PCA"))
                found.append({"part": "started", "method": method, "columns": 5, "rows": 500,
                              "table": k, "value": value})  # fmt: skip
        return rates.started_claim(found).holds

    assert judged(0.5, 0.2) is True
    assert judged(0.0, 0.2) is False
    assert judged(0.0, 2.0) is None
