"""Budgets at the ends of float64: right or refused, in words, by whoever takes one."""

import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from veilspan import (
    PCA,
    Budget,
    LinearRegression,
    LogisticRegression,
    RobustPCA,
    SampledGaussianEvent,
    SubspaceTracker,
    calibrate_noise,
    epsilon_spent,
)
from veilspan.cli.app import app
from veilspan.ledger import Ledger
from veilspan.privacy import gdp
from veilspan.privacy.budget import LEAST_DELTA, LEAST_EPSILON, MOST_DELTA, MOST_EPSILON

TABLE = np.random.default_rng(0).standard_normal((50, 4))
TOO_FAR = [1e-320, 1e-7, 1.1e9, 1e300, 10**400, 10**5000]
BEYOND = [1e-320, 1e-301, 0.991, 1 - 1e-16]


def reference_delta(mu, epsilon):
    with mpmath.workdps(60):
        mu, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


@given(st.floats(-6, 9), st.floats(-2.3, 37))
def test_delta_is_never_below_the_truth_and_hardly_above(power, t):
    """t = epsilon/mu - mu/2 from the largest delta of a budget to the smallest."""
    epsilon = 10.0**power
    root = math.sqrt(t * t + 2 * epsilon)
    mu = root - t if t < 0 else 2 * epsilon / (root + t)
    truth = reference_delta(mu, epsilon)
    assert truth <= gdp.delta_of(mu, epsilon) <= truth * (1 + 1e-8)


ENDS = [
    (epsilon, delta)
    for epsilon in (LEAST_EPSILON, 1e-3, 1.0, 1e3, MOST_EPSILON)
    for delta in (LEAST_DELTA, 1e-100, 1e-12, 0.1, MOST_DELTA)
]


@pytest.mark.parametrize(("epsilon", "delta"), ENDS)
def test_mu_is_right_at_the_ends(epsilon, delta):
    mu = Budget(epsilon, delta).mu
    assert reference_delta(mu, epsilon) <= delta < reference_delta(mu * (1 + 3e-9), epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), ENDS)
def test_a_statement_at_the_ends_is_finite_and_positive(epsilon, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # delta >= 1/n
        model = PCA(1, epsilon=epsilon, delta=delta, allow_weak=True).fit(TABLE)
    assert model.privacy_.private
    assert LEAST_EPSILON <= model.privacy_.epsilon <= epsilon
    assert model.privacy_.epsilon > 0.98 * epsilon
    assert model.privacy_.verify()


@pytest.mark.parametrize("make", [PCA, RobustPCA, LogisticRegression, LinearRegression])
def test_estimators_refuse_what_is_beyond(make):
    for wrong in [{"epsilon": value} for value in TOO_FAR] + [{"delta": d} for d in BEYOND]:
        with pytest.raises(ValueError, match=r"(epsilon|delta) must lie between"):
            make(**wrong).plan(50, 4)


def test_everybody_else_refuses_it_too(tmp_path):
    with pytest.raises(ValueError, match="epsilon must lie between"):
        SubspaceTracker(1, epsilon=1e-320, block_size=10).partial_fit(TABLE)
    with pytest.raises(ValueError, match="delta must lie between"):
        Ledger(tmp_path / "ledger.db", tmp_path / "key").dataset("d", 1.0, 1e-320)


def test_numbers_of_any_kind_become_floats():
    budget = Budget(Fraction(1, 2), np.float32(2.0**-20))
    assert budget == Budget(0.5, 2.0**-20)
    assert (type(budget.epsilon), type(budget.delta)) == (float, float)
    assert Budget(math.inf, 1e-6).epsilon == math.inf


@pytest.mark.parametrize(
    ("solver", "epsilon"),
    [("auto", 1e9), ("gd", 1e9), pytest.param("auto", 1e6, marks=pytest.mark.long)],
)
def test_a_linear_model_takes_a_very_large_epsilon(solver, epsilon):
    """It overflowed: e^epsilon was computed."""
    plan = LogisticRegression(epsilon=epsilon, solver=solver, row_norm=1.0).plan(500, 4)
    assert 0.99 * epsilon < plan.epsilon <= epsilon


def test_what_is_accounted_numerically_has_a_range_of_its_own():
    event = SampledGaussianEvent("s", 0.1, 1.0)
    for asked in (
        lambda: calibrate_noise(Budget(1.0, 1e-13), [event]),
        lambda: epsilon_spent([event], 1e-13),
        lambda: LogisticRegression(delta=1e-20, solver="objective", row_norm=1.0).plan(500, 4),
    ):
        with pytest.raises(ValueError, match="accounted numerically"):
            asked()
    with pytest.raises(ValueError, match="too small at delta"):
        LogisticRegression(epsilon=1e-6, solver="objective", row_norm=1.0).plan(500, 4)
    with pytest.raises(ValueError, match=r"at most 1e\+07 for objective perturbation"):
        LogisticRegression(epsilon=1e8, solver="objective", row_norm=1.0).plan(500, 4)
    # The default knows what it can use.
    assert LogisticRegression(epsilon=1e3, delta=1e-20, row_norm=1.0).plan(500, 4).epsilon > 990


@pytest.mark.parametrize("text", ["1e400", "1e10", "1e-320"])
def test_the_command_line_does_not_take_a_typing_error_for_no_privacy(tmp_path, text):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n2,1\n0,1\n")
    words = ["fit", "pca", str(table), "--epsilon", text, "--out", str(tmp_path / "release")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code != 0
    assert "1e+09, or" in result.output + str(result.exception)
    assert not (tmp_path / "release").exists()
