"""Ways to a list: ours, noisy popularity, EASE with noise and without, DPALS; recalls of 20."""

import time
import warnings

import numpy as np
from scipy import sparse

from veilspan import Budget, MatrixCompletion
from veilspan.curator.rows import Block
from veilspan.estimators.completion.local_ranker import LocalRanker
from veilspan.estimators.completion.ranking import find_hits
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.queries.completion.taste_rows import UNIT_STEPS, TasteRule
from veilspan.solvers.completion.list_weights import autoencoder, clean_moment, floor_popularity
from veilspan.solvers.completion.ranking import RankingCompletion

from . import lists_dpals

OURS, POPULAR, DP_EASE, PLAIN = "ours", "noisy popularity", "DP-EASE", "EASE, not private"
DPALS = "DPALS"
DELTA = 1e-6
LENGTH, SHORT = 20, 10  # of lists: for the recall, for the NDCG
MOST_USERS = 10_000  # who get lists
MOST_ITEMS = 4000  # of EASE without privacy: a dense inverse
WIDTH = 300  # items of DP-EASE


def fitted(data, epsilon, seed, neighbors="replace-one", **settings):
    """Our model, with simulated noise."""
    model = MatrixCompletion(
        task="rank", rating_range=data.rating_range, epsilon=epsilon, delta=DELTA,
        neighbors=neighbors, random_state=seed, **settings,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return model.fit(data.train)


def measured(ranker, data):
    """Recall@20 and NDCG@10 of lists, and how many items have tastes.

    Of many users every second, or third, gets a list: some 10,000 at most.
    """
    some = slice(None, None, -(-data.shape[0] // MOST_USERS))
    own, liked = data.train[some], data.liked[some]
    hits, counts = find_hits(ranker, own, liked, min(LENGTH, data.shape[1]))
    recall = np.mean(hits.sum(axis=1) / np.minimum(counts, hits.shape[1]))
    short = hits[:, :SHORT]
    gains = 1 / np.log2(np.arange(2, short.shape[1] + 2))
    best = np.cumsum(gains)[np.minimum(counts, short.shape[1]) - 1]
    return float(recall), float(np.mean(short @ gains / best)), len(ranker.top_items)


def ours(data, epsilon, seed, neighbors="replace-one"):
    """The default."""
    return measured(fitted(data, epsilon, seed, neighbors).local_predictor(), data)


def popular(data, epsilon, seed, neighbors="replace-one"):
    """The whole budget for the popularity."""
    solver = RankingCompletion(popularity_share=1.0)
    return measured(fitted(data, epsilon, seed, neighbors, solver=solver).local_predictor(), data)


def unit_rows(data):
    """Users' rows of length 1, as ours are."""
    rows = TasteRule(data.rating_range).take(Block(data.train.astype(np.float64)))
    values = (rows.values / UNIT_STEPS, rows.items, rows.starts)
    return sparse.csr_array(values, shape=data.shape)


def measured_weights(data, popularity, top, weights):
    """The same of lists by a matrix of weights."""
    direction = np.zeros(len(top))  # ties are broken by popularity all the same
    ids = tuple(range(data.shape[1]))
    ranker = LocalRanker(popularity, top, direction, weights, ids, data.rating_range)
    return measured(ranker, data)


def dp_ease(data, epsilon, seed, neighbors="replace-one"):
    """EASE of a noisy Gram matrix: a tenth for the popularity, then rows of the 300 first items.

    The rows are those of length 1 as they are, popularity included; noise is taken off the
    matrix as we do it.
    """
    rng = np.random.default_rng([seed, 5])
    far = np.sqrt(2) if neighbors == "replace-one" else 1.0
    mu = Budget(epsilon, DELTA).mu
    rows = unit_rows(data)
    first, second = (far / (mu * np.sqrt(share)) for share in (0.1, 0.9))
    popularity = np.asarray(rows.sum(axis=0)).ravel() + first * rng.standard_normal(data.shape[1])
    top = np.argsort(-popularity, kind="stable")[:WIDTH]
    own = rows[:, top].toarray()
    noise = rng.standard_normal((len(top), len(top)))
    moment = own.T @ own + second / 2 * (noise + noise.T)
    clean, _ = clean_moment(moment, floor_popularity(popularity[top]), second)
    return measured_weights(data, popularity, top, autoencoder(clean, 1.0))


def plain_ease(data, epsilon, seed, neighbors="replace-one"):
    """EASE without privacy, of all items or of the most popular ones."""
    rows = unit_rows(data)
    popularity = np.asarray(rows.sum(axis=0)).ravel()
    top = np.argsort(-popularity, kind="stable")[:MOST_ITEMS]
    own = rows[:, top]
    moment = np.asarray((own.T @ own).toarray())
    return measured_weights(data, popularity, top, autoencoder(moment, 1.0))


def dpals(data, epsilon, seed, neighbors="add-remove"):
    """DPALS, the best of its grid by the held-out likes; see ``lists_dpals``."""
    rng = np.random.default_rng([seed, 6])
    mu = Budget(epsilon, DELTA).mu
    liked = lists_dpals.liked_rows(data)
    share = lists_dpals.POPULARITY
    popular = unit_rows(data).sum(axis=0)  # of users' rows of length 1
    popular = np.ravel(popular) + rng.standard_normal(data.shape[1]) / (mu * np.sqrt(share))
    top = np.argsort(-popular, kind="stable")[: lists_dpals.WIDTH]
    found = []
    for setting in lists_dpals.GRID:
        items = lists_dpals.fit_items(liked[:, top], mu * np.sqrt(1 - share), *setting, rng)
        found.append(measured(lists_dpals.Factors(data, popular, top, items), data))
    return max(found)


METHODS = {OURS: ours, POPULAR: popular, DP_EASE: dp_ease, DPALS: dpals, PLAIN: plain_ease}


def row_of(data, method, epsilon, seed, neighbors):
    """Measure one method on one split: a record."""
    start = time.process_time()
    recall, ndcg, items = METHODS[method](data, epsilon, seed, neighbors)
    return {
        "data": data.name, "users": data.shape[0], "items": data.shape[1], "relation": neighbors,
        "method": method, "epsilon": epsilon, "seed": seed, "recall": round(recall, 5),
        "ndcg10": round(ndcg, 5),
        "with_tastes": items, "cpu": round(time.process_time() - start, 2),
    }  # fmt: skip
