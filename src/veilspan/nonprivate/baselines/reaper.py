"""REAPER: the convex relaxation of least absolute deviations, by reweighting."""

from __future__ import annotations

import numpy as np

from veilspan.nonprivate.baselines._common import (
    SubspaceFit,
    objective,
    top_eigenvectors,
    unit_rows,
    weighted_scatter,
)


def reaper_irls(
    x: np.ndarray,
    n_components: int,
    *,
    max_iter: int = 60,
    tol: float = 1e-13,
    floor: float = 1e-10,
) -> SubspaceFit:
    r"""Solve REAPER by iterative reweighting; not private.

    Minimises :math:`\frac1n \sum \|x - P x\|` over :math:`0 \preceq P \preceq I,\
    \operatorname{tr} P = r` (Lerman, McCoy, Tropp & Zhang 2015, algorithm 4.1): a convex problem
    without local minima, at the price of recovery at fewer outliers. The components are the top
    eigenvectors of P, and the reported objective is their mean distance, not that of P.

    **Not private**: for data the caller owns; nothing here protects single rows.

    Parameters
    ----------
    x : array of shape (n, d)
        Rows around the origin, scaled to the sphere first; zero rows count for nothing.
    n_components : int
        Dimension of the subspace, less than d.
    max_iter, tol
        Iterations, and the relative decrease of the convex objective at which to stop.
    floor : float
        Smallest residual that enters a weight.
    """
    x = unit_rows(x, n_components)
    weights, last, n_iter, converged = np.ones(len(x)), np.inf, 0, False
    relaxed = np.zeros((x.shape[1],) * 2)
    while n_iter < max_iter and not converged:
        values, vectors = np.linalg.eigh(weighted_scatter(x, weights / weights.max()))
        kept = water_fill(values[::-1], n_components)[::-1]
        relaxed = (vectors * kept) @ vectors.T
        distances = np.linalg.norm(x - x @ relaxed, axis=1)
        value = float(distances.mean())
        converged = last - value <= tol * value
        weights, last, n_iter = 1 / np.maximum(distances, floor), value, n_iter + 1
    components = top_eigenvectors(relaxed, n_components)
    return SubspaceFit(components, objective(x, components), n_iter, converged)


def water_fill(values: np.ndarray, total: int) -> np.ndarray:
    r"""Eigenvalues of the P that minimises :math:`\operatorname{tr}((I-P) C (I-P))`.

    For eigenvalues :math:`\lambda_1 \ge \lambda_2 \ge \dots` of C they are :math:`(1 -
    \theta/\lambda_i)_+` with :math:`\theta = (k - r)/\sum_{i \le k} 1/\lambda_i` for the k that
    makes exactly the first k positive.
    """
    out = np.zeros(len(values))
    positive = int(np.sum(values > 1e-15 * max(values[0], 0.0)))
    if positive <= total:  # the data fit into the subspace: a projection costs nothing
        out[:total] = 1.0
        return out
    kept = values[:positive]
    count = np.arange(1, positive + 1)
    level = (count - total) / np.cumsum(1 / kept)
    following = np.append(kept[1:], 0.0)
    size = int(np.argmax((count > total) & (level >= following)))
    out[:positive] = np.maximum(0.0, 1 - level[size] / kept)
    return out
