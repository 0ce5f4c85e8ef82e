from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from veilspan.privacy.discrete import LARGEST, Coins, add_discrete_noise, discrete_gaussian
from veilspan.privacy.grid import noise_scale
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
    heads = sum(coins.exp_minus(exponent) for _ in range(10_000))
    assert stats.binomtest(heads, 10_000, np.exp(-float(exponent))).pvalue > ALPHA


def test_released_numbers_lie_on_the_grid_with_the_right_spread():
    scale = noise_scale(3.0, 1.0, 2000, largest=100.0, least_bits=27)
    released = add_discrete_noise(np.full(2000, 0.3), scale, SeededNoise(4))
    assert np.all(np.mod(released, scale.step) == 0)
    spread = np.sum((released - 0.3) ** 2) / scale.std**2
    assert stats.chi2.cdf(spread, 2000) > ALPHA
    assert stats.chi2.sf(spread, 2000) > ALPHA


def test_large_answers_and_coarse_grids_are_refused():
    scale = noise_scale(3.0, 1.0, 1, largest=1.0, least_bits=27)
    with pytest.raises(ValueError, match="at most"):
        add_discrete_noise(np.zeros(LARGEST + 1), scale, SeededNoise(0))
    coarse = noise_scale(1e-3, 1.0, 1, largest=1e12, least_bits=27)
    with pytest.raises(ValueError, match="coarser"):
        add_discrete_noise(np.zeros(1), coarse, SeededNoise(0))
