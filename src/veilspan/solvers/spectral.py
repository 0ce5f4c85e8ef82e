"""Eigenvectors of a released matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan._threads import threads_for

#: Lanczos' method is taken for one in ``MANY`` eigenvectors of matrices of at least ``LARGE`` rows.
#: For 8 vectors at the edge of noise it takes 1.1, 0.4, 0.4 and 0.3 of LAPACK's time with 700,
#: 1,250, 2,250 and 4,000 rows on one core.
LARGE, MANY = 1000, 80
#: Vectors of its basis for each one wanted: fewer products than with SciPy's 20 in all for 8.
BASIS = 4

#: Standard deviations by which noise exceeds its edge once in a thousand releases, at most.
RARELY = 3.72


def leading_eigenvectors(
    matrix: np.ndarray, count: int, *, noisy: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``count`` largest eigenvalues (descending) and eigenvectors as rows.

    Signs are fixed by making the entry of largest magnitude positive.

    Parameters
    ----------
    matrix : array of shape (d, d)
        Symmetric.
    count : int
        How many.
    noisy : bool
        Whether Gaussian noise was added to all entries, so that no eigenvalue repeats. Few of many
        eigenvectors are then found by Lanczos' method, in products with the matrix instead of the
        d^3 operations of a tridiagonal form; it could miss copies of one that repeats. Both give
        the same up to rounding.
    """
    size = matrix.shape[0]
    with threads_for(size):
        few = noisy and size >= LARGE and count <= size / MANY
        values, vectors = _lanczos(matrix, count) if few else _by_lapack(matrix, count)
    rows = vectors.T[::-1]
    largest = np.argmax(np.abs(rows), axis=1)
    signs = np.sign(rows[np.arange(count), largest])
    return values[::-1].copy(), np.ascontiguousarray(rows * signs[:, None])


def _by_lapack(matrix: np.ndarray, count: int) -> Any:
    """Eigenvalues in ascending order, and their vectors as columns."""
    from scipy.linalg.lapack import dsyevr, dsyevr_lwork

    size = matrix.shape[0]
    lwork, liwork, _ = dsyevr_lwork(size, lower=1)
    # What ``scipy.linalg.eigh`` calls too, which takes three times as long over a small matrix.
    values, vectors, _, _, failed = dsyevr(
        np.asarray_chkfinite(matrix),
        range="I",
        il=size - count + 1,
        iu=size,
        lower=1,
        lwork=int(lwork),
        liwork=liwork,
    )
    if failed:
        raise np.linalg.LinAlgError("LAPACK's dsyevr found no eigenvectors.")
    return values[:count], vectors[:, :count]


def _lanczos(matrix: np.ndarray, count: int) -> Any:
    """The same to the last digits, from a start that is not drawn: a result can be repeated."""
    from scipy.linalg.blas import dsymv
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    by_columns = np.asarray(matrix, dtype=np.float64).T  # the layout that BLAS takes without a copy
    product = LinearOperator(matrix.shape, matvec=lambda x: dsymv(1.0, by_columns, x), dtype=float)
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    try:
        values, vectors = eigsh(
            product, count, which="LA", v0=start, tol=0.0, ncv=max(BASIS * count, 20)
        )
    except ArpackError:  # did not settle
        return _by_lapack(matrix, count)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def noise_edge(noise_std: float, size: int) -> float:
    """Largest eigenvalue that pure noise reaches: s sqrt(2 d), the edge of its semicircle.

    Frobenius-isotropic symmetric noise of std s has off-diagonal variance s^2/2, so its spectrum
    fills [-2 sqrt(d s^2/2), 2 sqrt(d s^2/2)] for large d. Eigenvalues below it carry little signal.
    """
    return noise_std * math.sqrt(2 * size)


def stands_out(values: np.ndarray, edge: float) -> bool:
    r"""Whether the largest released eigenvalue is more than noise on a multiple of the identity.

    Noise alone lifts the largest eigenvalue over the mean of all by at most s sqrt(2 d) in
    expectation. As a function of the noise, which is isotropic of std s in the Frobenius norm, the
    largest eigenvalue has Lipschitz constant 1, so it exceeds that by more than t with probability
    at most exp(-t^2 / (2 s^2)): t = 3.72 s is one in a thousand. In few dimensions the edge alone
    is exceeded in a third of all releases of nothing.
    """
    size = len(values)
    std = edge / math.sqrt(2 * size)
    lifted = float(np.max(values)) - float(np.mean(values))
    return size == 1 or lifted > edge + RARELY * std
