"""Answers whose noise is carried on from curator to curator, under both relations."""

import math

import numpy as np
import pytest

from veilspan import calibrate_noise
from veilspan.audit.replay import replay
from veilspan.curator.answer import Carried
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.budget import Budget
from veilspan.privacy.correlation import Correlation
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.noise_buffers import NoiseBuffers
from veilspan.privacy.plan import Plan
from veilspan.queries.moments import RowSum, SecondMoment

BUDGET = Budget(1.0, 1e-6)
WIDTH, BLOCKS = 3, 12


def plan_for(rows, relation, *events):
    asked = events or (GaussianEvent("block"),)
    events = calibrate_noise(BUDGET, asked, neighbors=relation)
    return Plan(
        method="test", budget=BUDGET, neighbors=relation,
        n_rows=len(rows) if relation == "replace-one" else None, n_features=WIDTH, events=events,
    )  # fmt: skip


def release(relation, query):
    """All answers of a list of blocks, each by a curator of its own."""

    def fit(blocks):
        buffers, found = NoiseBuffers(), []
        for t, rows in enumerate(blocks):
            door = Curator(Rows(rows), plan_for(rows, relation), SeededNoise(t), buffers=buffers)
            carried = Carried(Correlation())
            found.append(door.answer(query, event="block", carried=carried).value)
        return found

    return fit


def neighbours(relation, place):
    rng = np.random.default_rng(0)
    blocks = [rng.standard_normal((5, WIDTH)) for _ in range(BLOCKS)]
    other = [block.copy() for block in blocks]
    blocks[place][0] = [9.0, 0, 0]
    if relation == "replace-one":
        other[place][0] = [0, 9.0, 0]
    else:
        other[place] = blocks[place][1:]
    return blocks, other


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("place", [0, 6])
def test_one_person_moves_all_answers_by_the_budget_at_most(relation, place):
    report = replay(
        release(relation, SecondMoment(1.0)), *neighbours(relation, place),
        budget=BUDGET, neighbors=relation,
    )  # fmt: skip
    assert report.ok, report.findings
    column = np.linalg.norm(Correlation().matrix(BLOCKS)[:, place])
    assert report.realised_mu == pytest.approx(BUDGET.mu * column, rel=0.01)
    assert report.realised_mu <= BUDGET.mu


def test_a_chain_is_cheaper_for_sums_than_new_noise_in_every_block():
    """The mean square of a sum of 12 answers to zeros, over 200 coordinates of 20 chains."""
    zeros = [np.zeros((5, WIDTH))] * BLOCKS

    def spread(kept):
        totals = []
        for seed in range(40):
            buffers, total = NoiseBuffers(), 0.0
            for t, rows in enumerate(zeros):
                source = SeededNoise(1000 * seed + t)
                door = Curator(Rows(rows), plan_for(rows, "replace-one"), source, buffers=buffers)
                carried = Carried(Correlation(), fresh=not kept)
                answer = door.answer(RowSum(1.0), event="block", carried=carried)
                total = total + answer.value / answer.noise_std
            totals.append(total)
        return math.sqrt(np.mean(np.square(totals)))

    # 120 numbers: five standard errors are a third; 2.5 and 3.6 are expected.
    assert spread(kept=True) < 0.85 * spread(kept=False)


def test_places_are_told_and_a_fresh_one_is_the_first():
    buffers, rows = NoiseBuffers(), np.zeros((5, WIDTH))
    places = []
    for fresh in (False, False, False, True, False):
        door = Curator(Rows(rows), plan_for(rows, "replace-one"), SeededNoise(0), buffers=buffers)
        answer = door.answer(RowSum(1.0), event="block", carried=Carried(Correlation(), fresh))
        places.append(answer.place)
    assert places == [0, 1, 2, 0, 1]


def test_rows_are_asked_once_where_noise_is_carried_on():
    """Two answers of one block would be two columns with entries in the same rows."""
    rows = np.zeros((5, WIDTH))
    plan = plan_for(rows, "replace-one", GaussianEvent("block", count=2))
    door = Curator(Rows(rows), plan, SeededNoise(0))
    door.answer(RowSum(1.0), event="block", carried=Carried(Correlation()))
    with pytest.raises(PrivacyError, match="no other answer"):
        door.answer(RowSum(1.0), event="block", carried=Carried(Correlation()))


def test_samples_carry_no_noise_on():
    rows = np.zeros((50, WIDTH))
    plan = Plan(
        method="test", budget=Budget(math.inf, 1e-6), neighbors="replace-one", n_rows=50,
        n_features=WIDTH, events=(SampledGaussianEvent("block", 0.5),),
    )  # fmt: skip
    with pytest.raises(PrivacyError, match="all rows"):
        Curator(Rows(rows), plan, SeededNoise(0)).answer(
            RowSum(1.0), event="block", carried=Carried(Correlation())
        )
