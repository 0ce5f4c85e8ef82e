"""Positive definite matrices around a known centre, under the affine-invariant metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SPDSample:
    """Matrices with known truth.

    Attributes
    ----------
    points : array of shape (n, k, k)
        Inliers and outliers in random order, each exactly symmetric.
    center : array of shape (k, k)
        Fréchet mean of the distribution of the inliers.
    spread : float
        Standard deviation of an inlier along every unit tangent direction at the centre.
    is_outlier : boolean array of shape (n,)
        Which points were drawn far away.
    """

    points: np.ndarray
    center: np.ndarray
    spread: float
    is_outlier: np.ndarray


def make_spd(
    n_samples: int = 1000,
    n_features: int = 5,
    *,
    spread: float = 0.3,
    condition: float = 10.0,
    paired: bool = False,
    outlier_share: float = 0.0,
    outlier_distance: float = 10.0,
    random_state: int | None = 0,
) -> SPDSample:
    r"""Draw log-normal matrices: a Gaussian of the tangent space, followed along geodesics.

    .. math:: X_i = M^{1/2} \exp(S_i)\, M^{1/2}, \qquad S_i = s\,\tfrac{Z_i + Z_i^T}{2},

    with independent standard normal :math:`Z_i`: the exponential map of the affine-invariant metric
    at M (Pennec, Fillard & Ayache 2006). Known truth, without outliers:

    * M is the Fréchet mean of the distribution. The geodesic symmetry
      :math:`X \mapsto M X^{-1} M` is an isometry that turns S into -S, so it maps the mean, which
      is unique in this space, to itself; and it leaves nothing but M in place.
    * The distance of a point to M is :math:`|S|_F`, with :math:`E|S|_F^2 = s^2 k (k + 1) / 2`.
    * With ``paired=True`` the mean of the *sample* is M too, by the same symmetry.

    Parameters
    ----------
    n_samples, n_features : int
        Number of matrices and their size k.
    spread : float
        The standard deviation s.
    condition : float
        Ratio of the largest to the smallest eigenvalue of the centre; they are geometric in between
        and have product 1, with random eigenvectors. 1 makes the centre the identity.
    paired : bool
        Draw the inliers in opposite pairs S, -S; their number must then be even.
    outlier_share : float
        Fraction of points that lie in one far place: their S has the mean :math:`d D`, with one
        random direction :math:`|D|_F = 1` for all, and the same spread. They pull a mean to their
        side, whatever their distance.
    outlier_distance : float
        The distance d of that place from the centre.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> make_spd(100, 3).points.shape
    (100, 3, 3)
    """
    _check(n_samples, n_features, spread, condition, outlier_share, outlier_distance)
    rng = np.random.default_rng(random_state)
    root = _random_root(rng, n_features, condition)
    n_out = round(outlier_share * n_samples)
    inliers = _tangents(rng, n_samples - n_out, n_features, spread, paired)
    # Drawn last, so that the inliers of a seed do not depend on the outliers' distance.
    direction = _tangents(rng, 1, n_features, 1.0, False)
    direction /= np.linalg.norm(direction)
    others = outlier_distance * direction + _tangents(rng, n_out, n_features, spread, False)
    order = rng.permutation(n_samples)
    tangents = np.concatenate([inliers, others])[order]
    is_outlier = (np.arange(n_samples) >= n_samples - n_out)[order]
    return SPDSample(_follow(root, tangents), _symmetric(root @ root), float(spread), is_outlier)


def _check(
    n_samples: int,
    n_features: int,
    spread: float,
    condition: float,
    outlier_share: float,
    outlier_distance: float,
) -> None:
    if min(n_samples, n_features) < 1:
        raise ValueError(
            f"n_samples and n_features must be at least 1; got {n_samples} and {n_features}."
        )
    if not 0 <= spread < np.inf:
        raise ValueError(f"spread must be finite and not negative; got {spread}.")
    if not 1 <= condition < np.inf:
        raise ValueError(f"condition must be a finite number of at least 1; got {condition}.")
    if not 0 <= outlier_share <= 1:
        raise ValueError(f"outlier_share must lie between 0 and 1; got {outlier_share}.")
    if not 0 <= outlier_distance < np.inf:
        raise ValueError(
            f"outlier_distance must be finite and not negative; got {outlier_distance}."
        )


def _random_root(rng: np.random.Generator, size: int, condition: float) -> np.ndarray:
    """Symmetric root of a matrix of this condition number, determinant 1."""
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    log_values = np.linspace(0.5, -0.5, size) if size > 1 else np.zeros(1)
    return _symmetric(basis * condition ** (log_values / 2) @ basis.T)


def _tangents(
    rng: np.random.Generator, n: int, size: int, spread: float, paired: bool
) -> np.ndarray:
    """Symmetric Gaussian matrices: variance s^2 on the diagonal and s^2 / 2 beside it."""
    if paired and n % 2:
        raise ValueError(f"paired points need an even number of inliers; got {n}.")
    drawn = spread * _symmetric(rng.standard_normal((n // 2 if paired else n, size, size)))
    return np.concatenate([drawn, -drawn]) if paired else drawn


def _follow(root: np.ndarray, tangents: np.ndarray) -> np.ndarray:
    """M^(1/2) exp(S) M^(1/2) as G G^T, positive semidefinite whatever the rounding."""
    values, vectors = np.linalg.eigh(tangents)
    half = root @ (vectors * np.exp(values / 2)[:, None, :])
    return _symmetric(half @ half.transpose(0, 2, 1))


def _symmetric(matrices: np.ndarray) -> np.ndarray:
    return (matrices + np.swapaxes(matrices, -1, -2)) / 2
