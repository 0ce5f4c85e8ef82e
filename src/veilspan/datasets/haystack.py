"""The haystack model: inliers near a random subspace among outliers from everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Haystack:
    """Rows with known truth.

    Attributes
    ----------
    rows : array of shape (n, d)
        Inliers and outliers in random order, scaled to the unit sphere if asked for.
    subspace : array of shape (r, d)
        Orthonormal rows that span the true subspace.
    is_inlier : boolean array of shape (n,)
        Which rows belong to it.
    """

    rows: np.ndarray
    subspace: np.ndarray
    is_inlier: np.ndarray


def make_haystack(
    n_samples: int = 2000,
    n_features: int = 20,
    n_components: int = 2,
    *,
    inlier_share: float = 0.5,
    noise: float = 0.0,
    on_sphere: bool = True,
    random_state: int | None = 0,
) -> Haystack:
    """Draw from the haystack model (Lerman, McCoy, Tropp & Zhang 2015).

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Rows, columns and the dimension of the subspace.
    inlier_share : float
        Fraction of rows that are Gaussian in the subspace; the others are Gaussian in the whole
        space.
    noise : float
        Typical residual of an inlier relative to its length.
    on_sphere : bool
        Whether rows are scaled to unit length.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> make_haystack(100, 5, 2).rows.shape
    (100, 5)
    """
    if not 1 <= n_components <= n_features:
        raise ValueError(f"n_components must lie between 1 and {n_features}; got {n_components}.")
    if not 0 <= inlier_share <= 1:
        raise ValueError(f"inlier_share must lie between 0 and 1; got {inlier_share}.")
    rng = np.random.default_rng(random_state)
    basis = np.linalg.qr(rng.standard_normal((n_features, n_components)))[0].T
    n_in = round(inlier_share * n_samples)
    inliers = rng.standard_normal((n_in, n_components)) / np.sqrt(n_components) @ basis
    inliers += noise * rng.standard_normal((n_in, n_features)) / np.sqrt(n_features)
    outliers = rng.standard_normal((n_samples - n_in, n_features)) / np.sqrt(n_features)
    rows = np.concatenate([inliers, outliers])
    order = rng.permutation(n_samples)
    rows = rows[order]
    if on_sphere:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Haystack(rows, basis, (np.arange(n_samples) < n_in)[order])
