import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan import Budget, BudgetExceededError, GaussianEvent, Plan, SampledGaussianEvent
from veilspan.privacy.meter import GaussianFilter, ScheduleMeter, meter_for


def plan(**changes):
    settings = {
        "method": "test",
        "budget": Budget(1.0, 1e-6),
        "neighbors": "replace-one",
        "n_rows": 10,
        "n_features": 3,
        **changes,
    }
    return Plan(**settings)


def test_a_schedule_lets_pass_what_was_planned_and_no_more():
    meter = ScheduleMeter((GaussianEvent("a", 2.0, 2), SampledGaussianEvent("b", 0.1, 3.0)))
    assert meter.charge("a") == GaussianEvent("a", 2.0, 2)  # one of the two that it covers
    meter.charge("b")
    meter.charge("a")
    for name in ("a", "b", "other"):
        with pytest.raises(BudgetExceededError, match="does not cover"):
            meter.charge(name)
    assert meter.spent == (GaussianEvent("a", 2.0, 2), SampledGaussianEvent("b", 0.1, 3.0))


def test_a_schedule_sets_the_noise_itself():
    with pytest.raises(BudgetExceededError, match="sets the noise"):
        ScheduleMeter((GaussianEvent("a"),)).charge("a", 0.1)


@given(st.lists(st.floats(0.01, 10), max_size=30))
def test_a_filter_never_lets_mu_squared_run_over(mus):
    meter = GaussianFilter(1.0)
    granted = 0.0
    for mu in mus:
        try:
            meter.charge("q", 1 / mu)
            granted += mu**2
        except BudgetExceededError:
            assert granted + mu**2 > 1.0 - 1e-9
    assert granted <= 1.0 + 1e-9
    assert meter.left == pytest.approx(1 - granted, abs=1e-9)


def test_a_filter_needs_to_be_told_the_noise_and_refuses_none():
    meter = GaussianFilter(1.0)
    with pytest.raises(BudgetExceededError, match="says its noise itself"):
        meter.charge("q")
    with pytest.raises(BudgetExceededError):
        meter.charge("q", 0.0)
    assert meter.spent == ()


def test_without_privacy_everything_passes():
    meter = meter_for(plan(budget=Budget(float("inf"), 1e-6), adaptive=True))
    meter.charge("q", 0.0)


def test_a_plan_names_its_events_apart():
    with pytest.raises(ValueError, match="share a name"):
        plan(events=(GaussianEvent("a", 9.0), GaussianEvent("a", 9.0)))


def test_a_plan_says_what_it_costs():
    events = (GaussianEvent("a", 5.0),)
    assert plan(events=events).epsilon == pytest.approx(0.834118, abs=1e-6)
    assert plan(adaptive=True).epsilon == 1.0
    assert "noise multiplier 5" in repr(plan(events=events))
    assert plan(events=events).to_dict()["events"][0]["noise_multiplier"] == 5.0
