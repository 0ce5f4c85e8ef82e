"""The haystack model: inliers near a random subspace among outliers of several kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Residual of structured outliers around their line or subspace, relative to their length.
_OUTLIER_NOISE = 0.1
#: Length of the isotropic part of an outlier in the cone; its axis has length 1.
_CONE_SPREAD = 0.5

KINDS = ("isotropic", "line", "subspace", "cone")


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
    outliers: str = "isotropic",
    condition: float = 1.0,
    on_sphere: bool = True,
    random_state: int | None = 0,
) -> Haystack:
    """Draw from the haystack model (Lerman, McCoy, Tropp & Zhang 2015), or a harder relative.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Rows, columns and the dimension of the subspace.
    inlier_share : float
        Fraction of rows that are Gaussian in the subspace; the others are outliers.
    noise : float
        Typical residual of an inlier relative to its length.
    outliers : {"isotropic", "line", "subspace", "cone"}
        Where the outliers are:

        - ``"isotropic"``: Gaussian in the whole space. No direction competes with the subspace.
        - ``"line"``: half of them on one line orthogonal to the subspace, with 10 % noise, the rest
          isotropic. The line is the largest direction once it holds more rows than the subspace
          holds per dimension.
        - ``"subspace"``: half of them Gaussian in another random subspace of the same dimension,
          with 10 % noise, the rest isotropic. It differs from the truth only in its number of rows.
        - ``"cone"``: all of them in a cone around one random direction (axis of length 1, isotropic
          part of length 1/2). Their mean is far from zero, and least absolute deviations
          follow them at inlier shares where Tyler's estimator does not.
    condition : float
        Ratio of the inliers' largest to smallest standard deviation in the subspace, geometric in
        between; the mean squared length stays 1.
    on_sphere : bool
        Whether rows are scaled to unit length.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> make_haystack(100, 5, 2, outliers="cone").rows.shape
    (100, 5)
    """
    if not 1 <= n_components <= n_features:
        raise ValueError(f"n_components must lie between 1 and {n_features}; got {n_components}.")
    if not 0 <= inlier_share <= 1:
        raise ValueError(f"inlier_share must lie between 0 and 1; got {inlier_share}.")
    if outliers not in KINDS:
        raise ValueError(f"outliers must be one of {', '.join(KINDS)}; got {outliers!r}.")
    if outliers == "line" and n_components == n_features:
        raise ValueError("no line is orthogonal to the whole space: lower n_components.")
    if not 1 <= condition < np.inf:
        raise ValueError(f"condition must be a finite number of at least 1; got {condition}.")
    rng = np.random.default_rng(random_state)
    basis = np.linalg.qr(rng.standard_normal((n_features, n_components)))[0].T
    n_in = round(inlier_share * n_samples)
    spread = np.geomspace(1, 1 / condition, n_components)
    shrink = np.sqrt(np.sum(spread**2)) / spread
    inliers = rng.standard_normal((n_in, n_components)) / shrink @ basis
    inliers += noise * rng.standard_normal((n_in, n_features)) / np.sqrt(n_features)
    others = _draw_outliers(rng, n_samples - n_in, basis, outliers)
    rows = np.concatenate([inliers, others])
    order = rng.permutation(n_samples)
    rows = rows[order]
    if on_sphere:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Haystack(rows, basis, (np.arange(n_samples) < n_in)[order])


def _draw_outliers(rng: np.random.Generator, n: int, basis: np.ndarray, kind: str) -> np.ndarray:
    n_components, n_features = basis.shape
    out = rng.standard_normal((n, n_features)) / np.sqrt(n_features)
    if kind == "cone":
        axis = np.linalg.qr(rng.standard_normal((n_features, 1)))[0]
        return axis.T + _CONE_SPREAD * out
    if kind == "isotropic":
        return out
    half = n // 2
    if kind == "line":
        extended = np.column_stack([basis.T, rng.standard_normal(n_features)])
        directions = np.linalg.qr(extended)[0][:, n_components:].T
    else:
        directions = np.linalg.qr(rng.standard_normal((n_features, n_components)))[0].T
    out[:half] = rng.standard_normal((half, len(directions))) @ directions
    residual = rng.standard_normal((half, n_features)) / np.sqrt(n_features)
    out[:half] += _OUTLIER_NOISE * residual
    return out
