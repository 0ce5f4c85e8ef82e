"""How exactly float64 knows the part of a row outside of a public subspace."""

from __future__ import annotations

import math


def residual_roundings(n_features: int, rank: int) -> float:
    r"""Roundings in a computed residual z = x - V (V^T x), in units of 2^-53 |x|.

    Let V be a D x r basis with orthonormal columns, x a row, u = 2^-53. Whatever the order of
    adding up, a computed inner product of length k errs by at most k u / (1 - k u) times the sum
    of the products' absolute values (Higham 2002, eq. 3.5). So

    * w = V^T x errs by at most D u | |V|^T |x| | <= D u sqrt(r) |x|, since |V| has the Frobenius
      norm sqrt(r);
    * V w errs by at most r u sqrt(r) |w| for its own products and as much as w does for w's error;
    * the subtraction errs by u |z|.

    Together sqrt(r) (D + r + 1) u |x|. The 2 in place of 1 covers the terms of second order and a
    basis that is orthonormal to rounding only, for D + r up to 2^25.
    """
    return math.sqrt(rank) * (n_features + rank + 2.0)
