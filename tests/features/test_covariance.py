import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from veilspan.features import covariance_descriptors, descriptor_bounds
from veilspan.features.covariance import _features
from veilspan.geometry import SPD

SOBEL_X = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]) / 4
SECOND_X = np.outer([1, 4, 6, 4, 1], [1, 0, -2, 0, 1]) / 32


def draw(shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def slow_descriptor(image, ridge):
    """The definition, one image at a time, with the kernels of the docstring written out."""
    height, width = image.shape[:2]
    intensity = image.mean(axis=2) if image.ndim == 3 else image
    ix, iy, ixx, iyy = (
        ndimage.convolve(intensity, kernel, mode="nearest")
        for kernel in (SOBEL_X, SOBEL_X.T, SECOND_X, SECOND_X.T)
    )
    y, x = (np.indices((height, width)) + 0.5) / np.array([height, width])[:, None, None]
    channels = list(np.moveaxis(image, 2, 0)) if image.ndim == 3 else [image]
    angle = np.arctan2(np.abs(ix), np.abs(iy))
    features = [x, y, *channels, *np.abs([ix, iy, ixx, iyy]), np.hypot(ix, iy), angle]
    table = np.array(features).reshape(len(features), -1)
    return np.cov(table, bias=True) + ridge * np.eye(len(features))


@pytest.mark.parametrize("shape", [(3, 9, 14, 3), (3, 14, 9), (2, 5, 5, 3), (2, 5, 5)])
def test_blocks_agree_with_the_definition(shape):
    images = draw(shape)
    expected = [slow_descriptor(image, 1e-3) for image in images]
    np.testing.assert_allclose(covariance_descriptors(images, 1e-3), expected, atol=1e-13)


def test_a_ramp_has_its_slope_twice_and_no_second_derivative():
    """The paper's divisors 4 and 32 keep derivatives of [0, 1] in [0, 1]; they double slopes."""
    slope, height, width = 0.03, 8, 12
    ramp = np.tile(slope * np.arange(width), (height, 1))
    x, y, value, dx, dy, dxx, dyy, length, angle = _features(ramp[None])[0].reshape(9, 8, 12)
    inside = np.s_[:, 2:-2]
    np.testing.assert_allclose(dx[inside], 2 * slope)
    np.testing.assert_allclose(length[inside], 2 * slope)
    np.testing.assert_allclose([dy, dyy], 0, atol=1e-15)
    np.testing.assert_allclose(dxx[inside], 0, atol=1e-15)
    np.testing.assert_allclose(angle[inside], np.pi / 2)
    # The nearest pixel is repeated outside, so that the border sees half of the rise.
    np.testing.assert_allclose(dx[:, [0, -1]], slope)
    np.testing.assert_array_equal(value, ramp)
    np.testing.assert_allclose(x[0], (np.arange(12) + 0.5) / 12)
    np.testing.assert_allclose(y[:, 0], (np.arange(8) + 0.5) / 8)


def test_a_parabola_has_its_second_derivative_twice():
    parabola = np.tile(0.01 * np.arange(11.0) ** 2 / 2, (7, 1))
    features = _features(parabola[None])[0].reshape(9, 7, 11)
    np.testing.assert_allclose(features[5][:, 2:-2], 0.02)
    turned = _features(parabola.T[None])[0].reshape(9, 11, 7)
    np.testing.assert_allclose(turned[6][2:-2], 0.02)


def test_turning_an_image_exchanges_x_and_y():
    images = draw((2, 8, 13))
    whole, turned = (covariance_descriptors(a) for a in (images, images.transpose(0, 2, 1)))
    # All but the angle, which becomes its complement and changes the sign of its covariances.
    order = [1, 0, 2, 4, 3, 6, 5, 7]
    np.testing.assert_allclose(turned[:, :8, :8], whole[:, order][:, :, order], atol=1e-13)
    np.testing.assert_allclose(turned[:, 8, :8], -whole[:, 8, order], atol=1e-13)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(5, 12),
    st.integers(5, 12),
    st.booleans(),
    st.sampled_from(["noise", "binary", "constant"]),
)
@settings(max_examples=40, deadline=None)
def test_descriptors_are_points_of_spd_within_the_public_bounds(seed, h, w, colour, kind):
    images = draw((3, h, w, 3) if colour else (3, h, w), seed)
    if kind == "binary":
        images = np.round(images)
    elif kind == "constant":
        images[:] = images.flat[0]
    found = covariance_descriptors(images)
    np.testing.assert_array_equal(found, found.transpose(0, 2, 1))
    smallest, largest = descriptor_bounds(channels=3 if colour else 1)
    values = np.linalg.eigvalsh(found)
    assert values.min() >= smallest * (1 - 1e-6)  # eigvalsh rounds at 1e-16 of the largest
    assert np.trace(found, axis1=1, axis2=2).max() <= largest + smallest * found.shape[1]
    assert values.max() <= largest
    assert SPD(found.shape[1]).contains(found).all()


def test_no_gradient_is_longer_than_the_bound():
    """The length is convex in the eight neighbours: its largest value is at a corner of [0, 1]."""
    longest = 0.0
    for corner in itertools.product([0, 1], repeat=9):
        patch = np.reshape(corner, (3, 3))
        longest = max(longest, np.hypot(np.sum(SOBEL_X * patch), np.sum(SOBEL_X.T * patch)))
    assert longest == pytest.approx(np.sqrt(5) / 2)
    for kernel in (SOBEL_X, SECOND_X):
        assert kernel[kernel > 0].sum() == -kernel[kernel < 0].sum() == 1


def test_the_bounds_by_hand():
    ranges = [1, 1, 1, 1, 1, np.sqrt(5) / 2, np.pi / 2]  # of all features but x and y, grey
    trace = 2 / 12 + sum(r**2 / 4 for r in ranges)
    assert descriptor_bounds(0.5, channels=1) == pytest.approx((0.5, trace + 0.5))
    assert descriptor_bounds(0.5)[1] == pytest.approx(trace + 0.5 + 2 / 4)


def test_a_constant_image_has_the_variances_of_its_places():
    found = covariance_descriptors(np.full((1, 6, 10), 0.3), ridge=1e-4)[0]
    places = np.array([(1 - 1 / 100) / 12, (1 - 1 / 36) / 12])
    np.testing.assert_allclose(
        found, np.diag([*places, *np.zeros(7)]) + 1e-4 * np.eye(9), atol=1e-14
    )


def test_every_image_stands_alone(monkeypatch):
    """What makes descriptors free of charge: a matrix needs no other image."""
    images = draw((7, 6, 6, 3))
    whole = covariance_descriptors(images)
    np.testing.assert_array_equal(covariance_descriptors(images[4:5])[0], whole[4])
    monkeypatch.setattr("veilspan.features.covariance._BLOCK", 900)
    np.testing.assert_array_equal(covariance_descriptors(images), whole)


def test_unsigned_integers_are_scaled_and_others_are_not():
    grey = np.random.default_rng(0).integers(0, 256, (2, 6, 7), dtype=np.uint8)
    expected = covariance_descriptors(grey / 255)
    np.testing.assert_array_equal(covariance_descriptors(grey), expected)
    wide = grey.astype(np.uint16) * 257  # 65535 = 255 * 257
    np.testing.assert_allclose(covariance_descriptors(wide), expected, atol=1e-14)
    signed = covariance_descriptors(grey.astype(np.int64))
    np.testing.assert_array_equal(signed, covariance_descriptors(grey.astype(float)))
    flags = covariance_descriptors(grey > 99)
    np.testing.assert_array_equal(flags, covariance_descriptors((grey > 99).astype(float)))


@pytest.mark.parametrize(
    ("images", "error", "match"),
    [
        (np.zeros((0, 8, 8)), ValueError, "at least one image"),
        (np.zeros((8, 8)), ValueError, r"image\[None\]"),
        (np.zeros((8, 8, 3)), ValueError, r"image\[None\]"),
        (np.zeros((2, 8, 8, 4)), ValueError, "3 channels"),
        (np.zeros((2, 8, 8, 1)), ValueError, r"as \(n, h, w\)"),
        (np.zeros((2, 4, 8)), ValueError, "5 x 5"),
        (np.full((2, 8, 8), np.nan), ValueError, "NaN or infinity"),
        (np.full((2, 8, 8), np.inf), ValueError, "NaN or infinity"),
        (np.zeros((2, 8, 8), dtype=complex), TypeError, "real numbers"),
        (np.full((2, 8, 8), "a"), TypeError, "real numbers"),
    ],
)
def test_bad_images_are_refused(images, error, match):
    with pytest.raises(error, match=match):
        covariance_descriptors(images)


@pytest.mark.parametrize("ridge", [0, -1e-6, np.nan, np.inf])
def test_bad_ridges_are_refused(ridge):
    with pytest.raises(ValueError, match="ridge"):
        covariance_descriptors(np.zeros((1, 8, 8)), ridge)
    with pytest.raises(ValueError, match="ridge"):
        descriptor_bounds(ridge)


def test_bad_channels_are_refused():
    with pytest.raises(ValueError, match="channels"):
        descriptor_bounds(channels=4)
