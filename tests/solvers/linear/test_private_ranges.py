"""Ranges of columns from noisy histograms."""

import math

import numpy as np
import pytest
from scipy import sparse

from solvers.linear.cases import BOTH, DELTA, neighbor_pairs
from veilspan import Budget, GaussianEvent, Plan, calibrate_noise
from veilspan.audit.replay import replay
from veilspan.curator.curator import Answer, Curator
from veilspan.curator.rows import Block, Rows, clipped_block_sum
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.asked import private_ranges as module
from veilspan.solvers.linear.asked.log_grid import LOG_EDGES
from veilspan.solvers.linear.asked.missing_rows import misses_rows, widen_beyond
from veilspan.solvers.linear.asked.narrow_columns import NARROW_TARGETS
from veilspan.solvers.linear.asked.private_ranges import (
    FINER,
    LENGTH,
    RANGES,
    noise_quantile,
    private_length,
    private_ranges,
    ranges_from_histogram,
)
from veilspan.solvers.linear.asked.target_range import TARGETS, private_target_range

BOTH_RELEASES = GaussianEvent(RANGES), GaussianEvent(FINER)
TARGET_LOOKS = GaussianEvent(TARGETS, count=2), GaussianEvent(NARROW_TARGETS, 2.0, count=2)


def curator_for(
    x, epsilon=np.inf, neighbors="replace-one", events=BOTH_RELEASES, seed=0, targets=None
):
    budget = Budget(epsilon, DELTA)
    plan = Plan(
        method="test",
        budget=budget,
        neighbors=neighbors,
        n_rows=x.shape[0] if neighbors == "replace-one" else None,
        n_features=x.shape[1],
        events=calibrate_noise(budget, events, neighbors=neighbors),
    )
    return Curator(Rows(x, targets), plan, SeededNoise(seed))


def table(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [
            rng.standard_normal(n),
            1e5 * rng.random(n),
            rng.integers(1990, 2021, n),
            -1e-4 * rng.exponential(size=n),
            rng.random(n) < 0.05,
            np.zeros(n),
            np.full(n, 7.0),
        ]
    )


def holds(ranges, x, share):
    inside = ((x >= ranges.low) & (x <= ranges.high)).mean(axis=0)
    return (inside >= share).all()


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_without_noise_ranges_are_tight(neighbors, make):
    x = table()
    ranges = private_ranges(curator_for(make(x), neighbors=neighbors))
    assert holds(ranges, x, 0.98)
    assert ranges.n_rows == 20_000
    width = ranges.high - ranges.low
    assert width[0] < 8
    assert width[1] < 1.2e5
    assert width[2] < 50
    assert width[3] < 1.2e-3
    assert ranges.high[4] == pytest.approx(1.0, abs=0.1)
    assert (ranges.low[5], ranges.high[5], ranges.found[5]) == (0.0, 0.0, False)
    assert ranges.mostly_zero.tolist() == [False] * 4 + [True, True, False]
    assert ranges.low[6] <= 7 <= ranges.high[6]
    assert width[6] < 0.2


@pytest.mark.parametrize("neighbors", BOTH)
def test_under_noise_ranges_hold_most_rows_and_are_not_much_wider(neighbors):
    """Epsilon 3, 20,000 rows, 7 columns.

    The promise is set to fail with probability 2e-7 in each of two releases: false alarm 4e-7. How
    much wider a range may be, and how near a count is, are facts of this seed, with room.
    """
    x = table()
    noisy = private_ranges(curator_for(x, 3.0, neighbors), failure=2e-7)
    ends = noisy, private_ranges(curator_for(x))
    assert holds(ends[0], x, 0.9)
    assert ends[0].n_rows == pytest.approx(20_000, rel=0.03)
    assert ends[0].found.tolist() == [True] * 5 + [False, True]
    known = ends[0].found
    wider = ((ends[0].high - ends[0].low) / (ends[1].high - ends[1].low + ~known))[known]
    assert (wider < 4).all()
    assert (wider > 0).all()


def test_the_promise_of_the_docstring_holds_at_every_draw():
    """False alarm: 40 draws at failure 1e-8 each."""
    failure, coverage, std = 1e-8, 0.98, 20.0
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.standard_cauchy(60_000), rng.lognormal(3, 2, 60_000)])
    exact = clipped_block_sum(ColumnHistograms(2, LOG_EDGES), Block(x), None)
    bins = exact.shape[1]
    reach = noise_quantile(2, bins, failure) * std * math.sqrt(bins)
    beyond = max((1 - coverage) / 2 * len(x), reach) + reach
    hull = [(LOG_EDGES[c.nonzero()[0][0] - 1], LOG_EDGES[c.nonzero()[0][-1]]) for c in exact]
    for _ in range(40):
        noisy = exact + std * rng.standard_normal(exact.shape)
        answer = Answer(noisy, std, GaussianEvent(RANGES))
        low, high, passed = ranges_from_histogram(answer, len(x), coverage, failure=failure)
        assert passed.all()
        assert ((x < low).sum(axis=0) < beyond).all()
        assert ((x >= high).sum(axis=0) < beyond).all()
        for j in range(2):
            assert low[j] >= hull[j][0]
            assert high[j] <= hull[j][1]


def reliable_rows(n_features, noise_multiplier, neighbors, coverage):
    """n = z s sqrt(B) / q of the docstring: from here on the coverage is kept, up to a factor 2."""
    bins = len(LOG_EDGES) + 1
    std = noise_multiplier * ColumnHistograms(n_features, LOG_EDGES).sensitivity(neighbors)
    return noise_quantile(n_features, bins) * std * math.sqrt(bins) / ((1 - coverage) / 2)


def test_reliable_rows_is_where_noise_meets_the_wanted_tail():
    rows = reliable_rows(10, 5.0, "replace-one", 0.99)
    std, bins = 5.0 * math.sqrt(20), len(LOG_EDGES) + 1
    assert noise_quantile(10, bins) * std * math.sqrt(bins) == pytest.approx(0.005 * rows)
    assert reliable_rows(10, 5.0, "add-remove", 0.99) == pytest.approx(rows / math.sqrt(2))


@pytest.mark.parametrize("refine", [True, False])
@pytest.mark.parametrize("neighbors", BOTH)
def test_replay(neighbors, refine):
    def run(data):
        curator = curator_for(data[0], 1.0, neighbors, BOTH_RELEASES[: 1 + refine])
        ranges = private_ranges(curator, second=FINER if refine else None)
        return [ranges.low, ranges.high, ranges.n_rows, ranges.found]

    used = []
    for one, two in neighbor_pairs(neighbors, [-1.0]):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.questions == 1 + refine
        assert report.realised_mu <= Budget(1.0, DELTA).mu * (1 + 1e-6)
        used.append(report.largest_use)
    assert max(used) == pytest.approx(1.0)


class OneVote(ColumnHistograms):
    def sensitivity(self, neighbors):
        return 1.0


def test_broken_copies_are_caught(monkeypatch):
    def looks(data):
        ranges = private_ranges(curator_for(data[0], 1.0))
        return np.maximum(ranges.high, data[0].max(axis=0))

    def run(data):
        return private_ranges(curator_for(data[0], 1.0)).low

    pairs = list(neighbor_pairs("replace-one", [-1.0]))
    assert not all(replay(looks, *pair).ok for pair in pairs)
    monkeypatch.setattr(module, "ColumnHistograms", OneVote)
    assert not all(replay(run, *pair).ok for pair in pairs)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="coverage"):
        private_ranges(curator_for(np.eye(3)), 1.0)


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_length_holds_nearly_all_rows_and_is_near_theirs(neighbors, make):
    """Codes of three questions with many answers: rows of length sqrt(3) of a possible 9."""
    rng = np.random.default_rng(0)
    x = np.zeros((5000, 81))
    for question in range(3):
        x[np.arange(5000), 27 * question + rng.integers(0, 27, 5000)] = 1.0
    row_map = RowScaling(None, 1.0, 9.0)
    for epsilon in (math.inf, 1.0):
        curator = curator_for(make(x), epsilon, neighbors, (GaussianEvent(LENGTH),))
        assert math.sqrt(3) * (1 - 1e-9) <= private_length(curator, row_map) <= math.sqrt(3) * 1.2


def test_a_length_that_noise_hides_is_the_longest_possible():
    """Forty rows at epsilon 0.01, whose noise has a std of some hundreds."""
    curator = curator_for(np.eye(40), 0.01, events=(GaussianEvent(LENGTH),))
    assert private_length(curator, RowScaling(None, 1.0, 5.0)) == 5.0


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize("epsilon", [math.inf, 1.0])
def test_a_range_of_targets_holds_them_and_is_not_much_wider(neighbors, epsilon):
    y = 1900 + 25 * np.random.default_rng(1).standard_normal(20_000)
    event = TARGET_LOOKS
    curator = curator_for(np.ones((20_000, 2)), epsilon, neighbors, event, targets=y)
    found = private_target_range(curator)
    low, high = found.low, found.high
    assert found.lost is None
    assert np.mean((y >= low) & (y <= high)) > 0.999
    assert high - low < 600


def test_noise_alone_never_makes_an_end_of_the_targets_range():
    """400 seeds; an end far outside happens with probability 1e-10 a seed, by the docstring."""
    y = 40 + 10 * np.random.default_rng(1).standard_normal(3000)
    event = TARGET_LOOKS
    x = np.ones((3000, 1))
    for seed in range(400):
        found = private_target_range(curator_for(x, 0.3, events=event, seed=seed, targets=y))
        assert -400 < found.low < found.high < 400


def test_a_bin_that_stands_above_the_noise_is_better_than_no_range():
    """1,000 targets at epsilon 0.3: too few for an end that is sure, and enough for a bin.

    Noise alone makes a bin so full with probability 1e-3 a seed; that one of targets, of some five
    stds on average, is not full enough in more than half of 40 seeds has one below 1e-3.
    """
    y = 50_000 + 10_000 * np.random.default_rng(1).standard_normal(1000)
    x = np.ones((1000, 1))
    hidden = 0
    for seed in range(40):
        curator = curator_for(x, 0.3, events=TARGET_LOOKS, seed=seed, targets=y)
        found = private_target_range(curator)
        if found.lost != "noise":
            assert -100_000 < found.low < 35_000
            assert 60_000 < found.high < 150_000
        else:
            assert (found.low, found.high, found.lost) == (-1.0, 1.0, "noise")
            hidden += 1
    assert hidden <= 20


RANDOM = np.random.default_rng(5)
SHAPES = {
    "around zero": 1.8 * RANDOM.standard_normal(15_000),
    "tiny": 1e-5 * RANDOM.standard_normal(15_000),
    "waiting times": RANDOM.exponential(size=15_000),
    "salaries": np.exp(10.5 + 0.6 * RANDOM.standard_normal(15_000)),
    "debts": -np.exp(10.5 + 0.6 * RANDOM.standard_normal(15_000)),
    "shares": 100 * RANDOM.random(15_000),
    "counts": RANDOM.poisson(3, 15_000).astype(float),
    "years": RANDOM.integers(1990, 2021, 15_000).astype(float),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("neighbors", BOTH)
def test_a_range_of_which_one_bin_is_sure_is_not_that_bin(neighbors, name):
    """Noise of 500 to 700 rows a bin, where most of these shapes fill several by 2,000 to 5,000.

    A range of the one bin that is sure held as few as 2 % of the targets. Facts of these
    seeds, with room; the two relations differ in noise by sqrt(2).
    """
    y = SHAPES[name]
    epsilon = 0.01 if neighbors == "replace-one" else 0.007
    for seed in range(12):
        curator = curator_for(
            np.ones((15_000, 1)), epsilon, neighbors, TARGET_LOOKS, seed, targets=y
        )
        found = private_target_range(curator)
        assert found.lost in (None, "coarse")
        assert np.mean((y >= found.low) & (y <= found.high)) > 0.7
        assert found.high - found.low < 10 * np.quantile(np.abs(y), 0.99)


def columns_answer(counts, std):
    return Answer(np.asarray(counts, dtype=float), std, GaussianEvent(RANGES))


def test_rows_that_are_missing_are_counted_by_what_is_known_of_their_number():
    """A tenth of 1,000 rows and four stds: of the bins inside, or of those outside."""
    edges = np.array([-1.0, 0.0, 1.0])
    ends = np.array([0.0]), np.array([1.0])  # one bin of four
    for std, public, most in ((10.0, True, 140), (10.0, False, 100 + 40 * math.sqrt(3))):
        for gap, missed in ((1, True), (-1, False)):
            outside = most + gap
            answer = columns_answer([[0, outside, 1000 - outside, 0]], std)
            said = misses_rows(answer, edges, 1000.0, ends, public_rows=public)
            assert said.tolist() == [missed]


def grid_answer(p, std=5.0, **rows):
    """Counts of p columns on the grid: so many rows in the bins that begin at these powers of 4."""
    counts = np.zeros((p, len(LOG_EDGES) + 1))
    for power, count in rows.items():
        counts[:, np.searchsorted(LOG_EDGES, 1.5 * 4.0 ** int(power[1:]))] = count
    return columns_answer(counts, std)


def test_ends_move_out_to_where_rows_are():
    hair = 1 + 2.0**-40  # of the edges
    low = hair * np.array([1.0, 4.0, -64.0, -4.0])
    high = hair * np.array([4.0, 64.0, -4.0, 4.0])
    some, none = 900.0, 0.0
    answer = columns_answer(
        [[some, 50, none], [none, 50, some], [none, 50, some], [some, 50, some]], 10.0
    )
    on_grid = grid_answer(4, p1=some, p3=some)  # in (4, 16) and in (64, 256)
    on_grid.value[:] += on_grid.value[:, ::-1]
    lower, upper = widen_beyond(answer, on_grid, 1000.0, (low, high))
    assert lower == pytest.approx([-4.0, np.inf, np.inf, -16.0])
    assert upper == pytest.approx([-np.inf, 256.0, 64.0, 16.0])


def test_an_end_moves_out_until_few_rows_are_left():
    """1,000 rows in five bins beyond 1: after four of them 200 are left, after five none."""
    on_grid = grid_answer(1, p0=200, p1=200, p2=200, p3=200, p4=200)
    for std, reached in ((1.0, 4.0**5), (50.0, 4.0**4)):  # a tenth and four stds may be left
        answer = columns_answer([[0, 0, 1000]], std)
        ends = np.array([0.0]), np.array([1 + 2.0**-40])
        lower, upper = widen_beyond(answer, on_grid, 1000.0, ends)
        assert lower.tolist() == [np.inf]
        assert upper == pytest.approx([reached])


def test_targets_of_many_sizes_are_held():
    """4^-3 to 4^3, in equal parts: a range that went out by one edge alone cut most of them."""
    y = 4.0 ** np.random.default_rng(0).integers(-3, 4, 2000)
    for neighbors in BOTH:
        for seed in range(10):
            curator = curator_for(
                np.ones((2000, 1)), 0.15, neighbors, TARGET_LOOKS, seed, targets=y
            )
            found = private_target_range(curator)
            held = np.mean((y >= found.low) & (y <= found.high))
            assert held > 0.6 or found.lost is not None


@pytest.mark.parametrize("neighbors", BOTH)
@pytest.mark.parametrize(("middle", "spread"), [(1e5, 1.0), (1e9, 1e5), (100.0, 1.0)])
def test_targets_that_noise_leaves_in_one_bin_are_told_of(neighbors, middle, spread):
    """Their range is far wider than they are, or as wide as they spread."""
    y = middle + spread * np.random.default_rng(1).standard_normal(5000)
    for epsilon in (0.05, 0.3, 3.0):
        for seed in range(5):
            curator = curator_for(
                np.ones((5000, 1)), epsilon, neighbors, TARGET_LOOKS, seed, targets=y
            )
            found = private_target_range(curator)
            assert found.lost is not None or found.high - found.low < 100 * spread
    assert found.lost is None


def test_a_column_of_which_equal_bins_show_nothing_keeps_its_range():
    """An open end is no range: one of N(0, 1.8) had (0.9, 1.2) where (1, 4) was known."""
    y = SHAPES["around zero"]
    for seed in range(20):
        events = GaussianEvent(RANGES), GaussianEvent(FINER)
        curator = curator_for(y[:, None], 0.01, "replace-one", events, seed)
        found = private_ranges(curator)
        assert found.high[0] - found.low[0] > 0.7


def test_targets_beyond_all_bins_are_told_of():
    y = 1e25 * np.random.default_rng(1).uniform(1, 2, 5000)
    x = np.ones((5000, 1))
    for sign in (1, -1):
        curator = curator_for(x, 3.0, events=TARGET_LOOKS, targets=sign * y)
        assert private_target_range(curator).lost == "far"
    curator = curator_for(x, 3.0, events=TARGET_LOOKS, targets=y / 1e7)
    assert private_target_range(curator).lost is None


@pytest.mark.parametrize("question", ["length", "targets"])
@pytest.mark.parametrize("neighbors", BOTH)
def test_replay_of_lengths_and_targets(neighbors, question):
    def run(data):
        x, y = data
        if question == "length":
            curator = curator_for(x, 1.0, neighbors, (GaussianEvent(LENGTH),))
            return private_length(curator, RowScaling(None, 1.0, 2.0))
        event = TARGET_LOOKS
        return private_target_range(curator_for(x, 1.0, neighbors, event, targets=y))

    used = []
    for one, two in neighbor_pairs(neighbors, [-1.0, 1.0]):
        report = replay(run, one, two)
        assert report.ok, report.findings
        assert report.realised_mu <= Budget(1.0, DELTA).mu * (1 + 1e-6)
        used.append(report.largest_use)
    assert max(used) == pytest.approx(1.0)


@pytest.mark.parametrize("count", [60, 2000])
def test_columns_of_which_nothing_is_seen_are_not_found(count):
    """Noise alone, 40 tables of 30 empty columns: at most a few of 1,200 are taken for codes.

    Each is with probability 0.023 by the test for codes and less than 0.05 / 30 by the others;
    more than 75 of 1,200 happens with probability below 1e-9.
    """
    found = 0
    for seed in range(40):
        ranges = private_ranges(curator_for(np.zeros((count, 30)), 1.0, seed=seed))
        found += ranges.found.sum()
        assert not ranges.low[~ranges.found].any()
        assert not ranges.high[~ranges.found].any()
    assert found <= 75
