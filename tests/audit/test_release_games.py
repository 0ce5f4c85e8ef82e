"""Games of streams and recommendations: noise that is halved shows, honest noise does not.

All at a claim of mu = 3. A stream is scored by the direction that it publishes, recommendations by
their transcript; the threshold is 0, fixed before any run.

Power. The two tables are mu' = 2.7 to 3 apart; with half of the noise 2 mu', so that a run errs
with probability Phi(-mu') <= 0.0035. How many errors still refute mu = 3, and how likely more are,
is computed below: halved noise is missed with a probability of 5 % at most; seeds are fixed. False
alarms: ``ALPHA`` a game, see test_error_budget.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from veilspan import MatrixCompletion, SubspaceTracker
from veilspan.audit.api import make_seeded_fit
from veilspan.audit.bounds import ErrorRates, clopper_pearson_upper, error_rates
from veilspan.audit.game import no_simulation_warnings, play
from veilspan.curator.curator import Curator
from veilspan.privacy import gdp

ALPHA = 1e-8
MU, RUNS = 3.0, 600
EPSILON = gdp.epsilon_of(MU, 1e-6)
SIZE = 5
HONEST = 4  # games of this file against what is shipped


honest_noise = Curator._add_noise


def half_noise(self, exact, scale):
    return honest_noise(self, exact, replace(scale, std=scale.std / 2))


@pytest.mark.parametrize(("runs", "apart"), [(RUNS, 3.0), (450, 2.73)])
def test_the_power_that_is_stated(runs, apart):
    """Errors of one kind that are too many for a refutation, whatever the other kind's are."""

    def refutes(errors):
        bound = clopper_pearson_upper(errors, runs, ALPHA / 2)
        return ErrorRates(bound, bound, 2 * runs, ALPHA).mu > MU

    most = max(errors for errors in range(20) if refutes(errors))
    assert 2 * binom.sf(most, runs, float(ndtr(-apart))) < 0.05


def outputs(estimator, table, score, seed):
    """Scores of what was published by ``RUNS`` fits."""
    fit = make_seeded_fit(estimator)
    with no_simulation_warnings():
        return np.array([score(fit((table,), seed * 10**6 + run)) for run in range(RUNS)])


def rates(estimator, tables, score):
    scores = [outputs(estimator, table, score, seed) for seed, table in enumerate(tables, 1)]
    return error_rates(*scores, 0.0, ALPHA)


# ---------------------------------------------------------------- streams


def stream(blocks, person):
    """Rows of zeros with one person in every block."""
    rows = np.zeros((SIZE * blocks, 2))
    rows[SIZE - 1 :: SIZE] = person
    return rows


def lean(tracker):
    """Leading direction: the second axis over the first. Its sign is the best test there is."""
    direction = tracker.components_[0]
    return direction[1] ** 2 - direction[0] ** 2


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_stream_keeps_its_promise_and_half_of_the_noise_shows(blocks, monkeypatch):
    """A person in as many blocks as are allowed."""
    tracker = SubspaceTracker(1, epsilon=EPSILON, block_size=SIZE, max_blocks_per_person=blocks)
    tables = [stream(blocks, axis) for axis in np.eye(2)]
    honest = rates(tracker, tables, lean).mu
    assert 1.8 < honest <= MU
    monkeypatch.setattr(Curator, "_add_noise", half_noise)
    assert rates(tracker, tables, lean).mu > MU


# ---------------------------------------------------------------- recommendations


def users(last):
    """Five users: four who find everything middling, and one."""
    table = np.full((5, len(last)), np.nan)
    table[:4, 0] = 3.0
    table[-1] = last
    return table


def completion(solver, items, **settings):
    return MatrixCompletion(
        solver, rating_range=(1, 5), max_ratings_per_user=items, epsilon=EPSILON, **settings
    )


@pytest.mark.parametrize(
    ("solver", "last", "runs"),
    [
        ("svd", ([5.0, 5.0], [5.0, 1.0]), RUNS),
        pytest.param(
            "covariance",
            ([5.0, 1.0, 5.0, 1.0], [1.0, 1.0, 5.0, 5.0]),
            450,
            marks=pytest.mark.long,
        ),
    ],
)
def test_recommendations_keep_their_promise_and_half_of_the_noise_shows(
    solver, last, runs, monkeypatch
):
    """One answer, or two (means, then covariances); the users differ in what goes together."""
    fit = make_seeded_fit(completion(solver, len(last[0])))
    tables = [(users(ratings),) for ratings in last]
    honest = play(fit, *tables, runs=runs // 2).rates(ALPHA).mu
    assert 1.0 < honest <= MU
    monkeypatch.setattr(Curator, "_add_noise", half_noise)
    assert play(fit, *tables, runs=runs).rates(ALPHA).mu > MU
