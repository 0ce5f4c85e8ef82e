"""Every manifold and metric, once: the table that the tests of geometry run over."""

import numpy as np

from veilspan.geometry import (
    SPD,
    Euclidean,
    Grassmann,
    Lorentz,
    PoincareBall,
    Product,
    Sphere,
    Stiefel,
)

#: name: (n, p) -> manifold, for 2 <= n and 1 <= p <= n.
FAMILIES = {
    "euclidean": lambda n, p: Euclidean(n, p),
    "sphere": lambda n, p: Sphere(n),
    "stiefel": lambda n, p: Stiefel(n, p),
    "stiefel-canonical": lambda n, p: Stiefel(n, p, metric="canonical"),
    "grassmann": lambda n, p: Grassmann(n, p),
    "spd-affine": lambda n, p: SPD(n, metric="affine-invariant"),
    "spd-bures": lambda n, p: SPD(n, metric="bures-wasserstein"),
    "spd-log": lambda n, p: SPD(n, metric="log-euclidean"),
    "poincare": lambda n, p: PoincareBall(n),
    "lorentz": lambda n, p: Lorentz(n),
    "product": lambda n, p: Product(Sphere(n), SPD(2), Stiefel(n, p), Euclidean(p)),
    "product-parallel": lambda n, p: Product(Lorentz(n), Grassmann(n, p), PoincareBall(2)),
}

#: One small instance of each.
SMALL = {name: build(4, 2) for name, build in FAMILIES.items()}
WITH_LOG = {k: m for k, m in SMALL.items() if k not in ("stiefel", "stiefel-canonical", "product")}


def rng(seed=0):
    return np.random.default_rng(seed)


def tangent(m, x, seed, length=0.1):
    """Tangent vectors of a given metric length."""
    u = m.random_tangent(x, 1.0, rng(seed))
    norm = m.norm(x, u)
    return u * (length / norm).reshape(norm.shape + (1,) * len(m.point_shape))
