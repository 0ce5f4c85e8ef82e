import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score

from veilspan.metrics.ranking import coverage, ndcg_at_k, recall_at_k, rmse, top_items

SCORES = np.array([[5.0, 4.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]])


def stored(entries, shape=(3, 4)):
    users, items, ratings = (np.array(part) for part in zip(*entries))
    return sparse.csr_array((ratings.astype(float), (users, items)), shape=shape)


def test_rmse_counts_stored_zeros():
    assert rmse(SCORES, stored([(0, 0, 5), (1, 3, 0)])) == pytest.approx(np.sqrt(8))


def test_lists():
    np.testing.assert_array_equal(top_items(SCORES, 2), [[0, 1], [3, 2], [0, 1]])
    seen = stored([(0, 0, 1), (1, 3, 0), (1, 2, 1), (1, 1, 1)])
    np.testing.assert_array_equal(top_items(SCORES, 2, seen), [[1, 2], [0, -1], [0, 1]])


def test_recall_by_hand():
    relevant = stored([(0, 0, 1), (0, 3, 1), (0, 2, 1), (1, 0, 1)])
    assert recall_at_k(SCORES, relevant, 2) == pytest.approx((1 / 2 + 0) / 2)
    assert recall_at_k(SCORES, relevant, 4) == 1.0


def test_ndcg_is_scikit_learns():
    rng = np.random.default_rng(0)
    scores = rng.random((30, 12))
    relevant = rng.random((30, 12)) < 0.3
    relevant[0] = True
    relevant[~relevant.any(axis=1), 0] = True
    ours = ndcg_at_k(scores, sparse.csr_array(relevant.astype(float)), 5)
    assert ours == pytest.approx(ndcg_score(relevant.astype(float), scores, k=5))


def test_a_seen_item_is_never_a_hit():
    relevant = stored([(0, 0, 1)])
    assert ndcg_at_k(SCORES, relevant, 4, seen=stored([(0, 0, 1)])) == 0.0
    everything = sparse.csr_array(np.ones((3, 4)))
    assert recall_at_k(SCORES, relevant, 4, seen=everything) == 0.0


def test_coverage():
    assert coverage(SCORES, 1) == 0.5
    assert coverage(SCORES, 4) == 1.0
    assert coverage(SCORES, 1, seen=sparse.csr_array(np.ones((3, 4)))) == 0.0


@pytest.mark.parametrize("metric", [rmse, lambda p, h: recall_at_k(p, h, 2)])
def test_bad_arguments(metric):
    with pytest.raises(ValueError, match="there is no"):
        metric(SCORES, sparse.csr_array((3, 4)))
    with pytest.raises(ValueError, match="shapes differ"):
        metric(SCORES, sparse.csr_array((3, 5)))
    with pytest.raises(TypeError, match="sparse"):
        metric(SCORES, np.ones((3, 4)))


@pytest.mark.parametrize("k", [0, 5])
def test_bad_lengths(k):
    with pytest.raises(ValueError, match="between 1 and 4"):
        coverage(SCORES, k)
