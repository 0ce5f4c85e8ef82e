"""False alarms of all games against what is shipped, together: at most one in a million.

What replays compare bit for bit and computed covariances have none. Seeds are fixed, so this is the
probability that a correct library would ever have been refuted when a seed was first chosen, not a
rate per run.
"""

import pytest

from audit import (
    test_broken_curators,
    test_game,
    test_list_games,
    test_manifold_audit,
    test_objective_audit,
    test_query_games,
    test_release_games,
)
from audit.zoo.specimens import SPECIMENS
from veilspan.audit import measuring_tape

SIX_SIGMA = 2e-9  # both tails

# file: (honest mechanisms put to a test, probability of each false alarm)
SHARES = {
    "test_game": (14, test_game.ALPHA),
    "test_query_games": (len(test_query_games.CASES), test_query_games.ALPHA),
    "test_zoo": (1, sum(specimen.false_alarm for specimen in SPECIMENS.values())),
    "test_broken_curators, games": (2, test_broken_curators.ALPHA),
    "test_broken_curators, spreads": (7, test_broken_curators.SPREAD_ALPHA),
    "test_manifold_audit": (len(test_manifold_audit.HONEST) + 2, test_manifold_audit.ALPHA),
    "test_objective_audit": (3, test_objective_audit.ALPHA),
    "test_release_games": (test_release_games.HONEST, test_release_games.ALPHA),
    "test_list_games": (test_list_games.HONEST, test_list_games.ALPHA),
    # An allowance for all replays of the suite, not a count: each answer is measured once.
    "noise measured in replays": (100_000, measuring_tape.ALPHA),
    "test_zoo, rate of Wishart noise": (1, SIX_SIGMA),
}


def test_the_folder_stays_within_one_in_a_million():
    assert sum(count * alpha for count, alpha in SHARES.values()) <= 1e-6


@pytest.mark.parametrize("name", SHARES)
def test_every_share_counts(name):
    count, alpha = SHARES[name]
    assert count > 0
    assert 0 < alpha <= 2e-7
