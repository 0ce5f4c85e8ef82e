"""Gains on hidden ratings: one user at a time in plain Python, what is hidden, broken twins."""

import math

import numpy as np
import pytest
from scipy import sparse

from privacy.affordable import budget_for
from queries.completion.test_residual_moment import slow_ratings
from veilspan import GaussianEvent, Plan, check_query
from veilspan.curator.check_query import QueryCheckError
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Block, Rows
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.completion.holdout_gains import HoldoutGains, hide_part
from veilspan.queries.completion.local_fits import LEVEL_RIDGE
from veilspan.queries.completion.rating_rows import RatingRule

ITEMS = 12
RULE = RatingRule(-1.0, 1.0, ITEMS, "user", salt=11)
RNG = np.random.default_rng(5)
POINT = (np.linspace(-0.2, 0.3, ITEMS), RNG.standard_normal((ITEMS, 2)))
RIDGES = (0.3, 1.0, 30.0)


def slow_gains(query):
    """Fit and predict one user, a ridge at a time."""

    def contribution(row, point):
        bias, factors = point
        items, y = slow_ratings(row, query.rule)
        hidden = hide_part(query.rule.keep(row), query.rule.salt)
        shown = [(j, r) for j, r, h in zip(items, y, hidden) if not h]
        kept_back = [(j, r) for j, r, h in zip(items, y, hidden) if h]
        if not kept_back:
            return np.zeros(len(query.ridges))

        def error(columns, ridge):
            left = LEVEL_RIDGE * np.eye(1 + columns.shape[1])
            left[1:, 1:] = ridge * np.eye(columns.shape[1])
            right = np.zeros(len(left))
            for j, r in shown:
                f = np.array([1.0, *columns[j]])
                left += np.outer(f, f)
                right += f * (r - bias[j])
            own = np.linalg.solve(left, right)
            guesses = [bias[j] + own @ [1.0, *columns[j]] for j, _ in kept_back]
            missed = [min(max(g, -1.0), 1.0) - r for g, (_, r) in zip(guesses, kept_back)]
            return np.mean(np.square(missed))

        first, *others = (error(factors, ridge) for ridge in query.ridges)
        gains = [(error(factors[:, :0], 1.0) - first) / query.unit]
        return np.clip([*gains, *((first - other) / query.step for other in others)], -1.0, 1.0)

    return contribution


@pytest.mark.parametrize("unit", [1e-3, 0.5])
def test_gains_are_those_of_one_user_after_the_other(unit):
    query = HoldoutGains(RULE, RIDGES, unit, unit / 3)
    # Gains are differences of errors that may be nearly alike: absolute digits, not relative ones.
    report = check_query(query, ITEMS, points=(POINT,), reference=slow_gains(query), tolerance=1e-6)
    if unit < 0.1:  # gains are cut off: the declared sensitivity is reached
        assert report.add_remove > 0.98
        assert report.replace_one > 0.98


def test_the_sensitivity_is_the_derived_one():
    query = HoldoutGains(RULE, RIDGES, 1.0, 1.0)
    assert query.sensitivity("add-remove") == pytest.approx(math.sqrt(3))
    assert query.sensitivity("replace-one") == pytest.approx(2 * math.sqrt(3))


def test_about_a_fifth_is_hidden_by_the_row_and_the_salt_alone():
    rows = ratings(400)
    kept = RULE.keep(Block(rows))
    hidden = hide_part(kept, RULE.salt)
    # 4,800 coins: a sixth of a std is 0.001; five of them are a false alarm of 6e-7.
    assert abs(hidden.mean() - 0.2) < 5 * math.sqrt(0.16 / len(hidden))
    # The same row hides the same ratings wherever it stands; another salt hides others.
    turned = RULE.keep(Block(rows[::-1]))
    np.testing.assert_array_equal(
        hide_part(turned, RULE.salt).reshape(400, -1)[::-1], hidden.reshape(400, -1)
    )
    assert (hide_part(kept, 12) != hidden).mean() > 0.2
    # One other rating of hers, and what is hidden of the rest is drawn anew: nobody can choose it.
    changed = rows.copy()
    changed.data.reshape(400, -1)[:, 0] *= -1
    other = hide_part(RULE.keep(Block(changed)), RULE.salt).reshape(400, -1)
    assert (other[:, 1:] != hidden.reshape(400, -1)[:, 1:]).mean() > 0.2


def ratings(users):
    values = np.random.default_rng(1).uniform(-1, 1, (users, ITEMS))
    return sparse.csr_array(values)


def test_what_helps_is_seen_to_help_and_what_does_not_costs():
    rng = np.random.default_rng(2)
    factors = rng.standard_normal((ITEMS, 1))
    tastes = 0.4 * rng.standard_normal((300, 1)) @ factors.T
    tastes = np.clip(tastes + 0.1 * rng.standard_normal(tastes.shape), -1, 1)
    zero = np.zeros(ITEMS)
    query = HoldoutGains(RULE, (0.1,), 0.25, 1.0)
    good = query.prepare(Block(tastes), (zero, factors)).mean()
    bad = query.prepare(Block(tastes), (zero, rng.standard_normal((ITEMS, 8)))).mean()
    assert good > 0.2
    assert bad < 0.0


def test_users_without_anything_to_hide_report_nothing():
    table = sparse.csr_array((np.ones(1), [3], [0, 0, 1]), shape=(2, ITEMS))
    query = HoldoutGains(RULE, RIDGES, 1e-3, 1e-3)
    np.testing.assert_array_equal(query.prepare(Block(table), POINT), 0)


@pytest.mark.parametrize(("ridges", "unit"), [((), 1.0), ((-1.0,), 1.0), ((1.0,), 0.0)])
def test_impossible_settings_are_refused(ridges, unit):
    with pytest.raises(ValueError):
        HoldoutGains(RULE, ridges, unit, 1.0)


# Broken twins.


class Unclipped(HoldoutGains):
    """Reports gains as they are, with norms that say otherwise."""

    def prepare(self, block, point):
        wide = HoldoutGains(self.rule, self.ridges, 1e3 * self.unit, 1e3 * self.step)
        return 1e3 * wide.prepare(block, point)

    def norms(self, block, point):
        return np.minimum(super().norms(block, point), self.bound)


def test_gains_that_are_not_clipped_are_seen():
    with pytest.raises(QueryCheckError):
        check_query(Unclipped(RULE, RIDGES, 1e-3, 1e-3), ITEMS, points=(POINT,))


def test_gains_that_are_not_charged_are_refused():
    """A plan that lists no such release has no answer to it."""
    event = GaussianEvent("covariance", 5.0)
    plan = Plan(
        method="twin",
        budget=budget_for((event,)),
        neighbors="replace-one",
        n_rows=20,
        n_features=ITEMS,
        events=(event,),
    )
    curator = Curator(Rows(ratings(20)), plan, SeededNoise(0))
    query = HoldoutGains(RULE, RIDGES, 0.5, 0.1)
    with pytest.raises(PrivacyError):
        curator.answer(query, POINT, event="gains on hidden ratings, or item statistics")
    curator.answer(query, POINT, event="covariance")  # who pays may ask, once
    with pytest.raises(PrivacyError):
        curator.answer(query, POINT, event="covariance")
