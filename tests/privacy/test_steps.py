"""Progress is told by the questions of a plan: public, and the same for every table."""

from collections import Counter

import numpy as np
import pytest

from veilspan import PCA, GaussianEvent, RobustPCA
from veilspan.privacy.meter import ScheduleMeter, watch_steps


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
    if not model.plan_.adaptive:
        planned = {event.name: event.count for event in model.plan_.events}
        assert Counter(told) == planned
        assert steps_of(model, wild) == told
    # An adaptive plan goes by its noisy answers, and the statement of the release says how.
    stated = Counter()
    for event in model.privacy_.events:
        stated[event.name] += event.count
    assert Counter(told) == stated


def test_nobody_is_told_outside_of_the_block():
    told = []
    meter = ScheduleMeter((GaussianEvent("inside"), GaussianEvent("outside")))
    with watch_steps(told.append):
        meter.charge("inside")
    meter.charge("outside")
    assert told == ["inside"]
