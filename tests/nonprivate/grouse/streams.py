"""Streams with known truth, from fixed seeds: errors in this folder's tests are facts of them."""

import numpy as np

from veilspan.nonprivate.grouse import random_basis


def planted(rng, basis, n_rows, noise=0.0, missing=0.0, unit=True):
    """Rows in a subspace with noise of a given energy relative to theirs, some entries missing."""
    d, n = basis.shape
    rows = rng.standard_normal((n_rows, d)) @ basis / np.sqrt(d)
    if unit:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows += np.sqrt(noise / n) * rng.standard_normal(rows.shape)
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def subspace(seed, n, d):
    rng = np.random.default_rng(seed)
    return rng, random_basis(n, d, rng)


def departure(basis):
    return np.abs(basis @ basis.T - np.eye(len(basis))).max()
