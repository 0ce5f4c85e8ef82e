"""What divided votes say of log-odds: who votes at a knot, and what empty knots say."""

import numpy as np
import pytest
from scipy.special import expit

from veilspan.solvers.linear.rare_classes.odds_of_votes import (
    is_quiet,
    log_likelihood,
    places_between,
    who_votes,
)

KNOTS = 9


def normal_votes(mean, spread, rows=1e5):
    """Exact votes of normal scores (in knots), and the share of a second class with odds e^u."""
    place = np.linspace(0, KNOTS - 1, 80_001)
    density = np.exp(-0.5 * ((place - mean) / spread) ** 2)
    density *= rows / density.sum()
    votes = np.maximum(0.0, 1.0 - np.abs(np.arange(KNOTS)[:, None] - place))
    return votes @ density, (votes @ (density * expit(place - 6.0))) / (votes @ density)


@pytest.mark.parametrize(("mean", "spread"), [(2.0, 1.0), (4.0, 1.5), (0.7, 1.2)])
def test_the_share_at_a_knot_is_that_of_those_who_vote_there(mean, spread):
    masses, truth = normal_votes(mean, spread)
    votes = who_votes(masses, 0.0)
    np.testing.assert_allclose(votes.sum(axis=1), 1.0)
    seen = masses > 100
    found = votes @ expit(places_between(KNOTS) - 6.0)
    np.testing.assert_allclose(found[seen], truth[seen], rtol=0.03)
    on_knots = expit(np.arange(KNOTS) - 6.0)
    assert np.abs(on_knots / truth - 1)[seen].max() > 0.1  # which is what was wrong


def test_masses_below_the_noise_are_even():
    votes = who_votes(np.array([-30.0, 5.0, 20.0, -1.0]), 40.0)
    inner = votes[1] @ places_between(4)
    assert inner == pytest.approx(1.0, abs=1e-3)


def test_the_likelihood_is_highest_at_the_truth():
    masses, truth = normal_votes(4.0, 1.5)
    counts = np.array([masses * (1 - truth), masses * truth])
    tried = expit(np.log(truth / (1 - truth)) + np.linspace(-1, 1, 21)[:, None])
    for noise in (0.0, 50.0):
        assert log_likelihood(counts, tried, noise).argmax() == 10


def test_empty_knots_say_nothing():
    """Of counts that are noise the expected likelihood is the same for every share."""
    rng = np.random.default_rng(0)
    said = np.zeros(3)
    for _ in range(4000):
        counts = 30.0 * rng.standard_normal((2, 1))
        # Rows below nothing count as none: the rest of the spread is that of the noise.
        said += log_likelihood(counts, np.array([[0.01], [0.3], [0.5]]), 30.0)
    assert np.ptp(said / 4000) < 0.05


def test_noise_is_small_by_public_numbers_alone():
    assert is_quiet(5.0, 20_000)
    assert not is_quiet(5.1, 20_000)
    assert not is_quiet(0.1, None)
    assert is_quiet(0.0, None)
