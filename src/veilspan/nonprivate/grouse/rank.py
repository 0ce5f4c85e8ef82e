r"""How many dimensions the recent rows need.

With R recent rows, d components, residuals of variance :math:`\tau^2` in n' = n - d directions:

- **grow** while the largest singular value of the residuals exceeds what white noise has,
  :math:`\sigma_1^2 > 1.2\, \tau^2 (\sqrt R + \sqrt{n'})^2` (the edge of Marchenko and Pastur 1967;
  a tenth more in :math:`\sigma` is several standard deviations of the largest one);
- **shrink** while the weakest direction has no more energy than noise puts there,
  :math:`\lambda_d < 1.2\, \tau^2 (1 + \sqrt{d / R})^2`.

Both happen in one look, so that directions wasted on noise are exchanged for better ones. The first
threshold lies above the second, so a direction is not added and dropped in turn.
"""

from __future__ import annotations

import numpy as np

from veilspan.nonprivate.grouse.grouse import observed_solver, polish

#: The thresholds' distance from the edge of pure noise, on squares: see the top.
_MARGIN = 1.2
#: Energies below this share of the rows' are rounding.
_ROUNDING = 1e-20


def window_rows(n_components: int) -> int:
    """Rows between two looks at the dimension: 64, and 4 more for each component."""
    return 64 + 4 * n_components


def adapt_rank(basis: np.ndarray, recent: np.ndarray, cut: float = np.inf) -> np.ndarray:
    """A basis of the dimension that the recent rows need.

    Parameters
    ----------
    basis : array of shape (d, n)
        Orthonormal rows.
    recent : array of shape (R, n)
        Rows; NaN is missing.
    cut : float
        Residual entries are cut to this size first, if a robust fit knows one.
    """
    weights, rest = _fit(basis, recent)
    rest = np.clip(rest, -cut, cut)
    count, noise, directions = _shared_directions(rest, basis, float(np.sum(weights**2)))
    grown = np.concatenate([basis, directions[:count]])
    weights = np.concatenate([weights, rest @ directions[:count].T], axis=1)
    return _without_weak(grown, weights, noise)


def _fit(basis: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and residuals; both zero where a row says too little."""
    weights, rest = np.zeros((len(rows), len(basis))), np.zeros(rows.shape)
    for t, row in enumerate(rows):
        seen = ~np.isnan(row)
        solve = observed_solver(basis[:, seen], len(row))
        if solve is not None:
            weights[t] = solve(row[seen])
            rest[t, seen] = row[seen] - weights[t] @ basis[:, seen]
    return weights, rest


def _shared_directions(
    rest: np.ndarray, basis: np.ndarray, energy: float
) -> tuple[int, float, np.ndarray]:
    """How many directions the residuals share beyond noise, its variance, and the directions."""
    spare = basis.shape[1] - len(basis)
    most = min(len(rest) // 2, spare - 1)
    _, values, directions = np.linalg.svd(rest, full_matrices=False)
    squares = values**2
    count = 0
    while True:
        free = (len(rest) - count) * (spare - count)
        noise = float(np.sum(squares[count:])) / free
        edge = _MARGIN * noise * (np.sqrt(len(rest)) + np.sqrt(spare)) ** 2
        if count >= most or squares[count] <= max(edge, _ROUNDING * energy):
            return count, noise, directions
        count += 1


def _without_weak(basis: np.ndarray, weights: np.ndarray, noise: float) -> np.ndarray:
    """The basis without its directions at the level of noise; at least one stays."""
    values, vectors = np.linalg.eigh(weights.T @ weights / len(weights))
    edge = _MARGIN * noise * (1 + np.sqrt(len(basis) / len(weights))) ** 2
    strong = values > max(edge, _ROUNDING * float(np.sum(values)))
    strong[-1] = True
    kept = basis if strong.all() else vectors[:, strong].T @ basis
    kept = np.ascontiguousarray(kept)
    polish(kept)
    return kept
