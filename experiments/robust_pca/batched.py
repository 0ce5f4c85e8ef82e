"""Many tables at once: geodesic descent and REAP on arrays of shape (tables, rows, columns).

The formulas are those of `printed.py`; noise is given by its standard deviation on a mean gradient.
"""

import numpy as np

from veilspan.datasets import make_haystack
from veilspan.privacy.budget import Budget

DELTA = 1e-6
TINY = 1e-14  # residuals that are rounding


def haystacks(tables, n, d, rank, share, seed=0):
    """Rows of several tables and an orthonormal basis (columns) of each true subspace."""
    made = [make_haystack(n, d, rank, inlier_share=share, noise=0.0, random_state=1000 * seed + k)
            for k in range(tables)]  # fmt: skip
    inside = np.stack([m.is_inlier for m in made])
    return np.stack([m.rows for m in made]), np.stack([m.subspace.T for m in made]), inside


def mu_of(epsilon):
    """Of the Gaussian mechanism that an epsilon allows."""
    return Budget(epsilon, DELTA).mu


def step_std(moved, rows, steps, mu):
    """Noise of each of ``steps`` mean gradients that one row moves by ``moved`` / rows."""
    return 0.0 if np.isinf(mu) else moved * np.sqrt(steps) / (rows * mu)


def gap(bases, truth):
    """d_r^2 = 1 - cos of the largest angle, to all digits, of each table."""
    outside = bases - truth @ (truth.swapaxes(1, 2) @ bases)
    sines = np.linalg.norm(outside, ord=2, axis=(1, 2))
    return 1 - np.sqrt(np.maximum(1 - sines**2, 0)) if sines.max() > 1e-4 else sines**2 / 2


def squared_angles(bases, truth):
    """d^2, the sum of the squared principal angles, of each table."""
    outside = bases - truth @ (truth.swapaxes(1, 2) @ bases)
    sines = np.linalg.svd(outside, compute_uv=False)
    return np.sum(np.arcsin(np.minimum(sines, 1)) ** 2, axis=1)


def leading(matrices, rank):
    """Orthonormal bases of the leading eigenvectors."""
    return np.linalg.eigh(matrices)[1][:, :, -rank:]


def symmetric_noise(shape, std, rng):
    """Symmetric, i.i.d. on and above the diagonal: isotropic noise of these entries."""
    upper = np.triu(rng.standard_normal(shape))
    return std * (upper + np.triu(upper, 1).swapaxes(1, 2))


def pca_start(rows, rank, std, rng):
    """Leading eigenvectors of the mean moment with noise."""
    moments = rows.swapaxes(1, 2) @ rows / rows.shape[1]
    return leading(moments + symmetric_noise(moments.shape, std, rng), rank)


def ggd(rows, bases, sizes, std, rng, batch=None, watch=None):
    """Geodesic descent with these step sizes; ``batch`` rows of each step, or all."""
    tables, n, _ = rows.shape
    place = np.arange(tables)[:, None]
    for k, size in enumerate(sizes):
        if watch is not None:
            watch(k, bases)
        taken = rows if batch is None else rows[place, rng.integers(n, size=(tables, batch))]
        along = taken @ bases
        residual = taken - along @ bases.swapaxes(1, 2)
        lengths = np.sqrt(np.einsum("tij,tij->ti", residual, residual))
        weights = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > TINY)
        gradient = -residual.swapaxes(1, 2) @ (along * weights[:, :, None]) / taken.shape[1]
        noise = std * rng.standard_normal(bases.shape) if std else 0.0
        left, _, right = np.linalg.svd(bases - size * (gradient + noise), full_matrices=False)
        bases = left @ right
    if watch is not None:
        watch(len(sizes), bases)
    return bases


def reap(rows, rank, steps, std, rng, geometry="GD"):
    """Mean of all P of dp-GD-REAP or dp-MD-REAP, from P = (r / D) I.

    Steps are those of Talwar et al. (2014), whom Theorem 8 cites: the diameter over the length of a
    noisy gradient, over sqrt(k).
    """
    tables, n, d = rows.shape
    point = np.broadcast_to(np.eye(d) * rank / d, (tables, d, d))
    mean = np.zeros((tables, d, d))
    reach = np.sqrt(2 * rank) / np.sqrt(1 + std**2 * d * (d + 1) / 2)
    logs = np.log(rank / d) * np.eye(d)
    for k in range(1, steps + 1):
        residual = rows - rows @ point
        lengths = np.sqrt(np.einsum("tij,tij->ti", residual, residual))
        weights = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > TINY)
        half = (residual * weights[:, :, None]).swapaxes(1, 2) @ rows / n
        gradient = -(half + half.swapaxes(1, 2)) / 2
        if std:
            gradient = gradient + symmetric_noise(point.shape, std, rng)
        if geometry == "GD":
            values, vectors = np.linalg.eigh(point - reach / np.sqrt(k) * gradient)
            values = capped(values, rank)
        else:
            logs = logs - reach / np.sqrt(k) * gradient
            values, vectors = np.linalg.eigh(logs)
            values = entropic(values, rank)
        point = (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2)
        mean += (point - mean) / k
    return mean


def capped(values, rank):
    """The nearest numbers in [0, 1] with sum r: values less a shift, which is between two knots."""
    knots = np.sort(np.concatenate([values, values - 1], axis=1), axis=1)
    sums = np.clip(values[:, None, :] - knots[:, :, None], 0, 1).sum(axis=2)  # falling
    after = np.minimum((sums > rank).sum(axis=1), knots.shape[1] - 1)[:, None]
    before = np.maximum(after - 1, 0)
    (low, high), (most, least) = (
        [np.take_along_axis(table, place, axis=1) for place in (before, after)]
        for table in (knots, sums)
    )
    share = np.divide(most - rank, most - least, out=np.zeros_like(most), where=most > least)
    return np.clip(values - (low + share * (high - low)), 0, 1)


def entropic(logs, rank):
    """Exp of a shift of these ascending logarithms, at most 1, with sum r."""
    logs = logs - logs[:, -1:]
    weights, made = np.exp(logs), None
    d = logs.shape[1]
    for full in range(rank):  # so many are kept at 1; the least number that keeps all to 1
        part = weights[:, : d - full]
        scaled = part * ((rank - full) / part.sum(axis=1, keepdims=True))
        scaled = np.concatenate([scaled, np.ones((len(logs), full))], axis=1)
        if made is None:
            made = scaled
        else:
            made = np.where(made.max(axis=1, keepdims=True) > 1, scaled, made)
    return np.minimum(made, 1.0)


def reap_risk(points, rows):
    """G(P): mean length of x - P x, of each table."""
    return np.linalg.norm(rows - rows @ points, axis=2).mean(axis=1)
