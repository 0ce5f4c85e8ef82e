r"""Covariance descriptors: an image as one positive definite matrix.

Tuzel, Porikli & Meer (2006) describe a region of an image by the covariance of simple features of
its pixels. The features here are those of Utpala, Han, Jawanpuria & Mishra (2023), appendix C.1,
whose first-derivative kernels are misprinted; the Sobel kernels are meant.

A descriptor is a function of one image alone and of public constants, so the descriptors of
neighbouring tables differ in the same row only: computing them costs no privacy budget.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from veilspan.features.pixels import check_images, unit_range

#: Kernels are products of a smoothing and a difference. The divisors are the paper's: weights of
#: one sign add up to 1, so that pixels in [0, 1] have derivatives in [-1, 1].
_SMOOTH, _DIFFERENCE = (1, 2, 1), (1, 0, -1)
_SMOOTH_WIDE, _SECOND_DIFFERENCE = (1, 4, 6, 4, 1), (1, 0, -2, 0, 1)
_FIRST_SCALE, _SECOND_SCALE = 1 / 4, 1 / 32
_REACH = 2  # pixels that the widest kernel sees on every side
_SMALLEST = 2 * _REACH + 1
#: x, y, |I_x|, |I_y|, |I_xx|, |I_yy|, length and angle of the gradient; channels come on top.
_FEATURES_BESIDES_CHANNELS = 8
#: Features of a block of images, in numbers: 2 MB, which stays near the processor.
_BLOCK = 250_000


def covariance_descriptors(images: ArrayLike, ridge: float = 1e-6) -> np.ndarray:
    r"""Covariance of eleven features over the pixels of a colour image (nine if grey).

    .. math:: R = \frac{1}{hw} \sum_{p} (\varphi_p - \bar\varphi)(\varphi_p - \bar\varphi)^T
              + \eta I, \qquad
              \varphi = \Bigl[x, y, I, |I_x|, |I_y|, |I_{xx}|, |I_{yy}|, \sqrt{I_x^2 + I_y^2},
              \arctan\frac{|I_x|}{|I_y|}\Bigr]

    (Utpala et al. 2023, appendix C.1). What the paper leaves open is decided as follows.

    * x and y are centres of pixels as shares of the width and the height, (column + 1/2) / w and
      (row + 1/2) / h: in (0, 1) and with a variance below 1/12 whatever the size of the image.
    * I is the channels as they are (three columns for colour). Derivatives are those of the
      intensity, the mean of the channels.
    * I_x is the Sobel derivative along a row, [1, 2, 1]^T [1, 0, -1] / 4, and I_xx has the kernel
      [1, 4, 6, 4, 1]^T [1, 0, -2, 0, 1] / 32; I_y and I_yy are their transposes. With these
      divisors a ramp that rises by s per pixel has I_x = 2 s, and s x^2 / 2 has I_xx = 2 s.
    * Outside of the image the nearest pixel is repeated.
    * The angle is ``arctan2(|I_x|, |I_y|)``, which is 0 where the gradient vanishes.

    Parameters
    ----------
    images : array of shape (n, h, w, 3) or (n, h, w)
        Colour or grey images of at least 5 x 5 pixels. Unsigned integers are divided by the largest
        value of their type (255 for ``uint8``); every other real type is taken as it is.
    ridge : float
        The positive :math:`\eta`: a lower bound of all eigenvalues.

    Returns
    -------
    float64 array of shape (n, k, k)
        Exactly symmetric, positive definite; k = 11 for colour and 9 for grey images. The order
        of rows and columns is that of the formula.

    Notes
    -----
    Images are worked on in blocks of about 2 MB, or one image if that is larger (some 200 bytes for
    each of its pixels).

    Examples
    --------
    >>> import numpy as np
    >>> covariance_descriptors(np.zeros((2, 28, 28, 3), dtype=np.uint8)).shape
    (2, 11, 11)
    """
    _check_ridge(ridge)
    pixels = check_images(images, _SMALLEST, "the size of the second derivative's kernel")
    n, height, width = pixels.shape[:3]
    k = _FEATURES_BESIDES_CHANNELS + (3 if pixels.ndim == 4 else 1)
    out = np.empty((n, k, k))
    step = max(1, _BLOCK // (k * height * width))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        out[rows] = _covariances(_features(unit_range(pixels[rows])))
    diagonal = np.arange(k)
    out[:, diagonal, diagonal] += ridge
    return out


def descriptor_bounds(ridge: float = 1e-6, *, channels: int = 3) -> tuple[float, float]:
    r"""Eigenvalues between which every descriptor of pixels in [0, 1] lies: public knowledge.

    The smallest eigenvalue is at least the ridge. The largest is at most the trace, the sum of the
    variances. Pixel centres have variances below 1/12; a feature with values in [a, b] has a
    variance of at most :math:`(b - a)^2 / 4` (Popoviciu 1935):

    ===================== ===================== =====================================
    feature               range                 variance at most
    ===================== ===================== =====================================
    x, y                  (0, 1)                1/12 each
    channels              [0, 1]                1/4 each
    first and second      [0, 1]                1/4 each: weights of one sign sum to 1
    derivatives (four)
    length of gradient    :math:`[0, \sqrt5/2]` 5/16: a convex function of the 3 x 3
                                                neighbours, largest where all are 0 or 1
    angle                 :math:`[0, \pi/2]`    :math:`\pi^2/16`
    ===================== ===================== =====================================

    ``Ball.from_eigenvalues(SPD(11), *descriptor_bounds())`` of `veilspan.geometry` is therefore a
    ball that holds every descriptor, known before any image is seen. Nothing is promised for
    floating-point images whose pixels leave [0, 1].

    Parameters
    ----------
    ridge : float
        As for `covariance_descriptors`.
    channels : {3, 1}
        Colour or grey.

    Returns
    -------
    (float, float)
        Lower and upper bound.

    Examples
    --------
    >>> smallest, largest = descriptor_bounds()
    >>> print(smallest, round(largest, 3))
    1e-06 2.846
    """
    _check_ridge(ridge)
    if channels not in (1, 3):
        raise ValueError(f"channels must be 3 (colour) or 1 (grey); got {channels!r}.")
    trace = 2 / 12 + channels / 4 + 4 / 4 + 5 / 16 + math.pi**2 / 16
    # Far more than the rounding of a trace, far less than anyone will notice.
    return float(ridge), (trace + float(ridge)) * (1 + 1e-9)


def _check_ridge(ridge: float) -> None:
    if not 0 < ridge < math.inf:
        raise ValueError(f"ridge must be positive and finite; got {ridge}.")


def _features(pixels: np.ndarray) -> np.ndarray:
    """Features of a block of images, shape (n, k, h w)."""
    colour = pixels.ndim == 4
    channels = np.moveaxis(pixels, 3, 1) if colour else pixels[:, None]
    n, n_channels, height, width = channels.shape
    intensity = channels.mean(axis=1) if colour else pixels
    out = np.empty((n, _FEATURES_BESIDES_CHANNELS + n_channels, height, width))
    out[:, 0] = (np.arange(width) + 0.5) / width
    out[:, 1] = ((np.arange(height) + 0.5) / height)[:, None]
    out[:, 2 : 2 + n_channels] = channels
    _derivative_features(intensity, out[:, 2 + n_channels :])
    return out.reshape(n, -1, height * width)


def _derivative_features(intensity: np.ndarray, out: np.ndarray) -> None:
    """Fill out with |I_x|, |I_y|, |I_xx|, |I_yy|, the gradient's length and its angle."""
    down, along = 1, 2  # axes: from row to row (y) and along a row (x)
    wide = np.pad(intensity, [(0, 0), (_REACH, _REACH), (_REACH, _REACH)], mode="edge")
    near = wide[:, 1:-1, 1:-1]
    first_x = _slide(_slide(near, _SMOOTH, down), _DIFFERENCE, along) * _FIRST_SCALE
    first_y = _slide(_slide(near, _SMOOTH, along), _DIFFERENCE, down) * _FIRST_SCALE
    second_x = _slide(_slide(wide, _SMOOTH_WIDE, down), _SECOND_DIFFERENCE, along) * _SECOND_SCALE
    second_y = _slide(_slide(wide, _SMOOTH_WIDE, along), _SECOND_DIFFERENCE, down) * _SECOND_SCALE
    for k, derivative in enumerate((first_x, first_y, second_x, second_y)):
        np.abs(derivative, out=out[:, k])
    np.sqrt(first_x**2 + first_y**2, out=out[:, 4])
    np.arctan2(out[:, 0], out[:, 1], out=out[:, 5])


def _slide(values: np.ndarray, weights: tuple[int, ...], axis: int) -> np.ndarray:
    """Weighted sums of neighbours along an axis, which gets shorter by len(weights) - 1."""
    length = values.shape[axis] - len(weights) + 1
    before = (slice(None),) * axis
    terms = (
        weight * values[(*before, slice(shift, shift + length))]
        for shift, weight in enumerate(weights)
        if weight
    )
    total = next(terms)
    for term in terms:
        total += term
    return total


def _covariances(features: np.ndarray) -> np.ndarray:
    """Covariance over the last axis, divided by the number of pixels; ``features`` is centred."""
    n_pixels = features.shape[2]
    features -= features.mean(axis=2, keepdims=True)
    moments = features @ features.transpose(0, 2, 1)
    # Rounding leaves M M^T symmetric in practice; adding the transpose makes it a promise.
    return (moments + moments.transpose(0, 2, 1)) / (2 * n_pixels)
