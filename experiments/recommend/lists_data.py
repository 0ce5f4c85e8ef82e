"""What people have, for the experiment of lists: all items, a tenth of the entries held out.

Lists are judged by what was held out and liked: ratings in the upper quarter of the range (4 and 5
stars of 5). BookCrossing counts every book that somebody has, rated or not; the others are those of
``data.py``.
"""

import csv
import lzma
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from veilspan.datasets import make_histories

from . import data as sets

HELD_OUT = 0.1
LIKED = 0.75  # of the range
EVERYTHING = 10**9  # items kept: all


@dataclass(frozen=True, eq=False)
class Lists:
    """What users have, and what of the held-out part they liked."""

    name: str
    train: sparse.csr_array
    liked: sparse.csr_array
    rating_range: tuple | None

    @property
    def shape(self):
        """Users and items."""
        return self.train.shape


def books(folder):
    """Users and books of BookCrossing, ratings or not: the median user has one."""
    with lzma.open(folder / sets.FILES["bookcrossing"], "rt", encoding="latin1") as file:
        lines = [line for line in csv.reader(file, delimiter=";") if line[2].isdigit()]
    user, item = (np.unique([line[k] for line in lines], return_inverse=True)[1] for k in (0, 1))
    return user, item, np.ones(len(lines)), None


def whole(name, folder):
    """Users, items and ratings of a set, and their range."""
    if name == "bookcrossing":
        return books(folder)
    found = sets.LOADERS[name](folder, most_items=EVERYTHING)
    halves = found.train, found.test  # not added up: zeros are ratings
    user, item = (np.concatenate(part) for part in zip(*map(sets.pairs, halves)))
    rating = np.concatenate([half.data for half in halves]).astype(np.float64)
    return user, item, rating, found.rating_range


def load(name, folder, seed):
    """A split of a set."""
    user, item, rating, span = whole(name, folder)
    shape = (int(user.max()) + 1, int(item.max()) + 1)
    out = np.random.default_rng([seed, 11]).random(len(user)) < HELD_OUT
    liked = out if span is None else out & (rating >= span[0] + LIKED * (span[1] - span[0]))
    halves = [sets.csr(user[h], item[h], rating[h], shape) for h in (~out, liked)]
    return Lists(name, *halves, span)


def generated(n_users, n_items, seed):
    """Histories with four tastes."""
    made = make_histories(n_users, n_items, random_state=seed)
    return Lists("generated", made.train, made.test, made.rating_range)
