"""Games of lists: what is shipped keeps its promise, and two broken copies do not.

At a claim of mu = 3. Two releases, popularity and tastes, are scored by their transcript. Users
differ in the one item that they have: the popularities are sqrt(2) apart, the whole sensitivity,
and the second moments 1.33 or more, so that the tables are mu' >= 2.8 apart. The copies: one whose
popularity comes without noise, as if it need not be charged; one whose rows are not brought back to
length 1 after popularity was taken out, while it says that they are. False alarms: ``ALPHA`` a
game, see test_error_budget.py; seeds are fixed.
"""

import numpy as np
import pytest

from veilspan import MatrixCompletion
from veilspan.audit.api import make_seeded_fit
from veilspan.audit.game import play
from veilspan.curator.curator import Curator
from veilspan.privacy import gdp
from veilspan.queries.completion.taste_gram import GRAM_STEPS, TasteGram
from veilspan.solvers.completion.ranking import RankingCompletion

ALPHA = 1e-9
MU, RUNS = 3.0, 450
EPSILON = gdp.epsilon_of(MU, 1e-6)
HONEST = 2  # games of this file against what is shipped
ITEMS = 6

honest_noise = Curator._add_noise
honest_rows, honest_norms = TasteGram.prepare, TasteGram.norms


def users(last):
    """Thirty users who have everything, and one who has a single item."""
    table = np.ones((31, ITEMS))
    table[-1] = np.arange(ITEMS) == last
    return table


def measured(share, runs, **settings):
    solver = RankingCompletion(popularity_share=share, width=ITEMS)
    fit = make_seeded_fit(MatrixCompletion(solver, task="rank", epsilon=EPSILON, **settings))
    return play(fit, (users(0),), (users(1),), runs=runs).rates(ALPHA).mu


def silent_popularity(self, exact, scale):
    """A vector is the popularity: it comes without noise."""
    return exact if exact.size == ITEMS else honest_noise(self, exact, scale)


def long_rows(self, block, point):
    return 3 * honest_rows(self, block, point)


def said_to_be_short(self, block, point):
    return np.minimum(honest_norms(self, block, point), 1.0)


@pytest.mark.parametrize("share", [0.7, 0.2])
def test_lists_keep_their_promise(share):
    assert 1.0 < measured(share, RUNS // 2) <= MU


def test_popularity_that_is_not_charged_shows(monkeypatch):
    monkeypatch.setattr(Curator, "_add_noise", silent_popularity)
    assert measured(0.7, RUNS) > MU


def test_rows_that_are_not_of_length_one_show(monkeypatch):
    monkeypatch.setattr(TasteGram, "prepare", long_rows)
    monkeypatch.setattr(TasteGram, "norms", said_to_be_short)
    assert GRAM_STEPS == 1024  # products of rows three times as long are still exact
    assert measured(0.2, RUNS) > MU
