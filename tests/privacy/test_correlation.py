"""Columns of correlated noise: their norms, what they follow, what noise they leave on sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.privacy import correlation as module
from veilspan.privacy.correlation import MEMORIES, WEIGHTS, WIDEST, Correlation

KINDS = [
    Correlation(),
    Correlation(kept=0.9),
    Correlation(kept=0.0),
    Correlation(band=1),
    Correlation(band=2),
    Correlation(band=7, kept=0.95),
    Correlation(band=WIDEST),
]


def coefficients(size):
    return np.array([math.comb(2 * m, m) / 4.0**m for m in range(size)])


def test_the_weights_are_those_of_least_squares():
    from scipy.optimize import nnls

    wanted = coefficients(128)[1:]
    powers = np.array(MEMORIES) ** np.arange(127)[:, None]
    found = nnls(powers / wanted[:, None], np.ones(127))[0]
    np.testing.assert_allclose(found, WEIGHTS, rtol=1e-5)
    followed = powers @ np.array(WEIGHTS)
    assert np.abs(followed / wanted - 1).max() < 0.02


@pytest.mark.parametrize("spec", KINDS, ids=str)
def test_no_column_is_longer_than_one_for_ever(spec):
    """All entries of a column, summed up to where nothing is left, beside the closed form."""
    reach = 20_000 if spec.band is None else spec.band
    steps = np.arange(reach - 1)
    below = spec.weights if spec.band is not None else spec.weights @ spec.decays[:, None] ** steps
    for place in (0, 1, 3, 5, 6, 1000):
        diagonal, factor = spec.column(place)
        norm2 = diagonal**2 + factor**2 * float(below @ below)
        assert norm2 <= 1
        assert norm2 == pytest.approx(1, abs=1e-8)


@given(kept=st.floats(0, 1), band=st.none() | st.integers(1, WIDEST), place=st.integers(0, 100))
def test_columns_of_any_kind_have_a_diagonal_and_norm_one(kept, band, place):
    spec = Correlation(band, kept)
    diagonal, factor = spec.column(place)
    assert 0.5 < diagonal <= 1
    assert 0 <= factor <= 1
    assert diagonal**2 + factor**2 * spec.tail2 == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("spec", KINDS, ids=str)
def test_the_noise_of_sums_is_that_of_the_matrix(spec):
    size = 60
    steps = np.subtract.outer(np.arange(size), np.arange(size))
    decayed = np.where(steps >= 0, spec.kept ** np.maximum(steps, 0.0), 0.0)
    inverse = np.linalg.inv(spec.matrix(size))
    sums = np.linalg.norm(decayed @ inverse, axis=1)
    np.testing.assert_allclose([spec.sum_std(t) for t in range(size)], sums, rtol=1e-10)
    single = np.linalg.norm(inverse, axis=1)
    np.testing.assert_allclose([spec.single_std(t) for t in range(size)], single, rtol=1e-10)


def test_a_band_ends_before_the_next_block_of_a_person():
    matrix = Correlation(band=5).matrix(20)
    rows = [set(np.flatnonzero(matrix[:, u])) for u in (2, 7, 12)]
    assert all(a.isdisjoint(b) for a, b in ((rows[0], rows[1]), (rows[1], rows[2])))
    assert max(rows[0]) == 6


def test_sums_have_little_noise_at_every_block():
    """Beside independent noise at first, beside the square root built for 128 blocks later."""
    spec, root = Correlation(), coefficients(128)
    built = np.linalg.norm(root) * np.sqrt(np.cumsum(root**2))
    noise = np.array([spec.sum_std(t) for t in range(1024)])
    assert noise[0] < 1.05
    assert noise[3] < 2.0  # that of independent noise
    assert (noise[15:128] / built[15:]).max() < 1.17
    assert noise[1023] < 3.6  # independent: 32


def test_forgetting_has_shorter_columns_and_less_noise():
    fading = Correlation(kept=0.8)
    assert fading.tail2 < Correlation().tail2 / 2
    steady = math.sqrt(1 / (1 - 0.8**2))  # of independent noise on a decayed sum
    assert fading.sum_std(200) < 0.8 * steady


def test_bad_columns_are_refused():
    with pytest.raises(ValueError, match="band"):
        Correlation(band=WIDEST + 1)
    with pytest.raises(ValueError, match="band"):
        Correlation(band=0)
    with pytest.raises(ValueError, match="kept"):
        Correlation(kept=1.5)


def test_a_column_that_is_too_long_is_seen(monkeypatch):
    """The broken twin: weights without the norm that goes with them."""
    spec = Correlation()
    tail2 = spec.tail2
    monkeypatch.setattr(module, "WEIGHTS", tuple(1.3 * w for w in WEIGHTS))
    monkeypatch.setattr(Correlation, "tail2", tail2)
    assert np.linalg.norm(spec.matrix(2000)[:, 6]) > 1.1
