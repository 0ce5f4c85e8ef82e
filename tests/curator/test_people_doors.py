"""The count of people and the curator of groups: what they charge is what they add.

False alarms of the statistical test: at most 1e-6, by chi-square bounds; seeds are fixed.
"""

import numpy as np
import pytest
from scipy import stats

from veilspan.curator.curator import Curator
from veilspan.curator.group_curator import GroupCurator
from veilspan.curator.people_count import PEOPLE, count_people
from veilspan.curator.rows import Rows
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import BudgetExceededError, PrivacyError
from veilspan.privacy.events import GaussianEvent, ObjectiveEvent
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan, PlanPart
from veilspan.queries.moments import RowCount, RowSum

ROWS = Rows(np.ones((12, 2)))
SLOTS = 3


def make_plan(events, *, adaptive=False, epsilon=5.0):
    return Plan(
        method="test", budget=Budget(epsilon, 1e-6), neighbors="replace-one", n_rows=12,
        n_features=2, events=events, adaptive=adaptive,
    )  # fmt: skip


def make_group(events, *, adaptive=False, seed=0, kind=GroupCurator):
    plan = make_plan(events, adaptive=adaptive)
    seen = PlanPart(
        budget=Budget(1.0, 1e-6), neighbors="replace-one", n_rows=None, n_features=2,
        events=events, adaptive=adaptive,
    )  # fmt: skip
    return kind(ROWS, plan, SeededNoise(seed), rows_per_unit=SLOTS, seen=seen)


def noise_of_counts(multiplier, draws=400):
    plan = make_plan((GaussianEvent(PEOPLE, 2.0, draws),), epsilon=1e6)
    curator = Curator(ROWS, plan, SeededNoise(1))
    found = [count_people(curator, 1000) for _ in range(draws)]
    assert {std for _, std in found} == {found[0][1]}
    assert found[0][1] == pytest.approx(2.0, rel=0.01)
    return multiplier * (np.array([value for value, _ in found]) - 1000)


def has_std(noise, std):
    return (
        stats.chi2.interval(1 - 1e-6, len(noise))[0]
        < np.sum(noise**2) / std**2
        < (stats.chi2.interval(1 - 1e-6, len(noise))[1])
    )


def test_people_are_counted_with_the_noise_that_is_charged():
    assert has_std(noise_of_counts(1.0), 2.0)
    assert not has_std(noise_of_counts(0.6), 2.0)  # the broken twin: too little of it


def test_a_count_is_charged_once():
    curator = Curator(ROWS, make_plan((GaussianEvent(PEOPLE, 2.0),)), SeededNoise(0))
    count_people(curator, 4)
    assert curator.spent == (GaussianEvent(PEOPLE, 2.0),)
    with pytest.raises(BudgetExceededError):
        count_people(curator, 4)


def test_a_group_is_charged_for_a_unit_and_told_for_a_row():
    events = (GaussianEvent("sum", 2.0), GaussianEvent("count", 2.0))
    group = make_group(events)
    plain = Curator(ROWS, make_plan(events), SeededNoise(0))
    for query, name in ((RowSum(1.5), "sum"), (RowCount(), "count")):
        one, many = (each.answer(query, event=name) for each in (plain, group))
        assert many.noise_std == pytest.approx(SLOTS * one.noise_std, rel=1e-6)
    assert group.spent == plain.spent == events
    assert group.plan.n_rows is None


def test_a_solver_of_a_group_spends_row_by_row():
    group = make_group((), adaptive=True)
    whole = group.mu_squared_left
    assert whole == pytest.approx(Budget(5.0, 1e-6).mu ** 2 / SLOTS**2)
    answer = group.answer(RowSum(1.5), event="sum", noise_multiplier=np.sqrt(2 / whole))
    assert group.mu_squared_left == pytest.approx(whole / 2)
    assert answer.event.noise_multiplier == pytest.approx(np.sqrt(2 / whole) / SLOTS)
    view = group.part(Budget(1.0, 1e-6), ())
    assert view.mu_squared_left == pytest.approx(whole / 2)


def test_groups_are_for_gaussian_sums():
    tilt = ObjectiveEvent(name="o", lam=1.0, clip=1.0, smoothness=0.25, shape="logistic",
                          noise_multiplier=900.0)  # fmt: skip
    with pytest.raises(PrivacyError, match="Gaussian"):
        make_group((tilt,))
    with pytest.raises(PrivacyError, match="one row"):
        make_group((GaussianEvent("sum", 2.0),)).minimum(None, event="o", output="x", radius=1.0)
