"""Tyler's M-estimator of shape, used as a subspace."""

from __future__ import annotations

import numpy as np

from veilspan.nonprivate.baselines._common import (
    SubspaceFit,
    objective,
    top_eigenvectors,
    unit_rows,
    weighted_scatter,
)


def tyler(
    x: np.ndarray,
    n_components: int,
    *,
    max_iter: int = 200,
    tol: float = 1e-9,
    floor: float = 1e-13,
) -> SubspaceFit:
    r"""Top eigenvectors of Tyler's M-estimator of shape; not private.

    The fixed point of :math:`C \leftarrow \sum x x^\top / (x^\top C^{-1} x)`, scaled to trace 1
    (Tyler 1987; as a subspace estimator: Zhang 2016). It exists when no subspace of dimension k
    holds more than a share k/d of the rows. A subspace that does hold more, the case of interest
    here, makes C shrink to it; eigenvalues are therefore kept above ``floor`` times the largest.

    **Not private**: for data the caller owns; nothing here protects single rows.

    Parameters
    ----------
    x : array of shape (n, d)
        Rows around the origin; their lengths do not matter, and zero rows count for nothing.
    n_components : int
        Dimension of the subspace, less than d.
    max_iter, tol
        Iterations, and the relative change of C at which to stop.
    floor : float
        Smallest eigenvalue relative to the largest.
    """
    x = unit_rows(x, n_components)
    d = x.shape[1]
    shape, converged, n_iter = np.eye(d) / d, False, 0
    while n_iter < max_iter and not converged:
        values, vectors = np.linalg.eigh(shape)
        values = np.maximum(values, floor * values[-1])
        distances = (x @ vectors) ** 2 @ (1 / values)
        # A zero row has distance zero: no direction, no weight.
        weights = np.divide(1, distances, out=np.zeros(len(x)), where=distances > 0)
        new = weighted_scatter(x, weights)
        trace = np.trace(new)
        if trace == 0:  # every row is zero: nothing to learn from
            break
        new /= trace
        converged = bool(np.linalg.norm(new - shape) < tol * np.linalg.norm(shape))
        shape, n_iter = new, n_iter + 1
    components = top_eigenvectors(shape, n_components)
    return SubspaceFit(components, objective(x, components), n_iter, converged)
