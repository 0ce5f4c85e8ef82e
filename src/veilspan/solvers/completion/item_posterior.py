r"""Loadings of the items, each by what the released covariance says of it.

An eigenvector knows an item by how often it is rated as much as by its taste: W_jk = c_j c_k / n
<v_j, v_k> + error (``factor_spectrum``) makes it hold c_j v_j. That is right where all items are
rated alike, and far too small for items that are rated seldom, which users' fits and predictions
then hardly use. Given the other items, v_j ~ N(0, diag t) has the posterior

    precision A_j = sum_k N_jk^2 / R_jk (v_k v_k^T + C_k) + diag(1 / t),
    mean      A_j^-1 sum_k N_jk / R_jk W_jk v_k,       C_j = A_j^-1,

and all of them in turn, a few times, are the mean-field posterior of the symmetric factorisation:
items about which W says little stay near 0, and the C_k keep a factor of noise from confirming
itself. Tastes being N(0, I), the ridge of users' fits is the variance that a rating has of its own,
q - mean |v_j|^2: no constant to choose.

A function of released numbers: it sees no row and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.solvers.completion.factor_spectrum import PairModel, Spectrum

#: Sweeps over all items; more change the fourth digit.
SWEEPS = 8
#: Factors are not believed to explain more than this of a rating's variance: where few users rate
#: two items both, chance explains the rest.
MOST_EXPLAINED = 0.5
LEAST = 1e-12


@dataclass(frozen=True)
class Loadings:
    """Loadings of shape (K, r) for tastes u ~ N(0, I), and the ridge that goes with them."""

    factors: np.ndarray
    ridge: float


def estimate_loadings(model: PairModel, found: Spectrum) -> Loadings:
    """Posterior means of all items, from the factors of a spectrum on."""
    size, rank = len(model.counts), len(found.values)
    q = model.rating_variance
    both = np.outer(model.counts, model.counts) / model.users
    error = model.noise_std**2 / 2 + both * q**2
    weight, response = both**2 / error, both / error * model.matrix
    np.fill_diagonal(weight, 0.0)
    np.fill_diagonal(response, 0.0)
    scale = model.error_scales * np.sqrt(model.users) / model.counts
    means = scale[:, None] * (np.sqrt(found.power)[:, None] * found.vectors).T
    spread = np.zeros((size, rank, rank))
    share = model.counts / model.counts.sum()
    for _ in range(SWEEPS):
        squares = (means[:, :, None] * means[:, None, :] + spread).reshape(size, -1)
        precision = (weight @ squares).reshape(-1, rank, rank)
        prior = np.diag((share @ squares).reshape(rank, rank))
        precision += np.diag(1 / np.maximum(prior, LEAST * q))
        spread = np.linalg.inv(precision)
        # Halfway: all items at once answer a start that is k times too long by one too short.
        means = (means + np.einsum("jab,jb->ja", spread, response @ means)) / 2
    explained = min(float(share @ (means**2).sum(axis=1)), MOST_EXPLAINED * q)
    return Loadings(means, q - explained)
