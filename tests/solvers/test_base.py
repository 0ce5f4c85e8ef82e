"""The one protocol: what a solver may not do, whoever wrote it."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from veilspan import BudgetExceededError, GaussianEvent, LogisticRegression, PrivacyError, RobustPCA
from veilspan.curator.curator import Curator
from veilspan.curator.row_maps import ROW_MAPS, row_map
from veilspan.curator.rows import Rows
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import WithheldError
from veilspan.privacy.meter import meter_for
from veilspan.privacy.noise import SecureNoise, SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.queries.moments import RowSum
from veilspan.solvers.base import Prepared
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.selection import Candidate, PrivateSelection

ROWS = np.random.default_rng(0).standard_normal((50, 3))


def door(events, source=None, rows=ROWS, kind=Curator, **more):
    plan = Plan(
        method="test", budget=Budget(2.0, 1e-6), neighbors="replace-one", n_rows=len(rows),
        n_features=rows.shape[1], events=events, **more,
    )  # fmt: skip
    return kind(Rows(rows), plan, source or SeededNoise(0))


@dataclass(frozen=True)
class Greedy:
    """Prepares more than it was given."""

    name = "greedy"

    def prepare(self, problem, budget, neighbors):
        more = Budget(100.0, budget.delta)
        return Prepared(self, problem, more, (GaussianEvent("g", 1 / more.mu),))

    def run(self, curator, problem):
        raise AssertionError("it never comes to that")


def test_a_solver_cannot_raise_the_budget():
    with pytest.raises(BudgetExceededError, match="more than its budget"):
        RobustPCA(1, epsilon=1.0, solver=Greedy(), center="origin").fit(ROWS)


def test_views_share_one_meter():
    first, second = GaussianEvent("a", 9.0), GaussianEvent("b of candidate 1", 9.0)
    curator = door((first, second))
    view = curator.part(Budget(1.0, 1e-6), (GaussianEvent("b", 9.0),), " of candidate 1")
    with pytest.raises(BudgetExceededError):
        view.answer(RowSum(1.0), event="a")  # another's
    view.answer(RowSum(1.0), event="b")
    for asker, event in ((view, "b"), (curator, "b of candidate 1")):
        with pytest.raises(BudgetExceededError):
            asker.answer(RowSum(1.0), event=event)
    curator.answer(RowSum(1.0), event="a")
    assert [event.name for event in curator.spent] == ["b of candidate 1", "a"]
    assert view.spent == curator.spent


class ForgetfulDoor(Curator):
    """Broken on purpose: each view begins with a meter of its own."""

    def _view(self, budget, events, n_features):
        view = super()._view(budget, events, n_features)
        view._meter = meter_for(self._plan)
        return view


@pytest.mark.parametrize(("kind", "overspends"), [(Curator, False), (ForgetfulDoor, True)])
def test_a_view_with_a_meter_of_its_own_would_be_seen(kind, overspends):
    event = GaussianEvent("a", 9.0)
    curator = door((event,), kind=kind)
    curator.answer(RowSum(1.0), event="a")
    view = curator.part(Budget(1.0, 1e-6), (event,))
    try:
        view.answer(RowSum(1.0), event="a")
        again = True
    except BudgetExceededError:
        again = False
    assert again is overspends


def test_rows_are_mapped_by_marked_maps_alone():
    seen = []
    with pytest.raises(PrivacyError, match="marked as row maps"):
        door(()).mapped(lambda block: seen.append(block) or block, 3)
    assert not seen


def test_a_map_of_a_map_is_one():
    def double(block):
        return replace(block, x=2.0 * block.x)

    mapped = Rows(ROWS).mapped(double, 3).mapped(double, 3)
    np.testing.assert_array_equal(np.vstack([b.x for b in mapped.blocks(7)]), 4.0 * ROWS)


def test_what_a_map_raises_is_withheld():
    def telling(block):
        raise ValueError(f"got {block.x[0, 0]}")

    marked = row_map(telling)
    try:
        view = door((GaussianEvent("a", 9.0),), SecureNoise()).mapped(marked, 3)
        with pytest.raises(WithheldError) as caught:
            view.answer(RowSum(1.0), event="a")
        assert caught.value.__cause__ is None
    finally:
        del ROW_MAPS[f"{telling.__module__}.{telling.__qualname__}"]


def test_a_choice_that_is_prepared_again_keeps_its_share():
    pair = PrivateSelection((Candidate(GradientDescent(3)), Candidate(GradientDescent(4))), 0.3)
    fits = LogisticRegression(row_norm=1.0, classes=(0, 1))._draft(100, 3)[1].problem
    budget = Budget(1.0, 1e-6)
    once = pair.prepare(fits, budget, "replace-one")
    assert once.solver.prepare(fits, budget, "replace-one").events == once.events
