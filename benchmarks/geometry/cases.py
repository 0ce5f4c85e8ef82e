"""Which manifolds at which sizes, and the points and vectors that everybody gets."""

import numpy as np

from veilspan.geometry import SPD, Grassmann, Lorentz, PoincareBall, Sphere, Stiefel

BUILD = {
    "spd-affine": lambda n: SPD(n),
    "spd-bures": lambda n: SPD(n, metric="bures-wasserstein"),
    "spd-log": lambda n: SPD(n, metric="log-euclidean"),
    "poincare": PoincareBall,
    "lorentz": Lorentz,
    "sphere": Sphere,
    "stiefel": Stiefel,
    "stiefel-canonical": lambda n, p: Stiefel(n, p, metric="canonical"),
    "grassmann": Grassmann,
}

_SPD = [(5,), (10,), (20,), (30,), (50,)]
_VECTORS = [(250,), (500,), (1000,), (1500,), (2000,)]
_FRAMES = [(m, r) for r in (10, 20) for m in (100, 250, 500, 750, 1000)]

#: The sizes of Figure 1.
SAMPLER_SIZES = {
    "spd-affine": _SPD,
    "spd-bures": _SPD,
    "spd-log": _SPD,
    "poincare": _VECTORS,
    "lorentz": _VECTORS,
    "sphere": _VECTORS,
    "stiefel": _FRAMES,
    "grassmann": _FRAMES,
}

OPERATION_SIZES = {
    "spd-affine": [(11,), (50,)],
    "spd-bures": [(11,), (50,)],
    "spd-log": [(11,), (50,)],
    "sphere": [(784,)],
    "stiefel": [(500, 10)],
    "stiefel-canonical": [(500, 10)],
    "grassmann": [(500, 10)],
    "poincare": [(500,)],
    "lorentz": [(500,)],
}


def inputs(manifold, batch, seed=0):
    """One base point, and `batch` points near it with vectors (no leading axis for batch 0)."""
    rng = np.random.default_rng(seed)
    x = manifold.random_point(rng)
    scale = 0.1 / np.sqrt(manifold.dim)
    size = batch or None
    y = manifold.retract(x, manifold.random_tangent(x, 3 * scale, rng, size=size))
    return {"x": x, "y": y, "u": manifold.random_tangent(x, scale, rng, size=size)}
