"""Fast median subspace: least absolute deviations by reweighting, from several starts."""

from __future__ import annotations

import numpy as np

from veilspan.nonprivate.baselines._common import (
    SubspaceFit,
    residuals,
    top_eigenvectors,
    unit_rows,
    weighted_scatter,
)
from veilspan.nonprivate.baselines.spherical import spherical_pca
from veilspan.nonprivate.baselines.tyler import tyler

_STARTS = {"spherical": spherical_pca, "tyler": tyler}


def fms(
    x: np.ndarray,
    n_components: int,
    *,
    starts: tuple[str, ...] = ("spherical", "tyler"),
    max_iter: int = 100,
    tol: float = 1e-10,
    floor: float = 1e-10,
) -> SubspaceFit:
    r"""Subspace of least absolute deviations, by iterative reweighting; not private.

    Minimises :math:`F(V) = \frac1n \sum \|x - V^\top V x\|` over orthonormal rows V by repeated
    weighted PCA with weights :math:`1/\max(\|x - V^\top V x\|, \text{floor})` (Lerman & Maunu
    2018). F has local minima: spherical PCA leads to the right one among isotropic outliers,
    Tyler's estimator when the outliers fill a cone, so both are tried and the lower objective is
    kept.

    **Not private**: for data the caller owns; nothing here protects single rows.

    Parameters
    ----------
    x : array of shape (n, d)
        Rows around the origin, scaled to the sphere first; zero rows count for nothing.
    n_components : int
        Dimension of the subspace, less than d.
    starts : tuple of {"spherical", "tyler"}
        Where to start.
    max_iter, tol
        Iterations per start, and the change of the subspace (sine of angles) at which to stop.
    floor : float
        Smallest residual that enters a weight.
    """
    unknown = set(starts) - set(_STARTS)
    if unknown or not starts:
        raise ValueError(f"starts must be some of {', '.join(_STARTS)}; got {starts!r}.")
    x = unit_rows(x, n_components)
    fits = [
        _descend(x, _STARTS[name](x, n_components).components, max_iter, tol, floor)
        for name in starts
    ]
    return min(fits, key=lambda fit: fit.objective)


def _descend(
    x: np.ndarray, components: np.ndarray, max_iter: int, tol: float, floor: float
) -> SubspaceFit:
    distances, converged, n_iter = residuals(x, components), False, 0
    while n_iter < max_iter and not converged:
        weights = 1 / np.maximum(distances, floor)
        # Normalised: exact inliers weigh 1/floor, and only ratios matter.
        new = top_eigenvectors(weighted_scatter(x, weights / weights.max()), len(components))
        change = np.linalg.norm(new - new @ components.T @ components)
        components, converged, n_iter = new, bool(change < tol), n_iter + 1
        distances = residuals(x, components)
    return SubspaceFit(components, float(distances.mean()), n_iter, converged)
