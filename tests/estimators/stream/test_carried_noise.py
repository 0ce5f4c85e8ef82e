"""Private trackers whose noise is carried on: who gets it, what is kept, gaps, many columns."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from estimators.stream.private_streams import BLOCK_SIZE, RANK, WIDTH, draw, error, make, truth
from veilspan import NotPrivateWarning, SubspaceTracker
from veilspan.estimators.stream.private_tracker import stream_plan
from veilspan.privacy.correlation import WIDEST
from veilspan.solvers.stream.running_belief import RunningBelief

EARLIER = Path(__file__).parents[2] / "releases" / "samples" / "dev0" / "private-tracker.npz"


@pytest.fixture(autouse=True)
def _simulations_are_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield


def follow(blocks, noise=0.1, seed=3, **changes):
    subspace, rng = truth(0), np.random.default_rng(0)
    tracker = make(random_state=seed, **changes)
    tracker.partial_fit(draw(subspace, blocks * BLOCK_SIZE, rng, noise))
    return tracker, subspace, rng


# ---------------------------------------------------------------- who gets it


@pytest.mark.parametrize(
    ("changes", "width", "words"),
    [
        ({}, WIDTH, "carried on"),
        ({"max_blocks_per_person": 3, "blocks_apart": 4}, WIDTH, "carried on"),
        ({"max_blocks_per_person": 3}, WIDTH, "follow each other"),
        ({"max_blocks_per_person": 3, "blocks_apart": 1}, WIDTH, "follow each other"),
        ({}, 500, "carried on"),
        ({}, 501, "more than 500 columns"),
    ],
    ids=str,
)
def test_a_plan_says_which_noise(changes, width, words):
    assert words in stream_plan(make(**changes), width).decisions["noise"]


def test_a_band_is_never_wider_than_what_is_declared():
    for apart, band in ((2, 2), (7, 7), (1000, WIDEST)):
        plan = stream_plan(make(max_blocks_per_person=2, blocks_apart=apart), WIDTH)
        assert plan.decisions["blocks apart"] == band
    tracker, _, _ = follow(1, max_blocks_per_person=2, blocks_apart=7)
    assert "at least 7 blocks apart" in tracker.privacy_.unit


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "week"])
def test_bad_distances_are_refused(bad):
    with pytest.raises((ValueError, TypeError), match="blocks_apart"):
        make(blocks_apart=bad).partial_fit(np.ones((3, WIDTH)))


def test_people_who_stay_away_for_a_while_cost_less():
    """Sixteen blocks, up to four of one person: median error over seeds, half as large.

    Measured: 0.45 of that without a word on how far apart.
    """
    with_word, without = (
        np.median([error(*follow(16, 0.5, s, max_blocks_per_person=4, **more)[:2])
                   for s in range(5)])
        for more in ({"blocks_apart": 8}, {})
    )  # fmt: skip
    assert with_word < 0.8 * without


def test_the_distance_cannot_change_on_the_way():
    from veilspan import PrivacyError

    tracker = make(max_blocks_per_person=2, blocks_apart=5).partial_fit(np.ones((10, WIDTH)))
    with pytest.raises(PrivacyError, match="cannot change"):
        tracker.set_params(blocks_apart=9).partial_fit(np.ones((10, WIDTH)))


def test_forgetting_may_change_and_opens_a_new_triangular_block():
    tracker, _, rng = follow(4, noise=1.0)
    assert tracker._private_.buffers._place == 3
    tracker.set_params(forgetting=0.1).partial_fit(draw(truth(0), BLOCK_SIZE, rng, 1.0))
    assert tracker._private_.buffers._place == 0


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("noise", [0.02, 1.0])
def test_a_restart_loses_little(noise):
    """A tracker that is restored after every fourth block, beside one that never is."""
    errors = {1: [], 4: []}
    for seed in range(2):
        for stop in errors:
            subspace, rng = truth(seed), np.random.default_rng(seed)
            tracker = make(random_state=seed)
            for _ in range(8 // stop):
                tracker.partial_fit(draw(subspace, 2 * stop * BLOCK_SIZE, rng, noise))
                tracker = SubspaceTracker.from_state_dict(tracker.state_dict())
                assert tracker._private_.buffers._units.size == 0
            errors[stop].append(error(tracker, subspace))
    assert np.mean(errors[1]) < 3 * np.mean(errors[4])
    assert np.mean(errors[1]) < 0.2


def test_a_state_says_by_its_version_whether_earlier_libraries_can_read_it(tmp_path):
    carried, _, _ = follow(3)
    alone, _, _ = follow(3, max_blocks_per_person=2)
    assert (carried.state_dict()["version"], alone.state_dict()["version"]) == (2, 1)
    carried.save(tmp_path / "state.npz")
    again = SubspaceTracker.load(tmp_path / "state.npz")
    np.testing.assert_array_equal(again.components_, carried.components_)
    assert isinstance(again._private_.belief, RunningBelief)


def test_no_state_holds_the_noise(tmp_path):
    tracker, _, _ = follow(3, noise=1.0)
    secret = tracker._private_.buffers._units
    assert secret.any()
    tracker.save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as stored:
        arrays = [stored[name] for name in stored if name != "header"]
    sizes = np.abs(np.concatenate([a.ravel() for a in arrays if a.dtype == float]))
    for row in secret:
        assert not np.isin(np.abs(row[row != 0]), sizes).any()


def test_a_stream_of_an_earlier_version_goes_on_as_it_began():
    tracker = SubspaceTracker.load(EARLIER)
    before = tracker.releases_
    rows = np.random.default_rng(0).standard_normal((tracker.block_size, tracker.n_features_in_))
    tracker.partial_fit(rows)
    assert tracker.releases_ == before + 1
    assert not tracker._private_.correlated
    assert tracker.state_dict()["version"] == 1


@pytest.mark.parametrize(
    ("numbers", "arrays"),
    [
        ({"answers": 0}, {}),
        ({"weight": 0.0}, {}),
        ({"scale": 2.0}, {}),
        ({"precision": 0.0}, {}),
        ({"scale": 1e-9}, {}),
        ({"scale": 1.0}, {}),
        ({}, {"centre": np.ones((WIDTH, RANK))}),
        ({}, {"basis": np.zeros((WIDTH, RANK))}),
        ({}, {"total": np.zeros((RANK, RANK))}),
        ({}, {"buffers": np.zeros((5, WIDTH**2))}),
    ],
    ids=lambda part: " ".join(part),
)
def test_sums_that_no_stream_has_are_refused(numbers, arrays):
    from veilspan.nonprivate.grouse.files import StateFileError

    tracker, _, _ = follow(4, noise=0.02)
    state = json.loads(json.dumps({**tracker.state_dict(), "arrays": {}}))
    state["arrays"] = {**tracker.state_dict()["arrays"], **arrays}
    SubspaceTracker.from_state_dict({**state, "arrays": tracker.state_dict()["arrays"]})
    state["learned"]["belief"].update(numbers)
    with pytest.raises(StateFileError):
        SubspaceTracker.from_state_dict(state)


# ---------------------------------------------------------------- how well


def test_sums_sharpen_faster_than_averages():
    """From 8 to 64 blocks averages of independent noise gain a factor of 2.8; asked for is 4.

    Measured: 6.5, with as much energy outside of the subspace as in it.
    """
    early, late = [], []
    for seed in range(3):
        subspace, rng = truth(seed), np.random.default_rng([seed, 9])
        tracker = make(random_state=seed, epsilon=0.5)
        tracker.partial_fit(draw(subspace, 8 * BLOCK_SIZE, rng, 1.0))
        early.append(error(tracker, subspace))
        tracker.partial_fit(draw(subspace, 56 * BLOCK_SIZE, rng, 1.0))
        late.append(error(tracker, subspace))
    assert np.mean(late) < np.mean(early) / 4


@pytest.mark.parametrize("noise", [0.02, 1.0])
def test_blocks_without_rows_are_no_change(noise):
    """Absent people are rows of gaps: the estimate stays, and sharpens again afterwards."""
    tracker, subspace, rng = follow(6, noise)
    before = error(tracker, subspace)
    tracker.partial_fit(np.full((3 * BLOCK_SIZE, WIDTH), np.nan))
    assert tracker.n_changes_ == 0
    assert error(tracker, subspace) < 3 * before
    tracker.partial_fit(draw(subspace, 12 * BLOCK_SIZE, rng, noise))
    assert tracker.n_changes_ == 0
    assert error(tracker, subspace) < before


def test_a_stream_that_begins_with_nobody_begins():
    tracker = make(random_state=0).partial_fit(np.full((2 * BLOCK_SIZE, WIDTH), np.nan))
    tracker.partial_fit(draw(truth(0), 10 * BLOCK_SIZE, np.random.default_rng(0)))
    assert error(tracker, truth(0)) < 0.1


def test_slow_drift_is_followed_with_forgetting():
    """Rows with as much energy outside, where a block alone tells little."""
    lags = {}
    for forgetting in (None, 0.1):
        rng, subspace = np.random.default_rng(0), truth(0)
        tracker = make(random_state=3, forgetting=forgetting, epsilon=8.0)
        far = []
        for _ in range(60):
            turned = subspace + 0.03 * rng.standard_normal(subspace.shape) / math.sqrt(WIDTH)
            subspace = np.linalg.qr(turned.T)[0].T
            tracker.partial_fit(draw(subspace, BLOCK_SIZE, rng, 1.0))
            far.append(error(tracker, subspace))
        lags[forgetting] = np.mean(far[30:])
    assert lags[0.1] < 0.8 * lags[None]


@pytest.mark.parametrize("noise", [0.05, 1.0])
def test_total_forgetting_is_one_block_at_a_time(noise):
    tracker, subspace, rng = follow(5, noise, forgetting=1.0, epsilon=8.0)
    tracker.partial_fit(np.full((BLOCK_SIZE, WIDTH), np.nan))
    tracker.partial_fit(draw(subspace, 3 * BLOCK_SIZE, rng, noise))
    assert error(tracker, subspace) < 0.3


@pytest.mark.parametrize("width", [500, 501])
def test_many_columns(width):
    subspace, rng = truth(0, width=width, rank=1), np.random.default_rng(0)
    tracker = make(1, random_state=0, epsilon=math.inf, block_size=60)
    tracker.partial_fit(draw(subspace, 120, rng, 0.3))
    assert error(tracker, subspace) < 0.3


@pytest.mark.parametrize("kind", ["grid", "exact"])
def test_noise_of_both_kinds_is_carried_on(kind):
    rng, subspace = np.random.default_rng(0), truth(0, width=5, rank=1)
    tracker = SubspaceTracker(1, epsilon=8.0, block_size=60, noise=kind, random_state=0)
    tracker.partial_fit(draw(subspace, 240, rng, 1.0))
    assert tracker._private_.buffers._units.any()
    assert error(tracker, subspace) < 0.5
