import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.audit.replay import replay
from veilspan.estimators.linear.classification import LogisticRegression
from veilspan.losses.linear import (
    Huber,
    Logistic,
    MulticlassHinge,
    Multinomial,
    SmoothedHinge,
    Squared,
)
from veilspan.losses.penalties import L1, L2, NoPenalty
from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import LoudNoiseWarning
from veilspan.solvers.linear.auto import (
    CLIP,
    QUIET,
    WALK,
    AutoLinear,
    matching_momentum,
    walk_reached,
)
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.linear.flat_walk import FlatWalk
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.loud_noise import LOUD
from veilspan.solvers.linear.newton import PrivateNewton
from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation

SIMULATED = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
RELATIONS = ("add-remove", "replace-one")


def problem(rows=10_000, columns=20, loss=None, penalty=None, neighbors="add-remove", known=True):
    public = neighbors == "replace-one"
    return LinearProblem(
        loss=loss or Logistic(),
        penalty=penalty or NoPenalty(),
        n_features=columns,
        n_rows=rows if public else None,
        expected_rows=rows if known and not public else None,
    )


def choice(epsilon=1.0, neighbors="add-remove", **facts):
    made = problem(neighbors=neighbors, **facts)
    return AutoLinear().choose(made, Budget(epsilon, 1e-6), neighbors)


def test_a_shorter_clip_walks_as_far():
    many = problem(rows=500, columns=60)
    solvers = [
        AutoLinear(descent_clip=clip).choose(many, Budget(1.0, 1e-6), "add-remove").solver
        for clip in (CLIP, CLIP / 2)
    ]
    usual, short = (
        each.clip * each.step * walk_reached(each.steps, each.momentum) for each in solvers
    )
    assert solvers[1].clip == solvers[0].clip / 2
    assert short == pytest.approx(usual, rel=0.02)


@given(st.integers(2, 10**7), st.integers(1, 5000), st.floats(0.01, 20))
def test_nu_follows_its_formula(rows, columns, epsilon):
    budget = Budget(epsilon, 1e-6)
    once, twice = (
        problem(rows, columns, neighbors=relation).noise_of_a_gradient(budget, relation)
        for relation in RELATIONS
    )
    assert once == pytest.approx(math.sqrt(columns) / (rows * budget.mu))
    assert twice == pytest.approx(2 * once)


def test_several_scores_count_as_coefficients():
    budget = Budget(1.0, 1e-6)
    one = problem().noise_of_a_gradient(budget, "add-remove")
    nine = problem(loss=Multinomial(9)).noise_of_a_gradient(budget, "add-remove")
    assert nine == pytest.approx(3 * one)


@given(st.integers(2, 10**7), st.floats(0.05, 10), st.sampled_from(RELATIONS))
def test_a_walk_by_noise_is_never_longer_than_wanted(rows, epsilon, neighbors):
    chosen = choice(epsilon, neighbors, rows=rows)
    solver = chosen.solver
    if chosen.nu < QUIET:
        assert isinstance(solver, ObjectivePerturbation)
        return
    assert isinstance(solver, GradientDescent)
    assert 10 <= solver.steps <= 40
    assert solver.step <= 37.5
    assert solver.clip == CLIP
    reached = flat_walk(solver.steps, solver.step, solver.momentum)
    walk = reached / 0.75 * solver.clip * chosen.nu
    # Plain steps average a little less than the 3/4 of the formula, by a step of T / 4 in all.
    slack = 1 + 1.5 / solver.steps
    assert walk <= slack * WALK
    # Nothing but the longest walk, or the most momentum, makes it shorter.
    longest = reached >= 0.97 * 0.75 * 10_000 or solver.momentum >= 0.969
    assert walk >= 0.97 * WALK or longest


def flat_walk(steps, size, momentum):
    """How far descent comes on a slope of 1, the mean over the last half of its steps."""
    theta = before = 0.0
    places = []
    for _ in range(steps):
        ahead = theta + momentum * (theta - before)
        theta, before = ahead + size, theta
        places.append(theta)
    return float(np.mean(places[steps // 2 :]))


@given(st.integers(10, 400), st.floats(1.0, 20.0))
def test_momentum_comes_as_far_as_more_steps(steps, times):
    momentum = matching_momentum(steps, steps * times)
    reached = flat_walk(steps, 1.0, momentum)
    wanted = 0.75 * steps * times
    assert reached <= max(wanted, flat_walk(steps, 1.0, 0.0)) * (1 + 1e-6)
    assert reached >= wanted * (1 - 1e-6) or momentum >= 0.9699


@pytest.mark.parametrize(
    ("rows", "columns", "steps", "momentum"),
    [
        (10**6, 100, 64, 0.7),
        (4_000, 60, 64, 0.509),
        (2_500, 60, 64, 0.4),
        (5_000, 20, 57, 0.7),  # at most 120,000 numbers
        (2_000, 60, 24, 0.7),
    ],
)
def test_several_classes_take_whitened_steps_by_the_noise(rows, columns, steps, momentum):
    for loss in (Multinomial(9), MulticlassHinge(9)):
        chosen = choice(rows=rows, loss=loss, columns=columns)
        solver = chosen.solver
        assert isinstance(solver, PrivateNewton)
        assert solver.whiten
        assert (solver.steps, solver.momentum) == (steps, momentum)
        if steps == 64:
            assert 1 - momentum == pytest.approx(min(max(chosen.nu / 0.05, 0.3), 0.6), rel=1e-2)
        assert solver.clip == pytest.approx(0.3 * loss.slope_bound)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [(10**6, ObjectivePerturbation), (10_000, PrivateNewton), (500, GradientDescent)],
)
def test_a_rare_class_takes_whitened_steps_between_little_noise_and_much(rows, kind):
    facts, budget = problem(rows=rows), Budget(1.0, 1e-6)
    solver = AutoLinear(rare=True).choose(facts, budget, "add-remove").solver
    assert isinstance(solver, kind)
    if kind is PrivateNewton:
        assert (solver.steps, solver.momentum, solver.whiten) == (32, 0.0, True)
        assert not isinstance(choice(rows=rows).solver, PrivateNewton)


def test_several_classes_take_plain_steps_where_noise_is_loud_beside_their_columns():
    for rows, columns in ((500, 20), (100, 100), (10**6, 5000)):
        solver = choice(rows=rows, loss=Multinomial(9), columns=columns).solver
        assert isinstance(solver, GradientDescent)
        assert 10 <= solver.steps <= 30  # 6 / nu


@given(st.floats(0.05, 10), st.sampled_from(RELATIONS))
def test_objective_perturbation_can_be_calibrated(epsilon, neighbors):
    """The penalty it gets leaves most of epsilon to the noise, also with a single column."""
    facts = problem(rows=10**9, columns=1, neighbors=neighbors)
    budget = Budget(epsilon, 1e-6)
    solver = AutoLinear().choose(facts, budget, neighbors).solver
    assert isinstance(solver, ObjectivePerturbation)
    assert math.log1p(0.25 / solver.lam) <= 0.201 * epsilon


def test_a_penalty_of_ones_own_is_kept():
    assert choice(rows=10**6, penalty=L2(0.01)).solver.lam == pytest.approx(10**4)


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"rows": 10**6}, ObjectivePerturbation),
        ({"rows": 10**6, "loss": SmoothedHinge(0.5)}, ObjectivePerturbation),
        ({"rows": 10**6, "penalty": L2(1e-6)}, ObjectivePerturbation),
        ({"known": False}, ObjectivePerturbation),
        ({"known": False, "penalty": L1(0.1)}, GradientDescent),
        ({"known": False, "loss": Squared()}, PrivateNewton),
        ({"rows": 10**6, "penalty": L1(0.1)}, GradientDescent),
        ({"rows": 10**6, "loss": Multinomial(3)}, PrivateNewton),
        ({"rows": 10**6, "loss": Multinomial(3), "penalty": L1(0.1)}, GradientDescent),
        ({"rows": 300, "loss": Multinomial(3)}, GradientDescent),
        ({"rows": 10**6, "loss": Huber(0.1)}, PrivateNewton),
        ({"rows": 10**6, "loss": Squared()}, PrivateNewton),
        ({"rows": 300, "loss": Squared()}, GradientDescent),
        ({"rows": 10**6, "loss": Squared(), "columns": 5000}, GradientDescent),
        ({"rows": 10**6, "epsilon": math.inf}, ObjectivePerturbation),
        ({"rows": 10**6, "epsilon": math.inf, "penalty": L2(0.1)}, PrivateNewton),
        (
            {"rows": 10**6, "epsilon": math.inf, "penalty": L2(0.1), "columns": 2001},
            GradientDescent,
        ),
        ({"rows": 10**6, "epsilon": math.inf, "loss": Squared()}, PrivateNewton),
        ({"rows": 300}, GradientDescent),
    ],
)
def test_what_is_chosen(facts, kind):
    assert isinstance(choice(**facts).solver, kind)
    if facts.get("known", True):  # under replace-one the number of rows is always public
        assert isinstance(choice(neighbors="replace-one", **facts).solver, kind)


@pytest.mark.parametrize("loss", [SmoothedHinge(0.5), Multinomial(4), Logistic()])
def test_settings_follow_the_loss(loss):
    """In units of the loss, steps are no longer than those of the logistic loss."""
    solver = choice(rows=300, loss=loss).solver
    assert solver.clip == pytest.approx(0.3 * loss.slope_bound)
    assert solver.step * loss.smoothness <= 9.376


@given(st.integers(2, 10**8), st.floats(0.05, 10), st.sampled_from(RELATIONS))
def test_slopes_of_regressions_are_capped_where_noise_is_large(rows, epsilon, neighbors):
    chosen = choice(epsilon, neighbors, rows=rows, loss=Squared())
    clip = chosen.solver.clip
    assert clip == pytest.approx(min(max(0.0006 / chosen.nu, 0.1), 0.4))
    assert isinstance(chosen.solver, PrivateNewton if chosen.nu < 0.006 else GradientDescent)


@given(st.integers(2, 10**6), st.floats(0.05, 10), st.sampled_from(RELATIONS))
def test_a_gram_matrix_of_many_columns_is_asked_for_unless_it_is_noise(rows, epsilon, neighbors):
    chosen = choice(epsilon, neighbors, rows=rows, loss=Squared(), columns=75)
    assert isinstance(chosen.solver, FlatWalk if chosen.nu >= 0.1 else PrivateNewton)
    bounded = choice(epsilon, neighbors, rows=rows, loss=Huber(), columns=75)
    assert isinstance(bounded.solver, PrivateNewton)  # was not compared


@given(st.integers(10**4, 10**8), st.floats(0.05, 10), st.sampled_from(RELATIONS))
def test_slopes_of_classifiers_are_free_where_noise_is_negligible(rows, epsilon, neighbors):
    chosen = choice(epsilon, neighbors, rows=rows)
    if chosen.nu < QUIET:
        assert chosen.solver.clip == pytest.approx(min(max(0.001 / chosen.nu, 0.5), 1.0))
    else:
        assert chosen.solver.clip == CLIP


@pytest.mark.parametrize(("columns", "kind"), [(2000, PrivateNewton), (2001, GradientDescent)])
def test_a_gram_matrix_has_at_most_two_thousand_columns(columns, kind):
    assert isinstance(choice(rows=10**8, loss=Squared(), columns=columns).solver, kind)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_events_are_those_of_the_choice_and_cost_the_budget(neighbors):
    for rows in (500, 10**6):
        facts, budget = problem(rows=rows, neighbors=neighbors), Budget(1.0, 1e-6)
        auto = AutoLinear()
        own = auto.choose(facts, budget, neighbors).solver.prepare(facts, budget, neighbors).events
        assert auto.prepare(facts, budget, neighbors).events == own
        assert 0.98 < epsilon_spent(own, 1e-6, neighbors=neighbors) <= 1 + 1e-9


def test_decisions_say_what_and_why():
    shown = AutoLinear().prepare(problem(), Budget(1.0, 1e-6), "add-remove").decisions
    assert "ObjectivePerturbation" in shown["chosen solver"]
    assert shown["noise of a mean gradient (nu)"] == pytest.approx(0.00189, abs=5e-6)
    assert "warning" not in shown
    loud = AutoLinear().prepare(problem(rows=100), Budget(0.1, 1e-6), "add-remove").decisions
    assert f"above {LOUD:g}" in loud["warning"]


def table(rows, seed=0, columns=4):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (rows, columns))
    return x, x @ np.arange(1, columns + 1) > 0.3 * rng.standard_normal(rows)


def model(**changes):
    settings = {"feature_range": (-1, 1), "classes": [False, True], "random_state": 0}
    return LogisticRegression(**{**settings, **changes})


@SIMULATED
def test_too_much_noise_is_said_and_enough_rows_are_silent():
    with pytest.warns(LoudNoiseWarning, match="noise may hide what there is to learn"):
        model(epsilon=0.1).fit(*table(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error", LoudNoiseWarning)
        model(epsilon=1.0).fit(*table(3000))


@SIMULATED
@pytest.mark.parametrize(("rows", "epsilon", "least"), [(2000, 1.0, 0.96), (60_000, 1.0, 0.96)])
def test_it_learns(rows, epsilon, least):
    """A fact of this seed: 0.971 for both."""
    x, y = table(rows)
    assert model(epsilon=epsilon).fit(x, y).score(x, y) > least


@SIMULATED
@pytest.mark.filterwarnings("ignore::veilspan.LoudNoiseWarning")
@pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_replay(neighbors):
    """The same choice, questions and noise on a neighbouring table."""
    x, y = table(40)
    other_x, other_y = x.copy(), y.copy()
    other_x[3], other_y[3] = -x[3], not y[3]
    if neighbors == "add-remove":
        other_x, other_y = x[1:], y[1:]
    fit = lambda data: model(neighbors=neighbors, expected_rows=40).fit(*data)  # noqa: E731
    assert replay(fit, (x, y), (other_x, other_y)).ok
