"""Kinds of tables that a robust subspace has to survive: clean ones, outliers, clusters, offsets.

Every kind is a function of a generator and the number of rows; it returns the true subspace
(orthonormal rows) and the table. Inliers have length about 1 and lie near a plane of 20 columns.
"""

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np

D, RANK = 20, 2
NOISE = 0.05  # length of an inlier's distance to the subspace, over its own
SHARE = 0.3  # of outliers, unless a kind says otherwise


def plane(rng):
    """A random subspace, as orthonormal rows."""
    return np.linalg.qr(rng.standard_normal((D, RANK)))[0].T


def near(rng, basis, n, noise=NOISE):
    """Rows near a subspace, spread evenly in it."""
    inside = rng.standard_normal((n, RANK)) / np.sqrt(RANK)
    return inside @ basis + noise * rng.standard_normal((n, D)) / np.sqrt(D)


def towards(rng, length):
    """A vector of this length in a random direction."""
    vector = rng.standard_normal(D)
    return length * vector / np.linalg.norm(vector)


def clean(rng, n):
    basis = plane(rng)
    return basis, near(rng, basis, n)


def isotropic(rng, n, inliers=1.0, outliers=3.0):
    """Outliers in all directions, ``outliers`` in each column."""
    basis, x = clean(rng, n)
    x *= inliers
    k = int(SHARE * n)
    x[:k] = outliers * rng.standard_normal((k, D))
    return basis, x


def other_plane(rng, n):
    basis, x = clean(rng, n)
    k = int(SHARE * n)
    x[:k] = 2 * rng.standard_normal((k, RANK)) @ plane(rng)
    x[:k] += 0.05 * rng.standard_normal((k, D))
    return basis, x


def cluster(rng, n, share, offset=0.0, length=20.0, spread=0.1):
    """One cluster, and inliers about a centre that is ``offset`` away from the origin."""
    basis, x = clean(rng, n)
    if offset:
        x += towards(rng, offset)
    k = int(share * n)
    x[:k] = towards(rng, length) + spread * rng.standard_normal((k, D))
    return basis, x


def corrupted(rng, n):
    basis, x = clean(rng, n)
    hit = rng.random(x.shape) < 0.1
    x[hit] += 5 * rng.standard_normal(hit.sum())
    return basis, x


def heavy_tails(rng, n):
    basis, x = clean(rng, n)
    x *= rng.standard_t(2, size=(n, 1))
    return basis, x + 0.05 * rng.standard_t(2, size=x.shape) / np.sqrt(D)


def copies_of_an_inlier(rng, n):
    basis, x = clean(rng, n)
    k = int(SHARE * n)
    x[:k] = x[k] + 1e-3 * rng.standard_normal((k, D))
    return basis, x


def offset(rng, n, length, outliers=0.0):
    """A subspace that does not pass through the origin, and isotropic outliers."""
    basis, x = clean(rng, n)
    x += towards(rng, length)
    k = int(outliers * n)
    x[:k] = 3 * rng.standard_normal((k, D))
    return basis, x


def column_scales(rng, n):
    scales = 10.0 ** rng.uniform(-2, 2, D)
    basis, x = clean(rng, n)
    return np.linalg.qr((basis * scales).T)[0].T, x * scales


def scaled_covariance(rng):
    """Covariance of the rows of ``column_scales``, of the same generator."""
    scales = 10.0 ** rng.uniform(-2, 2, D)
    basis = plane(rng)
    inside = basis.T @ basis / RANK + NOISE**2 / D * np.eye(D)
    return scales[:, None] * inside * scales


def nearest_eigenvectors(covariance, basis, distance):
    r"""Least distance of a subspace to one that is spanned by eigenvectors of a covariance.

    What no method that treats all directions alike is below, with any number of rows. Let F be the
    subspace that it finds in Gaussian rows of covariance S as their number grows. It turns with the
    rows, F(Q S Q^T) = Q F(S) for every orthogonal Q. A reflection Q = I - 2 v v^T in an eigenvector
    v leaves S as it is, so Q F(S) = F(S): with a vector w also w - 2 (v.w) v lies in F(S), and so
    does v unless all of F(S) is orthogonal to it. Where no eigenvalue repeats, F(S) is therefore
    spanned by eigenvectors.
    """
    vectors = np.linalg.eigh(covariance)[1].T
    pairs = combinations(range(len(vectors)), len(basis))
    return min(distance(basis, vectors[list(pair)]) for pair in pairs)


def uneven(rng, n):
    basis = plane(rng)
    weights = np.sqrt([1.0, *[0.1] * (RANK - 1)])
    x = (rng.standard_normal((n, RANK)) * weights) @ basis
    x += 0.05 * rng.standard_normal((n, D)) / np.sqrt(D)
    k = int(SHARE * n)
    x[:k] = rng.standard_normal((k, D)) / np.sqrt(D)
    return basis, x


def noisy_inliers(rng, n):
    basis = plane(rng)
    x = near(rng, basis, n, noise=0.7)
    k = int(SHARE * n)
    x[:k] = rng.standard_normal((k, D))
    return basis, x


UNEVEN = ("column scales 0.01 to 100", "uneven spectrum, isotropic 30 %")
#: Rows whose residuals are as large as outliers', where -4 is not to be had.
HARD = ("gross corruption, 10 % of entries", "noisy inliers 0.7, isotropic 30 %")
#: An offset and a cluster at once: beyond what one look at a mean can tell.
BOTH = ("offset 1 and a cluster of 10 %", "offset 1 and a cluster of 30 %")

KINDS: dict[str, Callable] = {
    "clean": clean,
    "isotropic 30 %": isotropic,
    "tiny inliers, big outliers": partial(isotropic, inliers=0.01, outliers=5.0),
    "outliers in a plane": other_plane,
    **{f"far cluster {share:.0%}".replace("%", " %"): partial(cluster, share=share)
       for share in (0.1, 0.3, 0.4)},
    HARD[0]: corrupted,
    "heavy tails, t2": heavy_tails,
    "near-copies of an inlier, 30 %": copies_of_an_inlier,
    "near-copies off the plane, 30 %": partial(cluster, share=0.3, length=1.0, spread=1e-3),
    **{f"offset {length:g}": partial(offset, length=length) for length in (0.3, 1.0, 2.0, 5.0)},
    "offset 2, isotropic 20 %": partial(offset, length=2.0, outliers=0.2),
    UNEVEN[0]: column_scales,
    UNEVEN[1]: uneven,
    HARD[1]: noisy_inliers,
    BOTH[0]: partial(cluster, share=0.1, offset=1.0),
    BOTH[1]: partial(cluster, share=0.3, offset=1.0),
}  # fmt: skip
