"""Poincaré embeddings of a hierarchy (Nickel & Kiela 2017), in NumPy.

The experiments treat the embedding as public preprocessing: privacy is counted from the points on.
That is right for a public dictionary. If the hierarchy itself were about people, the embedding
would have been trained on all of their rows, each point would depend on everybody, and a private
mean of the points would protect nobody: the training would have to be private.
"""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from veilspan._files import write_whole

_EDGE = 1 - 1e-5  # points are kept inside this Euclidean radius, as in the paper
#: The same as a distance from the origin, 12.2: known before any training.
PUBLIC_RADIUS = 2 * np.arctanh(_EDGE)


@dataclass(frozen=True)
class Settings:
    """How to train. Gradients of a batch are summed, so the rate does not depend on its size.

    Of 11 settings tried on the mammals (rates 0.03 to 1, 150 and 300 epochs, 30 and 50 negatives,
    batches of 10 and 32, 5 and 10 dimensions) these had the best mean rank.
    """

    dimension: int = 10
    epochs: int = 300
    burn_in: int = 10  # epochs at a tenth of the rate, which settle the angles
    rate: float = 0.05
    negatives: int = 50
    batch: int = 32
    seed: int = 0


def train(pairs, n_nodes, settings=None):
    """Points of the ball in which descendants are close to their ancestors.

    Minimises, by Riemannian SGD, the sum over pairs (u, v) of

        d(u, v) + log( exp(-d(u, v)) + sum over negatives w of exp(-d(u, w)) ),

    where negatives are drawn uniformly among all nodes and dropped if u is one or is paired with
    it.

    Parameters
    ----------
    pairs : int array of shape (m, 2)
        Descendant and ancestor.
    n_nodes : int
        Number of nodes.
    settings : Settings, optional

    Returns
    -------
    array of shape (n_nodes, dimension)
    """
    settings = settings or Settings()
    rng = np.random.default_rng(settings.seed)
    points = rng.uniform(-1e-3, 1e-3, (n_nodes, settings.dimension))
    related = relation(pairs, n_nodes)
    for epoch in range(settings.epochs):
        rate = settings.rate * (0.1 if epoch < settings.burn_in else 1)
        for chosen in np.array_split(rng.permutation(len(pairs)), -(-len(pairs) // settings.batch)):
            descend(points, pairs[chosen], related, rate, settings.negatives, rng)
    return points


def relation(pairs, n_nodes):
    """Boolean matrix: which nodes may not be negatives of which, themselves included."""
    related = np.eye(n_nodes, dtype=bool)
    related[pairs[:, 0], pairs[:, 1]] = True
    return related


def descend(points, pairs, related, rate, n_negatives, rng):
    """One step of Riemannian SGD on a batch, in place.

    With e = u - w, a = 1 - |u|^2, b = 1 - |w|^2 and g = cosh d = 1 + 2 |e|^2 / (a b), the
    Riemannian gradient of d in u is a / (b sqrt(g^2 - 1)) (|e|^2 u / a + e), and likewise in w
    with a and b exchanged and -e in place of e.
    """
    start = pairs[:, 0]
    negatives = rng.integers(len(points), size=(len(pairs), n_negatives))
    others = np.column_stack([pairs[:, 1], negatives])
    dropped = related[start[:, None], others]
    dropped[:, 0] = False
    u, w = points[start][:, None], points[others]
    e = u - w
    squared = np.einsum("bkd,bkd->bk", e, e)
    a = 1 - np.einsum("bkd,bkd->bk", u, u)
    b = 1 - np.einsum("bkd,bkd->bk", w, w)
    excess = 2 * squared / (a * b)
    # cosh d - 1 = excess: both d and sinh d without cancellation for close points.
    sinh = np.sqrt(excess * (excess + 2))
    closeness = np.where(dropped, 0, 1 / (1 + excess + sinh))  # exp(-d)
    slopes = -closeness / closeness.sum(axis=1, keepdims=True)
    slopes[:, 0] += 1
    slopes *= rate / np.maximum(sinh, 1e-10)
    step_u = np.einsum("bk,bkd->bd", slopes * a / b, e)
    step_u += np.einsum("bk,bkd->bd", slopes * squared / b, u)
    step_w = (slopes * squared / a)[..., None] * w - (slopes * b / a)[..., None] * e
    subtract(points, np.append(start, others), np.concatenate([step_u, *step_w]))


def subtract(points, where, steps):
    """Subtract steps, adding up those of one node, and pull everything back into the ball."""
    flat = (where[:, None] * points.shape[1] + np.arange(points.shape[1])).ravel()
    points -= np.bincount(flat, steps.ravel(), points.size).reshape(points.shape)
    length = np.linalg.norm(points, axis=1, keepdims=True)
    points *= np.minimum(1, _EDGE / np.maximum(length, _EDGE))


def quality(points, pairs):
    """Mean rank and mean average precision of the ancestors (Nickel & Kiela 2017, section 4).

    The rank of an ancestor of u counts the nodes closer to u that are not ancestors of u; the best
    is 1. The average precision ranks all other nodes by their distance to u.
    """
    from veilspan.geometry import PoincareBall

    ball = PoincareBall(points.shape[1])
    ranks, precisions = [], []
    for node in np.unique(pairs[:, 0]):
        ancestors = pairs[pairs[:, 0] == node, 1]
        order = np.argsort(ball.dist(points[node], points), kind="stable")
        order = order[order != node]
        places = np.flatnonzero(np.isin(order, ancestors))  # all those found, nearest first
        found = np.arange(1, len(places) + 1)
        ranks.extend(places + 1 - (found - 1))
        precisions.append(np.mean(found / (places + 1)))
    return float(np.mean(ranks)), float(np.mean(precisions))


def embedding(pairs, n_nodes, cache=None, settings=None):
    """Trained points, from the cache folder if the same training was done before."""
    settings = settings or Settings()
    pairs = np.ascontiguousarray(pairs, dtype=np.int64)
    if cache is None:
        return train(pairs, n_nodes, settings)
    facts = repr((n_nodes, sorted(asdict(settings).items()))).encode()
    key = hashlib.sha256(pairs.tobytes() + facts).hexdigest()[:16]
    path = Path(cache) / f"poincare-{key}.npz"
    if not path.exists():
        points = train(pairs, n_nodes, settings)
        write_whole(path, lambda stream: np.savez_compressed(stream, points=points))
    with np.load(path) as stored:
        return stored["points"]
