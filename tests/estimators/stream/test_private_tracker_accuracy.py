"""How well a private tracker follows.

Rows and noise are seeded: bounds are facts of those seeds, half as large again as what was measured
or more, unless a docstring says what theory asks for.
"""

import math
import warnings

import numpy as np
import pytest

from estimators.stream.private_streams import BLOCK_SIZE, RANK, WIDTH, draw, error, make, truth
from veilspan import PCA, NotPrivateWarning
from veilspan.metrics import principal_angles


@pytest.fixture
def simulate():
    """A tracker whose noise comes from a seed; the warning that this deserves is expected."""

    def simulated(**changes):
        return make(random_state=3, **changes)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield simulated


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_more_blocks_are_better_than_one(noise, simulate):
    """Sixteen blocks would halve the error twice by averaging alone; asked for is once.

    Measured: 0.07 of the error under little noise, 0.27 under much.
    """
    errors, singles = [], []
    for seed in range(3):
        subspace, rng = truth(seed), np.random.default_rng([seed, 2])
        tracker = simulate()
        for blocks in range(16):
            rows = draw(subspace, BLOCK_SIZE, rng, noise)
            tracker.partial_fit(rows)
            if blocks == 0:
                pca = PCA(RANK, epsilon=2.0, random_state=seed).fit(rows)
                singles.append(error(pca, subspace))
        errors.append(error(tracker, subspace))
    assert np.mean(errors) < 0.5 * np.mean(singles)


def test_rows_near_the_subspace_are_worth_more_than_averaging(simulate):
    """Stretching gains over the average of 16 moments, which has a quarter of the first error."""
    subspace, rng = truth(0), np.random.default_rng(0)
    tracker = simulate(epsilon=1.0)
    first = error(tracker.partial_fit(draw(subspace, BLOCK_SIZE, rng, 0.02)), subspace)
    last = error(tracker.partial_fit(draw(subspace, 15 * BLOCK_SIZE, rng, 0.02)), subspace)
    assert last < 0.03 * first  # 0.011


def test_tilts_are_averaged(simulate):
    """From 4 to 40 blocks the error falls by the root of 10 on average; asked for is half.

    Measured: 0.27.
    """
    early, late = [], []
    for seed in range(3):
        subspace, rng = truth(seed), np.random.default_rng([seed, 4])
        tracker = simulate().partial_fit(draw(subspace, 4 * BLOCK_SIZE, rng))
        early.append(error(tracker, subspace))
        late.append(error(tracker.partial_fit(draw(subspace, 36 * BLOCK_SIZE, rng)), subspace))
    assert np.mean(late) < 0.5 * np.mean(early)


def test_it_follows_a_subspace_that_drifts(simulate):
    rng = np.random.default_rng(0)
    start = subspace = truth(0)
    tracker = simulate(forgetting=0.2)
    errors = []
    for _ in range(40):
        turned = subspace + 0.05 * rng.standard_normal(subspace.shape) / math.sqrt(WIDTH)
        subspace = np.linalg.qr(turned.T)[0].T
        tracker.partial_fit(draw(subspace, BLOCK_SIZE, rng))
        errors.append(error(tracker, subspace))
    gone = float(np.sin(principal_angles(start, subspace)).max())
    assert np.mean(errors[10:]) < 0.06 * gone  # 0.033


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_it_finds_a_subspace_that_jumps(noise, simulate):
    rng = np.random.default_rng(0)
    tracker = simulate(epsilon=4.0)
    tracker.partial_fit(draw(truth(0), 8 * BLOCK_SIZE, rng, noise))
    assert tracker.n_changes_ == 0
    tracker.partial_fit(draw(truth(1), 8 * BLOCK_SIZE, rng, noise))
    assert tracker.n_changes_ == 1
    assert error(tracker, truth(1)) < 0.07  # 0.005 and 0.041


def test_many_columns_need_no_square_matrix(simulate, monkeypatch):
    from veilspan.estimators.stream import stream_plan
    from veilspan.queries.moments import SecondMoment
    from veilspan.solvers.stream.block_release import StreamRelease

    def refuses(self, *args):
        raise AssertionError("the whole moment was asked for")

    monkeypatch.setattr(stream_plan, "MOST_COLUMNS", 50)
    monkeypatch.setattr(SecondMoment, "space", refuses)
    monkeypatch.setattr(StreamRelease.__init__, "__defaults__", (0.0, 50, 20, 1))
    subspace, rng = truth(0, width=60, rank=3), np.random.default_rng(0)
    tracker = simulate(rank=3, block_size=3000)
    tracker.partial_fit(draw(subspace, 5 * 3000, rng, 1.0))
    assert error(tracker, subspace) < 0.06  # 0.033, from an arbitrary start


def test_gaps_are_filled_from_what_is_public(simulate):
    rng = np.random.default_rng(0)
    rows = draw(truth(0), 20 * BLOCK_SIZE, rng)
    rows[rng.random(rows.shape) < 0.4] = np.nan
    assert error(simulate(epsilon=4.0).partial_fit(rows), truth(0)) < 0.02  # 0.011


@pytest.mark.parametrize("noise", [0.1, 1.0])
def test_coordinates_go_on_without_a_break(noise, simulate):
    rng = np.random.default_rng(0)
    tracker = simulate(epsilon=8.0).partial_fit(draw(truth(0), BLOCK_SIZE, rng, noise))
    for _ in range(5):
        before = tracker.components_
        tracker.partial_fit(draw(truth(0), BLOCK_SIZE, rng, noise))
        np.testing.assert_allclose(before @ tracker.components_.T, np.eye(RANK), atol=0.01)  # 0.002
        np.testing.assert_allclose(
            tracker.components_ @ tracker.components_.T, np.eye(RANK), atol=1e-12
        )
