r"""Histograms of oriented gradients: an image as the directions of its edges, cell by cell.

Dalal & Triggs (2005) describe an image by histograms of the directions of its gradients in small
cells, each relative to the contrast around it; Felzenszwalb, Girshick, McAllester & Ramanan (2010)
keep one histogram a cell, the mean over the four normalisations, a quarter of the numbers. A linear
model on these numbers tells digits and clothes apart that it cannot tell by their pixels.

A row is a function of one image alone and of public constants, and has length 1 (0 for an image
without an edge), so rows of neighbouring tables differ in the same row only, computing them costs
no privacy budget, and ``row_norm=1`` is a true bound of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veilspan.features.pixels import check_images, unit_range

#: Largest part of a block's length that one direction of a cell may be: bright edges count less.
_MOST = 0.2
#: Added to squared lengths: contrast below a hundredth of the range is not blown up.
_FAINT = 1e-4
#: Pixels of a block of images, times orientations, in numbers: 2 MB.
_BLOCK = 250_000


def hog(images: ArrayLike, cell: int = 4, orientations: int = 9) -> np.ndarray:
    r"""Directions of edges in cells of so many pixels, as rows of length 1.

    * Gradients are central differences of the intensity (the mean of the channels); outside of the
      image the nearest pixel is repeated.
    * A pixel votes with the length of its gradient, divided between the two nearest of
      ``orientations`` directions (of lines: opposite gradients are one direction) and the four
      nearest cells, linearly: a small shift of the image moves votes little.
    * A cell's votes are divided by the length of those of each 2 x 2 block of cells that it belongs
      to, cut at 0.2, and averaged over the blocks. The row is then divided by its length.

    Parameters
    ----------
    images : array of shape (n, h, w, 3) or (n, h, w)
        Colour or grey. Unsigned integers are divided by the largest value of their type (255 for
        ``uint8``); every other real type is taken as it is.
    cell : int
        Height and width of a cell in pixels; what does not fill a cell at the right and the bottom
        is left out of the grid, and votes in the cells next to it.
    orientations : int
        Directions that are told apart.

    Returns
    -------
    float64 array of shape (n, (h // cell) (w // cell) orientations)
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan.features import hog
    >>> rows = hog(np.random.default_rng(0).random((5, 28, 28)))
    >>> rows.shape, np.allclose(np.linalg.norm(rows, axis=1), 1)
    ((5, 441), True)
    """
    for name, value in (("cell", cell), ("orientations", orientations)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 2:
            raise ValueError(f"{name} must be a whole number of at least 2; got {value!r}.")
    pixels = check_images(images, int(cell), "one cell")
    n, height, width = pixels.shape[:3]
    out = np.empty((n, (height // cell) * (width // cell) * orientations))
    step = max(1, _BLOCK // (orientations * height * width))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        block = unit_range(pixels[rows])
        out[rows] = _describe(block.mean(axis=3) if block.ndim == 4 else block, cell, orientations)
    return out


def _describe(intensity: np.ndarray, cell: int, orientations: int) -> np.ndarray:
    """Rows of a block of images."""
    wide = np.pad(intensity, [(0, 0), (1, 1), (1, 1)], mode="edge")
    across = (wide[:, 1:-1, 2:] - wide[:, 1:-1, :-2]) / 2
    down = (wide[:, 2:, 1:-1] - wide[:, :-2, 1:-1]) / 2
    strength = np.sqrt(across**2 + down**2)
    # Of a line: from 0 to pi, in units of the step between two directions.
    turn = np.mod(np.arctan2(down, across) / np.pi, 1.0) * orientations
    votes = []
    for direction in range(orientations):
        away = np.abs(turn - direction)
        away = np.minimum(away, orientations - away)
        votes.append(pool(strength * np.maximum(0.0, 1.0 - away), cell))
    cells = np.stack(votes, axis=3)
    rows = _normalise(cells).reshape(len(cells), -1)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0)[:, None])


def pool(votes: np.ndarray, cell: int) -> np.ndarray:
    """Sums over cells, a vote divided between the nearest ones: a tent of two cells' width."""
    tent = 1.0 - np.abs(np.arange(2 * cell) + 0.5 - cell) / cell
    for axis in (1, 2):
        count = votes.shape[axis] // cell
        room = [(0, 0)] * 3
        room[axis] = (cell // 2, cell)
        wide = np.pad(votes, room)
        before = (slice(None),) * axis
        total = np.zeros(1)
        for shift, weight in enumerate(tent):
            first = shift
            picked = slice(first, first + cell * (count - 1) + 1, cell)
            total = total + weight * wide[(*before, picked)]
        votes = total
    return votes


def _normalise(cells: np.ndarray) -> np.ndarray:
    """Mean over the four blocks around each cell, each direction at most 0.2 of a block."""
    energy = np.pad(np.sum(cells**2, axis=3), [(0, 0), (1, 1), (1, 1)], mode="edge")
    blocks = energy[:, 1:, 1:] + energy[:, 1:, :-1] + energy[:, :-1, 1:] + energy[:, :-1, :-1]
    lengths = np.sqrt(blocks + _FAINT)
    rows, columns = cells.shape[1:3]
    total = np.zeros_like(cells)
    for i in (0, 1):
        for j in (0, 1):
            length = lengths[:, i : i + rows, j : j + columns, None]
            total += np.minimum(cells / length, _MOST)
    return total / 4
