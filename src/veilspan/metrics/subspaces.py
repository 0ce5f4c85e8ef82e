r"""Distances between linear subspaces, all functions of the principal angles.

A subspace is given by orthonormal **rows**, as in ``components_`` of an estimator. With angles
:math:`\theta_1 \ge \dots \ge \theta_r`:

========================= ============================================== =======================
function                  formula                                        used by
========================= ============================================== =======================
squared_angle_distance    sum of theta^2                                 robust PCA (d^2)
largest_angle_gap         1 - cos theta_1                                robust PCA (d_r^2)
projection_distance       sqrt(sum of sin^2 theta / r), in [0, 1]        |P - P'|_F / sqrt(2r)
frobenius_discrepancy     sum of sin^2 theta, in [0, r]                  GROUSE (epsilon)
determinant_similarity    product of cos^2 theta, in [0, 1]              GROUSE (zeta)
========================= ============================================== =======================
"""

from __future__ import annotations

import numpy as np

#: Departure of a Gram matrix from the identity that still counts as rounding, also of float32.
_ORTHONORMAL = 1e-5


def principal_angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    r"""Principal angles between two subspaces, in radians, largest first.

    Angles below 45 degrees come from their sines (singular values of the part of one basis outside
    the other subspace), the others from their cosines (singular values of :math:`A B^\top`):
    either alone loses half of the digits at one end (Björck & Golub 1973, Knyazev & Argentati
    2002).

    Parameters
    ----------
    a, b : array of shape (r, d) and (q, d)
        Orthonormal rows; r and q may differ, and min(r, q) angles are returned.

    Raises
    ------
    ValueError
        If rows are not orthonormal. ``numpy.linalg.qr(x.T)[0].T`` makes them so.

    Examples
    --------
    >>> import numpy as np
    >>> principal_angles(np.eye(3)[:2], np.array([[np.cos(1e-9), 0, np.sin(1e-9)]]))
    array([1.e-09])
    """
    a, b = _basis(a, "first"), _basis(b, "second")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"subspaces of different spaces: {a.shape[1]} and {b.shape[1]} columns.")
    if len(a) < len(b):
        a, b = b, a
    overlap = b @ a.T
    cosines = np.clip(np.linalg.svd(overlap, compute_uv=False), 0, 1)  # largest first
    sines = np.linalg.svd(b - overlap @ a, compute_uv=False)
    sines = np.clip(np.pad(sines, (len(b) - len(sines), 0))[::-1], 0, 1)  # smallest first
    return np.where(cosines**2 > 0.5, np.arcsin(sines), np.arccos(cosines))[::-1]


def squared_angle_distance(a: np.ndarray, b: np.ndarray) -> float:
    r"""Squared geodesic distance :math:`d^2 = \sum_j \theta_j^2`, for equal dimensions."""
    return float(np.sum(_equal(a, b) ** 2))


def log10_squared_angle_distance(a: np.ndarray, b: np.ndarray, *, floor: float = 1e-32) -> float:
    r""":math:`\log_{10} d^2`, the error of the published figures; at least ``log10(floor)``."""
    return float(np.log10(max(squared_angle_distance(a, b), floor)))


def largest_angle_gap(a: np.ndarray, b: np.ndarray) -> float:
    r""":math:`d_r^2 = 1 - \sigma_r(A B^\top) = 1 - \cos\theta_1 = 2 \sin^2(\theta_1 / 2)`.

    The convergence measure of Maunu, Yu & Lerman (section 1.4). The last form keeps all digits at
    small angles.
    """
    return float(2 * np.sin(_equal(a, b)[0] / 2) ** 2)


def projection_distance(a: np.ndarray, b: np.ndarray) -> float:
    r""":math:`\|P_A - P_B\|_F / \sqrt{2 r}`: 0 for equal, 1 for orthogonal subspaces."""
    return float(np.sqrt(np.mean(np.sin(_equal(a, b)) ** 2)))


def frobenius_discrepancy(a: np.ndarray, b: np.ndarray) -> float:
    r""":math:`r - \|A B^\top\|_F^2 = \sum_j \sin^2\theta_j` (Zhang & Balzano 2016, def. 3)."""
    return float(np.sum(np.sin(_equal(a, b)) ** 2))


def determinant_similarity(a: np.ndarray, b: np.ndarray) -> float:
    r""":math:`\det(A B^\top B A^\top) = \prod_j \cos^2\theta_j` (Zhang & Balzano 2016, def. 2)."""
    return float(np.prod(np.cos(_equal(a, b)) ** 2))


def _equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if np.shape(a) != np.shape(b):
        raise ValueError(
            f"expected subspaces of equal dimension; got shapes {np.shape(a)} and {np.shape(b)}."
        )
    return principal_angles(a, b)


def _basis(x: np.ndarray, which: str) -> np.ndarray:
    """Check orthonormal rows, and remove what rounding left: tiny angles would show it."""
    x = np.asarray(x, dtype=float)
    if x.ndim != 2 or not 1 <= x.shape[0] <= x.shape[1]:
        raise ValueError(
            f"the {which} subspace must be rows of shape (r, d) with 1 <= r <= d; got {x.shape}. "
            f"Transpose a basis of columns."
        )
    error = float(np.max(np.abs(x @ x.T - np.eye(len(x)))))
    if not error <= _ORTHONORMAL:
        raise ValueError(
            f"the rows of the {which} subspace are not orthonormal: inner products are off by "
            f"{error:.2g}."
        )
    return np.linalg.qr(x.T)[0].T
