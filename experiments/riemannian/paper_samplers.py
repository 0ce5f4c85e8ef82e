"""The ways to draw a tangent Gaussian that the paper compares, one vector at a time.

Utpala, Han, Jawanpuria, Mishra (2023), section 6.1. Each function is ``(w, rng) -> vector``, with
the paper's formulas corrected where they are misprinted. `transport_*` is the paper's proposal: a
Gaussian at a reference point, carried to w by a linear isometry. `explicit_*` builds a whole
orthonormal basis, `sparse_*` does so with sparse matrices, `gram_schmidt_*` orthonormalises a
Euclidean basis in the metric.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack


def symmetric_normal(m, rng):
    """m(m+1)/2 normals as a symmetric matrix: diagonal variance 1, elsewhere 1/2."""
    i, j = np.triu_indices(m, 1)
    a = np.zeros((m, m))
    a[i, j] = rng.standard_normal(len(i)) / np.sqrt(2)
    a += a.T
    a[np.diag_indices(m)] = rng.standard_normal(m)
    return a


# ------------------------------------------------------------------ transport


def transport_affine(w, rng):
    lam, p = np.linalg.eigh(w)
    root = (p * np.sqrt(lam)) @ p.T
    return root @ symmetric_normal(len(w), rng) @ root


def transport_bures(w, rng):
    lam, p = np.linalg.eigh(w)
    kernel = np.sqrt((lam[:, None] + lam[None, :]) / 2)
    return p @ (kernel * (p.T @ (2 * symmetric_normal(len(w), rng)) @ p)) @ p.T


def log_kernel(lam):
    log = np.log(lam)
    half = (log[:, None] - log[None, :]) / 2
    mean = np.exp((log[:, None] + log[None, :]) / 2)
    small = np.abs(half) < 1e-8
    return mean * np.where(small, 1.0, np.sinh(half) / np.where(small, 1.0, half))


def transport_log(w, rng):
    lam, p = np.linalg.eigh(w)
    return p @ (log_kernel(lam) * (p.T @ symmetric_normal(len(w), rng) @ p)) @ p.T


def mobius_add(x, y):
    xy, xx, yy = x @ y, x @ x, y @ y
    return ((1 + 2 * xy + yy) * x + (1 - xx) * y) / (1 + 2 * xy + xx * yy)


def transport_poincare(w, rng):
    a, o = rng.standard_normal(w.shape) / 2, np.zeros_like(w)
    turned = mobius_add(-mobius_add(w, o), mobius_add(w, mobius_add(o, a)))
    return (1 - w @ w) * turned


def transport_lorentz(w, rng):
    u = np.concatenate([[0.0], rng.standard_normal(len(w) - 1)])
    apex = np.zeros_like(w)
    apex[0] = 1
    return u + (w[1:] @ u[1:]) / (1 + w[0]) * (apex + w)


def transport_sphere(w, rng):
    u = np.concatenate([[0.0], rng.standard_normal(len(w) - 1)])
    pole = np.zeros_like(w)
    pole[0] = 1
    return u - (w[1:] @ u[1:]) / (1 + w[0]) * (pole + w)


def apply_frame(w, a):
    """[W, W_perp] a by Householder reflections (Huang, Absil and Gallivan 2017)."""
    r = w.shape[1]
    qr, tau, _, _ = lapack.dgeqrf(w)
    a[:r] *= np.diagonal(qr)[:r, None]
    return lapack.dormqr("L", "N", qr, tau, a, 64 * r, overwrite_c=1)[0]


def transport_stiefel(w, rng):
    m, r = w.shape
    a = np.zeros((m, r), order="F")
    i, j = np.triu_indices(r, 1)
    a[i, j] = rng.standard_normal(len(i)) / np.sqrt(2)
    a[:r] -= a[:r].T.copy()
    a[r:] = rng.standard_normal((m - r, r))
    return apply_frame(w, a)


def transport_grassmann(w, rng):
    m, r = w.shape
    a = np.zeros((m, r), order="F")
    a[r:] = rng.standard_normal((m - r, r))
    return apply_frame(w, a)


# ------------------------------------------------------------------ explicit bases


def symmetric_units(m, normalised=True):
    i, j = np.triu_indices(m)
    b = np.zeros((len(i), m, m))
    rows = np.arange(len(i))
    b[rows, i, j] = b[rows, j, i] = 1
    if normalised:
        b[i != j] /= np.sqrt(2)
    return b


def combine(basis, rng):
    return np.tensordot(rng.standard_normal(len(basis)), basis, 1)


def explicit_affine(w, rng):
    lam, p = np.linalg.eigh(w)
    root = (p * np.sqrt(lam)) @ p.T
    return combine(root @ symmetric_units(len(w)) @ root, rng)


def explicit_bures(w, rng):
    lam, p = np.linalg.eigh(w)
    kernel = 2 * np.sqrt((lam[:, None] + lam[None, :]) / 2)
    return combine(p @ (kernel * (p.T @ symmetric_units(len(w)) @ p)) @ p.T, rng)


def explicit_log(w, rng):
    lam, p = np.linalg.eigh(w)
    return combine(p @ (log_kernel(lam) * (p.T @ symmetric_units(len(w)) @ p)) @ p.T, rng)


def explicit_poincare(w, rng):
    return combine(np.eye(len(w)) * ((1 - w @ w) / 2), rng)


def explicit_lorentz(w, rng):
    basis = np.eye(len(w))[1:]
    basis[:, 0] += w[1:]
    basis[:, 1:] += np.outer(w[1:], w[1:]) / (1 + w[0])
    return combine(basis, rng)


def explicit_sphere(w, rng):
    basis = np.eye(len(w))[1:]
    basis[:, 0] -= w[1:]
    basis[:, 1:] -= np.outer(w[1:], w[1:]) / (1 + w[0])
    return combine(basis, rng)


def complement(w):
    return np.linalg.qr(w, mode="complete")[0][:, w.shape[1] :]


def explicit_grassmann(w, rng):
    perp, r = complement(w), w.shape[1]
    basis = np.einsum("mi,jk->ijmk", perp, np.eye(r)).reshape(-1, *w.shape)
    return combine(basis, rng)


def skew_units(r):
    i, j = np.triu_indices(r, 1)
    b = np.zeros((len(i), r, r))
    rows = np.arange(len(i))
    b[rows, i, j], b[rows, j, i] = 1 / np.sqrt(2), -1 / np.sqrt(2)
    return b


def explicit_stiefel(w, rng):
    perp, r = complement(w), w.shape[1]
    outer = np.einsum("mi,jk->ijmk", perp, np.eye(r)).reshape(-1, *w.shape)
    return combine(np.concatenate([w @ skew_units(r), outer]), rng)


# ------------------------------------------------------------------ sparse bases


def sparse_poincare(w, rng):
    basis = sp.identity(len(w), format="csr") * ((1 - w @ w) / 2)
    return basis @ rng.standard_normal(len(w))


def sparse_columns(w):
    """Basis W_perp e_i e_j^T as the columns of a block-diagonal matrix."""
    return sp.block_diag([complement(w)] * w.shape[1], format="csr")


def sparse_grassmann(w, rng):
    basis = sparse_columns(w)
    return (basis @ rng.standard_normal(basis.shape[1])).reshape(w.shape[::-1]).T


def sparse_stiefel(w, rng):
    m, r = w.shape
    basis = sparse_columns(w)
    flat = sp.csr_matrix(skew_units(r).transpose(0, 2, 1).reshape(-1, r * r))
    inside = (flat.T @ rng.standard_normal(flat.shape[0])).reshape(r, r).T
    outside = (basis @ rng.standard_normal(basis.shape[1])).reshape(r, m).T
    return w @ inside + outside


# ------------------------------------------------------------------ Gram-Schmidt


def gram_schmidt(basis, lower_index, rng):
    """Modified Gram-Schmidt; `lower_index(v)` is the array G v with <u, v> = sum(u * G v)."""
    flat = basis.reshape(len(basis), -1)
    for i in range(len(flat)):
        flat[i] /= np.sqrt(flat[i] @ lower_index(basis[i]).ravel())
        if i + 1 < len(flat):
            c = flat[i + 1 :] @ lower_index(basis[i]).ravel()
            flat[i + 1 :] -= np.outer(c, flat[i])
    return combine(basis, rng)


def gram_schmidt_affine(w, rng):
    inverse = np.linalg.inv(w)
    return gram_schmidt(symmetric_units(len(w)), lambda v: inverse @ v @ inverse, rng)


def gram_schmidt_bures(w, rng):
    lam, p = np.linalg.eigh(w)
    sums = 2 * (lam[:, None] + lam[None, :])
    return gram_schmidt(symmetric_units(len(w)), lambda v: p @ ((p.T @ v @ p) / sums) @ p.T, rng)


def gram_schmidt_log(w, rng):
    lam, p = np.linalg.eigh(w)
    kernel = log_kernel(lam) ** 2
    return gram_schmidt(symmetric_units(len(w)), lambda v: p @ ((p.T @ v @ p) / kernel) @ p.T, rng)


def gram_schmidt_lorentz(w, rng):
    normal = w.copy()
    normal[0] *= -1
    normal /= np.linalg.norm(normal)
    normal[0] -= 1  # reflection that takes e_1 to -+ the normal: its other rows are a basis
    basis = (np.eye(len(w)) - np.outer(normal, normal) * (2 / (normal @ normal)))[1:]

    def lower(v):
        out = v.copy()
        out[0] *= -1
        return out

    return gram_schmidt(basis, lower, rng)


#: Our case name: the paper's methods for it.
METHODS = {
    "spd-affine": {
        "transport": transport_affine,
        "explicit": explicit_affine,
        "gram-schmidt": gram_schmidt_affine,
    },
    "spd-bures": {
        "transport": transport_bures,
        "explicit": explicit_bures,
        "gram-schmidt": gram_schmidt_bures,
    },
    "spd-log": {
        "transport": transport_log,
        "explicit": explicit_log,
        "gram-schmidt": gram_schmidt_log,
    },
    "poincare": {
        "transport": transport_poincare,
        "explicit": explicit_poincare,
        "sparse": sparse_poincare,
    },
    "lorentz": {
        "transport": transport_lorentz,
        "explicit": explicit_lorentz,
        "gram-schmidt": gram_schmidt_lorentz,
    },
    "sphere": {"transport": transport_sphere, "explicit": explicit_sphere},
    "stiefel": {
        "transport": transport_stiefel,
        "explicit": explicit_stiefel,
        "sparse": sparse_stiefel,
    },
    "grassmann": {
        "transport": transport_grassmann,
        "explicit": explicit_grassmann,
        "sparse": sparse_grassmann,
    },
}
