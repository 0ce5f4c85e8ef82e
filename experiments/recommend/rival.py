"""The private rival of Figure 2 at its best: both recommenders of McSherry & Mironov (KDD 2009).

What is released, and how far a user moves it, is in `cleansed.py`. From the noisy covariance two
recommenders follow without further cost: the SVD after cleansing, and the nearest neighbours of an
item. Of both, over clamps, shares of the budget and settings, the best is taken. It gets the
epsilon that the printed Frank-Wolfe *truly* has, so that both give users the same promise. Beside
it stand its averages alone, with all of the budget.
"""

import itertools

import numpy as np
from scipy import sparse

from . import cleansed
from .cleansed import SHARES, USER_PRIOR
from .data import pairs
from .methods import FRANK_WOLFE, true_epsilon

TUNED = "McSherry & Mironov (2009), tuned"
AVERAGES = "McSherry & Mironov (2009), averages alone"
#: Releases: B over half of the range, shares of mu^2, strength of the pull to averages.
CLAMPS = (0.25, 0.5, 1.0)
SPLITS = (SHARES, (0.05, 0.55, 0.4))
PULLS = (0.5, 5.0)
#: Recommenders: rank and ridge penalty; neighbours and the similarity that draws them to zero.
FACTORS = tuple(itertools.product((2, 8, 20), (0.05, 0.5, 2.0)))
FEW_FACTORS = tuple(itertools.product((1, 2), (0.01, 0.05, 0.5)))  # of a rank-one matrix
NEIGHBOURS = tuple(itertools.product((10, 30), (0.5, 2.0)))
#: No covariance: (almost) all of the budget for the averages of everybody and of items.
NO_FACTORS = {"clamp": 1.0, "shares": (0.1, 0.9, 1e-9), "drawn": PULLS[1], "factors": (0, 1.0)}


def equal_epsilon(nominal, neighbors):
    """What the printed Frank-Wolfe has at a nominal epsilon, as records write it."""
    return float(f"{true_epsilon(FRANK_WOLFE, nominal, neighbors):.4g}")


def releases(quick):
    """All ways to release, the middle one in quick runs."""
    if quick:
        return [{"clamp": CLAMPS[1], "shares": SHARES, "drawn": PULLS[1]}]
    return [{"clamp": clamp, "shares": shares, "drawn": pull}
            for clamp, shares, pull in itertools.product(CLAMPS, SPLITS, PULLS)]  # fmt: skip


def tried(data, epsilon, seed, quick=False):
    """Settings with their held-out RMSE."""
    synthetic = data.name == "synthetic"
    factors = FEW_FACTORS if synthetic else FACTORS
    near = () if synthetic else NEIGHBOURS  # on a matrix of rank one they are far behind
    found = []
    for way in releases(quick):
        released = cleansed.release(data, epsilon, seed, **way)
        errors = cleansed.predict(data, *released, factors)
        errors += neighbours(data, *released, near) if near else []
        named = [{"factors": f} for f in factors] + [{"neighbours": k} for k in near]
        found += [({**way, **name}, error) for name, error in zip(named, errors)]
    return found


def fit(data, epsilon, seed, setting):
    """Held-out RMSE with one setting."""
    way = {name: setting[name] for name in ("clamp", "shares", "drawn")}
    released = cleansed.release(data, epsilon, seed, **way)
    if "factors" in setting:
        return cleansed.predict(data, *released, [setting["factors"]])[0]
    return neighbours(data, *released, [setting["neighbours"]])[0]


def neighbours(data, middle, items, matrix, scale, settings, block_users=2048):
    """Held-out RMSE by the most similar of each user's rated items, for each setting.

    Similarities are the correlations of the cleansed covariance, negative ones left out. A
    prediction is what the neighbours are above their baselines, weighted by similarity and drawn to
    zero.
    """
    cov = matrix / np.outer(scale, scale)
    spread = np.sqrt(np.maximum(np.diag(cov), 1e-9))
    alike = np.clip(cov / np.outer(spread, spread), 0, 1)
    np.fill_diagonal(alike, 0)
    train, most = data.train, max(k for k, _ in settings)
    user, counts = pairs(train)[0], np.diff(train.indptr)
    left = train.data - middle - items[train.indices]
    level = np.bincount(user, left, train.shape[0]) / (counts + USER_PRIOR)
    own = sparse.csr_array((left - level[user], train.indices, train.indptr), train.shape)
    rated = sparse.csr_array((np.ones(train.nnz), train.indices, train.indptr), train.shape)
    found = [[] for _ in settings]
    for start in range(0, train.shape[0], block_users):
        test = data.test[start : start + block_users]
        if not test.nnz:
            continue
        who, item = pairs(test)
        values = own[start : start + block_users].toarray()[who]
        near = alike[item] * rated[start : start + block_users].toarray()[who]
        weights, values = nearest(near, values, most)
        base = middle + items[item] + level[start + who]
        for place, (k, lent) in enumerate(settings):
            part = weights[:, :k]
            drawn = np.sum(part * values[:, :k], axis=1) / (part.sum(axis=1) + lent)
            found[place].append(base + drawn)
    return [data.rmse(np.concatenate(parts)) for parts in found]


def nearest(near, values, most):
    """Of every row the largest similarities, falling, and the values that go with them."""
    if most < near.shape[1]:
        some = np.argpartition(-near, most, axis=1)[:, :most]
        near, values = (np.take_along_axis(table, some, axis=1) for table in (near, values))
    order = np.argsort(-near, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(values, order, axis=1)
