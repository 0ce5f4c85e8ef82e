"""PCA without a bound or a centre: what its looks, bounds, stretches and spectra come to."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as PlainPCA

from veilspan import PCA, LoudNoiseWarning, RobustPCA
from veilspan.audit import neighbors as pairs
from veilspan.audit.replay import replay
from veilspan.privacy.errors import CenterWarning
from veilspan.queries.subspace.reshaped_moment import ReshapedMoment
from veilspan.queries.subspace.shells import ShellSums
from veilspan.solvers.subspace.unbounded import looks, stretch, stretched_pca
from veilspan.solvers.subspace.unbounded.row_bound import choose_row_bound
from veilspan.solvers.subspace.unbounded.spectrum import count_for_share, signal_variances

pytestmark = [
    pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.WeakGuaranteeWarning"),
]
BOTH = ("replace-one", "add-remove")


def far_rows(n=20_000, d=8, seed=0):
    """Columns of different units around a mean that is 30 times as long as they are wide."""
    rng = np.random.default_rng(seed)
    mixed = rng.standard_normal((n, 3)) @ np.diag([5.0, 3.0, 1.0]) @ rng.standard_normal((3, d))
    rows = mixed + 0.3 * rng.standard_normal((n, d))
    return 10.0 ** np.linspace(0, 2, d) * rows + 3000 * rng.standard_normal(d)


def captured(rows, components):
    moment = np.cov(rows.T, bias=True)
    best = np.linalg.eigvalsh(moment)[::-1][: len(components)].sum()
    return float(np.sum((components @ moment) * components)) / best


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 8), st.integers(10, 60))
def test_without_noise_the_default_is_scikit_learns_pca(seed, d, n):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)) * np.arange(1, d + 1) + 100 * rng.standard_normal(d)
    ours, plain = PCA(epsilon=math.inf).fit(rows), PlainPCA().fit(rows)
    np.testing.assert_allclose(ours.mean_, plain.mean_, rtol=1e-9, atol=1e-9)
    signs = np.sign(np.sum(ours.components_ * plain.components_, axis=1))
    np.testing.assert_allclose(signs[:, None] * ours.components_, plain.components_, atol=1e-6)
    np.testing.assert_allclose(
        ours.explained_variance_ * n / (n - 1), plain.explained_variance_, rtol=1e-7
    )
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, plain.explained_variance_ratio_, atol=1e-8
    )


@pytest.mark.parametrize("neighbors", BOTH)
def test_rows_far_from_the_origin_are_centred(neighbors):
    rows = far_rows()
    ours = PCA(2, epsilon=1.0, neighbors=neighbors, random_state=0).fit(rows)
    assert captured(rows, ours.components_) > 0.99
    spread = math.sqrt(np.trace(np.cov(rows.T)))
    assert np.linalg.norm(ours.mean_ - rows.mean(axis=0)) < 0.2 * spread
    assert ours.center_used_ == "private"
    assert spread / 3 < ours.row_norm_ < 5 * spread


def test_variances_are_those_of_rows_as_long_as_they_were():
    rows = np.random.default_rng(0).standard_normal((20_000, 5))
    rows *= [3, 2, 1, 1, 1] / np.linalg.norm(rows, axis=1)[:, None]  # all about as long
    ours = PCA(5, epsilon=3.0, random_state=0).fit(rows)
    assert ours.explained_variance_.sum() == pytest.approx(np.trace(np.cov(rows.T)), rel=0.15)


def test_the_origin_is_an_explicit_choice_that_is_warned_of():
    rows = far_rows()
    with pytest.warns(CenterWarning, match="Leave center out"):
        ours = PCA(1, center="origin", random_state=0).fit(rows)
    mean = rows.mean(axis=0)
    assert abs(ours.components_[0] @ mean) / np.linalg.norm(mean) > 0.999
    assert ours.center_used_ == "origin"
    assert not ours.mean_.any()


@pytest.mark.parametrize("settings", [{}, {"row_norm": 1.0, "center": "origin"}])
def test_pure_noise_is_said(settings):
    """300 rows of 40 columns at epsilon 0.1: ratios were .51 and .49 once, of nothing."""
    rows = np.random.default_rng(0).standard_normal((300, 40)) / 7
    with pytest.warns(LoudNoiseWarning):
        ours = PCA(2, epsilon=0.1, random_state=1, **settings).fit(rows)
    assert not ours.explained_variance_ratio_.any()


def test_quiet_where_there_is_nothing_to_say():
    PCA(2, random_state=0).fit(far_rows())  # a warning would fail the test


@pytest.mark.parametrize("settings", [{}, {"row_norm": 40.0, "center": "private"}])
def test_a_share_of_the_variance(settings):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((30_000, 10)) * [10, 8, 6, *[0.5] * 7]
    ours = PCA(0.9, epsilon=3.0, random_state=0, **settings).fit(rows)
    assert ours.n_components_ == len(ours.components_) == 3
    assert ours.explained_variance_ratio_.sum() == pytest.approx(0.991, abs=0.02)
    one = PCA(0.4, epsilon=3.0, random_state=0, **settings).fit(rows)
    assert one.n_components_ == 1


def test_a_share_that_noise_hides_is_said():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((3000, 30)) * [10, *[3.0] * 29]
    with pytest.warns(LoudNoiseWarning, match="99%"):
        ours = PCA(0.99, epsilon=0.5, random_state=0).fit(rows)
    assert ours.n_components_ < 30


def test_a_private_scale_makes_columns_count_alike():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((20_000, 1))
    units = np.array([1.0, 100.0, 1e4, 1e-2])
    rows = units * (common * [1, 1, 1, 0] + 0.5 * rng.standard_normal((20_000, 4))) + 7 * units
    ours = PCA(1, scale="private", random_state=0).fit(rows)
    np.testing.assert_allclose(np.abs(ours.components_[0, :3]), 3**-0.5, atol=0.05)
    assert abs(ours.components_[0, 3]) < 0.05
    np.testing.assert_allclose(ours.scale_, rows.std(axis=0), rtol=0.15)
    np.testing.assert_allclose(ours.mean_ / units, rows.mean(axis=0) / units, atol=0.1)
    coordinates = ours.transform(rows)
    again = ours.inverse_transform(coordinates)
    np.testing.assert_allclose(ours.transform(again), coordinates, atol=1e-8)


def test_the_looks_take_their_share_and_no_more():
    narrow = [event.name for event in PCA(2).plan(100, 15).events]
    assert narrow == ["first look", "second look", "second moment"]
    plan = PCA(2, neighbors="add-remove").plan(None, 16)
    shares = {event.name: event.mu**2 / plan.budget.mu**2 for event in plan.events}
    assert list(shares) == ["count", "first look", "second look", "second moment",
                            "stretched moment"]  # fmt: skip
    assert shares["first look"] + shares["second look"] == pytest.approx(0.04 * 0.98, rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert plan.decisions["center"].startswith("private")


def test_public_bound_and_centre_ask_what_they_always_asked():
    for center in ("origin", None, np.zeros(4)):
        plan = PCA(2, row_norm=1.0, center=center).plan(100, 4)
        assert [event.name for event in plan.events] == ["second moment"]
    plan = PCA(2, row_norm=1.0, center="private").plan(100, 4)
    assert [event.name for event in plan.events] == ["mean", "second moment"]


def test_a_fit_again_forgets_the_scale():
    rows = far_rows(3000)
    ours = PCA(1, scale="private", epsilon=math.inf).fit(rows)
    assert hasattr(ours, "scale_")
    ours.set_params(scale=None).fit(rows)
    assert not hasattr(ours, "scale_")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": 1.5}, "whole number"),
        ({"n_components": 0.0}, "whole number"),
        ({"scale": "std"}, "scale"),
        ({"scale": 1.0}, "scale"),
        ({"center": "mean"}, "center"),
    ],
)
def test_bad_parameters(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PCA(**changes).fit(np.eye(4))


# ------------------------------------------------------------- the pieces


def shells_of(rows, edges, center=None, noise=0.0, seed=0):
    query = ShellSums(edges)
    from veilspan.curator.rows import Block

    block = query.prepare(Block(rows), center)
    value = query.weighted_sum(block, np.ones(len(rows)), center)
    value = value + noise * np.random.default_rng(seed).standard_normal(value.shape)
    return looks.read_shells(looks.Answer(value, noise, None), query.radii)


def test_shells_count_every_row_and_hold_their_sum():
    rows = far_rows(500)
    shells = shells_of(rows, looks.FIRST_SHELLS.edges)
    assert shells.counts.sum() == 500
    np.testing.assert_allclose(shells.sums.sum(axis=0), rows.sum(axis=0))
    lengths = np.linalg.norm(rows, axis=1)
    assert shells.radii[shells.reach] / 2 <= lengths.max() < shells.radii[shells.reach]


def test_an_empty_shell_is_taken_for_one_with_rows_once_in_a_million():
    """Of 2,000 looks at one row each, none: 2e-3 x 1e-6 of an alarm."""
    rng = np.random.default_rng(0)
    reach = looks.sure_count(1.0, 114)
    assert (rng.standard_normal((2000, 114)) < reach).all()


def test_a_centre_of_noise_is_shrunk_away():
    rows = np.random.default_rng(0).standard_normal((1000, 50))
    shells = shells_of(rows, looks.FIRST_SHELLS.edges, noise=500.0)
    rough = looks.rough_center(shells, 1000)
    unshrunk = shells.sums[: shells.reach + 1].sum(axis=0) / 1000
    assert np.linalg.norm(rough.place) < 0.3 * np.linalg.norm(unshrunk)


def test_a_heavy_tail_that_holds_the_variance_is_kept():
    """One row in 50 is 100 times as long as the others: it decides the first component."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 6))
    rows[:400, 0] = 100 * rng.standard_normal(400)
    shells = shells_of(rows, 8 * looks.SECOND_EDGES, noise=10.0)
    around = looks.Surroundings(None, shells, 0.0, 20_000.0)
    assert choose_row_bound(around, 0.1, 2).cut < 0.2
    assert choose_row_bound(around, 1e5, 2).cut > 0.9  # where noise would drown all of it


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(1, 29))
def test_a_stretch_is_never_worse_than_none(seed, d, r):
    """The first-order loss that is minimised, at the stretch and at the identity."""
    rng = np.random.default_rng(seed)
    variances = np.sort(rng.exponential(size=d) ** 2)[::-1] + 1e-3
    r = min(r, d - 1)

    def loss(a):
        gaps = np.maximum(variances[:r, None] - variances[None, r:], 1e-9)
        return (a @ variances) ** 2 * np.sum(1 / (a[:r, None] * a[None, r:] * gaps))

    chosen = stretch.minimise_in_turns(variances, r, 1e-9)
    assert loss(chosen) <= loss(np.ones(d)) * (1 + 1e-6)
    bumped = chosen * np.exp(0.1 * rng.standard_normal(d))
    assert loss(chosen) <= loss(bumped) * 1.02


def test_moments_that_say_nothing_join_to_one_of_both_budgets():
    rng = np.random.default_rng(0)
    noisy = rng.standard_normal((40, 40))
    found = stretch.decompose(1e-3 * (noisy + noisy.T), 1.0)
    made, sizes, mean_square = stretch.choose_stretch(found, 3, None, "replace-one", 40.0)
    assert made.condition == pytest.approx(1.0, rel=1e-6)
    joined = stretch.join_moments(found, np.eye(40), sizes, mean_square / 40.0)
    np.testing.assert_allclose(joined.noise, 0.5**0.5, rtol=1e-6)


def test_a_bulk_that_only_noise_has_spread_is_stretched_alike():
    """Two directions above a bulk that is itself far above the noise: two products, not forty."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((40, 40))
    truth = np.diag([30.0, 20.0, *np.full(38, 2.0)])
    found = stretch.decompose(truth + 0.05 * (noise + noise.T) / math.sqrt(2), 0.05)
    assert found.shown == 40
    assert stretch.count_told(found) == 2
    variances = stretch.plain_variances(found, 126.0)
    np.testing.assert_allclose(variances, np.diag(truth), rtol=0.05)
    made, sizes, _ = stretch.choose_stretch(found, 2, None, "replace-one", 126.0)
    assert made.basis.shape == (40, 2)
    assert np.unique(sizes).size == 3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_directions_stretched_together_are_alike(seed, size):
    rng = np.random.default_rng(seed)
    squares = np.exp(rng.normal() * np.arange(size) / size) * rng.uniform(0.9, 1.1, size)
    apart = stretch.count_apart(squares)
    rest = squares[apart:]
    assert 1 <= apart <= size
    if apart > 1:  # one direction is always apart, even from others that are like it
        assert (abs(rest / rest.mean() - 1) <= stretch.ALIKE).all()


def test_variances_come_back_without_what_noise_adds():
    """A spiked matrix of 400 columns: its leading eigenvalues are 6 % above the truth."""
    rng = np.random.default_rng(0)
    truth = np.zeros(400)
    truth[:3] = [10, 8, 6]
    noise = rng.standard_normal((400, 400)) * 0.1
    noise = (noise + noise.T) / math.sqrt(2)
    values = np.linalg.eigvalsh(np.diag(truth) + noise)[::-1]
    signal = signal_variances(values, 400 * 0.01, 2 * math.sqrt(400 * 0.01))
    np.testing.assert_allclose(signal[:3], truth[:3], rtol=0.03)
    assert not signal[3:].any()


def test_the_fewest_components_that_hold_a_share():
    ratios = np.array([0.5, 0.3, 0.1, 0.0, 0.0])
    assert [count_for_share(ratios, share) for share in (0.4, 0.5, 0.79, 0.9, 0.99)] == [
        1, 1, 2, 3, 3,
    ]  # fmt: skip
    assert count_for_share(np.zeros(4), 0.9) == 1


@pytest.mark.parametrize("offset", [1e3, 1e6])
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_a_mean_far_beyond_the_spread_is_no_silent_error(offset, epsilon):
    """Without noise all digits hold; with it the answer is near, or a warning says that it is not.

    RobustPCA takes differences of pairs, which no offset reaches: it is right either way.
    """
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    rows = (rng.standard_normal((5000, 8)) * [1, 0.8, *[0.1] * 6]) @ frame.T
    rows += offset * frame[:, 5]

    def distance(model):
        rest = frame[:, :2] - model.components_.T @ (model.components_ @ frame[:, :2])
        return float(np.linalg.norm(rest))

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        plain = PCA(2, epsilon=epsilon, random_state=0).fit(rows)
        robust = RobustPCA(2, epsilon=epsilon, random_state=0).fit(rows)
    assert distance(robust) < 0.05
    assert robust.center_used_ == "pairs"
    far = any("so far from the origin for their spread" in note for note in plain.notes_)
    assert far or distance(plain) < 0.05
    assert far == (epsilon == 1.0)


# ------------------------------------------------------------- broken twins


def fit(arguments, **settings):
    return PCA(2, random_state=0, neighbors="replace-one", **settings).fit(*arguments)


def found_in(change, monkeypatch, **settings):
    """Whether replays of a changed PCA find anything."""

    def fitted(arguments):
        return fit(arguments, **settings)

    dealt = list(pairs.table_pairs(16, "replace-one", sizes=(5, 40)))[:5]
    assert all(replay(fitted, pair.one, pair.two).ok for pair in dealt)
    change(monkeypatch)
    return not all(replay(fitted, pair.one, pair.two).ok for pair in dealt)


def exact_rows(curator):
    return np.concatenate([block.dense() for block in curator._rows.blocks(1000)])


def test_a_centre_that_is_not_charged_is_caught(monkeypatch):
    def uncharged(patch):
        honest = stretched_pca.look_around

        def look(curator, center, n_rows, **options):
            around = honest(curator, center, n_rows, **options)
            exact = exact_rows(curator).mean(axis=0)
            return looks.Surroundings(exact, around.shells, around.mean_share, n_rows)

        patch.setattr(stretched_pca, "look_around", look)

    assert found_in(uncharged, monkeypatch)


def test_a_bound_by_the_exact_quantile_is_caught(monkeypatch):
    def exact(patch):
        honest = stretched_pca.StretchedPCA._bound_rows

        def bound(self, curator, around, wanted):
            made = honest(self, curator, around, wanted)
            lengths = np.linalg.norm(exact_rows(curator), axis=1)
            return replace(made, row_norm=float(np.quantile(lengths, 0.95)) + 1e-9)

        patch.setattr(stretched_pca.StretchedPCA, "_bound_rows", bound)

    assert found_in(exact, monkeypatch)


def test_a_look_that_declares_too_little_is_caught(monkeypatch):
    def little(patch):
        patch.setattr(ShellSums, "sensitivity", lambda self, neighbors: 1.0)

    assert found_in(little, monkeypatch)


def test_a_stretched_row_that_is_not_bounded_is_caught(monkeypatch):
    def unbounded(patch):
        patch.setattr(ReshapedMoment, "norms", lambda self, block, point: np.zeros(len(block)))

    assert found_in(unbounded, monkeypatch, row_norm=1.0)
