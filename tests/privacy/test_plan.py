"""Plans as records: written, read, compared."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan import Budget, BudgetExceededError, GaussianEvent, Plan, SampledGaussianEvent
from veilspan.privacy.records import plan_from
from veilspan.privacy.schema_record import SchemaRecord

full = st.builds(GaussianEvent, st.text(min_size=1), st.floats(1e-3, 1e9), st.integers(1, 10**6))
sampled = st.builds(
    SampledGaussianEvent,
    st.text(min_size=1),
    st.floats(0.01, 0.999),
    st.floats(30.0, 1e9),  # cheap enough that nothing is accounted numerically
    st.integers(1, 10),
)


def built(budget, **settings):
    """A plan within its budget: whatever it asks, with no noise to pay for if it would not be."""
    try:
        return Plan(budget=budget, **settings)
    except BudgetExceededError:
        return Plan(budget=Budget(math.inf, budget.delta), **settings)


plans = st.builds(
    built,
    method=st.text(),
    budget=st.builds(Budget, st.sampled_from([100.0, 1e9, math.inf]), st.floats(1e-12, 0.5)),
    neighbors=st.sampled_from(["replace-one", "add-remove"]),
    n_rows=st.none() | st.integers(2, 10**9),
    n_features=st.integers(1, 10**6),
    events=st.lists(full | sampled, max_size=4, unique_by=lambda event: event.name).map(tuple),
    adaptive=st.booleans(),
    decisions=st.dictionaries(st.text(), st.floats(allow_nan=False) | st.text(), max_size=3),
)


@given(plans)
def test_a_plan_survives_json(plan):
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert repr(again) == repr(plan)
    assert again.asks_the_same_as(plan)


def made(**changes):
    settings = {
        "method": "test",
        "budget": Budget(20.0, 1e-6),
        "neighbors": "replace-one",
        "n_rows": 100,
        "n_features": 4,
        "events": (GaussianEvent("a", 5.0, 2), SampledGaussianEvent("b", 0.1, 3.0, 7)),
        **changes,
    }
    return Plan(**settings)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "other"},
        {"neighbors": "add-remove", "n_rows": None},
        {"n_rows": 101},
        {"n_features": 5},
        {"adaptive": True},
        {"events": made().events[:1]},
        {"events": (GaussianEvent("a", 5.0, 3), made().events[1])},
        {"events": (GaussianEvent("c", 5.0, 2), made().events[1])},
        {"events": (made().events[0], SampledGaussianEvent("b", 0.2, 3.0, 7))},
        {"events": (made().events[0], GaussianEvent("b", 3.0, 7))},
    ],
    ids=str,
)
def test_another_question_is_noticed(change):
    assert not made().asks_the_same_as(made(**change))


def test_noise_budget_and_decisions_are_not_questions():
    louder = (GaussianEvent("a", 9.0, 2), SampledGaussianEvent("b", 0.1, 4.0, 7))
    other = made(events=louder, budget=Budget(15.0, 1e-6), decisions={"clip": 3.0})
    assert made().asks_the_same_as(other)
    assert made() != other


def test_a_plan_names_its_schema():
    schema = SchemaRecord("ab" * 32, "ward-visits", "2026-11-16")
    plan = made(schema=schema)
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert "schema: ward-visits 2026-11-16 (abababababab)" in repr(plan)
    assert "schema" not in made().to_dict()  # known again by requests from before schemas
    assert "schema" not in repr(made())
    with pytest.raises(ValueError, match="record of a schema"):
        plan_from({**made().to_dict(), "schema": {"digest": "ab"}})


def test_names_are_unique():
    with pytest.raises(ValueError, match="share a name"):
        made(events=(GaussianEvent("a", 9.0), GaussianEvent("a", 9.0)))


def test_the_cost_is_that_of_the_events():
    plan = made(events=(GaussianEvent("a", 5.0, 4),))
    assert plan.epsilon == pytest.approx(made(events=(GaussianEvent("a", 2.5),)).epsilon)
    assert made(events=(GaussianEvent("a", 5.0),)).epsilon < plan.epsilon
    assert made(budget=Budget(math.inf, 1e-6)).epsilon == math.inf
    assert made(adaptive=True).epsilon == 20.0


def test_an_infinite_epsilon_is_recorded_in_words():
    record = made(budget=Budget(math.inf, 1e-6)).to_dict()
    assert Plan.from_dict(record).budget.epsilon == math.inf
    with pytest.raises(ValueError, match="recorded as"):
        Plan.from_dict({**record, "epsilon": json.loads("1e400")})


def test_a_recorded_plan_has_a_bounded_number_of_events():
    """Each is accounted by itself: a forged file could keep its reader busy for hours."""
    record = Plan(
        method="m", budget=Budget(1.0, 1e-6), neighbors="replace-one", n_rows=10, n_features=2
    ).to_dict()
    event = {"mechanism": "gaussian", "noise_multiplier": 1e9, "count": 1}
    record["events"] = [{**event, "name": str(i)} for i in range(513)]
    with pytest.raises(ValueError, match="at most 512 events"):
        Plan.from_dict(record)
