"""The memory of correlated noise: what it adds up to, on the grid, and that nobody gets it."""

import copy
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest

from veilspan.privacy import noise_buffers
from veilspan.privacy.correlation import Correlation
from veilspan.privacy.grid import NoiseScale, add_noise, noise_scale
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.noise_buffers import FINEST_BITS, NoiseBuffers, slack_steps

KINDS = [Correlation(), Correlation(kept=0.8), Correlation(band=6), Correlation(band=1)]
STEP = 2.0**-20
SCALE = NoiseScale(1.0, STEP, 1.0)


def noises(spec, drawn, scale=SCALE, buffers=None):
    """Noise of answers to zeros, for given z_t in place of random ones."""
    buffers = NoiseBuffers() if buffers is None else buffers
    found = []
    for z in drawn:
        place = buffers.begin(spec, False, scale, len(z))
        exact = np.zeros(len(z))
        diagonal = spec.column(place)[0]
        given = buffers.centre(exact) + np.rint(z / diagonal / scale.step) * scale.step
        buffers.take(given, exact)
        found.append(given)
    return np.array(found)


def columns_in_use(spec, size):
    """C, from what unit z_t do to the noise: an audit that reads no declared coefficient."""
    fine = NoiseScale(1.0, 2.0**-36, 1.0)
    return np.linalg.inv(noises(spec, np.eye(size), fine))


@pytest.mark.parametrize("spec", KINDS, ids=str)
def test_the_recursion_is_the_matrix(spec):
    size = 40
    matrix = columns_in_use(spec, size)
    np.testing.assert_allclose(matrix, spec.matrix(size), atol=1e-7)
    assert (np.linalg.norm(matrix, axis=0) <= 1 + 1e-7).all()


def test_a_wrong_column_norm_is_seen_in_the_noise(monkeypatch):
    """The broken twin keeps its declared norm and correlates more."""

    class Broken(Correlation):
        @property
        def weights(self):
            return 1.4 * super().weights

        @property
        def tail2(self):
            return Correlation().tail2

    assert np.linalg.norm(columns_in_use(Broken(), 60), axis=0).max() > 1.1


@pytest.mark.parametrize("spec", KINDS, ids=str)
def test_all_stays_on_the_grid(spec):
    rng = np.random.default_rng(0)
    found = noises(spec, rng.standard_normal((30, 5)))
    assert (np.rint(found / STEP) == found / STEP).all()


@pytest.mark.parametrize("spec", KINDS, ids=str)
def test_two_tables_lie_no_further_apart_than_the_slack_allows(spec):
    """Exact fractions beside the rounded recursion, for worst-placed small differences."""
    rng, size, blocks = np.random.default_rng(1), 4, 50
    gap = np.zeros((blocks, size))
    gap[3] = rng.integers(-300, 300, size) * STEP
    one, two = NoiseBuffers(), NoiseBuffers()
    seen = []
    for t in range(blocks):
        table = np.rint(rng.standard_normal(size) / STEP) * STEP
        place = one.begin(spec, False, SCALE, size)
        two.begin(spec, False, SCALE, size)
        diagonal = spec.column(place)[0]
        seen.append(diagonal * (one.centre(table) - two.centre(table + gap[t])))
        given = one.centre(table) + np.rint(rng.standard_normal(size) / STEP) * STEP
        one.take(given, table)
        two.take(given, table + gap[t])
    matrix = spec.matrix(blocks)
    linear = np.array([
        [float(sum(Fraction(matrix[t, u]) * Fraction(gap[u, i]) for u in range(t + 1)))
         for i in range(size)]
        for t in range(blocks)
    ])  # fmt: skip
    error = np.abs(np.array(seen) + linear) / STEP
    allowed = slack_steps(spec) / math.sqrt(spec.band or 2**16) + 1e-6
    assert error.max() <= allowed
    assert np.linalg.norm(seen) <= np.linalg.norm(gap) + slack_steps(spec) * STEP * math.sqrt(size)
    if not spec.independent:
        assert error.max() > 0  # the recursion does round


def test_the_noise_pays_for_the_slack():
    plain = noise_scale(5.0, 1.0, 2500, largest=1e3, finest=FINEST_BITS)
    more = noise_scale(
        5.0, 1.0, 2500, largest=1e3, finest=FINEST_BITS, more_steps=slack_steps(Correlation())
    )
    assert more.std == 5.0 * more.sensitivity
    assert more.sensitivity == 1.0 + more.step * 50 * (1 + slack_steps(Correlation()))
    assert plain.sensitivity < more.sensitivity < 1.002


def test_large_answers_to_a_loud_noise_stay_cheap():
    """500 columns at a multiplier of 50: the slack costs less than a hundredth."""
    steps = slack_steps(Correlation())
    scale = noise_scale(50.0, 1.0, 500**2, largest=1e4, finest=FINEST_BITS, more_steps=steps)
    assert scale.sensitivity < 1.01


def test_sums_have_the_noise_that_is_said():
    """5,000 coordinates: the mean square of a sum is within 10 % (5 standard errors are 0.1)."""
    spec, source, size = Correlation(), SeededNoise(0), 5000
    buffers, total = NoiseBuffers(), np.zeros(size)
    for t in range(40):
        place = buffers.begin(spec, False, SCALE, size)
        assert place == t
        exact = np.zeros(size)
        given = add_noise(buffers.centre(exact), buffers.scale, source)
        buffers.take(given, exact)
        assert np.mean(given**2) == pytest.approx(spec.single_std(t) ** 2, rel=0.1)
        total += given
    assert np.mean(total**2) == pytest.approx(spec.sum_std(39) ** 2, rel=0.1)


def test_without_noise_nothing_is_remembered():
    buffers, silent = NoiseBuffers(), NoiseScale(0.0, 0.0, 1.0)
    buffers.begin(Correlation(), False, silent, 3)
    exact = np.array([1.0, 0.1, -3.0])
    np.testing.assert_array_equal(buffers.centre(exact), exact)
    buffers.take(exact, exact)
    assert not buffers._units.any()


# ---------------------------------------------------------------- new triangular blocks


def started(blocks=5):
    buffers = NoiseBuffers()
    noises(Correlation(), np.random.default_rng(0).standard_normal((blocks, 3)), buffers=buffers)
    return buffers


@pytest.mark.parametrize(
    "changes",
    [
        {"fresh": True},
        {"spec": Correlation(kept=0.9)},
        {"scale": NoiseScale(2.0, STEP, 1.0)},
        {"size": 4},
    ],
    ids=str,
)
def test_whatever_changes_opens_a_new_block(changes):
    buffers = started()
    asked = {"spec": Correlation(), "fresh": False, "scale": SCALE, "size": 3} | changes
    place = buffers.begin(asked["spec"], asked["fresh"], asked["scale"], asked["size"])
    assert place == 0
    assert not buffers._units.any()


def test_what_stays_the_same_goes_on():
    assert started().begin(Correlation(), False, SCALE, 3) == 5


def test_a_triangular_block_has_an_end(monkeypatch):
    monkeypatch.setattr(noise_buffers, "LONGEST", 4)
    buffers = started(4)
    assert buffers.begin(Correlation(), False, SCALE, 3) == 0


@pytest.mark.parametrize(
    "carry", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_copies_are_empty(carry):
    buffers = started()
    assert np.float64(buffers._units[0, 0]).tobytes() not in pickle.dumps(buffers)
    again = carry(buffers)
    assert again._units.size == 0
    assert again.begin(Correlation(), False, SCALE, 3) == 0
    assert buffers.begin(Correlation(), False, SCALE, 3) == 5  # the original goes on


def test_a_forked_child_begins_anew(monkeypatch):
    buffers = started()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert buffers.begin(Correlation(), False, SCALE, 3) == 0


def test_nothing_secret_is_shown():
    assert repr(started()) == "NoiseBuffers(secret)"
