"""People, genes and the map: laws of fixed seeds, with the spread of other seeds beside them."""

import numpy as np
import pytest

from veilspan.datasets import make_gene_map, reduce_loci, scale_counts
from veilspan.datasets.geography import colours, on_plane, regions
from veilspan.metrics import procrustes_correlation
from veilspan.nonprivate.baselines import spherical_pca


@pytest.fixture(scope="module")
def data():
    return make_gene_map(700, 500, 4000, random_state=1)


def test_the_record(data):
    assert data.counts.dtype == np.int8
    assert set(np.unique(data.counts)) == {0, 1, 2}
    assert data.counts.shape == (1200, 4000)
    assert data.is_outlier.sum() == 500
    np.testing.assert_array_equal(np.isnan(data.longitude), data.is_outlier)
    np.testing.assert_array_equal(data.country == "", data.is_outlier)
    assert set(data.country[~data.is_outlier]) <= set(data.colours)
    assert "colours" not in repr(make_gene_map(2, 1, 3))


def test_people_are_in_random_order(data):
    # Half of the people: hypergeometric, standard deviation 0.0142; five of them are 6e-7.
    assert data.is_outlier[:600].mean() == pytest.approx(500 / 1200, abs=5 * 0.0142)


def test_people_live_in_their_country(data):
    table = regions()
    for name in ("Italy", "Poland"):
        boxes = table.country == name
        low = (table.centre - table.half_size)[boxes].min(axis=0)
        high = (table.centre + table.half_size)[boxes].max(axis=0)
        people = data.country == name
        where = np.column_stack([data.longitude, data.latitude])[people]
        assert people.sum() > 10
        assert np.all((where >= low) & (where <= high))


def test_reference_frequencies_are_those_of_the_map(data):
    sample = data.counts[~data.is_outlier].mean(axis=0) / 2
    error = sample - data.frequencies
    # Sampling 1,400 alleles gives at most 0.0134, where 700 people live a little more: measured
    # 0.0116. Six standard errors of a mean over 4,000 loci are 0.0011.
    assert np.sqrt(np.mean(error**2)) < 0.015
    assert abs(error.mean()) < 0.0011


def test_reference_frequencies_do_not_depend_on_the_people():
    """They are public: the same seed with other numbers of people gives the same frequencies."""
    a, b = (make_gene_map(30, n, 200) for n in (5, 500))
    np.testing.assert_array_equal(a.frequencies, b.frequencies)
    flat = make_gene_map(4000, 0, 200, cline=0.0)
    mean = flat.counts.mean(axis=0) / 2
    spread = np.sqrt(flat.frequencies * (1 - flat.frequencies) / 8000)
    # 200 standard normals: beyond 6 with probability 4e-7.
    assert np.max(np.abs(mean - flat.frequencies) / spread) < 6


def test_genotypes_are_binomial():
    flat = make_gene_map(20_000, 0, 20, cline=0.0)
    p = flat.frequencies
    for copies, expected in ((0, (1 - p) ** 2), (1, 2 * p * (1 - p)), (2, p**2)):
        share = (flat.counts == copies).mean(axis=0)
        # 60 binomials in all: beyond 6 standard deviations with probability 1e-7.
        np.testing.assert_array_less(
            np.abs(share - expected), 6 * np.sqrt(expected * (1 - expected) / 20_000)
        )


def test_robust_components_draw_the_map_and_plain_ones_the_outliers(data):
    """Of this seed: 0.983 without outliers, 0.983 with them, 0.47 for plain components."""
    scores = reduce_loci(data.counts, data.frequencies, 200)
    people = ~data.is_outlier
    place = data.place[people]

    def quality(components):
        return procrustes_correlation(scores[people] @ components.T, place)

    plain = np.linalg.svd(scores, full_matrices=False)[2][:2]
    assert quality(spherical_pca(scores[people], 2).components) > 0.97
    assert quality(spherical_pca(scores, 2).components) > 0.97
    assert quality(plain) < 0.6


def test_all_loci_draw_a_sharper_map_than_their_sums(data):
    people = ~data.is_outlier
    rows = scale_counts(data.counts[people], data.frequencies).astype(float)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(rows @ rows.T)  # the smaller of the two Gram matrices
    drawn = vectors[:, -2:] * np.sqrt(values[-2:])
    assert procrustes_correlation(drawn, data.place[people]) > 0.985  # 0.987, above 0.983


def test_without_clines_there_is_no_map():
    flat = make_gene_map(500, 0, 1000, cline=0.0)
    scores = reduce_loci(flat.counts, flat.frequencies, 50)
    drawn = scores @ spherical_pca(scores, 2).components.T
    # At most sqrt(chi-square of 4 / 2 n) for pictures without relation: 0.18 with tail 1e-6.
    assert procrustes_correlation(drawn, flat.place) < 0.18


def test_seeds_repeat_and_differ():
    a, b, c = (make_gene_map(20, 5, 50, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.counts, b.counts)
    assert np.any(a.counts != c.counts)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_people": 0},
        {"n_outliers": -1},
        {"n_loci": 0},
        {"n_groups": 0},
        {"cline": -1},
        {"cline": np.nan},
    ],
)
def test_nonsense_is_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        make_gene_map(**{"n_people": 5, "n_outliers": 5, "n_loci": 10, **bad})


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_few_groups(n_groups):
    assert make_gene_map(5, 20, 30, n_groups=n_groups).counts.shape == (25, 30)


def test_the_map_is_sane():
    table = regions()
    assert table.weight.sum() == pytest.approx(1)
    assert np.all(table.half_size > 0)
    low, high = table.centre - table.half_size, table.centre + table.half_size
    assert low.min(axis=0).tolist() > [-11, 34]
    assert high.max(axis=0).tolist() < [40, 71]
    names = colours()
    assert set(names) == set(table.country)
    assert len(set(names.values())) == len(names)
    np.testing.assert_allclose(on_plane(np.array([10.0]), np.array([48.0])), 0)
