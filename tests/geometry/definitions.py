"""Metrics and tangent spaces straight from their definitions, sharing no code with the package."""

import functools

import numpy as np
from scipy.linalg import expm_frechet, solve_continuous_lyapunov


def inner_affine(w, u, v):
    return np.trace(np.linalg.solve(w, u) @ np.linalg.solve(w, v))


def inner_bures(w, u, v):
    return np.trace(solve_continuous_lyapunov(w, u) @ v) / 2


@functools.cache
def _dexp_inverse(entries, n):
    """Inverse of D exp at log W, as a matrix, from scipy alone."""
    w = np.array(entries).reshape(n, n)
    lam, p = np.linalg.eigh(w)
    log_w = (p * np.log(lam)) @ p.T
    units = np.eye(w.size).reshape(-1, n, n)
    columns = [expm_frechet(log_w, e, compute_expm=False).ravel() for e in units]
    return np.linalg.inv(np.array(columns).T)


def dlog(w, u):
    return (_dexp_inverse(tuple(w.ravel()), len(w)) @ u.ravel()).reshape(w.shape)


def inner_log(w, u, v):
    return np.trace(dlog(w, u) @ dlog(w, v))


def inner_ball(w, u, v):
    return 4 * (u @ v) / (1 - w @ w) ** 2


def inner_minkowski(w, u, v):
    return u @ v - 2 * u[0] * v[0]


def inner_flat(w, u, v):
    return np.sum(u * v)


def inner_canonical(w, u, v):
    return np.trace(u.T @ (v - w @ (w.T @ v) / 2))


def sym(a):
    return (a + a.T) / 2


#: name: (metric, linear function whose kernel is the tangent space at w)
DEFINITIONS = {
    "euclidean": (inner_flat, lambda w, u: np.zeros(1)),
    "sphere": (inner_flat, lambda w, u: w @ u),
    "stiefel": (inner_flat, lambda w, u: sym(w.T @ u)),
    "stiefel-canonical": (inner_canonical, lambda w, u: sym(w.T @ u)),
    "grassmann": (inner_flat, lambda w, u: w.T @ u),
    "spd-affine": (inner_affine, lambda w, u: u - u.T),
    "spd-bures": (inner_bures, lambda w, u: u - u.T),
    "spd-log": (inner_log, lambda w, u: u - u.T),
    "poincare": (inner_ball, lambda w, u: np.zeros(1)),
    "lorentz": (inner_minkowski, lambda w, u: inner_minkowski(w, w, u)),
}


def orthonormal_basis(name, w):
    """Basis of the tangent space at w, orthonormal in the metric, by SVD and Cholesky."""
    inner, constraint = DEFINITIONS[name]
    units = np.eye(w.size).reshape(-1, *w.shape)
    rows = np.stack([np.ravel(constraint(w, e)) for e in units], axis=1)
    _, s, vt = np.linalg.svd(rows)
    span = vt[int(np.sum(s > 1e-10)) :].reshape(-1, *w.shape)
    if not len(span):
        return span
    gram = np.array([[inner(w, a, b) for b in span] for a in span])
    return np.tensordot(np.linalg.inv(np.linalg.cholesky(gram)), span, 1)
