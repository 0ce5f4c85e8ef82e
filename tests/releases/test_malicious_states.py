"""States of trackers and predictors of others whose numbers cannot be right: refused."""

import json

import numpy as np
import pytest

from veilspan import SubspaceTracker
from veilspan.datasets import make_haystack
from veilspan.estimators.completion.local_predictor import LocalPredictor
from veilspan.nonprivate.grouse.files import StateFileError
from veilspan.releases import load


def parts_of(path):
    with np.load(path) as stored:
        return dict(stored)


def reheaded(path, change, **arrays):
    """Another header and other arrays."""
    parts = parts_of(path)
    header = json.loads(parts.pop("header").tobytes())
    change(header)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, header=text, **{**parts, **arrays})


STATES = {
    "nan": (lambda h: None, {"basis": np.full((2, 5), np.nan)}),
    "text": (lambda h: None, {"basis": np.full((2, 5), "a")}),
    "flat": (lambda h: None, {"basis": np.zeros(5)}),
    "more rows than columns": (lambda h: None, {"basis": np.zeros((6, 5))}),
    "another width": (lambda h: None, {"recent": np.zeros((3, 4))}),
    "another memory": (lambda h: None, {"memory": np.zeros(3)}),
    "memory of nan": (lambda h: None, {"memory": np.full(16, np.nan)}),
    "one array more": (lambda h: None, {"other": np.zeros(3)}),
    "no parameters": (lambda h: h.pop("parameters"), {}),
    "parameters": (lambda h: h.update(parameters=3), {}),
    "learned": (lambda h: h.update(learned=None), {}),
    "names": (lambda h: h.update(columns=["a"]), {}),
    "rule": (lambda h: h["parameters"].update(step={"rule": "os.system"}), {}),
    "private": (lambda h: h.update(private=True), {}),
}


@pytest.mark.parametrize("name", STATES)
def test_states_that_no_tracker_had(tracker, name):
    change, arrays = STATES[name]
    reheaded(tracker, change, **arrays)
    for reader in (load, SubspaceTracker.load):
        with pytest.raises(StateFileError):
            reader(tracker)


@pytest.fixture
def private_tracker(tmp_path):
    made = SubspaceTracker(2, epsilon=1.0, block_size=20).fit(make_haystack(60, 5, 2).rows)
    made.save(tmp_path / "private.npz")
    return tmp_path / "private.npz"


RELEASED = {
    "nan": (lambda h: None, {"basis": np.full((5, 2), np.nan)}),
    "shape": (lambda h: None, {"basis": np.zeros((4, 2))}),
    "another moment": (lambda h: None, {"moment": np.zeros((2, 2))}),
    "precision": (lambda h: h["learned"]["belief"].update(precision="much"), {}),
    "releases": (lambda h: h["learned"].update(releases=-1), {}),
    "half a release": (lambda h: h["learned"].update(releases=0.5), {}),
    "epsilon": (lambda h: h["learned"]["statement"].update(epsilon=-1.0), {}),
    "plan": (lambda h: h["learned"]["plan"].update(epsilon=-1.0), {}),
    "width": (lambda h: h["learned"]["plan"].update(n_features=7), {}),
}


@pytest.mark.parametrize("name", RELEASED)
def test_states_that_no_private_tracker_had(private_tracker, name):
    assert SubspaceTracker.load(private_tracker).releases_ == 3
    change, arrays = RELEASED[name]
    reheaded(private_tracker, change, **arrays)
    with pytest.raises(StateFileError):
        load(private_tracker)


PREDICTORS = {
    "nan": (lambda h: None, {"item_bias": np.full(8, np.nan, np.float32)}),
    "shape": (lambda h: None, {"item_factors": np.zeros((7, 2), np.float32)}),
    "text": (lambda h: None, {"item_bias": np.full(8, "a")}),
    "ids": (lambda h: h.update(item_ids=[1]), {}),
    "one id twice": (lambda h: h.update(item_ids=[1] * 8), {}),
    "ids of lists": (lambda h: h.update(item_ids=[[i] for i in range(8)]), {}),
    "range": (lambda h: h.update(rating_range=[5, 1]), {}),
    "no range": (lambda h: h.update(rating_range=[1]), {}),
    "endless range": (lambda h: h.update(rating_range=[1, float("inf")]), {}),
    "ridge": (lambda h: h.update(ridge=-1), {}),
    "ridge nan": (lambda h: h.update(ridge=float("nan")), {}),
    "epsilon": (lambda h: h["privacy"].update(epsilon=-1), {}),
    "format": (lambda h: h.update(format=9), {}),
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_predictors_that_nobody_made(predictor, name):
    assert load(predictor).n_items == 8
    change, arrays = PREDICTORS[name]
    reheaded(predictor, change, **arrays)
    with pytest.raises(ValueError, match=r"not a (whole )?local predictor"):
        load(predictor)


def test_a_predictor_that_shrinks_by_much_is_written_as_it_is(tmp_path):
    """What is written is read again, whatever it holds."""
    items = 600_000
    made = LocalPredictor(np.zeros(items), np.zeros((items, 8)), tuple(range(items)), (1, 5), 1.0)
    made.save(tmp_path / "zeros.npz")
    assert LocalPredictor.load(tmp_path / "zeros.npz").n_items == items
