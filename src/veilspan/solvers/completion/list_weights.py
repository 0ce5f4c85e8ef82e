r"""From a noisy second moment of tastes to the weights of lists: post-processing.

G = sum of y y^T + noise, y being rows of length 1 without popularity (``queries.completion.
taste_gram``), K items, noise of std s in the Frobenius norm.

1. *Diagonal.* It holds how often an item was had, not what goes with it, and noise. It is drawn to
   a curve of the released popularity, p^0.7, by as much as noise explains.
2. *Eigenvalues.* Pure noise reaches the edge e = s sqrt(2 K); an eigenvalue l above it becomes
   sqrt(l^2 - e^2), the rest 0: the best of all rules of eigenvalues in the Frobenius norm where
   structure is of low rank (Gavish & Donoho 2017, spiked Wigner model). While they are computed
   the diagonal is capped at a third of the edge, so that no item alone is taken for a factor.
3. *Autoencoder.* B minimises sum |y - y B|^2 + ridge |B|^2 over matrices with a zero diagonal
   (EASE: Steck 2019), in closed form: P = (M + ridge mean(diag M) I)^-1, B_jk = -P_jk / P_kk.
4. *Scores.* An item's score is what popularity expects of the user, (x.c) c_j, and what her other
   items add, (y B)_j. Both are linear in her row x, so with unit c a list needs one matrix:

       score = x W,    W = c c^T + (I - c c^T) B.
"""

from __future__ import annotations

import numpy as np

from veilspan._threads import threads_for
from veilspan.solvers.spectral import noise_edge

#: Power of the popularity that the diagonal is drawn to, and how far it may lie from it (relative).
DIAGONAL_POWER, DIAGONAL_SPREAD = 0.7, 0.3
#: The diagonal is not believed to be below this share of that curve.
LEAST_DIAGONAL = 0.2
#: Cap of the diagonal while eigenvalues are taken, in edges.
DIAGONAL_CAP = 0.3
#: Popularities below this share of the largest are taken for it: noise may make them negative.
LEAST_POPULARITY = 0.02


def floor_popularity(popularity: np.ndarray) -> np.ndarray:
    """Popularity of the items of a list, none below a share of the largest."""
    most = float(popularity.max(initial=0.0))
    return np.maximum(popularity, LEAST_POPULARITY * max(most, 1e-12))


def clean_moment(
    moment: np.ndarray, popularity: np.ndarray, noise_std: float
) -> tuple[np.ndarray, int]:
    """Take the noise off a second moment, steps 1 and 2; also how many eigenvalues stay."""
    if noise_std == 0:
        return moment, len(moment)
    curve = popularity**DIAGONAL_POWER
    prior = curve * (max(float(np.trace(moment)), 1e-9) / curve.sum())
    spread = (DIAGONAL_SPREAD * prior) ** 2
    diagonal = prior + (np.diag(moment) - prior) * (spread / (spread + noise_std**2))
    diagonal = np.maximum(diagonal, LEAST_DIAGONAL * prior)
    edge = noise_edge(noise_std, len(moment))
    held = moment.copy()
    np.fill_diagonal(held, np.minimum(diagonal, DIAGONAL_CAP * edge))
    with threads_for(len(moment)):
        values, vectors = np.linalg.eigh(held)
        kept = values > edge
        power = np.sqrt(values[kept] ** 2 - edge**2)
        clean = (vectors[:, kept] * power) @ vectors[:, kept].T
    np.fill_diagonal(clean, np.maximum(diagonal, np.diag(clean)))
    return clean, int(kept.sum())


def autoencoder(moment: np.ndarray, ridge: float) -> np.ndarray:
    """B of step 3: how much of each item (column) the others speak for."""
    width = len(moment)
    mean = max(float(np.trace(moment)) / width, 1e-12)
    with threads_for(width):
        inverse = np.linalg.inv(moment + ridge * mean * np.eye(width))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def list_weights(weights: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """W of step 4, from B and the unit direction of popularity."""
    return weights + np.outer(direction, direction - direction @ weights)
