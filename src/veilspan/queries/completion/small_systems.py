r"""Many small least-squares systems at once, each solved by itself and none refused.

A user's own fit is a system A u = b with A = sum_j v_j v_j^T + penalty over the items that she
rated. It is singular where she has rated too little, and a batched solver raises for all users if
one system is: whether a fit, or everybody's predictions, fail would tell of one user. So every
system gets a penalty of its own, h = max(1e-11, 2 U (m + r (r + 2) + 8)) tr(A) with U = 2^-53 for m
products and r unknowns, or 1 where there is nothing to solve, and a Cholesky factor.

*It exists.* The exact A is positive semi-definite; sums of m products leave an error of norm at
most (m + 2) U tr(A). So the computed A + h I has eigenvalues of at least (m + 2 r (r + 2)) U tr(A),
and Cholesky's method runs to its end on a matrix whose least eigenvalue is above r (r + 1) U /
(1 - (r + 1) U) times its largest diagonal entry (Higham 2002, Theorem 10.7), which is at most
tr(A) + h.

*It means* next to nothing beside any other penalty. Of the many solutions of a singular system it
picks the shortest, up to the rounding of b over h: about 1e-4 of its length. With b = 0 the answer
is 0.

LAPACK factors one matrix after the other and the rest is elementwise across systems, so the answer
of one is the same bit for bit whatever stands beside it.
"""

from __future__ import annotations

import numpy as np

from veilspan.privacy.grid import UNIT_ROUNDOFF

#: Of the trace: far below any penalty in use, far above what rounding leaves in a product.
LEAST_SHARE = 1e-11
#: Traces below are those of users without ratings, or of squares that have left the range.
NOTHING = 1e-250


def solve_each(left: np.ndarray, right: np.ndarray, terms: int) -> np.ndarray:
    """Solve symmetric positive semi-definite systems, one per row.

    Parameters
    ----------
    left : array of shape (n, r, r)
        Sums of products, A. Changed on the way.
    right : array of shape (n, r)
        b.
    terms : int
        A public bound m on the products in a sum.

    Returns
    -------
    array of shape (n, r)
        u, for every system.
    """
    size = right.shape[1]
    if size == 0:
        return np.zeros(right.shape)
    trace = np.zeros(len(left))
    for j in range(size):
        trace += left[:, j, j]
    share = max(LEAST_SHARE, 2 * UNIT_ROUNDOFF * (terms + size * (size + 2) + 8))
    own = np.where(trace > NOTHING, share * trace, 1.0)
    for j in range(size):
        left[:, j, j] += own
    # Systems last, so that each step runs along memory.
    factor = np.ascontiguousarray(np.moveaxis(np.linalg.cholesky(left), 0, -1))
    u = np.array(right.T, dtype=np.float64, order="C")
    for j in range(size):  # L z = b
        u[j] /= factor[j, j]
        u[j + 1 :] -= factor[j + 1 :, j] * u[j]
    for j in range(size - 1, -1, -1):  # L^T u = z
        u[j] /= factor[j, j]
        u[:j] -= factor[j, :j] * u[j]
    return np.ascontiguousarray(u.T)
