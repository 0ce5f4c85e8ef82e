import numpy as np
import pytest

from veilspan.datasets import reduce_loci, scale_counts

#: Scaled counts are float32 and at most 6: a rounding is 4e-7. The worst that was seen is 8e-7.
ROUNDING = 4e-6


def draw(n=40, n_loci=103, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.95, n_loci)
    return rng.binomial(2, p, (n, n_loci)).astype(np.int8), p


def test_scaling_is_the_formula():
    counts, p = draw()
    scaled = scale_counts(counts, p)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, (counts - 2 * p) / np.sqrt(2 * p * (1 - p)), atol=ROUNDING)


def test_scores_are_an_orthogonal_projection_of_scaled_counts():
    counts, p = draw()
    scaled = scale_counts(counts, p).astype(float)
    scores = reduce_loci(counts, p, 10, random_state=3)
    weights = np.linalg.lstsq(scale_counts(*draw(400)), reduce_loci(*draw(400), 10, random_state=3))
    weights = weights[0]
    np.testing.assert_allclose(scaled @ weights, scores, atol=ROUNDING)
    inside = np.abs(weights) > 1e-3
    assert np.all(inside.sum(axis=1) == 1)  # every locus in one block
    np.testing.assert_allclose(np.abs(weights[inside]), np.sqrt(10 / 103), atol=ROUNDING)
    assert (weights[inside] < 0).any()
    assert (weights[inside] > 0).any()


def test_every_row_stands_alone():
    """What makes the reduction free of charge: a row's scores need no other row."""
    counts, p = draw()
    scores = reduce_loci(counts, p, 7)
    np.testing.assert_allclose(reduce_loci(counts[5:6], p, 7), scores[5:6], atol=ROUNDING)
    changed = counts.copy()
    changed[0] = 2 - changed[0]
    np.testing.assert_array_equal(reduce_loci(changed, p, 7)[1:], scores[1:])


def test_lengths_shrink_like_a_projection():
    counts, p = draw(2000, 600)
    ratio = np.sum(reduce_loci(counts, p, 50) ** 2) / np.sum(scale_counts(counts, p) ** 2.0)
    assert ratio == pytest.approx(50 / 600, rel=0.05)


def test_all_loci_may_be_kept():
    counts, p = draw()
    kept = np.abs(reduce_loci(counts, p, 103))
    np.testing.assert_allclose(kept, np.abs(scale_counts(counts, p)), atol=ROUNDING)


def test_many_blocks_of_rows_agree(monkeypatch):
    counts, p = draw()
    whole = reduce_loci(counts, p, 9)
    monkeypatch.setattr("veilspan.datasets.loci._BLOCK", 500)
    np.testing.assert_allclose(reduce_loci(counts, p, 9), whole, atol=ROUNDING)


@pytest.mark.parametrize(
    ("counts", "p", "k"),
    [
        (np.zeros((2, 3)), np.full(2, 0.5), 1),
        (np.zeros(3), np.full(3, 0.5), 1),
        (np.zeros((2, 3)), np.array([0.5, 0.5, 1.0]), 1),
        (np.zeros((2, 3)), np.array([0.5, np.nan, 0.5]), 1),
        (np.zeros((2, 3)), np.full(3, 0.5), 4),
        (np.zeros((2, 3)), np.full(3, 0.5), 0),
    ],
)
def test_nonsense_is_refused(counts, p, k):
    with pytest.raises(ValueError):
        reduce_loci(counts, p, k)
