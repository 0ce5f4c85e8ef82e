"""Wang, Ye & Xu (2017) as printed, beside what is true. Everything is deterministic."""

import math

import numpy as np
import pytest

from veilspan import Budget, GaussianEvent, SampledGaussianEvent, calibrate_noise, epsilon_spent
from veilspan.privacy.gdp import epsilon_of, mu_of

DELTA = 1e-6


def test_accelerated_mirror_descent_publishes_an_exact_gradient():
    """Algorithm 3, T = 1, no constraint: y_1 = x_1 - grad F / L. No randomness, two tables."""

    def first_output(rows, noise, *, as_printed):
        gradient = -rows.mean(axis=0)  # of |x - z|^2 / 2 at x_1 = 0, so L = 1
        return -(gradient if as_printed else gradient + noise)

    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (5, 2))
    other = np.vstack([-rows[:1], rows[1:]])
    draws = [first_output(rows, rng.standard_normal(2), as_printed=True) for _ in range(3)]
    assert np.ptp(draws, axis=0).max() == 0  # whatever the noise
    assert not np.allclose(draws[0], first_output(other, 0, as_printed=True))
    # The same noisy gradient in both steps: a Gaussian release, with a finite epsilon.
    distance = np.linalg.norm(rows.mean(axis=0) - other.mean(axis=0))
    std = 2 * math.sqrt(2) / 5 / mu_of(1.0, DELTA)
    assert epsilon_of(distance / std, DELTA) < 1


def test_printed_svrg_noise_gets_worse_with_n():
    """Theorem 4.1, (3): c G^2 T m ln(1/delta) / (n epsilon)^2, c = 1, T m = 10 n; add-remove."""
    found = []
    for n in (100_000, 300_000):
        steps = 10 * n
        printed = math.sqrt(steps * math.log(1 / DELTA)) / n
        event = SampledGaussianEvent("step", 1 / n, printed, steps)
        found.append(epsilon_spent([event], DELTA, neighbors="add-remove"))
    assert 9_900 < found[0] < 9_960
    assert found[1] > 2 * found[0]
    # What ten passes need instead, by exact calibration.
    (needed,) = calibrate_noise(
        Budget(1.0, DELTA), [SampledGaussianEvent("s", 0.05, count=200)], neighbors="add-remove"
    )
    assert needed.noise_multiplier > 0.5


def test_the_noise_of_remark_4_1():
    """Remark 4.1: sigma times O(ln(T/delta)), T = 10 epochs of n steps: enough to n = 100,000."""

    def true(n):
        std = math.sqrt(10 * n * math.log(1 / DELTA)) / n * math.log(10 / DELTA)
        event = SampledGaussianEvent("step", 1 / n, std, 10 * n)
        return epsilon_spent([event], DELTA, neighbors="add-remove")

    assert true(10_000) == pytest.approx(0.080, abs=0.001)
    assert true(100_000) == pytest.approx(0.197, abs=0.001)
    assert true(1_000_000) == pytest.approx(102.8, abs=0.5)


def test_no_constant_serves_every_epsilon():
    """Theorems 5.3, (9), and 6.1, (11): c G^2 T ln(1/delta) / (n epsilon)^2; replace-one."""

    def constant(epsilon, steps=7):
        event = calibrate_noise(Budget(epsilon, DELTA), [GaussianEvent("step", count=steps)])[0]
        sigma = 2 * event.noise_multiplier  # times G / n: a replaced row moves a mean by 2 G / n
        return sigma**2 * epsilon**2 / (steps * math.log(1 / DELTA))

    found = [constant(epsilon) for epsilon in (0.1, 1, 10, 100)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(3.82, abs=0.01)
    assert found[3] == pytest.approx(27.7, abs=0.1)
    # The constant for 0.1, used at 10 and at 100: far more is spent.
    for nominal, least, true in ((10.0, found[2], 16.3), (100.0, found[3], 509)):
        too_quiet = math.sqrt(least / found[0])
        assert epsilon_of(mu_of(nominal, DELTA) * too_quiet, DELTA) == pytest.approx(true, rel=0.01)


def test_the_gaussian_mechanism_of_definition_3_4():
    """Definition 3.4: sqrt(2 ln(1.25/delta)) / epsilon is too much below 8.7, too little above."""

    def true_epsilon(nominal, delta=DELTA):
        return epsilon_of(nominal / math.sqrt(2 * math.log(1.25 / delta)), delta)

    assert true_epsilon(1) < 0.79
    assert true_epsilon(8.7) < 8.7
    assert true_epsilon(8.9) > 8.9
    assert true_epsilon(20) > 24
    for nominal in (1.0, 8.9, 20.0):  # exact calibration
        assert epsilon_of(mu_of(nominal, DELTA), DELTA) <= nominal


def test_smoothness_in_the_norm_of_the_constraint():
    """Algorithm 3, alpha = (k + 2) / (4 L): on the ball of radius R it is L R^2, not L."""
    smooth, radius = 2.0, 3.0
    x, y = np.zeros(2), np.array([radius, 0.0])

    def f(at):
        return smooth * at @ at / 2

    def above(constant):
        return f(x) + smooth * x @ (y - x) + constant / 2 * (np.linalg.norm(y - x) / radius) ** 2

    assert above(smooth) < f(y)  # as the step sizes alpha = (k + 2) / (4 L) need it
    assert above(smooth * radius**2) == pytest.approx(f(y))


def test_the_step_of_theorem_4_2_cannot_meet_its_inequality():
    """Theorem 4.2, (4), L = 1: no number of inner steps helps at 1/12; at 1/48 enough do."""

    def left_side(step, inner, strong=0.1):
        slack = 1 - 8 * step
        return 1 / (step * slack * strong * inner) + 8 * step * (inner + 1) / (inner * slack)

    assert all(left_side(1 / 12, inner) > 2 for inner in (10, 10**4, 10**8, 10**12))
    assert left_side(1 / 25, 10**8) < 0.5 < left_side(1 / 24, 10**8)
    assert left_side(1 / 48, 2000) < 0.5
