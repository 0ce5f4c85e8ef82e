r"""Edges and brightness of an image in one row: what tells clothes and digits apart.

:func:`~veilspan.features.hog` says where edges are and which way they run, and nothing of what is
bright; a coarse picture says the rest. Both parts lie far from 0 in nearly the same direction for
every image, as numbers that are not negative do. A bound on a row's length is then mostly spent on
what all rows have in common, and noise is measured by that bound. So each part is taken relative to
its own mean over the image, and the row is then brought to length 1: differences between images
grow, the noise stays.

A row is a function of one image alone and of public constants, so rows of neighbouring tables
differ in the same row only, computing them costs no privacy budget, and ``row_norm=1`` is a true
bound of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veilspan.features.oriented_gradients import hog
from veilspan.features.pixels import check_images, unit_range

#: Length of the part of brightness beside that of the edges.
_BRIGHTNESS = 0.5
#: Pixels of a block of images that are made floats at once: 2 MB.
_BLOCK = 250_000


def edges_and_brightness(images: ArrayLike, cell: int = 4, orientations: int = 9) -> np.ndarray:
    r"""Directions of edges and square roots of mean intensities, as rows of length 1.

    * Edges: the numbers of :func:`~veilspan.features.hog`, less their mean, at length 1.
    * Brightness: square roots of the mean intensity of squares of ``cell // 2`` pixels, less their
      mean, at length 1/2. Intensities below 0 count as 0; what does not fill a square at the right
      and the bottom is left out.

    An image of one intensity everywhere is a row of zeros.

    Parameters
    ----------
    images : array of shape (n, h, w, 3) or (n, h, w)
        Colour or grey, as :func:`~veilspan.features.hog` takes them.
    cell : int
        Height and width of a cell of edges in pixels.
    orientations : int
        Directions that are told apart.

    Returns
    -------
    float64 array of shape (n, (h // cell) (w // cell) orientations + (h // s) (w // s))
        With s = cell // 2.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan.features import edges_and_brightness
    >>> rows = edges_and_brightness(np.random.default_rng(0).random((5, 28, 28)))
    >>> rows.shape, np.allclose(np.linalg.norm(rows, axis=1), 1)
    ((5, 637), True)
    """
    edges = hog(images, cell, orientations)  # checks all arguments
    rows = np.hstack([_relative(edges), _BRIGHTNESS * _relative(_roots(images, int(cell) // 2))])
    return _unit(rows)


def _roots(images: ArrayLike, side: int) -> np.ndarray:
    """Square roots of mean intensities, squares in the order of rows of the image."""
    pixels = check_images(images, side, "one square")
    n, height, width = pixels.shape[:3]
    down, across = height // side, width // side
    out = np.empty((n, down * across))
    step = max(1, _BLOCK // (height * width))
    for start in range(0, n, step):
        block = unit_range(pixels[start : start + step, : down * side, : across * side])
        block = block.mean(axis=3) if block.ndim == 4 else block
        squares = block.reshape(len(block), down, side, across, side).mean(axis=(2, 4))
        out[start : start + step] = np.sqrt(np.maximum(squares, 0.0)).reshape(len(block), -1)
    return out


def _relative(rows: np.ndarray) -> np.ndarray:
    """Rows less their own mean, at length 1."""
    return _unit(rows - rows.mean(axis=1, keepdims=True))


def _unit(rows: np.ndarray) -> np.ndarray:
    """Rows at length 1; rows of rounding errors alone become zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    seen = lengths > 1e-9
    return np.asarray(
        np.where(seen, 1.0, 0.0)[:, None] * rows / np.where(seen, lengths, 1.0)[:, None]
    )
