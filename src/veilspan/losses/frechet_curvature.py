"""How strongly half a squared distance bends across a geodesic, from the geometry alone."""

from __future__ import annotations

import numpy as np

from veilspan.geometry import Manifold

#: Random directions and the length of a finite difference: curvatures to about a tenth. They set a
#: step size, which needs no more.
DIRECTIONS, OFFSETS, DIFFERENCE = 8, 4, 1e-3
#: A fixed public seed, any but a common one such as 0: directions drawn from the seed that a user
#: drew the point from would not be random at that point.
SEED = 19770901
#: Far points of positively curved spaces bend the other way; a step needs a positive number.
LEAST = 0.25


def curvature_across(manifold: Manifold, point: np.ndarray, distances: np.ndarray) -> np.ndarray:
    r"""Mean second derivative of d(w, z)^2 / 2 across the geodesic to a point z, by distance.

    Along the geodesic to z it is 1. Across it is d coth(d) at curvature -1, d cot(d) at +1, and 1
    in flat space (Karcher 1977); elsewhere it depends on the direction. It is measured by second
    differences towards random directions, from a fixed seed: no row is involved.

    Parameters
    ----------
    manifold : Manifold
        With ``exp`` and ``dist``.
    point : array
        w.
    distances : array of shape (k,)
        Distances d of z.

    Returns
    -------
    array of shape (k,)
        At least 1/4, and 1 where ``exp`` leaves the manifold.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan.geometry import PoincareBall
    >>> ball = PoincareBall(5)
    >>> curvature_across(ball, ball.reference_point, np.array([0.1, 3.0])).round(2)
    array([1.  , 3.01])
    """
    if manifold.dim == 1:
        return np.ones(len(distances))
    rng = np.random.default_rng(SEED)
    towards = _unit(manifold, point, manifold.random_tangent(point, 1.0, rng, size=DIRECTIONS))
    aside = _unit(manifold, point, manifold.random_tangent(point, 1.0, rng, size=OFFSETS))
    flat = [manifold.to_coordinates(point, v).reshape(len(v), -1) for v in (towards, aside)]
    along = (flat[1] @ flat[0].T) ** 2
    found = np.empty(len(distances))
    for k, distance in enumerate(distances):
        with np.errstate(all="ignore"):
            try:
                second = _second_differences(manifold, point, distance * towards, aside)
            except (ValueError, np.linalg.LinAlgError):
                second = np.full(along.shape, np.nan)
            # The radial direction is an eigenvector with eigenvalue 1: take its part away.
            found[k] = np.sum(second - along) / np.sum(1 - along)
    return np.maximum(np.nan_to_num(found, nan=1.0, posinf=1.0, neginf=1.0), LEAST)


def _second_differences(
    manifold: Manifold, point: np.ndarray, vectors: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Second differences of d^2 / 2 to the ends of vectors along offsets: (offsets, vectors)."""
    ends = manifold.exp(point, vectors)
    middle = manifold.dist(point, ends) ** 2
    rows = []
    for offset in offsets:
        sides = (manifold.exp(point, sign * DIFFERENCE * offset) for sign in (1.0, -1.0))
        ahead, behind = (manifold.dist(side, ends) ** 2 for side in sides)
        rows.append((ahead + behind - 2 * middle) / (2 * DIFFERENCE**2))
    return np.array(rows)


def _unit(manifold: Manifold, point: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    lengths = np.asarray(manifold.norm(point, vectors))
    return vectors / lengths.reshape(lengths.shape + (1,) * len(manifold.point_shape))
