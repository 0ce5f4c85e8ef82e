import numpy as np
import pytest

from veilspan.datasets.ratings import make_ratings


def test_a_seed_repeats_and_the_shapes_are_right():
    first, second = (make_ratings(80, 9, 3, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first.train.toarray(), second.train.toarray())
    assert first.train.shape == first.test.shape == first.truth.shape == (80, 9)
    assert first.item_factors.shape == (9, 3)


def test_no_rating_is_both_seen_and_held_out():
    data = make_ratings(500, 20, ratings_per_user=10, test_share=0.4)
    assert (data.train.multiply(data.test)).nnz == 0
    share = data.test.nnz / (data.test.nnz + data.train.nnz)
    assert abs(share - 0.4) < 6 * np.sqrt(0.24 / 5000)  # six standard deviations: 2e-9


@pytest.mark.parametrize(("popularity", "most"), [(0.0, 10.0), (1.0, 10.0), (1.0, 200.0)])
def test_the_number_of_ratings_is_as_asked(popularity, most):
    data = make_ratings(4000, 30, ratings_per_user=most, popularity=popularity, test_share=0.0)
    # A sum of coins has a variance of at most its mean: six standard deviations.
    asked = min(most, 30)
    assert data.train.nnz / 4000 == pytest.approx(asked, abs=6 * np.sqrt(asked / 4000))
    assert data.test.nnz == 0


def test_ratings_are_the_truth_and_noise():
    data = make_ratings(3000, 20, noise=0.5, rating_range=(-100.0, 300.0), test_share=0.0)
    assert data.train.data.min() >= -100
    assert data.train.data.max() <= 300
    entries = data.train.tocoo()
    inside = np.abs(data.truth[entries.row, entries.col] - 100) < 100
    residual = (entries.data - data.truth[entries.row, entries.col])[inside]
    assert residual.std() == pytest.approx(0.5 * 100, rel=0.05)


@pytest.mark.parametrize("bad", [{"rating_range": (5, 1)}, {"test_share": 1.0}])
def test_bad_arguments(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        make_ratings(10, 5, **bad)
