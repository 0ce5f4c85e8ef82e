"""The methods as printed (Maunu, Yu & Lerman 2022), for comparison only: none of them is offered.

Kept from print: noise levels, step sizes, sampling with replacement, i.i.d. symmetric noise, the
Wishart start (not charged, and not private), the renormalised trace of mirror descent without its
factor 4, and the output of REAP, the mean of all its P. Corrected, because nothing would run
otherwise: the sign of (2.1), the missing 1/N of (4.1), and the start A^T A of REAP, which is
brought to the feasible set.
"""

import numpy as np

from veilspan.solvers.spectral import leading_eigenvectors
from veilspan.solvers.subspace.reaper import project_capped_simplex

from .common import Watch, checkpoints, error_of
from .costs import noise_std

METHODS = ("GGD", "GD-REAP", "MD-REAP", "SGGD", "SGD-REAP", "SMD-REAP")


def paper_step(method, k):
    """Size of step k = 1, 2, ...: halved every 50 steps for GGD, 8/sqrt(k) for REAP."""
    return 0.5 ** (k // 50) if method.endswith("GGD") else 8 / np.sqrt(k)


def run_printed(
    method, data, *, steps, epsilon, delta, batch, seed, stop=None, start=None, at=None, std=None
):
    """One run; noise is for ``steps`` steps, of which the first ``stop`` are taken.

    What is watched and returned is what the paper outputs: the last iterate of GGD, the mean of all
    iterates of REAP (Algorithms 1 and 2).
    """
    rng = np.random.default_rng([seed, METHODS.index(method)])
    if std is None:
        std = noise_std(method, len(data.rows), steps, epsilon, delta, batch)
    taken = min(steps, stop or steps)
    rank = len(data.subspace)
    watch = Watch(data.subspace, checkpoints(taken) if at is None else at)
    if method.endswith("GGD"):
        point = wishart_start(data.rows, rank, epsilon, rng) if start is None else start
        update = geodesic_update
    else:
        point = reaper_start(data.rows.shape[1], rank, rng)
        update = mirror_update if "MD" in method else gradient_update
    output = point
    for k in range(1, taken + 1):
        watch(output)
        rows = data.rows
        if method.startswith("S"):
            rows = rows[rng.integers(len(rows), size=batch)]
        point = update(point, rows, std, paper_step(method, k), rank, rng)
        output = point if method.endswith("GGD") else output + (point - output) / k
    return watch.curve(error_of(output, data.subspace)), output


def wishart_start(rows, rank, epsilon, rng):
    """Leading eigenvectors of X^T X / N + W, W ~ Wishart_D(D + 1, 3/(2 N epsilon) I)."""
    n, d = rows.shape
    factor = rng.standard_normal((d, d + 1)) * np.sqrt(3 / (2 * n * epsilon))
    return leading_eigenvectors(rows.T @ rows / n + factor @ factor.T, rank)[1].T


def reaper_start(d, rank, rng):
    """A^T A with entries N(1, 0.01), scaled to trace r; the first step brings it to the set."""
    a = 1 + 0.1 * rng.standard_normal((d, d))
    outer = a.T @ a
    return rank / np.trace(outer) * outer


def geodesic_update(basis, rows, std, size, rank, rng):
    """A gradient step with noise in the whole space, brought back by the polar factor."""
    along = rows @ basis
    residual = rows - along @ basis.T
    lengths = np.sqrt(np.einsum("ij,ij->i", residual, residual))
    weights = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 1e-14)
    gradient = -(residual.T @ (along * weights[:, None])) / len(rows)
    moved = basis - size * (gradient + std * rng.standard_normal(basis.shape))
    left, _, right = np.linalg.svd(moved, full_matrices=False)
    return left @ right


def reaper_gradient(point, rows, std, rng):
    residual = rows - rows @ point
    lengths = np.sqrt(np.einsum("ij,ij->i", residual, residual))
    weights = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 1e-14)
    half = (residual * weights[:, None]).T @ rows
    noise = np.triu(rng.standard_normal(point.shape))
    return -(half + half.T) / (2 * len(rows)) + std * (noise + np.triu(noise, 1).T)


def gradient_update(point, rows, std, size, rank, rng):
    """A gradient step, projected to matrices of trace r with eigenvalues in [0, 1]."""
    values, vectors = np.linalg.eigh(point - size * reaper_gradient(point, rows, std, rng))
    return (vectors * project_capped_simplex(values, rank)) @ vectors.T


def mirror_update(point, rows, std, size, rank, rng):
    """Exp(log P - eta G), its trace scaled to r: eigenvalues above 1 stay, as printed."""
    values, vectors = np.linalg.eigh(point)
    logs = (vectors * np.log(np.maximum(values, 1e-300))) @ vectors.T
    values, vectors = np.linalg.eigh(logs - size * reaper_gradient(point, rows, std, rng))
    shares = np.exp(values - values[-1])
    return (vectors * (rank * shares / shares.sum())) @ vectors.T
