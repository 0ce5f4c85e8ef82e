import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.estimators.completion.local_predictor import LocalPredictor
from veilspan.queries.completion.local_fits import LEVEL_RIDGE


def predictor(n_items=8, rank=2, seed=0, ids=None, **changes):
    rng = np.random.default_rng(seed)
    fields = {
        "item_bias": rng.normal(0, 0.3, n_items).astype(np.float32).astype(float),
        "item_factors": rng.normal(0, 0.5, (n_items, rank)).astype(np.float32).astype(float),
        "item_ids": tuple(ids if ids is not None else range(n_items)),
        "rating_range": (1.0, 5.0),
        "ridge": 2.0,
        "privacy": {"method": "MatrixCompletion", "epsilon": 1.0},
    }
    return LocalPredictor(**{**fields, **changes})


@given(st.integers(0, 10**6), st.integers(0, 3))
def test_predictions_are_the_ridge_solution(seed, rank):
    rng = np.random.default_rng(seed)
    model = predictor(rank=rank, seed=seed, rating_range=(-50.0, 50.0))
    rated = np.flatnonzero(rng.random(8) < 0.6)
    ratings = rng.uniform(-3, 3, len(rated))
    design = np.column_stack([np.ones(8), model.item_factors])
    penalty = np.diag(np.sqrt([LEVEL_RIDGE, *[model.ridge] * rank]))
    left = np.vstack([design[rated], penalty])
    right = np.concatenate([ratings - model.item_bias[rated], np.zeros(rank + 1)])
    own = np.linalg.lstsq(left, right, rcond=None)[0]
    expected = model.item_bias + design @ own
    np.testing.assert_allclose(model.predict((rated, ratings)), expected, atol=1e-9)
    np.testing.assert_allclose(
        model.predict(dict(zip(rated.tolist(), ratings))), expected, atol=1e-9
    )


def test_without_ratings_the_bias_speaks():
    model = predictor()
    np.testing.assert_allclose(model.predict({}), np.clip(3 + model.item_bias, 1, 5))


def test_unknown_ids_are_ignored_and_ratings_clipped():
    model = predictor(ids="abcdefgh")
    np.testing.assert_array_equal(model.predict({"a": 4.0, "zz": 1.0}), model.predict({"a": 4.0}))
    np.testing.assert_array_equal(model.predict({"a": 99.0}), model.predict({"a": 5.0}))
    np.testing.assert_array_equal(
        model.predict((["a", "a"], [1.0, 4.0])), model.predict({"a": 4.0})
    )
    with pytest.raises(ValueError, match="finite"):
        model.predict({"a": math.nan})
    with pytest.raises(ValueError, match="as many"):
        model.predict((["a"], [1.0, 2.0]))


def test_recommendations_are_the_best_unseen():
    model = predictor(ids="abcdefgh")
    mine = {"a": 5.0, "b": 1.0, "zz": 3.0}
    scores = model.predict(mine)
    best = [model.item_ids[i] for i in np.argsort(-scores, kind="stable")]
    assert model.recommend(mine, 8, exclude_seen=False) == best
    assert model.recommend(mine, 3) == [name for name in best if name not in mine][:3]
    assert len(model.recommend(mine, 100)) == 6
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="whole number"):
            model.recommend(mine, bad)


def test_the_order_survives_the_end_of_the_scale():
    """Predictions are clipped to five stars; which of two such items is better is still known."""
    bias = np.array([3.0, 4.0, 5.0, 0.0])
    model = predictor(4, 0, item_bias=bias, item_factors=np.zeros((4, 0)))
    assert model.recommend({}, 3) == [2, 1, 0]


def test_a_saved_predictor_is_the_same(tmp_path):
    model = predictor(ids=[f"film {i}" for i in range(8)])
    path = tmp_path / "model.npz"
    model.save(path)
    again = LocalPredictor.load(path)
    mine = {"film 2": 5.0, "film 3": 2.0}
    np.testing.assert_array_equal(again.predict(mine), model.predict(mine))
    assert again.item_ids == model.item_ids
    assert again.privacy == model.privacy
    assert again.rating_range == model.rating_range


def test_files_are_small(tmp_path):
    model = predictor(5000, 8)
    model.save(tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < 300_000


def test_a_file_is_whole_or_absent(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    predictor().save(path)
    before = path.read_bytes()

    def fails(*arguments, **named):
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fails)
    with pytest.raises(OSError, match="No space"):
        predictor(seed=1).save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.npz"]


def test_ids_that_json_cannot_carry_are_refused(tmp_path):
    with pytest.raises(TypeError, match="strings or numbers"):
        predictor(2, ids=[(1, 2), (3, 4)]).save(tmp_path / "model.npz")
    predictor(2, ids=[np.int64(7), np.str_("x")]).save(tmp_path / "model.npz")
    assert LocalPredictor.load(tmp_path / "model.npz").item_ids == (7, "x")


def test_other_formats_are_refused(tmp_path):
    header = np.frombuffer(b'{"format": 99}', dtype=np.uint8)
    np.savez(tmp_path / "other.npz", header=header)
    with pytest.raises(ValueError, match="format"):
        LocalPredictor.load(tmp_path / "other.npz")
