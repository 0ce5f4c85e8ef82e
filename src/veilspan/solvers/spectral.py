"""Eigenvectors of a released matrix."""

from __future__ import annotations

import math

import numpy as np

from veilspan._threads import threads_for


def leading_eigenvectors(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``count`` largest eigenvalues (descending) and eigenvectors as rows.

    Signs are fixed by making the entry of largest magnitude positive.
    """
    from scipy.linalg import eigh

    size = matrix.shape[0]
    with threads_for(size):
        values, vectors = eigh(matrix, subset_by_index=(size - count, size - 1))
    rows = vectors.T[::-1]
    largest = np.argmax(np.abs(rows), axis=1)
    signs = np.sign(rows[np.arange(count), largest])
    return values[::-1].copy(), np.ascontiguousarray(rows * signs[:, None])


def noise_edge(noise_std: float, size: int) -> float:
    """Largest eigenvalue that pure noise reaches: s sqrt(2 d), the edge of its semicircle.

    Frobenius-isotropic symmetric noise of std s has off-diagonal variance s^2/2, so its spectrum
    fills [-2 sqrt(d s^2/2), 2 sqrt(d s^2/2)] for large d. Eigenvalues below it carry little signal.
    """
    return noise_std * math.sqrt(2 * size)
