"""A private tracker: what it promises, what it refuses, what it keeps to itself."""

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimators.stream.private_streams import BLOCK_SIZE, RANK, WIDTH, draw, error, make, truth
from veilspan import (
    LoudNoiseWarning,
    NotPrivateWarning,
    PrivacyError,
    WeakGuaranteeError,
    WeakGuaranteeWarning,
)
from veilspan.curator.tape import recording
from veilspan.estimators.stream.private_stream import released_state, restore_released_state
from veilspan.estimators.stream.private_tracker import stream_plan
from veilspan.estimators.stream.subspace_tracker import SubspaceTracker
from veilspan.privacy import gdp
from veilspan.solvers.stream.block_release import BLOCK


@pytest.fixture
def simulate():
    """A tracker whose noise comes from a seed; the warning that this deserves is expected."""

    def simulated(**changes):
        return make(random_state=3, **changes)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        yield simulated


# ---------------------------------------------------------------- the promise


def test_the_statement_is_for_the_whole_stream():
    tracker, rng = make(), np.random.default_rng(0)
    for blocks in range(1, 5):
        tracker.partial_fit(draw(truth(0), BLOCK_SIZE, rng))
        assert tracker.releases_ == blocks
        assert tracker.n_samples_seen_ == blocks * BLOCK_SIZE
        assert tracker.privacy_.private
        assert tracker.privacy_.verify()
        assert tracker.privacy_.epsilon == pytest.approx(2.0, rel=1e-6)
        assert tracker.privacy_.events == tracker.plan_.events
    assert any("at most one row in a block" in text for text in tracker.privacy_.assumptions)


@pytest.mark.parametrize("k", [1, 2, 5, 100])
def test_the_price_of_several_blocks_is_the_root_of_their_number(k):
    plan = stream_plan(make(max_blocks_per_person=k), WIDTH)
    (event,) = plan.events
    assert event.name == BLOCK
    assert event.count == k
    assert event.noise_multiplier == pytest.approx(math.sqrt(k) / gdp.mu_of(2.0, 1e-6), rel=1e-6)
    assert plan.epsilon <= 2.0 * (1 + 1e-9)
    json.dumps(plan.to_dict())


def test_one_seed_warns_once_and_is_never_private():
    tracker, rng = make(random_state=0), np.random.default_rng(0)
    with pytest.warns(NotPrivateWarning, match="simulation"):
        tracker.partial_fit(draw(truth(0), BLOCK_SIZE, rng))
    tracker.partial_fit(draw(truth(0), 2 * BLOCK_SIZE, rng))  # a second warning would be an error
    assert not tracker.privacy_.private
    assert "seed" in tracker.privacy_.why_not_private


def test_a_seed_gives_every_block_noise_of_its_own(simulate):
    tracker = simulate().partial_fit(np.zeros((BLOCK_SIZE, WIDTH)))
    first = tracker._private_.belief.total
    tracker.partial_fit(np.zeros((BLOCK_SIZE, WIDTH)))
    second = tracker._private_.belief.total - first
    # 78 normals, those off the diagonal twice: a correlation of 0.16 in the mean square.
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.7


def test_a_block_that_was_not_private_spoils_the_stream():
    tracker, rng = make(), np.random.default_rng(0)
    with recording():
        tracker.partial_fit(draw(truth(0), BLOCK_SIZE, rng))
    tracker.partial_fit(draw(truth(0), BLOCK_SIZE, rng))
    assert not tracker.privacy_.private
    assert "recorded" in tracker.privacy_.why_not_private


def test_infinite_epsilon_is_the_same_method_without_noise():
    rng = np.random.default_rng(0)
    rows = draw(truth(0), 3 * BLOCK_SIZE, rng)
    one, two = (make(epsilon=math.inf).fit(rows) for _ in range(2))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert not one.privacy_.private
    assert error(one, truth(0)) < 0.006  # 0.0042 of these rows


def test_a_large_delta_is_refused_or_allowed_and_warned_about():
    block = draw(truth(0), BLOCK_SIZE, np.random.default_rng(0))
    with pytest.raises(WeakGuaranteeError, match="1/n"):
        make(delta=0.1).partial_fit(block)
    with pytest.warns(WeakGuaranteeWarning):
        make(delta=0.1, allow_weak=True).partial_fit(block)


# ---------------------------------------------------------------- blocks


def test_nothing_is_released_before_a_block_is_full():
    tracker, rng = make(), np.random.default_rng(0)
    tracker.partial_fit(draw(truth(0), BLOCK_SIZE - 1, rng))
    assert not hasattr(tracker, "components_")
    assert not hasattr(tracker, "privacy_")
    tracker.partial_fit(draw(truth(0), 1, rng))
    assert tracker.components_.shape == (RANK, WIDTH)


def test_waiting_rows_change_nothing(simulate):
    rng = np.random.default_rng(0)
    rows = draw(truth(0), BLOCK_SIZE, rng)
    one, two = simulate().partial_fit(rows), simulate().partial_fit(rows)
    two.partial_fit(draw(truth(1), BLOCK_SIZE - 1, rng))
    assert vars(one).keys() == vars(two).keys()
    np.testing.assert_array_equal(one.components_, two.components_)
    assert one.n_samples_seen_ == two.n_samples_seen_


@given(cuts=st.lists(st.integers(1, 99), max_size=6, unique=True))
def test_how_a_stream_is_cut_into_calls_does_not_matter(cuts):
    rng = np.random.default_rng(0)
    rows = draw(truth(0), 100, rng)
    whole, pieces = (make(block_size=30, random_state=1, epsilon=9.0) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        whole.partial_fit(rows)
        for part in np.split(rows, sorted(cuts)):
            pieces.partial_fit(part)
    np.testing.assert_array_equal(whole.components_, pieces.components_)
    assert whole.releases_ == pieces.releases_ == 3


def test_the_callers_array_may_be_overwritten(simulate):
    rng = np.random.default_rng(0)
    rows = draw(truth(0), 2 * BLOCK_SIZE, rng)
    one, two = simulate().partial_fit(rows), simulate()
    for start in range(0, len(rows), 100):
        part = rows[start : start + 100].copy()
        two.partial_fit(part)
        part[:] = 7.0
    np.testing.assert_array_equal(one.components_, two.components_)


def test_no_error_makes_a_block_be_asked_twice(simulate, monkeypatch):
    from veilspan.solvers.stream.running_release import RunningRelease

    rng = np.random.default_rng(0)
    tracker = simulate()

    def fails(self, curator, problem):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunningRelease, "run", fails)
        with pytest.raises(KeyboardInterrupt):
            tracker.partial_fit(draw(truth(0), BLOCK_SIZE + 10, rng))
    assert len(tracker._private_.waiting) == 10
    assert tracker._private_.buffers._units.size == 0  # noise for so many *blocks* is forgotten


def test_fit_starts_a_new_stream(simulate):
    rng = np.random.default_rng(0)
    tracker = simulate().partial_fit(draw(truth(0), BLOCK_SIZE + 50, rng))
    rows = draw(truth(1), BLOCK_SIZE, rng)
    again = tracker.fit(rows)
    np.testing.assert_array_equal(again.components_, simulate().fit(rows).components_)
    assert again.releases_ == 1


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"neighbors": "add-remove"}, "neighbors"),
        ({"neighbors": "swap"}, "neighbors"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"block_size": 1}, "block_size"),
        ({"block_size": 10.0}, "block_size"),
        ({"max_blocks_per_person": 0}, "max_blocks_per_person"),
        ({"max_blocks_per_person": True}, "max_blocks_per_person"),
        ({"row_norm": 0.0}, "row_norm"),
        ({"noise": "none"}, "noise"),
        ({"forgetting": 1.5}, "forgetting"),
        ({"random_state": "seed"}, "random_state"),
        ({"rank": WIDTH}, "n_components"),
        ({"init": "zeros"}, "init"),
        ({"robust": "huber"}, "robust"),
        ({"step": "greedy"}, "step"),
        ({"noise_variance": 0.1}, "noise_variance"),
        ({"adapt_rank": True}, "adapt_rank"),
        ({"detect_change": True}, "detect_change"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_with_their_name(changes, named):
    tracker = make(**changes)
    with pytest.raises((ValueError, TypeError), match=named):
        tracker.partial_fit(np.ones((10, WIDTH)))
    assert not hasattr(tracker, "_private_")  # nothing was taken in


def test_a_plan_needs_a_budget():
    with pytest.raises(ValueError, match="epsilon"):
        stream_plan(SubspaceTracker(2), WIDTH)


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 5.0}, {"max_blocks_per_person": 2}, {"block_size": 50}, {"row_norm": 2.0}],
    ids=str,
)
def test_the_promise_cannot_change_on_the_way(changes):
    tracker = make().partial_fit(np.ones((10, WIDTH)))
    with pytest.raises(PrivacyError, match="cannot change"):
        tracker.set_params(**changes).partial_fit(np.ones((10, WIDTH)))
    assert len(tracker._private_.waiting) == 10


def test_a_stream_without_privacy_does_not_become_private():
    tracker = SubspaceTracker(RANK).partial_fit(np.eye(WIDTH))
    with pytest.raises(PrivacyError, match="without privacy"):
        tracker.set_params(epsilon=1.0).partial_fit(np.eye(WIDTH))


@pytest.mark.parametrize("bad", [np.inf, 1e200])
def test_a_refused_call_has_taken_nothing_in(bad):
    tracker = make().partial_fit(np.ones((10, WIDTH)))
    rows = np.full((2 * BLOCK_SIZE, WIDTH), 9.87654)
    rows[-1, 0] = bad
    with pytest.raises(ValueError) as caught:
        tracker.partial_fit(rows)
    assert "9.87" not in str(caught.value)
    assert len(tracker._private_.waiting) == 10
    assert not hasattr(tracker, "releases_")


# ---------------------------------------------------------------- what is written


@pytest.mark.parametrize(
    "carry", [lambda t: pickle.loads(pickle.dumps(t)), copy.deepcopy, copy.copy]
)
def test_copies_carry_no_rows_and_go_on(carry, simulate):
    marker = 0.123456789
    rng = np.random.default_rng(0)
    tracker = simulate().partial_fit(draw(truth(0), 2 * BLOCK_SIZE, rng))
    tracker.partial_fit(np.full((BLOCK_SIZE - 1, WIDTH), marker))
    assert np.float64(marker).tobytes() not in pickle.dumps(tracker)
    again = carry(tracker)
    assert len(again._private_.waiting) == 0
    assert len(tracker._private_.waiting) == BLOCK_SIZE - 1  # the original keeps them
    later = draw(truth(0), BLOCK_SIZE, rng)
    never_waited = simulate()
    never_waited.partial_fit(draw(truth(0), 2 * BLOCK_SIZE, np.random.default_rng(0)))
    never_waited = carry(never_waited)  # a copy has new noise
    np.testing.assert_array_equal(
        again.partial_fit(later).components_, never_waited.partial_fit(later).components_
    )


def test_a_released_state_goes_on_like_a_copy_to_the_last_bit(simulate):
    rng = np.random.default_rng(0)
    tracker = simulate().partial_fit(draw(truth(0), 3 * BLOCK_SIZE + 9, rng))
    numbers, stored = released_state(tracker)
    numbers = json.loads(json.dumps(numbers))
    assert sum(array.size for array in stored.values()) <= WIDTH * (WIDTH + 2 * RANK) + RANK**2
    again = simulate()
    restore_released_state(again, numbers, stored)
    np.testing.assert_array_equal(again.components_, tracker.components_)
    assert again.privacy_ == tracker.privacy_
    later = draw(truth(0), 2 * BLOCK_SIZE, rng)
    np.testing.assert_array_equal(
        again.partial_fit(later).components_, copy.copy(tracker).partial_fit(later).components_
    )


def test_a_private_tracker_does_not_go_on_without_privacy():
    tracker = make().partial_fit(draw(truth(0), BLOCK_SIZE, np.random.default_rng(0)))
    with pytest.raises(PrivacyError, match="new tracker"):
        tracker.set_params(epsilon=None).partial_fit(draw(truth(0), 5, np.random.default_rng(1)))


def test_before_the_first_block_it_is_not_fitted():
    from sklearn.exceptions import NotFittedError

    waiting = make().partial_fit(draw(truth(0), 3, np.random.default_rng(0)))
    with pytest.raises(NotFittedError):
        waiting.transform(np.ones((1, WIDTH)))


def test_the_dry_run_is_the_plan():
    tracker = make()
    assert tracker.plan(WIDTH) == stream_plan(tracker, WIDTH)


@pytest.mark.parametrize("odd", [np.nan, 0.0, 5e-324])
def test_no_row_makes_a_tracker_speak_under_a_large_bound(odd):
    """An absent person's row warned if row_norm was above 1.8e8."""
    rows = np.random.default_rng(0).standard_normal((100, 5)) * 2e8
    rows[3] = odd
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LoudNoiseWarning)  # by public noise levels
        SubspaceTracker(2, epsilon=1.0, block_size=50, row_norm=1e9).fit(rows)
