import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from veilspan.privacy import discrete
from veilspan.privacy.discrete import (
    LARGEST,
    Coins,
    add_discrete_noise,
    discrete_gaussian,
    shift_and_round,
)
from veilspan.privacy.grid import NoiseScale, noise_scale
from veilspan.privacy.noise import SeededNoise

ALPHA = 1e-6
DRAWS = 20_000


def p_value(variance, draws):
    """Chi-square test of the draws against exp(-k^2 / (2 variance))."""
    reach = int(4 * np.sqrt(variance))
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * variance))
    inside = draws[np.abs(draws) <= reach]
    observed = np.bincount(inside + reach, minlength=len(k))
    expected = weights / weights.sum() * len(inside)
    common = expected > 5
    return stats.chisquare(
        observed[common], expected[common] * observed[common].sum() / expected[common].sum()
    ).pvalue


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(7, 3), Fraction(30)])
def test_draws_follow_the_density_and_a_wrong_scale_does_not(variance):
    coins = Coins(SeededNoise(1))
    draws = np.array([discrete_gaussian(variance, coins) for _ in range(DRAWS)])
    assert p_value(float(variance), draws) > ALPHA
    assert p_value(1.25 * float(variance), draws) < ALPHA


def test_uniform_integers_are_uniform():
    coins = Coins(SeededNoise(2))
    counts = np.bincount([coins.below(7) for _ in range(14_000)])
    assert stats.chisquare(counts).pvalue > ALPHA
    assert coins.below(1) == 0


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_coins_fall_with_probability_exp_minus(exponent):
    coins = Coins(SeededNoise(3))
    heads = sum(coins.exp_minus(exponent.numerator, exponent.denominator) for _ in range(10_000))
    assert stats.binomtest(heads, 10_000, np.exp(-float(exponent))).pvalue > ALPHA


@pytest.mark.parametrize("bits", [0, 1, 3, 60])
def test_rounding_to_a_coarser_grid_is_exact_and_fair(bits):
    for number in [*range(-40, 41), 2**70 + 2**59, -(2**70) - 2**59 - 1, 3 * 2**59, -3 * 2**59]:
        assert shift_and_round(number, bits) == round(Fraction(number, 2**bits))
        assert shift_and_round(-number, bits) == -shift_and_round(number, bits)


def test_released_numbers_lie_on_the_grid_with_the_right_spread():
    scale = noise_scale(3.0, 1.0, 2000, largest=100.0, least_bits=27)
    released = add_discrete_noise(np.full(2000, 0.3), scale, SeededNoise(4))
    assert np.all(np.mod(released, scale.step) == 0)
    spread = np.sum((released - 0.3) ** 2) / scale.std**2
    assert stats.chi2.cdf(spread, 2000) > ALPHA
    assert stats.chi2.sf(spread, 2000) > ALPHA


def test_large_answers_are_refused():
    scale = noise_scale(3.0, 1.0, 1, largest=1.0)
    with pytest.raises(ValueError, match="at most"):
        add_discrete_noise(np.zeros(LARGEST + 1), scale, SeededNoise(0))


def log_ratio(k, s):
    """log D(k)/G(k) to 60 digits: the discrete Gaussian against the rounded one."""
    k, s = mpmath.mpf(k), mpmath.mpf(s)
    reach = int(16 * s)  # beyond it are less than e^-128
    total = mpmath.fsum(
        mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * s * s)) for j in range(-reach, reach)
    )
    rounded = mpmath.ncdf((k + 0.5) / s) - mpmath.ncdf((k - 0.5) / s)
    return mpmath.log(mpmath.exp(-k * k / (2 * s * s)) / total / rounded)


@pytest.mark.parametrize("s", [4, 12])
def test_the_discrete_gaussian_is_as_near_to_the_rounded_one_as_the_proof_says(s):
    with mpmath.workdps(60):
        for k in (0, 1, s, 3 * s, 6 * s):
            t = max(1, mpmath.mpf(k) / s)
            low, high = -1.01 * t**2 / (24 * s**2), mpmath.mpf(1.01) / (24 * s**2)
            assert low <= log_ratio(k, s) <= high
        # and no nearer than that, so that it has to be paid for
        assert log_ratio(0, s) > 0.98 * high
        assert log_ratio(6 * s, s) < 0.9 * low


def spread_drawn(monkeypatch, scale):
    """Steps to a standard deviation with which noise is drawn."""
    drawn = []

    def watch(variance, coins):
        drawn.append(math.sqrt(variance))
        return discrete_gaussian(variance, coins)

    monkeypatch.setattr(discrete, "discrete_gaussian", watch)
    add_discrete_noise(np.zeros(1), scale, SeededNoise(0))
    return drawn[0]


@pytest.mark.parametrize(
    "scale",
    [
        noise_scale(3.0, 1.0, 1, largest=1.0, least_bits=27),
        noise_scale(3.0, 1.0, 20_000, largest=2.0**24),
        noise_scale(1e-3, 1.0, 1, largest=1e12),  # a grid coarser than the noise
        NoiseScale(1.0, 2.0**-40, 1.0),
    ],
    ids=["fine", "large", "coarse", "tilt"],
)
def test_a_thousand_exact_answers_do_not_cost_a_billionth(monkeypatch, scale):
    """At epsilon = 8 and delta = 1e-9, by total variation alone, without the sharper bound."""
    s = spread_drawn(monkeypatch, scale)
    added = 1000 * LARGEST * (1 + math.exp(8)) / (48 * s * s)
    assert added < 1e-14 * 1e-9  # of delta: what ``gdp.delta_of`` is rounded up by, at least
    # As it was drawn before, on the grid of the release:
    assert 1000 * LARGEST * (1 + math.exp(8)) / (48 * 2.0**52) > 1e-9
