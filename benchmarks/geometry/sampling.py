"""Time one tangent Gaussian at the sizes of Figure 1, by us and by the paper's methods."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
from cases import BUILD, SAMPLER_SIZES
from timing import interleaved

sys.path.append(str(Path(__file__).resolve().parents[2]))  # where the experiments lie
from experiments.riemannian.paper_samplers import METHODS

#: Bases of more entries than this are not built: at Stiefel(1000, 20) they would take 3 GB.
LARGEST_BASIS = 30_000_000
BASE_POINTS = 5


def affordable(case, sizes, method, quick):
    entries = np.prod(BUILD[case](*sizes).point_shape) * BUILD[case](*sizes).dim
    if method == "sparse" and case != "poincare":
        entries /= sizes[1]
    if method == "gram-schmidt" and quick:
        return entries < 2_000_000
    return method == "transport" or entries < LARGEST_BASIS


def sampler_times(quick=False):
    """{(case, sizes): {method: seconds per draw}}, averaged over random base points."""
    rng = np.random.default_rng(0)
    results = {}
    for case, many in SAMPLER_SIZES.items():
        for sizes in many:
            manifold = BUILD[case](*sizes)
            methods = {k: f for k, f in METHODS[case].items() if affordable(case, sizes, k, quick)}
            total = {}
            for i in range(2 if quick else BASE_POINTS):
                w = manifold.random_point(rng)
                calls = {
                    "veilspan": partial(manifold.random_tangent, w, 1.0, rng),
                    "normals": partial(rng.standard_normal, manifold.dim),  # none can do without
                }
                for k, f in methods.items():
                    if k == "transport" or i == 0:  # the slow ones do not depend on the point
                        calls[k] = partial(f, w, rng)
                for k, t in interleaved(
                    calls, *((0.02, 5, 0.1) if quick else (0.08, 9, 1.5))
                ).items():
                    total.setdefault(k, []).append(t)
            results[case, sizes] = {k: float(np.mean(v)) for k, v in total.items()}
    return results
