"""Ratings for the recommendation experiments: users x items, a part of the ratings held out.

Below the folder of ``--data`` these are read: ``jester-1/jester1.npz`` and
``movielens-1m/ml1m.npz`` (arrays ``user``, ``item``, ``rating``), ``movielens-100k/u.data``,
``movielens-latest-small/ratings_small.csv.gz`` and ``bookcrossing/BX-Book-Ratings.csv.xz``. The
synthetic matrices need nothing.

**What is public here.** The list of items. The most rated items are found by counting, which is a
look at the data: these experiments take that list as published by somebody else, as one who sells
things would know what sells. It is neither private nor charged, and the same for all methods.
"""

import csv
import gzip
import lzma
from dataclasses import dataclass

import numpy as np
from scipy import sparse

HELD_OUT = 0.01
MOST_ITEMS = 400


@dataclass(frozen=True, eq=False)
class Ratings:
    """Training and held-out ratings of the same users and items; stored zeros are ratings."""

    name: str
    train: sparse.csr_array
    test: sparse.csr_array
    rating_range: tuple
    cap: int  # ratings of one user that enter the global step

    @property
    def shape(self):
        return self.train.shape

    def rmse(self, predicted):
        """Root mean squared error of predictions for the held-out ratings, in their order."""
        error = np.clip(predicted, *self.rating_range) - self.test.data
        return float(np.sqrt(np.mean(error**2)))

    def rmse_of_blocks(self, predict, block_users=4096):
        """The same from ``predict(rows)``, the dense predictions for a block of users."""
        found = []
        for start in range(0, self.shape[0], block_users):
            stop = min(start + block_users, self.shape[0])
            test = self.test[start:stop]
            if test.nnz:
                found.append(predict(self.train[start:stop])[pairs(test)])
        return self.rmse(np.concatenate(found))


def pairs(matrix):
    """Row and column of every stored entry, in storage order."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices


def csr(user, item, rating, shape):
    """CSR with sorted columns that keeps zeros; of equal pairs the last one counts."""
    order = np.lexsort((np.arange(len(user)), item, user))
    user, item, rating = user[order], item[order], rating[order]
    last = np.ones(len(user), bool)
    last[:-1] = (user[1:] != user[:-1]) | (item[1:] != item[:-1])
    user, item, rating = user[last], item[last], rating[last]
    starts = np.concatenate([[0], np.cumsum(np.bincount(user, minlength=shape[0]))])
    index = np.int32 if starts[-1] < 2**31 else np.int64
    matrix = (rating.astype(np.float32), item.astype(index), starts.astype(index))
    return sparse.csr_array(matrix, shape=shape)


def split(name, user, item, rating, rating_range, *, cap, most_items, seed, held_out=HELD_OUT):
    """Keep the most rated items and the users who rated any, then hold out at random."""
    counts = np.bincount(item)
    kept = np.argsort(-counts, kind="stable")[: min(most_items, int((counts > 0).sum()))]
    column = np.full(len(counts), -1)
    column[kept] = np.arange(len(kept))
    inside = column[item] >= 0
    user, item, rating = user[inside], column[item[inside]], rating[inside]
    names, user = np.unique(user, return_inverse=True)
    shape = (len(names), len(kept))
    out = np.random.default_rng([seed, 1]).random(len(user)) < held_out
    halves = [csr(user[half], item[half], rating[half], shape) for half in (~out, out)]
    return Ratings(name, *halves, rating_range, cap)


def synthetic(n_users=50_000, n_items=400, cap=80, seed=0, held_out=HELD_OUT):
    """Rank one, u v^T with u, v uniform in [-1, 1] and the largest entry 1; no noise.

    The paper does not say how u and v are drawn.
    """
    rng = np.random.default_rng([seed, 2])
    u, v = rng.uniform(-1, 1, n_users), rng.uniform(-1, 1, n_items)
    u, v = u / np.abs(u).max(), v / np.abs(v).max()
    item = np.empty((n_users, cap), np.int32)
    for start in range(0, n_users, 10_000):  # the keys of all users at once would be large
        keys = rng.random((min(10_000, n_users - start), n_items), dtype=np.float32)
        chosen = np.argpartition(keys, cap - 1, axis=1)[:, :cap]
        item[start : start + len(keys)] = np.sort(chosen, axis=1)
    rating = (u[:, None] * v[item]).astype(np.float32)
    out = rng.random(rating.shape) < held_out
    halves = []
    for half in (~out, out):
        starts = np.concatenate([[0], np.cumsum(half.sum(axis=1))]).astype(np.int32)
        matrix = (rating[half], item[half], starts)
        halves.append(sparse.csr_array(matrix, shape=(n_users, n_items)))
    return Ratings("synthetic", *halves, (-1.0, 1.0), cap)


def jester(folder, seed=0, most_items=MOST_ITEMS):
    """Jester-1: 24,983 users, 100 jokes, from [-10, 10] rescaled to [0, 5] as in the paper."""
    with np.load(folder / FILES["jester"]) as file:
        user, item, rating = file["user"], file["item"], (file["rating"] / 100.0 + 10) / 4
    args = ("jester", user, item, rating, (0.0, 5.0))
    return split(*args, cap=100, most_items=most_items, seed=seed)


def movielens_1m(folder, seed=0, most_items=MOST_ITEMS):
    with np.load(folder / FILES["movielens-1m"]) as file:
        user, item, rating = file["user"], file["item"], file["rating"]
    args = ("movielens-1m", user, item, rating, (1.0, 5.0))
    return split(*args, cap=80, most_items=most_items, seed=seed)


def movielens_100k(folder, seed=0, most_items=MOST_ITEMS):
    user, item, rating, _ = np.loadtxt(folder / FILES["movielens-100k"], dtype=int).T
    args = ("movielens-100k", user, item, rating, (1.0, 5.0))
    return split(*args, cap=80, most_items=most_items, seed=seed, held_out=0.05)


def movielens_small(folder, seed=0, most_items=MOST_ITEMS):
    path = folder / FILES["movielens-small"]
    with gzip.open(path, "rt") as file:
        lines = list(csv.reader(file))[1:]
    user, item, rating = (np.array([float(line[k]) for line in lines]) for k in range(3))
    item = np.unique(item, return_inverse=True)[1]
    args = ("movielens-small", user, item, rating, (0.5, 5.0))
    return split(*args, cap=80, most_items=most_items, seed=seed, held_out=0.05)


def bookcrossing(folder, seed=0, most_items=1000):
    """Explicit ratings 1 to 10; most users rated one or two of the books kept."""
    path = folder / FILES["bookcrossing"]
    with lzma.open(path, "rt", encoding="latin1") as file:
        lines = [line for line in csv.reader(file, delimiter=";") if line[2].isdigit()]
    rating = np.array([int(line[2]) for line in lines])
    user, item = (np.unique([line[k] for line in lines], return_inverse=True)[1] for k in (0, 1))
    given = rating > 0  # 0 means "seen, not rated"
    args = ("bookcrossing", user[given], item[given], rating[given], (1.0, 10.0))
    return split(*args, cap=80, most_items=most_items, seed=seed)


#: the file of each set, below the folder
FILES = {
    "jester": "jester-1/jester1.npz",
    "movielens-1m": "movielens-1m/ml1m.npz",
    "movielens-100k": "movielens-100k/u.data",
    "movielens-small": "movielens-latest-small/ratings_small.csv.gz",
    "bookcrossing": "bookcrossing/BX-Book-Ratings.csv.xz",
}
#: what can be read from a folder
LOADERS = {
    "jester": jester,
    "movielens-1m": movielens_1m,
    "movielens-100k": movielens_100k,
    "movielens-small": movielens_small,
    "bookcrossing": bookcrossing,
}


def available(folder, names):
    """Those of the sets whose files are in the folder; none without a folder."""
    return [name for name in names if folder is not None and (folder / FILES[name]).is_file()]


def describe(data):
    """Say how large a set is: users, items, ratings, and how many are held out."""
    per_user = np.diff(data.train.indptr)
    return (
        f"{data.name}: {data.shape[0]:,} users x {data.shape[1]:,} items, "
        f"{data.train.nnz:,} ratings (median {np.median(per_user):.0f} a user, at most {data.cap} "
        f"enter the global step), {data.test.nnz:,} held out"
    )
