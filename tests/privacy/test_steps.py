"""Progress is told by the questions of a plan: public, and the same for every table."""

import numpy as np
import pytest

from veilspan import PCA, RobustPCA
from veilspan.privacy.steps import tell_step, watch_steps


def steps_of(model, rows):
    told = []
    with watch_steps(told.append):
        model.fit(rows)
    return told


@pytest.mark.parametrize(
    "model", [PCA(1, row_norm=1.0), PCA(1), RobustPCA(1)], ids=["PCA", "PCA, private", "RobustPCA"]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_steps_are_those_of_the_plan(model):
    rows = np.random.default_rng(0).normal(size=(80, 3))
    wild = rows.copy()
    wild[0] = 1e6
    told = steps_of(model, rows)
    planned = {event.name: event.count for event in model.plan_.events}
    if not model.plan_.adaptive:
        assert {name: told.count(name) for name in set(told)} == planned
    assert steps_of(model, wild) == told


def test_nobody_is_told_outside_of_the_block():
    told = []
    with watch_steps(told.append):
        tell_step("inside")
    tell_step("outside")
    assert told == ["inside"]
