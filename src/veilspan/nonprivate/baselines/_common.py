"""What the baselines share: their result, their checks and their objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg


@dataclass(frozen=True)
class SubspaceFit:
    """A subspace found without privacy.

    Attributes
    ----------
    components : array of shape (r, d)
        Orthonormal rows.
    objective : float
        Mean distance of the rows, scaled to the unit sphere, to the subspace: the least-absolute-
        deviations value, the same for every method so that answers can be compared.
    n_iter : int
        Iterations done.
    converged : bool
        Whether the last one changed less than the tolerance.
    """

    components: np.ndarray
    objective: float
    n_iter: int
    converged: bool


def unit_rows(x: np.ndarray, n_components: int) -> np.ndarray:
    """Check the rows and scale them to the sphere; zero rows stay zero."""
    x = np.asarray(x, dtype=float)
    if x.ndim != 2 or x.shape[0] == 0:
        raise ValueError(f"expected rows of shape (n, d) with n >= 1; got shape {x.shape}.")
    if not 1 <= n_components < x.shape[1]:
        raise ValueError(
            f"n_components must lie between 1 and {x.shape[1] - 1}, one less than the columns; "
            f"got {n_components}."
        )
    # The largest entry first: squares of very large or small rows leave the range of floats.
    peak = np.max(np.abs(x), axis=1, keepdims=True)
    if not np.all(np.isfinite(peak)):
        raise ValueError("rows hold missing or infinite values: fill or drop them first.")
    x = x / np.where(peak > 0, peak, 1)
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(norms > 0, norms, 1)


def top_eigenvectors(matrix: np.ndarray, k: int) -> np.ndarray:
    """Eigenvectors of the k largest eigenvalues, as rows, largest first."""
    d = len(matrix)
    return scipy.linalg.eigh(matrix, subset_by_index=(d - k, d - 1))[1][:, ::-1].T


def residuals(x: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Distances of rows to the subspace.

    By subtraction, not Pythagoras: the latter leaves noise of 1e-8 for rows inside the subspace.
    """
    rest = x - x @ components.T @ components
    return np.sqrt(np.einsum("ij,ij->i", rest, rest))


def objective(x: np.ndarray, components: np.ndarray) -> float:
    """Mean distance of the rows to the subspace."""
    return float(residuals(x, components).mean())


def weighted_scatter(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean over rows of w x x^T, a d x d matrix; the sum is divided by the number of rows."""
    return (x * weights[:, None]).T @ x / len(x)
