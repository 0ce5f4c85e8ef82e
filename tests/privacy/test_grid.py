import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.privacy.grid import COST, add_noise, float_slack, noise_scale
from veilspan.privacy.noise import SecureNoise, SeededNoise

RUNS = 40_000


def low_bit_share(released):
    """Share of numbers near zero whose low bits are empty: the precision attack's statistic."""
    near = released[np.abs(released) < 0.25]
    return float(np.mean(np.mod(near, 2.0**-53) == 0))


def test_the_attack_works_on_plain_float_noise():
    """Near zero, 1 + noise has lost the low bits that 0 + noise still has."""
    noise = 4.225 * np.random.default_rng(0).standard_normal(RUNS)
    # Between 2^-k-1 and 2^-k there are 2^(k - 1) times as many floats as multiples of 2^-53:
    # 1/2 x 1/4 + 1/4 x 1/8 + ... = 1/6. Of 1,888 numbers, six binomial deviations.
    assert low_bit_share(0.0 + noise) == pytest.approx(1 / 6, abs=0.052)
    assert low_bit_share(1.0 + noise) == 1.0


def test_the_attack_fails_on_released_answers():
    scale = noise_scale(4.225, 1.0, 1, largest=10.0)
    released = [add_noise(np.full(RUNS, v), scale, SeededNoise(0)) for v in (0.0, 1.0)]
    for answer in released:
        assert low_bit_share(answer) == 1.0
        assert np.all(np.mod(answer, scale.step) == 0)


@given(st.floats(1e-3, 1e4), st.floats(1e-6, 1e6), st.integers(1, 10**8), st.floats(1, 1e9))
def test_the_grid_is_a_public_power_of_two_and_costs_little(z, sensitivity, dim, rows):
    scale = noise_scale(z, sensitivity, dim, largest=rows * sensitivity)
    assert math.frexp(scale.step)[0] == 0.5
    assert scale.std == pytest.approx(z * scale.sensitivity)
    assert scale.sensitivity >= sensitivity + scale.step * math.sqrt(dim)
    assert rows * sensitivity / scale.step <= 2.0**52
    if rows / z < 2**20 and z * math.sqrt(dim) < 2**40 * COST:
        assert scale.sensitivity <= sensitivity * (1 + 2 * COST)


@given(st.integers(0, 10**6), st.integers(1, 300), st.floats(1e-3, 10))
def test_rounding_moves_neighbours_apart_by_no_more_than_charged(seed, dim, distance):
    rng = np.random.default_rng(seed)
    value = rng.standard_normal(dim) * 10
    gap = rng.standard_normal(dim)
    other = value + distance * gap / np.linalg.norm(gap)
    scale = noise_scale(2.0, distance, dim, largest=100.0)
    rounded = [np.rint(v / scale.step) * scale.step for v in (value, other)]
    assert np.linalg.norm(rounded[0] - rounded[1]) <= scale.sensitivity


def test_float_sums_stay_within_their_slack():
    """Adversarial order: large and small contributions, against exact summation."""
    rng = np.random.default_rng(0)
    values = np.concatenate([np.ones(20_000), 1e-17 * np.ones(20_000), rng.uniform(-1, 1, 20_000)])
    exact = math.fsum(values)
    naive = 0.0
    for value in values:
        naive += value
    slack = float_slack(len(values), 1.0, len(values), 256, roundoff=0, alike=True)
    assert 0 < abs(naive - exact) <= slack / 2


def test_no_noise_leaves_the_value_alone():
    scale = noise_scale(0.0, 1.0, 3, largest=1.0)
    value = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(add_noise(value, scale, SecureNoise()), value)
