import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from nonprivate.grouse.streams import departure, planted, subspace
from veilspan.curator.rows import LARGEST_VALUE
from veilspan.estimators.stream.subspace_tracker import LARGEST_ENTRY, SubspaceTracker
from veilspan.metrics import frobenius_discrepancy
from veilspan.nonprivate.grouse import ConstantStep, DiminishingStep, NoisyStep, random_basis
from veilspan.nonprivate.grouse.files import StateFileError

OPTIONS = {
    "plain": {},
    "greedy": {"step": "greedy"},
    "given noise": {"noise_variance": 0.01},
    "rule": {"step": ConstantStep(0.2), "forgetting": 0.1},
    "huber": {"robust": "huber"},
    "l1": {"robust": "l1", "detect_change": True},
    "rank": {"adapt_rank": True, "detect_change": True},
    "random start": {"init": "random", "step": DiminishingStep()},
}
everyone = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([SubspaceTracker(1), SubspaceTracker(1, robust="l1", adapt_rank=True)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@everyone
def test_a_planted_subspace_is_found(options):
    rng, truth = subspace(0, 40, 3)
    tracker = SubspaceTracker(3, random_state=0, **options).fit(planted(rng, truth, 1500, 0.01))
    assert tracker.components_.shape == (3, 40)
    assert departure(tracker.components_) < 1e-13
    # Greedy steps leave an error of d noise; eq. (8) follows chance at so few entries.
    given = {"step", "noise_variance"} & set(options)
    bound = 0.06 if given else 0.01
    assert frobenius_discrepancy(tracker.components_, truth) < bound
    assert tracker.n_samples_seen_ == 1500
    assert not tracker.changed_


@everyone
def test_how_a_stream_is_cut_does_not_matter(options):
    rng, truth = subspace(1, 30, 3)
    rows = planted(rng, truth, 700, 0.05, missing=0.1)
    rows[[4, 9]] = np.nan
    rows[12] = 0
    whole = SubspaceTracker(3, random_state=0, **options).fit(rows)
    parts = SubspaceTracker(3, random_state=0, **options)
    for part in np.split(rows, [1, 2, 5, 300, 513]):
        parts.partial_fit(part)
    np.testing.assert_array_equal(parts.components_, whole.components_)
    np.testing.assert_equal(parts.noise_variance_, whole.noise_variance_)
    assert parts.n_samples_skipped_ == whole.n_samples_skipped_ >= 2


@everyone
def test_a_stored_tracker_goes_on_with_the_same_bits(options, tmp_path):
    rng, truth = subspace(2, 30, 3)
    rows = planted(rng, truth, 600, 0.05, missing=0.1)
    tracker = SubspaceTracker(3, random_state=0, **options).partial_fit(rows[:333])
    tracker.save(tmp_path / "tracker.npz")
    others = [
        SubspaceTracker.load(tmp_path / "tracker.npz"),
        SubspaceTracker.from_state_dict(tracker.state_dict()),
        pickle.loads(pickle.dumps(tracker)),
    ]
    for other in [tracker, *others]:
        other.partial_fit(rows[333:])
    for other in others:
        assert vars(other).keys() == vars(tracker).keys()
        np.testing.assert_array_equal(other.components_, tracker.components_)
        np.testing.assert_equal(other.noise_variance_, tracker.noise_variance_)
        assert repr(other.get_params()) == repr(tracker.get_params())


RESUME = """
import numpy as np, sys
from veilspan.curator.rows import LARGEST_VALUE
from veilspan.estimators.stream.subspace_tracker import LARGEST_ENTRY, SubspaceTracker
folder = sys.argv[1]
tracker = SubspaceTracker.load(folder + "/half.npz")
tracker.partial_fit(np.load(folder + "/rest.npy"))
tracker.save(folder + "/done.npz")
"""


def test_a_new_process_goes_on_with_the_same_bits(tmp_path):
    rng, truth = subspace(3, 30, 3)
    rows = planted(rng, truth, 800, 0.05, missing=0.02)
    tracker = SubspaceTracker(3, detect_change=True, random_state=0).partial_fit(rows[:400])
    tracker.save(tmp_path / "half.npz")
    np.save(tmp_path / "rest.npy", rows[400:])
    subprocess.run([sys.executable, "-c", RESUME, str(tmp_path)], check=True, timeout=300)
    whole = SubspaceTracker(3, detect_change=True, random_state=0).fit(rows)
    done = SubspaceTracker.load(tmp_path / "done.npz")
    np.testing.assert_array_equal(done.components_, whole.components_)
    assert done.n_samples_seen_ == 800


def test_a_state_is_json_and_arrays(tmp_path):
    basis = np.eye(6)[:2]
    tracker = SubspaceTracker(2, init=basis, step=NoisyStep(0.1)).fit(np.ones((3, 6)))
    state = tracker.state_dict()
    arrays = state.pop("arrays")
    json.dumps(state, allow_nan=False)
    assert state["version"] == 1
    arrays["basis"][:] = 0  # copies: the tracker is not touched
    assert departure(tracker.components_) < 1e-14
    again = SubspaceTracker.from_state_dict(tracker.state_dict())
    np.testing.assert_array_equal(again.init, basis)
    assert again.step == NoisyStep(0.1)


def test_column_names_are_stored(tmp_path):
    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 4)), columns=list("abcd"))
    SubspaceTracker(2).fit(table).save(tmp_path / "named.npz")
    again = SubspaceTracker.load(tmp_path / "named.npz")
    assert list(again.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        again.partial_fit(table[list("abdc")])


def test_foreign_states_are_refused(tmp_path):
    tracker = SubspaceTracker(2).fit(np.random.default_rng(0).standard_normal((20, 5)))
    state = tracker.state_dict()
    for change in ({"format": "other"}, {"version": 99}):
        with pytest.raises(StateFileError, match=r"other|99"):
            SubspaceTracker.from_state_dict({**state, **change})
    with pytest.raises(TypeError, match="random_state is a RandomState"):
        SubspaceTracker(2, random_state=np.random.RandomState(0)).fit(np.eye(5)).state_dict()


def test_missing_entries_are_filled_in():
    rng, truth = subspace(4, 40, 3)
    tracker = SubspaceTracker(3, step="greedy").fit(planted(rng, truth, 1000, missing=0.3))
    rows = planted(rng, truth, 20)
    gaps = np.where(rng.random(rows.shape) < 0.5, np.nan, rows)
    # Greedy steps without noise end at rounding.
    np.testing.assert_allclose(tracker.impute(gaps), rows, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(tracker.impute(rows), rows)
    np.testing.assert_allclose(tracker.transform(gaps), tracker.transform(rows), rtol=0, atol=1e-12)
    there_and_back = tracker.inverse_transform(tracker.transform(rows))
    np.testing.assert_allclose(there_and_back, rows, rtol=0, atol=1e-12)
    assert np.all(tracker.transform(np.full((1, 40), np.nan)) == 0)


def test_scores_are_residual_ratios():
    basis = np.eye(5)[:2]
    tracker = SubspaceTracker(2, init=basis).fit(np.zeros((1, 5)))
    rows = np.array(
        [[3.0, 4, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 1, 0, 0], [0] * 5, [1, np.nan, 1, 0, 0]]
    )
    np.testing.assert_allclose(tracker.score_samples(rows), [0, 1, 0.5, 0, 0.5], atol=1e-15)
    assert np.isnan(tracker.score_samples(np.full((1, 5), np.nan))[0])


def test_the_change_flag_is_that_of_the_last_call():
    rng, truth = subspace(5, 60, 6)
    tracker = SubspaceTracker(6, detect_change=True).fit(planted(rng, truth, 500, 0.01))
    assert not tracker.changed_
    moved = random_basis(60, 6, rng)
    assert tracker.partial_fit(planted(rng, moved, 300, 0.01)).changed_
    assert 500 < tracker.last_change_ < 520
    assert not tracker.partial_fit(planted(rng, moved, 300, 0.01)).changed_
    assert tracker.n_changes_ == 1


def test_forgetting_follows_a_drift():
    """A subspace that turns by 0.06 degrees with every row, n = 50, d = 3."""
    rng, truth = subspace(6, 50, 3)
    aside = np.linalg.qr((random_basis(50, 3, rng) @ (np.eye(50) - truth.T @ truth)).T)[0].T
    trackers = [SubspaceTracker(3), SubspaceTracker(3, forgetting=0.3)]
    for t in range(400):
        now = np.cos(t / 100) * truth + np.sin(t / 100) * aside
        rows = planted(rng, now, 10, 0.05)
        errors = [frobenius_discrepancy(x.partial_fit(rows).components_, now) for x in trackers]
    assert errors[1] < 0.04  # 0.022; without forgetting 2.3
    assert errors[1] < errors[0]


def test_a_failed_call_teaches_nothing():
    rng, truth = subspace(7, 20, 2)
    tracker = SubspaceTracker(2).fit(planted(rng, truth, 100, 0.1))
    before = tracker.components_.copy()
    bad = planted(rng, truth, 10, 0.1)
    bad[5, 3] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        tracker.partial_fit(bad)
    np.testing.assert_array_equal(tracker.components_, before)
    assert tracker.n_samples_seen_ == 100


def test_components_that_were_read_do_not_change():
    rng, truth = subspace(8, 20, 2)
    tracker = SubspaceTracker(2).fit(planted(rng, truth, 100, 0.1))
    held, copy = tracker.components_, tracker.components_.copy()
    tracker.partial_fit(planted(rng, truth, 100, 0.1))
    np.testing.assert_array_equal(held, copy)


def test_dtypes_and_single_rows():
    rows = np.random.default_rng(9).integers(-5, 5, (200, 8))
    fits = [
        SubspaceTracker(2, random_state=0).fit(rows.astype(dtype)).components_
        for dtype in (np.int8, np.float32, np.float64)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])
    tracker = SubspaceTracker(2, random_state=0)
    for row in rows:
        tracker.partial_fit(row[None])
    np.testing.assert_array_equal(tracker.components_, fits[0])


def test_fewer_rows_than_components_still_give_a_basis():
    tracker = SubspaceTracker(3, random_state=0).partial_fit([[1.0, 2, 3, 4, 5]])
    assert departure(tracker.components_) < 1e-14
    assert tracker.score_samples([[1.0, 2, 3, 4, 5]])[0] < 1e-30
    assert np.isnan(tracker.noise_variance_)


def test_rows_without_residual_have_no_noise():
    for rows in (np.zeros((40, 4)), np.full((40, 4), 5e-324)):
        assert SubspaceTracker(2, random_state=0).fit(rows).noise_variance_ == 0.0


def test_rows_of_fewer_dimensions_than_the_basis():
    rng, truth = subspace(10, 20, 2)
    tracker = SubspaceTracker(5, random_state=0).fit(planted(rng, truth, 200))
    assert departure(tracker.components_) < 1e-13
    assert tracker.score_samples(planted(rng, truth, 20)).max() < 1e-25


def test_the_start_is_reproducible_and_can_be_chosen():
    rows = np.random.default_rng(11).standard_normal((5, 10))
    first = SubspaceTracker(3, init="random", random_state=1).fit(rows)
    again = clone(first).fit(rows)
    np.testing.assert_array_equal(first.components_, again.components_)
    other = clone(first).set_params(random_state=2).fit(rows)
    assert not np.array_equal(first.components_, other.components_)
    warm = SubspaceTracker(3, init=first.components_).fit(np.zeros((1, 10)))
    np.testing.assert_allclose(np.abs(warm.components_), np.abs(first.components_), atol=1e-14)


def test_it_says_that_it_is_not_private():
    assert "not private" in repr(SubspaceTracker(2))
    assert "Not private" in SubspaceTracker.__doc__


@pytest.mark.parametrize(
    ("options", "rows", "message"),
    [
        ({}, np.ones((3, 2)), "between 1 and 1"),
        ({}, np.ones((3, 1)), "at least 2 columns"),
        ({}, np.ones(5), "Reshape your data"),
        ({}, np.ones((0, 5)), "0 sample"),
        ({}, np.full((1, 5), 1e200), "rescale"),
        ({}, np.full((1, 5), 1e145), r"beyond 1e\+140"),
        ({"step": "slow"}, np.ones((3, 5)), "slow"),
        ({"forgetting": 2.0}, np.ones((3, 5)), "forgetting"),
        ({"robust": "l2"}, np.ones((3, 5)), "robust"),
        ({"init": "zeros"}, np.ones((3, 5)), "init"),
        ({"init": np.ones((2, 5))}, np.ones((3, 5)), "orthonormal"),
        ({"noise_variance": -1.0}, np.ones((3, 5)), "noise_variance"),
    ],
)
def test_nonsense_is_refused(options, rows, message):
    with pytest.raises(ValueError, match=message):
        SubspaceTracker(2, **options).fit(rows)


def test_the_largest_entry_is_that_of_every_table():
    assert LARGEST_ENTRY == LARGEST_VALUE


def test_another_width_is_refused():
    tracker = SubspaceTracker(2).fit(np.random.default_rng(0).standard_normal((20, 5)))
    for use in (tracker.partial_fit, tracker.transform, tracker.impute, tracker.score_samples):
        with pytest.raises(ValueError, match="features"):
            use(np.ones((2, 6)))


@pytest.mark.parametrize("count", [0, 5, 2.0, True])
def test_bad_counts_are_refused(count):
    with pytest.raises((ValueError, TypeError), match="n_components"):
        SubspaceTracker(count).fit(np.ones((3, 5)))
