import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.losses.linear import (
    Huber,
    Logistic,
    MulticlassHinge,
    Multinomial,
    Quantile,
    SmoothedHinge,
    Squared,
)

ONE_SCORE = {
    "logistic": Logistic(),
    "hinge": SmoothedHinge(0.5),
    "narrow hinge": SmoothedHinge(0.01),
    "squared": Squared(),
    "huber": Huber(0.3),
    "median": Quantile(0.5, 0.1),
    "ninth decile": Quantile(0.9, 0.02),
}
ALL = {
    **ONE_SCORE,
    "three classes": Multinomial(3),
    "two classes": Multinomial(2),
    "three margins": MulticlassHinge(3, 0.4),
}


def case(loss, seed=0, count=400, size=2.0):
    """Scores and targets of a kind that the loss takes."""
    rng = np.random.default_rng(seed)
    if loss.n_outputs > 1:
        scores = size * rng.standard_normal((count, loss.n_outputs))
        return scores, rng.integers(loss.n_outputs, size=count)
    y = rng.choice([-1.0, 1.0], count) if loss.margin else rng.uniform(-1, 1, count)
    return size * rng.standard_normal(count), y


@pytest.mark.parametrize("name", ONE_SCORE)
def test_slopes_and_curvatures_are_derivatives(name):
    loss, h = ONE_SCORE[name], 1e-6
    u, y = case(loss)
    ahead, behind = loss.value(u + h, y), loss.value(u - h, y)
    np.testing.assert_allclose((ahead - behind) / (2 * h), loss.slope(u, y), atol=1e-4)
    change = (loss.slope(u + h, y) - loss.slope(u - h, y)) / (2 * h)
    # At the few corners of a slope the difference quotient lies between both curvatures.
    off = np.abs(change - loss.curvature(u, y)) > 1e-4 * (1 + loss.smoothness)
    assert off.sum() <= 1


@pytest.mark.parametrize("k", [2, 3, 7])
def test_slopes_of_several_scores_are_derivatives(k):
    for loss in (Multinomial(k), MulticlassHinge(k, 0.3)):
        _check_slopes(loss, k)


def _check_slopes(loss, k):
    h = 1e-6
    u, y = case(loss, count=50)
    for j in range(k):
        step = h * np.eye(k)[j]
        change = (loss.value(u + step, y) - loss.value(u - step, y)) / (2 * h)
        np.testing.assert_allclose(change, loss.slope(u, y)[:, j], atol=1e-8)


def test_the_hinge_of_several_classes_is_near_its_maximum():
    loss = MulticlassHinge(4, 0.2)
    u, y = case(loss, count=500)
    rows = np.arange(len(u))
    ahead = u + 1.0
    ahead[rows, y.astype(int)] -= 1.0
    hinge = ahead.max(axis=1) - u[rows, y.astype(int)]
    above = loss.value(u, y) - hinge
    assert above.min() >= -1e-12
    assert above.max() <= 0.2 * math.log(4) + 1e-12


@pytest.mark.parametrize("name", ALL)
def test_bounds_hold_and_are_met(name):
    """Slopes stay within their bound and grow no faster than the smoothness; both are reached."""
    loss = ALL[name]
    u, y = case(loss, count=4000, size=10.0)
    lengths = np.linalg.norm(loss.slope(u, y).reshape(len(u), -1), axis=1)
    assert lengths.max() <= loss.slope_bound * (1 + 1e-12)
    if math.isfinite(loss.slope_bound):
        assert lengths.max() > 0.999 * loss.slope_bound
    moved = u + 1e-3 * np.random.default_rng(1).standard_normal(u.shape)
    change, step = (v.reshape(len(u), -1) for v in (loss.slope(moved, y) - loss.slope(u, y),
                                                    moved - u))  # fmt: skip
    growth = np.linalg.norm(change, axis=1) / np.linalg.norm(step, axis=1)
    assert growth.max() <= loss.smoothness * (1 + 1e-6)


@pytest.mark.parametrize("name", ONE_SCORE)
def test_smoothness_is_met(name):
    loss = ONE_SCORE[name]
    u = np.linspace(-3, 3, 60001)
    y = np.ones_like(u)
    assert loss.curvature(u, y).max() == pytest.approx(loss.smoothness, rel=1e-6)


def test_smoothness_of_several_scores_is_met():
    """At two equal probabilities, along their difference."""
    loss, h = Multinomial(3), 1e-5
    u, y = np.array([[0.0, 0.0, -50.0]]), np.array([0])
    along = np.array([[1.0, -1.0, 0.0]]) / math.sqrt(2)
    change = (loss.slope(u + h * along, y) - loss.slope(u - h * along, y)) / (2 * h)
    assert np.sum(change * along) == pytest.approx(loss.smoothness, rel=1e-6)


@pytest.mark.parametrize("name", ONE_SCORE)
@given(st.floats(-50, 50), st.floats(-50, 50), st.booleans())
def test_convex(name, a, b, up):
    """Slopes never decrease: what clipping one score rests on."""
    loss, y = ONE_SCORE[name], np.array([1.0 if up else -1.0])
    low, high = sorted((a, b))
    assert loss.slope(np.array([low]), y) <= loss.slope(np.array([high]), y) + 1e-12


@pytest.mark.parametrize("name", ALL)
def test_large_scores_are_harmless(name):
    """No warning (they are errors here), no NaN; only the squared loss may be infinite."""
    loss = ALL[name]
    for size in (1e3, 1e8, 1e300):
        u, y = case(loss, size=size, count=50)
        for values in (loss.value(u, y), loss.slope(u, y)):
            assert not np.isnan(values).any()
            assert (loss.name == "squared") or np.isfinite(values).all()
        assert np.isfinite(loss.slope(u, y)).all()
        if loss.n_outputs == 1:
            assert np.isfinite(loss.curvature(u, y)).all()


def test_two_classes_are_logistic():
    u, y = case(Logistic())
    scores = np.stack([np.zeros_like(u), u], axis=1)
    classes = (y > 0).astype(int)
    np.testing.assert_allclose(Multinomial(2).value(scores, classes), Logistic().value(u, y))
    slope = Multinomial(2).slope(scores, classes)
    np.testing.assert_allclose(slope[:, 1], Logistic().slope(u, y), atol=1e-15)
    np.testing.assert_allclose(slope.sum(axis=1), 0, atol=1e-15)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.75])
def test_the_quantile_loss_is_an_average_of_the_check_loss(level):
    loss, y = Quantile(level, 0.2), np.zeros(9)
    u = np.linspace(-0.5, 0.5, 9)
    grid = u[:, None] + 0.2 * (np.arange(20000) + 0.5) / 10000 - 0.2
    check = np.where(grid > 0, (1 - level) * grid, -level * grid).mean(axis=1)
    np.testing.assert_allclose(loss.value(u, y), check, atol=1e-8)


def test_smoothing_stays_near_the_corner():
    u, y = case(SmoothedHinge())
    gap = np.maximum(0, 1 - y * u) - SmoothedHinge(0.3).value(u, y)
    assert gap.min() >= 0
    assert gap.max() == pytest.approx(0.15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SmoothedHinge(0.0), "width must be positive"),
        (lambda: Huber(math.inf), "delta must be positive and finite"),
        (lambda: Huber(math.nan), "delta"),
        (lambda: Quantile(1.0), "level must lie strictly between 0 and 1"),
        (lambda: Quantile(0.5, -1.0), "smoothing"),
        (lambda: Multinomial(1), "at least 2"),
    ],
)
def test_settings_that_make_no_loss(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_several_scores_have_no_single_curvature():
    with pytest.raises(ValueError, match="matrix of second derivatives"):
        Multinomial(3).curvature(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(TypeError, match="whole number"):
        Multinomial(2.5)
