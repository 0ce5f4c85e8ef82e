"""Ranges of columns that lie close together, far from zero."""

import numpy as np
import pytest

from solvers.linear.cases import BOTH, DELTA, neighbor_pairs
from solvers.linear.test_private_ranges import curator_for
from veilspan import Budget, GaussianEvent
from veilspan.audit.replay import replay
from veilspan.solvers.linear.asked.narrow_columns import LOOKS, NARROW, zoom_in
from veilspan.solvers.linear.asked.private_ranges import (
    COVERAGE,
    FINER,
    RANGES,
    ColumnRanges,
    private_ranges,
)

EVENTS = GaussianEvent(RANGES), GaussianEvent(FINER), GaussianEvent(NARROW, 2.0, count=LOOKS)


def narrow_table(n=20_000, seed=0):
    """Numbers of people, negative ones, seconds, years; then what has no offset."""
    rng = np.random.default_rng(seed)
    return np.column_stack([
        1e9 + rng.integers(0, 1000, n),
        -5e12 + 10.0 * rng.standard_normal(n),
        rng.uniform(1.546e9, 1.735e9, n),
        rng.integers(2019, 2025, n),
        rng.standard_normal(n),
        rng.exponential(size=n) ** 2,
        rng.random(n) < 0.1,
    ])  # fmt: skip


def find(x, epsilon, neighbors="replace-one", seed=0):
    curator = curator_for(x, epsilon, neighbors, EVENTS, seed)
    before = private_ranges(curator)
    return before, zoom_in(curator, before, COVERAGE, NARROW)


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("epsilon", [np.inf, 1.0])
def test_narrow_columns_are_found_and_others_left_alone(neighbors, epsilon):
    x = narrow_table()
    before, after = find(x, epsilon, neighbors)
    for column, most in enumerate((20.0, 1e4, 20.0, 20.0)):
        inside = (x[:, column] >= after.low[column]) & (x[:, column] <= after.high[column])
        assert inside.mean() > 0.95
        spread = np.ptp(np.quantile(x[:, column], [0.01, 0.99]))
        assert after.high[column] - after.low[column] < most * spread
    assert before.high[0] - before.low[0] > 1e4 * 1000
    assert np.array_equal(after.low[4:], before.low[4:])
    assert np.array_equal(after.high[4:], before.high[4:])


def test_ranges_only_shrink_and_hold_rows_that_fill_them():
    x = np.random.default_rng(1).uniform(17.0, 63.0, (5000, 3))
    before, after = find(x, 1.0)
    assert (after.low >= before.low).all()
    assert (after.high <= before.high).all()
    assert np.mean((x >= after.low) & (x <= after.high)) > 0.98


def test_noise_alone_never_moves_a_range():
    """Forty rows at a tiny epsilon: nothing is seen, whatever the seed."""
    x = 1e9 + np.random.default_rng(2).random((40, 2))
    for seed in range(30):
        before, after = find(x, 0.01, seed=seed)
        assert np.array_equal(after.low, before.low)
        assert np.array_equal(after.high, before.high)


@pytest.mark.parametrize("value", [1e9, -3e100, 1e-300, 0.0])
def test_constant_columns_keep_a_range_of_some_width(value):
    _, after = find(np.full((500, 1), value), np.inf)
    assert np.isfinite([after.low, after.high]).all()
    assert not after.found[0] or after.low[0] < after.high[0]


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("epsilon", [np.inf, 1.0])
def test_columns_of_one_value_are_one_point_and_narrow_ones_are_not(neighbors, epsilon):
    x, values = narrow_table(), np.array([7.0, 0.1, -3e5, 1.0, 1e9])
    x = np.hstack([np.tile(values, (len(x), 1)), x[:, [0, 2, 3, 4, 5, 6]]])
    _, after = find(x, epsilon, neighbors)
    assert after.one_point.tolist() == [True] * 5 + [False] * 6
    assert (after.low[:5] <= values).all()
    assert (after.high[:5] >= values).all()


@pytest.mark.parametrize("neighbors", BOTH)
def test_replay(neighbors):
    """Whatever the first releases found: the looks alone, on ranges far from zero."""

    def run(data, broken=False):
        x, _ = data
        events = (GaussianEvent(NARROW, count=2),)
        curator = curator_for(x, 1.0, neighbors, events)
        width = x.shape[1]
        low, high = np.full(width, 0.3), np.full(width, 1.3)
        if broken:  # where to look is read off the rows, for nothing
            low = low + 0.01 * np.abs(x).sum()
        all_columns, none = np.ones(width, dtype=bool), np.zeros(width, dtype=bool)
        known = ColumnRanges(low, high, 100.0, all_columns, none, all_columns)
        after = zoom_in(curator, known, COVERAGE, NARROW)
        return np.array([after.low, after.high])

    used, caught = [], 0
    for one, two in neighbor_pairs(neighbors, [-1.0, 1.0]):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, DELTA).mu * (1 + 1e-6)
        used.append(report.largest_use)
        caught += not replay(lambda data: run(data, True), one, two).ok
    assert max(used) > 0.5
    assert caught
