"""The solver of one block of a private stream."""

import numpy as np
import pytest

from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.solvers.stream.belief import Belief
from veilspan.solvers.stream.block_release import BLOCK, StreamRelease

BUDGET = Budget(2.0, 1e-6)


@pytest.mark.parametrize("blocks", [1, 4])
def test_all_blocks_of_one_person_share_the_budget(blocks):
    release = StreamRelease(2, 1.0, max_blocks_per_person=blocks)
    (event,) = release.prepare(Belief(), BUDGET, "replace-one").events
    assert event == GaussianEvent(BLOCK, event.noise_multiplier, count=blocks)
    assert event.noise_multiplier == pytest.approx(np.sqrt(blocks) / BUDGET.mu)


def test_the_price_of_a_block_does_not_depend_on_what_is_believed():
    release = StreamRelease(2, 1.0)
    known = Belief(basis=np.eye(5)[:, :2], precision=100.0, known=True)
    first, later = (release.prepare(b, BUDGET, "replace-one").events for b in (Belief(), known))
    assert first == later


def test_one_question_makes_a_new_belief_and_leaves_the_old_one():
    rows = np.random.default_rng(0).standard_normal((50, 5)) * [0.5, 0.4, 0.01, 0.01, 0.01]
    prepared = StreamRelease(2, 2.0).prepare(Belief(), BUDGET, "replace-one")
    plan = Plan(
        method="test", budget=BUDGET, neighbors="replace-one", n_rows=50, n_features=5,
        events=prepared.events,
    )  # fmt: skip
    curator = Curator(Rows(rows), plan, SeededNoise(0))
    found = prepared.run(curator).result.belief
    assert curator.spent == prepared.events
    assert found.basis.shape == (5, 2)
    assert prepared.problem == Belief()
