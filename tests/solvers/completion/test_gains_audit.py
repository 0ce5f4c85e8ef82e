"""Replays of fits that ask for gains on hidden ratings, and twins that replays catch."""

import numpy as np
import pytest
from scipy import sparse

from solvers.completion.cases import ITEMS, RELATIONS
from veilspan.audit.replay import replay
from veilspan.curator.rows import Block
from veilspan.curator.tape import recording
from veilspan.datasets.ratings import make_ratings
from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.queries.completion.holdout_gains import HoldoutGains
from veilspan.solvers.completion import auto
from veilspan.solvers.completion.ridge_choice import RidgeChoice

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")

USERS = 120
TABLE = make_ratings(USERS, ITEMS, ratings_per_user=5, taste=1.5, noise=0.2).train
EXTREME = [5.0, 1.0, 5.0, 1.0, 5.0, 1.0]
OPPOSITE = sparse.csr_array((EXTREME, np.arange(ITEMS), [0, ITEMS]), (1, ITEMS))


def model(neighbors):
    solver = auto.AutoCompletion(factor_share=1.0)
    return MatrixCompletion(
        solver, rating_range=(1, 5), epsilon=60.0, neighbors=neighbors, random_state=0
    )


def neighbour(neighbors):
    """One user who finds everything extreme, in the place of the first or beside all."""
    rest = TABLE[1:] if neighbors == "replace-one" else TABLE
    return sparse.csr_array(sparse.vstack([OPPOSITE, rest]))


def replayed(neighbors):
    return replay(lambda x: model(neighbors).fit(x), TABLE, neighbour(neighbors))


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_gains_are_asked_and_only_answers_leave(neighbors):
    with recording() as tape:
        fitted = model(neighbors).fit(TABLE)
    assert [entry.question.query for entry in tape.entries][-1] == "HoldoutGains"
    assert fitted.item_factors_.shape[1] > 0
    assert fitted.privacy_.events == fitted.plan_.events
    report = replayed(neighbors)
    assert report.ok, report.findings
    assert report.largest_use <= 1


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_gains_that_are_not_clipped_are_caught(neighbors, monkeypatch):
    """Norms that say otherwise hide it from the curator's own clipping."""
    honest = HoldoutGains.prepare
    monkeypatch.setattr(
        HoldoutGains, "prepare", lambda self, block, point: 50 * honest(self, block, point)
    )
    monkeypatch.setattr(HoldoutGains, "norms", lambda self, block, point: np.zeros(len(block)))
    assert not replayed(neighbors).ok


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_ridge_chosen_by_uncharged_gains_is_caught(neighbors, monkeypatch):
    """The same gains, computed on the rows themselves: nothing pays for them."""

    def fit(table):
        def peek(curator, problem, point, guess, users, event):
            query = HoldoutGains(problem.rule, (guess,), 1.0, 1.0)
            gain = float(query.prepare(Block(table), point).mean())
            return RidgeChoice(guess * (1 + gain), {})

        monkeypatch.setattr(auto, "choose_ridge", peek)
        return model(neighbors).fit(table)

    assert not replay(fit, TABLE, neighbour(neighbors)).ok


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_half_of_the_sensitivity_is_caught(neighbors, monkeypatch):
    """At a tiny unit all gains are whole, and one user moves them by all that is declared."""
    monkeypatch.setattr("veilspan.solvers.completion.ridge_choice.GAIN_UNIT", 1e-6)
    monkeypatch.setattr("veilspan.solvers.completion.ridge_choice.STEP_UNIT", 1e-6)
    honest = HoldoutGains.sensitivity
    assert replayed(neighbors).ok
    monkeypatch.setattr(
        HoldoutGains, "sensitivity", lambda self, relation: 0.1 * honest(self, relation)
    )
    assert not replayed(neighbors).ok
