"""The independent meter: its formulas hold, and it sees what a tape that lies would hide.

Deterministic but for the measured noise: 1e-13 an answer, less than 1e-9 for this file.
"""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from veilspan import (
    PCA,
    RSGD,
    Budget,
    BudgetExceededError,
    FrechetMean,
    GaussianEvent,
    LogisticRegression,
    RobustPCA,
    SampledGaussianEvent,
    delta_spent,
)
from veilspan.audit import own_accountant
from veilspan.audit.measuring_tape import PROBES, Reading, find_grid, measure_noise
from veilspan.audit.own_accountant import Shift, gaussian_delta, realised_delta
from veilspan.audit.replay import replay
from veilspan.curator import curator as door
from veilspan.curator.curator import Curator
from veilspan.curator.tape import Question
from veilspan.geometry import Ball, Euclidean
from veilspan.privacy.grid import NoiseScale, add_noise
from veilspan.privacy.noise import SeededNoise

BOTH = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])

# ---------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("distance", "epsilon"),
    [(0.01, 0.05), (0.237, 1.0), (1.5, 8.0), (3.0, 18.0), (0.02, 0.0), (40.0, 900.0)],
)
def test_delta_of_two_gaussians(distance, epsilon):
    with mpmath.workdps(60):
        t = mpmath.mpf(epsilon) / distance - mpmath.mpf(distance) / 2
        exact = mpmath.ncdf(-t) - mpmath.exp(epsilon) * mpmath.ncdf(-t - distance)
    assert gaussian_delta(distance, epsilon) == pytest.approx(float(exact), rel=1e-10)


def test_delta_at_the_ends():
    assert gaussian_delta(0.0, 1.0) == 0
    assert gaussian_delta(math.inf, 1.0) == 1
    assert realised_delta([Shift(math.inf, 0.3)], 5.0, "add-remove") == 0.3


@BOTH
@pytest.mark.parametrize(
    ("rate", "noise", "steps", "epsilon", "near"),
    [(0.3, 2.0, 3, 1.0, 0.99), (0.4, 6.0, 8, 0.1, 0.98)],
)
def test_sampled_steps_are_counted_from_below_and_nearly_in_full(
    rate, noise, steps, epsilon, near, neighbors
):
    """Beside the accountant, which counts from above."""
    reach = (2 if neighbors == "replace-one" else 1) / noise
    found = realised_delta([Shift(reach, rate)] * steps + [Shift(0.05)], epsilon, neighbors)
    events = [SampledGaussianEvent("s", rate, noise, steps), GaussianEvent("g", 20.0)]
    above = delta_spent(events, epsilon, neighbors=neighbors)
    assert near * above < found <= above


def test_one_sampled_step_by_quadrature():
    """(1-q) N(0) + q N(m) against N(0), and turned round."""
    from scipy.integrate import quad
    from scipy.stats import norm

    q, m, epsilon = 0.3, 1.2, 0.4

    def mixed(x):
        return (1 - q) * norm.pdf(x) + q * norm.pdf(x - m)

    def gap(one, two):
        return quad(lambda x: max(0.0, one(x) - math.exp(epsilon) * two(x)), -10, 12, limit=400)[0]

    exact = max(gap(mixed, norm.pdf), gap(norm.pdf, mixed))
    assert 0.999 * exact < realised_delta([Shift(m, q)], epsilon, "add-remove") <= exact


def test_many_steps_use_a_finer_grid():
    shifts = [Shift(1.0, 0.01)] * 11
    above = delta_spent([SampledGaussianEvent("s", 0.01, 1.0, 11)], 0.5, neighbors="add-remove")
    assert 0.85 * above < realised_delta(shifts, 0.5, "add-remove") <= above
    assert own_accountant.MORE_BINS > own_accountant.BINS


def test_epsilon_of_a_reading_inverts_its_delta():
    reading = Reading((Shift(0.237),), "replace-one")
    assert reading.delta(reading.epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-9)
    assert Reading((Shift(math.inf),), "replace-one").epsilon(1e-6) == math.inf
    assert Reading((), "replace-one").epsilon(1e-6) == 0


# ---------------------------------------------------------------- noise and grid


def test_the_grid_is_found_from_the_answers():
    values = np.array([3.0, -40.0, 0.0, 2.0**30 + 1]) * 2.0**-17
    assert find_grid(values) == 2.0**-17
    assert find_grid(np.zeros(3)) == 0


@pytest.mark.parametrize("coordinates", [1, 7, 900])
def test_noise_is_measured_and_half_of_it_is_told_from_all_of_it(coordinates):
    scale = NoiseScale(2.0, 2.0**-20, 1.0)
    exact = np.linspace(-3, 50, coordinates)
    source = SeededNoise(1)
    count = max(2, math.ceil(PROBES / coordinates) // 2 * 2)
    found = measure_noise(np.stack([add_noise(exact, scale, source) for _ in range(count)]), exact)
    assert found.low < 2.0 < found.high
    assert found.grid == 2.0**-20
    half = measure_noise(
        np.stack([add_noise(exact, replace(scale, std=1.0), source) for _ in range(count)]), exact
    )
    assert half.high < 2.0


def test_noise_that_repeats_itself_counts_as_none():
    drawn = np.repeat(np.random.default_rng(0).standard_normal((1, 300)), 4, axis=0)
    assert measure_noise(drawn, np.zeros(300)).high == 0


# ---------------------------------------------------------------- a correct release


def worst_tables(neighbors):
    """Two tables whose second moments are as far apart as they can be."""
    table = np.zeros((30, 3))
    if neighbors == "add-remove":
        return table, np.vstack([table, np.eye(3)[0]])
    one, two = table.copy(), table.copy()
    one[-1], two[-1] = np.eye(3)[0], np.eye(3)[1]
    return one, two


def pca(neighbors="replace-one", **settings):
    settings = {"row_norm": 1.0, "center": "origin", **settings}  # so that pairs use it in full
    return lambda x: PCA(1, epsilon=3.0, neighbors=neighbors, random_state=0, **settings).fit(x)


@BOTH
@pytest.mark.parametrize("noise", ["grid", "exact"])
def test_a_correct_release_uses_its_budget_and_no_more(neighbors, noise):
    report = replay(pca(neighbors, noise=noise), *worst_tables(neighbors))
    assert report.ok, report.findings
    assert 0.98 * 3.0 < report.reading.epsilon(1e-6) <= 3.0


BALL = Ball.from_norm(Euclidean(2), 1.0)


def sampled_mean(neighbors):
    def fit(x):
        return FrechetMean(
            BALL.manifold, ball=BALL, solver=RSGD(steps=2, batch_rate=0.3), epsilon=0.3,
            neighbors=neighbors, random_state=0,
        ).fit(x)  # fmt: skip

    return fit


def opposite_points(neighbors):
    table = np.zeros((30, 2))
    if neighbors == "add-remove":
        return table, np.vstack([table, [1.0, 0.0]])
    one, two = table.copy(), table.copy()
    one[-1], two[-1] = [1.0, 0.0], [-1.0, 0.0]
    return one, two


@BOTH
def test_sampled_steps_are_read_with_every_coin_on_its_head(neighbors):
    report = replay(sampled_mean(neighbors), *opposite_points(neighbors))
    assert report.ok, report.findings
    assert all(shift.distance > 0 for shift in report.reading.shifts)
    assert 0.7 * 0.3 < report.reading.epsilon(1e-6) <= 0.3


# ---------------------------------------------------------------- tapes and curators that lie


honest_noise = Curator._add_noise


def half_noise(self, exact, scale):
    return honest_noise(self, exact, replace(scale, std=scale.std / 2))


def test_noise_that_the_tape_overstates_is_caught(monkeypatch):
    """The tape says what was planned; half of it was added. No tape shows that."""
    monkeypatch.setattr(Curator, "_add_noise", half_noise)
    report = replay(pca(), *worst_tables("replace-one"))
    assert any("the tape says" in text for text in report.findings)
    assert any("the budget allows" in text for text in report.findings)


def test_noise_that_repeats_is_caught(monkeypatch):
    monkeypatch.setattr(
        Curator, "_add_noise", lambda self, exact, scale: add_noise(exact, scale, SeededNoise(0))
    )
    assert any("the tape says" in t for t in replay(pca(), *worst_tables("replace-one")).findings)


def lying(**factors):
    """A question whose numbers are not those of the answer."""

    def made(*values):
        asked = Question(*values)
        return replace(asked, **{name: getattr(asked, name) * f for name, f in factors.items()})

    return made


def test_a_tape_with_more_noise_than_there_was_is_caught(monkeypatch):
    monkeypatch.setattr(door, "Question", lying(std=2.0))
    assert any("the tape says" in t for t in replay(pca(), *worst_tables("replace-one")).findings)


def test_a_sensitivity_too_small_for_the_relation_is_caught(monkeypatch):
    """Calibrated for add-remove; the tape declares the true one, so that its own numbers agree."""
    genuine = door.noise_scale

    def of_add_remove(multiplier, sensitivity, *more, **facts):
        return genuine(multiplier, sensitivity / math.sqrt(2), *more, **facts)

    monkeypatch.setattr(door, "noise_scale", of_add_remove)
    report = replay(pca(), *worst_tables("replace-one"))
    assert report.largest_use <= 1 + 1e-9
    assert any("the budget allows" in text for text in report.findings)


def test_rows_that_are_not_clipped_are_caught_even_if_the_tape_declares_them(monkeypatch):
    monkeypatch.setattr(
        "veilspan.curator.rows.clip_weights", lambda norms, bound: np.ones(len(norms))
    )
    monkeypatch.setattr(door, "Question", lying(sensitivity=1e9))
    one, two = worst_tables("replace-one")
    two[-1] *= 50
    report = replay(pca(row_norm=1.0), one, two)
    assert report.largest_use < 1
    assert any("the budget allows" in text for text in report.findings)


@BOTH
def test_noise_of_a_sample_divided_by_the_rows_is_caught(neighbors, monkeypatch):
    genuine = door.noise_scale

    def of_a_mean(*asked, **facts):
        scale = genuine(*asked, **facts)
        return replace(scale, std=scale.std / 30)

    monkeypatch.setattr(door, "noise_scale", of_a_mean)
    report = replay(sampled_mean(neighbors), *opposite_points(neighbors))
    assert any("the budget allows" in text for text in report.findings)


def test_a_plan_calibrated_too_low_is_caught(monkeypatch):
    """The plan says that this is too little; without its check, so does the meter.

    The epsilon is one that no other test calibrates: results are kept.
    """
    from veilspan.privacy import gdp, plan

    genuine = gdp.mu_of
    monkeypatch.setattr(gdp, "mu_of", lambda epsilon, delta: 1.05 * genuine(epsilon, delta))

    def fit(x):
        return PCA(1, epsilon=2.71, random_state=0, row_norm=1.0, center="origin").fit(x)

    one, two = worst_tables("replace-one")
    with pytest.raises(BudgetExceededError, match="more than its budget"):
        fit(one)
    monkeypatch.setattr(plan, "fits_budget", lambda *_: True)
    report = replay(fit, one, two)
    assert any("the budget allows" in text for text in report.findings)


def test_a_budget_can_be_given_where_the_output_has_none():
    def fit(x):
        return pca()(x).components_

    one, two = worst_tables("replace-one")
    assert replay(fit, one, two, budget=Budget(3.0, 1e-6)).ok
    assert not replay(fit, one, two, budget=Budget(2.5, 1e-6)).ok


# ---------------------------------------------------------------- objective perturbation


def logistic(x, y):
    return LogisticRegression(
        classes=[0, 1], row_norm=1.0, epsilon=2.0, solver="objective", random_state=0
    ).fit(x, y)


def test_tilts_are_read_as_shifts():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((200, 3)), np.arange(200) % 2
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    other = x.copy()
    other[0] = -x[0]
    report = replay(lambda rows: logistic(*rows), (x, y), (other, y))
    assert report.ok, report.findings
    assert 0.01 < report.reading.epsilon(1e-6) <= 2.0


def test_a_robust_release_is_read_in_every_answer():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 4))
    other = np.vstack([-5 * x[:1], x[1:]])
    report = replay(lambda t: RobustPCA(1, epsilon=3.0, random_state=0).fit(t), x, other)
    assert report.ok, report.findings
    assert len(report.reading.shifts) == report.questions > 1


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e200])
def test_noise_is_measured_at_any_size(size):
    drawn = size * np.random.default_rng(0).standard_normal((4, 300))
    found = measure_noise(drawn, np.zeros(300))
    assert found.low < size < found.high
