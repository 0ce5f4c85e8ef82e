import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.privacy import gdp
from veilspan.privacy.budget import Budget

mpmath.mp.dps = 60


def reference_delta(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(
        -mu / 2 - epsilon / mu
    )


@pytest.mark.parametrize("mu", [1e-3, 0.02, 0.3, 1, 4, 30])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3, 0.1, 1, 8, 60])
def test_delta_against_sixty_digits(mu, epsilon):
    expected = reference_delta(mu, epsilon)
    if expected > 1e-290:
        assert gdp.delta_of(mu, epsilon) == pytest.approx(float(expected), rel=1e-9, abs=0)


def test_known_values():
    # Calibrated noise 1/mu of one Gaussian release, Balle & Wang 2018.
    assert 1 / gdp.mu_of(1.0, 1e-6) == pytest.approx(4.22468, rel=1e-5)
    assert gdp.mu_of(0.8, 1e-6) == pytest.approx(0.19238, rel=1e-4)


@given(st.floats(1e-3, 50), st.floats(1e-12, 0.3))
def test_mu_and_epsilon_invert_each_other_from_the_safe_side(epsilon, delta):
    mu = gdp.mu_of(epsilon, delta)
    assert reference_delta(mu, epsilon) <= delta
    assert reference_delta(mu * (1 + 1e-6), epsilon) > delta
    back = gdp.epsilon_of(mu, delta)
    assert back == pytest.approx(epsilon, rel=1e-6)
    assert reference_delta(mu, back) <= delta * (1 + 1e-12)


@given(st.floats(1e-2, 20), st.floats(0, 20))
def test_delta_is_monotone(mu, epsilon):
    rounding = 1 + 1e-8  # how far above the truth a delta may be: see test_budget_range.py
    assert gdp.delta_of(mu, epsilon + 0.1) <= gdp.delta_of(mu, epsilon) * rounding
    assert gdp.delta_of(mu * 1.01, epsilon) * rounding >= gdp.delta_of(mu, epsilon)


def test_extremes():
    assert gdp.delta_of(0.0, 1.0) == 0.0
    assert gdp.delta_of(math.inf, 1.0) == 1.0
    assert gdp.delta_of(100.0, 0.5) == pytest.approx(1.0)
    assert gdp.epsilon_of(0.0, 1e-6) == 0.0
    assert gdp.epsilon_of(math.inf, 1e-6) == math.inf
    assert gdp.mu_of(math.inf, 1e-6) == math.inf
    # Of two tails one is left: epsilon / mu - mu / 2 = t, the normal quantile of delta.
    t = 4.753424308822899
    assert gdp.mu_of(1e9, 1e-6) == pytest.approx(math.sqrt(2e9 + t * t) - t, rel=3e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "error"),
    [
        (0, 1e-6, ValueError),
        (-1, 1e-6, ValueError),
        (float("nan"), 1e-6, ValueError),
        (1, 0, ValueError),
        (1, 1, ValueError),
        ("1", 1e-6, TypeError),
        (True, 1e-6, TypeError),
    ],
)
def test_a_budget_refuses_nonsense(epsilon, delta, error):
    with pytest.raises(error, match="must"):
        Budget(epsilon, delta)
