"""Other libraries' manifolds behind our vocabulary. Runs in the oracle environment only.

``PEERS[case][library](sizes)`` is a dictionary of functions in our argument order; what a library
lacks, or does differently (projections called transports), is left out.
"""

import numpy as np
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.poincare_ball import PoincareBall as GeomstatsBall
from geomstats.geometry.spd_matrices import (
    SPDAffineMetric,
    SPDBuresWassersteinMetric,
    SPDLogEuclideanMetric,
    SPDMatrices,
)
from geomstats.geometry.stiefel import Stiefel as GeomstatsStiefel
from pymanopt import manifolds as pm
from pyriemann.geometry import distance as rd
from pyriemann.geometry import tangentspace as rt


def of_geomstats(space):
    metric = space.metric
    return {
        "inner": lambda x, u, v: metric.inner_product(u, v, x),
        "dist": metric.dist,
        "exp": lambda x, u: metric.exp(u, x),
        "log": lambda x, y: metric.log(y, x),
        "transport": lambda x, y, u: metric.parallel_transport(u, x, end_point=y),
        "random_tangent": lambda x: space.random_tangent_vec(x),
    }


def of_pymanopt(manifold):
    return {
        "inner": manifold.inner_product,
        "dist": manifold.dist,
        "exp": manifold.exp,
        "log": manifold.log,
        "retract": manifold.retraction,
        "egrad2rgrad": manifold.euclidean_to_riemannian_gradient,
        "random_tangent": manifold.random_tangent_vector,
    }


def without(functions, *names):
    return {k: f for k, f in functions.items() if k not in names}


def geomstats_spd(metric):
    def build(n):
        space = SPDMatrices(n, equip=False)
        space.equip_with_metric(metric)
        return of_geomstats(space)

    return build


def geomstats_bures(n):
    # Its transport integrates an equation for the true parallel transport: another map than ours.
    return without(geomstats_spd(SPDBuresWassersteinMetric)(n), "transport")


def riemann_affine(n):
    return {
        "exp": lambda x, u: rt.exp_map_riemann(u, x, Cm12=True),
        "log": lambda x, y: rt.log_map_riemann(y, x, C12=True),
        "dist": lambda x, y: rd.distance_riemann(y, x),
        "transport": lambda x, y, u: rt.transport_riemann(u, x, y),
    }


def riemann_bures(n):
    return {
        "exp": lambda x, u: rt.exp_map_wasserstein(u, x),
        "log": lambda x, y: rt.log_map_wasserstein(y, x),
        "dist": lambda x, y: rd.distance_wasserstein(y, x),
    }


def riemann_log_euclidean(n):
    return {
        "exp": lambda x, u: rt.exp_map_logeuclid(u, x),
        "log": lambda x, y: rt.log_map_logeuclid(y, x),
        "dist": lambda x, y: rd.distance_logeuclid(y, x),
        "transport": lambda x, y, u: rt.transport_logeuclid(u, x, y),
    }


def geomstats_grassmann(n, p):
    """Projectors, with a metric twice ours; vectors are handed over as U X^T + X U^T."""
    space = Grassmannian(n, p)
    metric = space.metric

    def point(x):
        return x @ np.swapaxes(x, -1, -2)

    def lift(x, u):
        half = u @ np.swapaxes(x, -1, -2)
        return half + np.swapaxes(half, -1, -2)

    return {
        "inner": lambda x, u, v: metric.inner_product(lift(x, u), lift(x, v), point(x)) / 2,
        "dist": lambda x, y: metric.dist(point(x), point(y)) / np.sqrt(2),
        "exp": lambda x, u: metric.exp(lift(x, u), point(x)),
        "log": lambda x, y: metric.log(point(y), point(x)),
        "transport": lambda x, y, u: metric.parallel_transport(
            lift(x, u), point(x), end_point=point(y)
        ),
        "random_tangent": lambda x: space.random_tangent_vec(point(x)),
    }


def geomstats_stiefel(n, p):
    # Its log iterates, and its inner product is of the canonical metric.
    return without(of_geomstats(GeomstatsStiefel(n, p)), "log", "dist", "transport")


def pymanopt_stiefel(n, p):
    manifold = pm.Stiefel(n, p)  # retracts by QR, which is of first order; transports as we do
    functions = without(of_pymanopt(manifold), "log", "dist", "retract")
    return {**functions, "transport": manifold.transport}


def pymanopt_grassmann(n, p):
    return without(of_pymanopt(pm.Grassmann(n, p)), "retract")


PEERS = {
    "spd-affine": {
        "geomstats": geomstats_spd(SPDAffineMetric),
        "pymanopt": lambda n: of_pymanopt(pm.SymmetricPositiveDefinite(n)),
        "pyriemann": riemann_affine,
    },
    "spd-bures": {"geomstats": geomstats_bures, "pyriemann": riemann_bures},
    "spd-log": {
        "geomstats": geomstats_spd(SPDLogEuclideanMetric),
        "pyriemann": riemann_log_euclidean,
    },
    "sphere": {
        "geomstats": lambda n: of_geomstats(Hypersphere(n - 1)),
        "pymanopt": lambda n: of_pymanopt(pm.Sphere(n)),
    },
    "stiefel": {"pymanopt": pymanopt_stiefel},
    "stiefel-canonical": {"geomstats": geomstats_stiefel},
    "grassmann": {"geomstats": geomstats_grassmann, "pymanopt": pymanopt_grassmann},
    "poincare": {
        "geomstats": lambda n: without(of_geomstats(GeomstatsBall(n)), "transport"),
        "pymanopt": lambda n: without(of_pymanopt(pm.PoincareBall(n)), "retract"),
    },
    "lorentz": {"geomstats": lambda n: of_geomstats(Hyperboloid(n - 1))},
}
