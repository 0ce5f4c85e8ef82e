"""Small batched linear algebra: matrices live in the last two axes, vectors in the last."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: An array of float64; numpy types linear algebra too loosely to say so to a checker.
FloatArray = NDArray[Any]

#: Entries of a block of matrices: half a megabyte, so that a block and its powers stay in the
#: cache. It decides speed only: every matrix gets the same bits in any block.
_BLOCK = 2**16
#: Below this size one LAPACK call beats a chain of small products, unless there is a batch of them.
#: Either way is as accurate; the size was chosen for speed.
_SMALL = 20
#: Entries that einsum adds up in one go; numpy's buffer holds 8192, and half of it is safe.
_WIDE = 4096


def transpose(a: FloatArray) -> FloatArray:
    """Return a view with the last two axes exchanged, so a stack is transposed matrix by matrix."""
    return a.swapaxes(-1, -2)


def sym(a: FloatArray) -> FloatArray:
    """Return (A + A^T) / 2, the nearest symmetric matrix; exactly symmetric, bit for bit."""
    out: FloatArray = a + a.swapaxes(-1, -2)
    out *= 0.5
    return out


def skew(a: FloatArray) -> FloatArray:
    """Return (A - A^T) / 2, the nearest skew-symmetric matrix; its diagonal is exactly 0."""
    out: FloatArray = a - a.swapaxes(-1, -2)
    out *= 0.5
    return out


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """Inner product of vectors, ready to multiply vectors: the last axis is kept (or a scalar).

    A vector of a stack gets the same bits whatever the others are. BLAS, 2-3 times faster on a
    stack, would round by a vector's place in it, and maps of rows must not.
    """
    if a.ndim == 1 and b.ndim == 1:
        return b @ a
    a, b = _vectors_in_order(a), _vectors_in_order(b)
    if a.shape[-1] <= _WIDE:
        return np.einsum("...i,...i->...", a, b)[..., None]
    # Beyond its buffer einsum adds up in another order where there is one row only.
    cuts = range(0, a.shape[-1], _WIDE)
    parts = ((a[..., i : i + _WIDE], b[..., i : i + _WIDE]) for i in cuts)
    sums = (np.einsum("...i,...i->...", *part) for part in parts)
    return functools.reduce(np.add, sums)[..., None]


def _vectors_in_order(a: FloatArray) -> FloatArray:
    """Return the stack with the entries of each vector side by side in memory.

    einsum adds along the shortest stride; another layout would be summed in another order.
    """
    return a if a.strides[-1] == a.itemsize else np.ascontiguousarray(a)


def drop(a: FloatArray) -> FloatArray:
    """Remove the last axis, which `dot` kept for multiplying; a scalar stays as it is."""
    return a[..., 0] if np.ndim(a) else a


def frobenius(a: FloatArray, b: FloatArray) -> FloatArray:
    """Inner product of matrices, tr(A^T B)."""
    if a.ndim == 2 and b.ndim == 2:
        return np.vdot(a, b)  # type: ignore[return-value]
    size = a.shape[-2] * a.shape[-1]  # in numbers: a stack may be empty
    return drop(dot(*(m.reshape((*m.shape[:-2], size)) for m in (a, b))))


def scale_columns(a: FloatArray, s: FloatArray) -> FloatArray:
    """Return A diag(s): column j times s_j, without forming the diagonal matrix."""
    return a * s[..., None, :]


def gram(m: FloatArray) -> FloatArray:
    """M M^T, exactly symmetric: NumPy computes one triangle (BLAS's syrk), also in a batch."""
    return m @ m.swapaxes(-1, -2)


def polish(y: FloatArray) -> FloatArray:
    """One Newton-Schulz step towards the nearest matrix with orthonormal columns.

    Squares an orthonormality error that is already small, so that it does not add up over
    thousands of steps.
    """
    g = y.swapaxes(-1, -2) @ y
    g *= -0.5
    diagonal = np.einsum("...ii->...i", g)
    diagonal += 1.5
    return y @ g


@functools.cache
def _lapack() -> Any:
    from scipy.linalg import lapack  # late: importing the package should not import scipy

    return lapack


def cholesky(x: FloatArray) -> FloatArray:
    """Lower Cholesky factors; numpy's LinAlgError where there is none.

    One matrix goes to LAPACK directly, a quarter of the time of numpy's wrapper at n = 11.
    """
    if x.ndim > 2:
        return np.linalg.cholesky(x)
    # x is symmetric, so its transpose is the same matrix in the column order that LAPACK wants.
    low, info = _lapack().dpotrf(x.T, lower=1, clean=1)
    if info:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return low


def inverse_lower(low: FloatArray) -> FloatArray:
    """Inverse of lower triangular matrices with a positive diagonal.

    LAPACK's triangular inverse takes one matrix only, so a stack goes through the general one.
    """
    if low.ndim > 2:
        return np.linalg.inv(low)
    return _lapack().dtrtri(low, lower=1)[0]


def inverse_root(g: FloatArray) -> FloatArray:
    """G^(-1/2) of a symmetric positive definite G."""
    lam, p = np.linalg.eigh(g)
    return scale_columns(p, 1 / np.sqrt(lam)) @ transpose(p)


#: Coefficients 1/k! of the exponential series up to the degree that `_expm` needs.
_TAYLOR = np.array([1 / math.factorial(k) for k in range(17)])


def expm(a: FloatArray) -> FloatArray:
    """Matrix exponential; large batches in blocks that stay in the cache."""
    if a.size <= _BLOCK or a.ndim == 2:
        return _expm(a)
    n = a.shape[-1]
    flat, step = a.reshape(-1, n, n), max(1, _BLOCK // (n * n))
    out = np.empty_like(flat)
    for i in range(0, len(flat), step):
        out[i : i + step] = _expm(flat[i : i + step])
    return out.reshape(a.shape)


def _expm(a: FloatArray) -> FloatArray:
    """Scaling, a Taylor polynomial of degree 16, and squaring.

    The polynomial is evaluated in powers of A^4 (Paterson and Stockmeyer): six products. On
    matrices of 1-norm at most 3/4 its truncation error is below 2e-17. Each matrix is halved and
    squared as often as its own norm asks for, so that it gets the same bits in any batch.
    """
    halvings = _halvings(np.abs(a).sum(axis=-2).max(axis=-1, initial=0.0))
    a = np.ldexp(a, -halvings[..., None, None])
    a2 = a @ a
    a3 = a2 @ a
    a4 = a2 @ a2
    out = _TAYLOR[16] * a4
    for k in (12, 8, 4, 0):
        out += _TAYLOR[k + 3] * a3
        out += _TAYLOR[k + 2] * a2
        out += _TAYLOR[k + 1] * a
        diagonal = np.einsum("...ii->...i", out)
        diagonal += _TAYLOR[k]
        if k:
            out = out @ a4
    for done in range(int(halvings.max(initial=0))):
        again = halvings > done
        if again.all():
            out = out @ out
        else:
            part = out[again]
            out[again] = part @ part
    return out


def _halvings(one_norms: FloatArray) -> FloatArray:
    """How often each matrix is halved to bring its 1-norm to at most 3/4; exact for any norm."""
    mantissa, exponent = np.frexp(one_norms / 0.75)
    # |m| 2^e <= 1 needs e halvings, one fewer for an exact power of two; never for what is not
    # finite, which no number of halvings mends.
    needed = np.where(np.isfinite(one_norms), exponent - (mantissa == 0.5), 0)
    return np.maximum(needed, 0)


def expm_sym(a: FloatArray) -> FloatArray:
    """Matrix exponential of symmetric matrices.

    Products beat eigenvectors for large matrices and for batches (2-3 times); both are accurate
    relative to the norm of the result.
    """
    if a.ndim > 2 or a.shape[-1] >= _SMALL:
        return expm(a)
    lam, p = np.linalg.eigh(a)
    return scale_columns(p, np.exp(lam)) @ p.T
