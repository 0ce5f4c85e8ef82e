"""Random trees drawn in the Poincaré ball, where there is room for all their leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Farthest way from the root. At hyperbolic distance 20 the ball's float64 coordinates still know
#: distances to 8 digits; every further unit costs a factor e.
_FARTHEST = 20.0


@dataclass(frozen=True)
class Tree:
    """A tree with its place in hyperbolic space.

    Attributes
    ----------
    points : array of shape (n, d)
        Nodes in the Poincaré ball (curvature -1), level by level; the root is the origin.
    parent : int array of shape (n,)
        Index of every node's parent, always smaller than its own; -1 for the root.
    depth : int array of shape (n,)
        Number of edges to the root.
    edge_length : float
        Hyperbolic distance of every node to its parent.
    """

    points: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    edge_length: float


def make_tree(
    branching: float = 3.0,
    depth: int = 5,
    n_dimensions: int = 2,
    *,
    edge_length: float = 2.0,
    random_state: int | None = 0,
) -> Tree:
    r"""Grow a tree with random numbers of children and lay it out in the Poincaré ball.

    Level t has :math:`\mathrm{round}(b^t)` nodes. Their parents are drawn so that every way to
    divide them among the nodes above, in order, is equally likely (multinomial with uniform
    Dirichlet weights: numbers of children are geometric, given their sum). Many nodes have no
    children and some have many, as in a lexical hierarchy, but the size of the tree is known.

    A child is reached from its parent by the geodesic of length :math:`\ell` in a direction u:

    * **two dimensions**: the m directions to the children and the one to the grandparent are
      spaced by :math:`\theta = 2\pi/(m + 1)` (by :math:`2\pi/m` at the root, turned at random).
      This is Sarkar's construction (2011).
    * **more dimensions**: u is uniform on the half sphere that points away from the grandparent
      (on the whole sphere at the root).

    Known truth: the sizes of the levels; the root is the origin; a node's distance to its parent is
    :math:`\ell`, and to the root at most :math:`\ell` times its depth. In two dimensions siblings
    next to each other have the distance of the hyperbolic law of cosines,
    :math:`\cosh d = \cosh^2 \ell - \sinh^2 \ell \cos\theta`, and distances in the ball, in
    units of :math:`\ell`, approach those in the tree as :math:`\ell` grows. The Fréchet mean of
    the points is *not* known in closed form.

    Parameters
    ----------
    branching : float
        Ratio b of the sizes of neighbouring levels, at least 1.
    depth : int
        Number of levels below the root.
    n_dimensions : int
        Dimension of the ball, at least 2.
    edge_length : float
        Hyperbolic length :math:`\ell` of an edge; ``depth * edge_length`` may not exceed 20, where
        coordinates in the ball run out of digits.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> tree = make_tree(branching=2, depth=3)
    >>> tree.points[0], int(tree.depth.max())
    (array([0., 0.]), 3)
    """
    _check(branching, depth, n_dimensions, edge_length)
    rng = np.random.default_rng(random_state)
    levels = [np.zeros((1, n_dimensions))]
    parents = [np.array([-1])]
    arrival: np.ndarray | None = None  # unit directions from the last level back to its parents
    first = 0
    for level in range(1, depth + 1):
        weights = rng.dirichlet(np.ones(len(levels[-1])))
        children = rng.multinomial(round(branching**level), weights)
        above = np.repeat(np.arange(len(children)), children)
        directions = _directions(rng, children, above, n_dimensions, arrival)
        start = levels[-1][above]
        end = _step(start, directions, edge_length)
        parents.append(first + above)
        first += len(children)
        levels.append(end)
        arrival = _direction_to(end, start)
    sizes = [len(level) for level in levels]
    return Tree(
        np.concatenate(levels),
        np.concatenate(parents),
        np.repeat(np.arange(depth + 1), sizes),
        float(edge_length),
    )


def _check(branching: float, depth: int, n_dimensions: int, edge_length: float) -> None:
    if not 1 <= branching < np.inf:
        raise ValueError(f"branching must be a finite number of at least 1; got {branching}.")
    if depth < 0:
        raise ValueError(f"depth must not be negative; got {depth}.")
    if n_dimensions < 2:
        raise ValueError(f"n_dimensions must be at least 2; got {n_dimensions}.")
    if not edge_length > 0:
        raise ValueError(f"edge_length must be positive; got {edge_length}.")
    if depth * edge_length > _FARTHEST:
        raise ValueError(
            f"depth * edge_length must not exceed {_FARTHEST:g}, where float64 coordinates in the "
            f"ball run out of digits; got {depth * edge_length:g}."
        )


def _directions(
    rng: np.random.Generator,
    children: np.ndarray,
    above: np.ndarray,
    n_dimensions: int,
    back: np.ndarray | None,
) -> np.ndarray:
    """Unit vectors at the parents towards their children, away from the grandparents."""
    if n_dimensions > 2:
        drawn = rng.standard_normal((len(above), n_dimensions))
        if back is not None:  # mirror what points backwards
            towards = np.sum(drawn * back[above], axis=1, keepdims=True)
            drawn -= 2 * np.maximum(towards, 0) * back[above]
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    number = np.arange(len(above)) - np.repeat(np.cumsum(children) - children, children)
    if back is None:
        angle = rng.uniform(0, 2 * np.pi) + 2 * np.pi * number / children[above]
    else:
        facing = np.arctan2(back[:, 1], back[:, 0])
        angle = facing[above] + 2 * np.pi * (number + 1) / (children[above] + 1)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _step(start: np.ndarray, direction: np.ndarray, length: float) -> np.ndarray:
    """Exponential map of unit directions times a hyperbolic length: Moebius addition.

    x + (1 - |x|^2) r q / |q|^2 with q = u + r x, r = tanh(length / 2), which subtracts nothing
    that is nearly equal close to the boundary.
    """
    radius = np.tanh(length / 2)
    q = direction + radius * start
    room = 1 - np.sum(start**2, axis=1, keepdims=True)
    return start + room * radius * q / np.sum(q**2, axis=1, keepdims=True)


def _direction_to(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Unit vectors along the geodesics; the ball is conformal, so its angles are Euclidean."""
    d = end - start
    room = 1 - np.sum(start**2, axis=1, keepdims=True)
    along = room * d - np.sum(d**2, axis=1, keepdims=True) * start
    return along / np.linalg.norm(along, axis=1, keepdims=True)
