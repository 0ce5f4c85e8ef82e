"""The budget contract: nothing that a meter lets pass, in any order, costs more than its budget.

Meters are driven by state machines that look at nothing but what was let pass and add it up in
sixty digits, by formulas of their own. Plans are built for every kind of event, a little too dear.
Each net is shown to hold a broken twin, the filter that never closed among them.
"""

import dataclasses
import json
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from veilspan import (
    Budget,
    BudgetExceededError,
    GaussianEvent,
    Plan,
    SampledGaussianEvent,
    calibrate_noise,
)
from veilspan.curator.objective_door import objective_event
from veilspan.ledger.costs import cost_of
from veilspan.ledger.filters import UNIT, rules_for
from veilspan.losses.linear import Huber, Logistic, Multinomial, SmoothedHinge
from veilspan.privacy import accounting
from veilspan.privacy.events import SearchEvent, event_to_dict, merge
from veilspan.privacy.meter import GaussianFilter, Meter, ScheduleMeter, meter_for

BOTH = ("replace-one", "add-remove")
#: For twins that are known to be broken: a counterexample need not be a short one.
HUNT = settings(max_examples=300, stateful_step_count=20, phases=[Phase.generate])
#: From one end of the supported range to the other.
budgets = st.builds(
    Budget,
    st.floats(-6, 9).map(lambda x: 10.0**x),
    st.sampled_from([1e-300, 1e-100, 1e-20, 1e-9, 1e-6, 0.01, 0.5, 0.99]),
)


def plan_of(events=(), budget=None, neighbors="replace-one", **more):
    return Plan(
        method="contract",
        budget=budget or Budget(1.0, 1e-6),
        neighbors=neighbors,
        n_rows=100 if neighbors == "replace-one" else None,
        n_features=3,
        events=tuple(events),
        **more,
    )


def sum_of_squares(events):
    """mu^2 of Gaussian events, in sixty digits."""
    with mpmath.workdps(60):
        return mpmath.fsum(e.count / mpmath.mpf(e.noise_multiplier) ** 2 for e in events)


def delta_in_many_digits(mu_squared, epsilon):
    """delta(epsilon) of mu-GDP by the textbook formula, with digits enough for its cancellation."""
    with mpmath.workdps(60):
        mu, e = mpmath.sqrt(mu_squared), mpmath.mpf(epsilon)
        return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


# ---------------------------------------------------------------- adaptive plans


class OldFilter(GaussianFilter):
    """As it was: the tolerance is granted anew on every request, so it never closes."""

    def _covers(self, cost):
        left = max(Fraction(0), Fraction(self.mu) ** 2 - self._sum)
        return cost <= left + self.TOLERANCE * Fraction(self.mu) ** 2


class ForgetfulFilter(GaussianFilter):
    """Compares each request with the whole budget."""

    def _covers(self, cost):
        return cost <= Fraction(self.mu) ** 2


class SpendthriftFilter(GaussianFilter):
    """Charges after the refusal, too."""

    def _covers(self, cost):
        self._sum += cost
        return self._sum <= Fraction(self.mu) ** 2


def filter_machine(kind):
    """A solver that asks a filter for anything: a state machine over one kind of filter."""

    class Asking(RuleBasedStateMachine):
        @initialize(budget=budgets)
        def begin(self, budget):
            self.budget = budget
            self.filter = kind(budget.mu)
            self.refused = False

        def ask(self, noise_multiplier, times=1):
            for _ in range(times):
                before, left = self.filter.spent, self.filter.left
                try:
                    self.filter.charge("q", noise_multiplier)
                except (BudgetExceededError, ValueError, TypeError):
                    assert self.filter.spent == before
                    assert self.filter.left == left

        @rule(noise=st.floats() | st.sampled_from([0.0, 5e-324, 1e-200, 1e308, None, "1"]))
        def anything(self, noise):
            self.ask(noise)

        @rule(power=st.floats(-7, 1))
        def a_share_of_the_budget(self, power):
            self.ask(1 / (self.budget.mu * 10.0**power))

        @rule(factor=st.sampled_from([1.0, 1 - 1e-15, 1 + 1e-15, 1 + 1e-12, 0.999, 1.001]))
        def about_all_that_is_left(self, factor):
            left = self.filter.left
            self.ask(1 / math.sqrt(left * factor) if left > 0 else math.inf)

        @rule(size=st.sampled_from([1e-12, 3e-13, 1e-14, 1e-20]), times=st.integers(1, 30))
        def many_tiny_ones(self, size, times):
            self.ask(1 / (self.budget.mu * math.sqrt(size)) * (1 + 1e-12), times)

        @invariant()
        def within_the_budget(self):
            # 1e-12 once, and three roundings of a square in float64.
            total = sum_of_squares(self.filter.spent)
            with mpmath.workdps(60):
                assert total <= mpmath.mpf(self.budget.mu) ** 2 * (1 + mpmath.mpf("1.001e-12"))

        def teardown(self):
            if hasattr(self, "filter") and self.filter.spent:
                spent = delta_in_many_digits(sum_of_squares(self.filter.spent), self.budget.epsilon)
                assert spent <= self.budget.delta
                self.fits_its_charge()

        def fits_its_charge(self):
            """The ledger was charged no less than what the filter has let pass."""
            if UNIT**-1 < self.budget.mu**2 < 1e5:  # neither below a unit nor above the cap
                rules = rules_for(1.0, 1e-6, "gdp")
                charged = cost_of(plan_of(budget=self.budget, adaptive=True), rules[:1])[0]
                assert sum_of_squares(self.filter.spent) * UNIT <= charged

    return Asking


def test_no_sequence_of_requests_to_a_filter_exceeds_its_budget():
    run_state_machine_as_test(
        filter_machine(GaussianFilter), settings=settings(max_examples=60, stateful_step_count=12)
    )


@pytest.mark.parametrize("broken", [OldFilter, ForgetfulFilter, SpendthriftFilter])
def test_a_broken_filter_is_caught(broken):
    with pytest.raises(AssertionError):
        run_state_machine_as_test(filter_machine(broken), settings=HUNT)


def test_a_filter_that_is_spent_stays_closed():
    """The review's sequence: all of it, and then 20,000 requests of 1e-12 each."""
    budget = Budget(1.0, 1e-6)
    meter = GaussianFilter(budget.mu)
    meter.charge("all", 1 / budget.mu)
    let = 0
    for _ in range(20_000):
        try:
            meter.charge("x", 1e6 / budget.mu * (1 + 1e-12))
            let += 1
        except BudgetExceededError:
            pass
    assert let <= 1


def test_nothing_is_free_however_small():
    meter = GaussianFilter(1e-3)
    meter.charge("q", 1e300)
    assert meter._sum > 0


# ---------------------------------------------------------------- fixed plans


SCHEDULE = (
    GaussianEvent("mean", 20.0, 2),
    GaussianEvent("moment", 9.0),
    SampledGaussianEvent("step", 0.1, 8.0, 3),
)


class EndlessSchedule(ScheduleMeter):
    """Forgets what was asked."""

    def _admit(self, name, noise_multiplier):
        event = super()._admit(name, noise_multiplier)
        self._left[name] += 1
        return event


class KindSchedule(ScheduleMeter):
    """Lets a solver choose its noise."""

    def _admit(self, name, noise_multiplier):
        event = super()._admit(name, None)
        return event if noise_multiplier is None else GaussianEvent(name, abs(noise_multiplier))


def schedule_machine(kind):
    class Asking(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.meter = kind(SCHEDULE)

        @rule(
            name=st.sampled_from(["mean", "moment", "step", "other"]),
            noise=st.none() | st.floats() | st.sampled_from([0.0, 0.1]),
        )
        def ask(self, name, noise):
            before = self.meter.spent
            try:
                self.meter.charge(name, noise)
            except (BudgetExceededError, ValueError):
                assert self.meter.spent == before

        @invariant()
        def is_a_part_of_the_plan(self):
            planned = {dataclasses.replace(e, count=1): e.count for e in SCHEDULE}
            for event in self.meter.spent:
                assert event.count <= planned.get(dataclasses.replace(event, count=1), 0)

    return Asking


def test_no_sequence_of_requests_to_a_schedule_leaves_the_plan():
    run_state_machine_as_test(
        schedule_machine(ScheduleMeter), settings=settings(max_examples=30, stateful_step_count=20)
    )


@pytest.mark.parametrize("broken", [EndlessSchedule, KindSchedule])
def test_a_broken_schedule_is_caught(broken):
    with pytest.raises(AssertionError):
        run_state_machine_as_test(schedule_machine(broken), settings=HUNT)


def test_every_meter_is_in_the_contract():
    assert set(Meter.__subclasses__()) == {ScheduleMeter, GaussianFilter}
    assert type(meter_for(plan_of(SCHEDULE, Budget(5.0, 1e-6)))) is ScheduleMeter
    assert type(meter_for(plan_of(adaptive=True))) is GaussianFilter


# ---------------------------------------------------------------- plans


OBJECTIVES = {
    "logistic": objective_event(Logistic(), lam=5.0),
    "one-sided": objective_event(SmoothedHinge(), lam=20.0),
    "two-sided": objective_event(Huber(), lam=20.0, clip=1.0),
    "softmax": objective_event(Multinomial(3), lam=20.0),
}
#: One of each kind, with a budget of its own; counts are few because each is accounted.
KINDS = {
    "gaussian": (GaussianEvent("a", 1.0, 3),),
    "two gaussians": (GaussianEvent("a", 1.0, 3), GaussianEvent("b", 2.0)),
    "sampled": (SampledGaussianEvent("a", 0.2, 1.0, 3),),
    "mixed": (GaussianEvent("a", 1.0), SampledGaussianEvent("b", 0.2, 1.0, 3)),
    **{name: (event, GaussianEvent("output", 5.0)) for name, event in OBJECTIVES.items()},
}
MADE = [
    pytest.param(kind, neighbors, id=f"{kind}, {neighbors}") for kind in KINDS for neighbors in BOTH
]


def test_every_kind_of_event_is_in_the_contract():
    kinds = {type(event) for events in KINDS.values() for event in events}
    # A search is calibrated by its trials, and held to them in tests/privacy/test_random_search.py.
    assert kinds == set(accounting.Event.__args__) - {SearchEvent}


@pytest.mark.parametrize(("kind", "neighbors"), MADE)
def test_a_calibrated_plan_can_be_built_and_a_dearer_one_cannot(kind, neighbors):
    budget = Budget(1.0, 1e-6)
    events = calibrate_noise(budget, KINDS[kind], neighbors=neighbors)
    computed = accounting._epsilon.cache_info().misses
    plan = plan_of(events, budget, neighbors)
    # The calibrator has computed the cost already: building a plan computes nothing anew.
    assert accounting._epsilon.cache_info().misses == computed
    assert 0.99 * budget.epsilon < plan.epsilon <= budget.epsilon
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    quieter = tuple(
        dataclasses.replace(e, noise_multiplier=e.noise_multiplier * 0.999) for e in events
    )
    silent = (dataclasses.replace(events[0], noise_multiplier=0.0), *events[1:])
    for dearer in (quieter, silent):
        with pytest.raises(BudgetExceededError, match="more than its budget"):
            plan_of(dearer, budget, neighbors)
        with pytest.raises(BudgetExceededError, match="more than its budget"):
            dataclasses.replace(plan, events=dearer)
    record = plan.to_dict()
    record["events"] = [event_to_dict(event) for event in quieter]
    with pytest.raises(BudgetExceededError, match="more than its budget"):
        Plan.from_dict(record)
    plan_of(silent, Budget(math.inf, 1e-6), neighbors)  # without privacy anything goes


@given(budgets, st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 10**6)), min_size=1))
def test_calibration_leaves_the_margin_that_a_plan_does_not(budget, parts):
    """For Gaussian events over the whole range of budgets; then 1e-8 less noise is too little."""
    wanted = [GaussianEvent(f"e{i}", 1.0, count) for i, (_, count) in enumerate(parts)]
    events = calibrate_noise(budget, wanted, weights=[weight for weight, _ in parts])
    assert plan_of(events, budget).epsilon <= budget.epsilon
    assert delta_in_many_digits(sum_of_squares(events), budget.epsilon) <= budget.delta
    less = [
        dataclasses.replace(e, noise_multiplier=e.noise_multiplier * (1 - 1e-8)) for e in events
    ]
    with pytest.raises(BudgetExceededError):
        plan_of(less, budget)


@given(budgets, st.lists(st.tuples(st.floats(1e-4, 1e4), st.integers(1, 100)), min_size=1))
def test_a_plan_that_can_be_built_keeps_its_budget(budget, parts):
    """Near the edge, by a cost in many digits."""
    total = math.sqrt(math.fsum(count / z**2 for z, count in parts))
    for edge in (1 - 1e-9, 1.0, 1 + 1e-12, 1 + 1e-9):
        events = [
            GaussianEvent(f"e{i}", z * total / (budget.mu * (1 + 1e-9)) * edge, count)
            for i, (z, count) in enumerate(parts)
        ]
        try:
            plan_of(events, budget)
        except BudgetExceededError:
            continue
        assert delta_in_many_digits(sum_of_squares(events), budget.epsilon) <= budget.delta


def test_what_an_adaptive_plan_names_has_to_fit_as_well():
    with pytest.raises(BudgetExceededError):
        plan_of((GaussianEvent("a", 1.0),), adaptive=True)


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize(("rate", "noise"), [(0.02, 2.0), (0.9, 3.0)])
def test_the_quick_bound_is_above_the_numerical_cost(neighbors, rate, noise):
    """Samples counted as full batches never let a plan pass that the accountant would refuse."""
    event = SampledGaussianEvent("s", rate, noise, 4)
    whole = accounting._as_full_batch(event, 2.0 if neighbors == "replace-one" else 1.0)
    exact = accounting.epsilon_spent([event], 1e-6, neighbors=neighbors)
    bound = accounting.epsilon_spent([whole], 1e-6, neighbors=neighbors)
    assert exact <= bound + 4e-4  # by how much the accountant's cells of 1e-4 round up


def test_merging_does_not_lose_cost():
    events = [GaussianEvent("a", 3.0, 2), GaussianEvent("a", 3.0), GaussianEvent("b", 3.0)]
    assert sum_of_squares(merge(events)) == sum_of_squares(events)
