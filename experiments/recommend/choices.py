"""Settings of the printed algorithms and of their private rival, chosen as the paper does.

Section 4 cross-validates the ball k and the rounds T for each set. Here both, and the rival's
settings, are chosen for each set and epsilon on a split that the figure does not use, by its
held-out ratings; privacy pays for none of it. A ball is given over sigma sqrt(m n), sigma a quarter
of the range: the paper's k is 5 to 7 of it on Jester and MovieLens, and the norm of the matrix on
its synthetic set. Its T are 5 to 150; fewer rounds and smaller balls are here because they often
do better with this much noise.
"""

import itertools

from . import rival
from .methods import FRANK_WOLFE, GROWING, SVD, as_printed

SPLIT = 1000  # seed of the split on which settings are chosen
#: Rounds and balls; many rounds are only worth while with balls such as the paper's.
BALLS = (0.15, 0.5, 1.6, 6.0)
GRID = (*itertools.product((2, 5, 20), BALLS), (80, 1.6), (80, 6.0))
#: The rank-one matrix: its norm, which the paper takes, is 2/3 of sigma sqrt(m n); steps 1/T reach
#: it from 1.58 norms on, two rounds from 2. More rounds than 20 add noise to a matrix of rank one.
NORM = 2 / 3
RANK_ONE_GRID = tuple((t, NORM * k) for t, k in (
    (2, 1.0), (2, 1.6), (2, 2.0), (2, 2.2), (2, 2.5), (3, 1.6), (3, 2.0), (5, 1.0), (5, 1.7),
    (5, 2.0), (20, 1.6)))  # fmt: skip


def settings_of(name, synthetic, quick):
    """All settings of a printed algorithm; a single one in quick runs."""
    if name == SVD:
        return [{"rank": rank} for rank in ((1,) if synthetic or quick else (1, 4))]
    found = [{"rounds": t, "ball": k} for t, k in (RANK_ONE_GRID if synthetic else GRID)]
    return found[:1] if quick else found


def chosen_like(name):
    """The method whose settings a method takes: growing noise has those of equal noise."""
    return FRANK_WOLFE if name == GROWING else name


def choose(data, name, epsilon, quick):
    """The setting with the lowest held-out error, that error, and how many were tried.

    ``epsilon`` is nominal for the printed algorithms, the true one for the rival.
    """
    if name == rival.TUNED:
        tried = rival.tried(data, epsilon, SPLIT, quick)
    else:
        tried = [(setting, as_printed(data, name, epsilon, SPLIT, setting))
                 for setting in settings_of(name, data.name == "synthetic", quick)]  # fmt: skip
    setting, error = min(tried, key=lambda pair: pair[1])
    return {"setting": setting, "rmse": round(error, 5), "tried": len(tried)}


def fit(data, name, epsilon, seed, setting):
    """Held-out RMSE of a printed algorithm or of the rival with a chosen setting."""
    if name in (rival.TUNED, rival.AVERAGES):
        return rival.fit(data, epsilon, seed, setting)
    return as_printed(data, name, epsilon, seed, setting)
