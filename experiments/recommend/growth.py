"""Rank-one ratings of any size, the users that a method needs, and exponents with confidence."""

import numpy as np
from scipy import sparse, stats

from .data import Ratings

CONFIDENCE = 0.95
# Half width of an exponent beyond which nothing is judged: that by which n and n^{5/4} differ.
VAGUE = 0.25
JUDGED = (
    "An exponent is compared with a promise at the end of its 95 % confidence that favours the "
    f"promise; where its half width is above {VAGUE}, or unknown, it is not judged."
)


def rank_one(n_users, n_items, per_user, seed, test_pairs=20_000):
    """u v^T with u, v uniform in [-1, 1]; ``per_user`` random ratings of every user.

    Held out are random pairs of all users and items, those seen too: the paper's generalisation
    error is a mean over all of them. Also returns the nuclear norm |u| |v|.
    """
    rng = np.random.default_rng([seed, n_users, n_items, 6])
    u, v = rng.uniform(-1, 1, n_users), rng.uniform(-1, 1, n_items)
    item = np.sort(distinct(n_users, n_items, per_user, rng), axis=1)
    starts = np.arange(n_users + 1) * per_user
    values = (u[:, None] * v[item]).astype(np.float32).ravel()
    train = sparse.csr_array((values, item.ravel().astype(np.int32), starts), (n_users, n_items))
    tested = spread(n_users, test_pairs)
    column = rng.integers(0, n_items, len(tested))
    counts = np.bincount(tested, minlength=n_users)
    starts = np.concatenate([[0], np.cumsum(counts)])
    test = sparse.csr_array((u[tested] * v[column], column, starts), (n_users, n_items))
    norm = float(np.linalg.norm(u) * np.linalg.norm(v))
    return Ratings("synthetic", train, test, (-1.0, 1.0), per_user), norm


def spread(n_users, pairs):
    """Users of the held-out pairs, in order: each as often as another, up to one."""
    if pairs <= n_users:
        return np.arange(pairs)  # users are alike, the first ones are as good as any
    return np.sort(np.arange(pairs) % n_users)


def distinct(rows, n, count, rng):
    """In each row ``count`` of n numbers, all different, uniformly.

    Rows with a number twice are drawn again: what is left is uniform among those without.
    """
    if count == n:
        return np.tile(np.arange(n), (rows, 1))
    if count > n // 2:
        return np.argsort(rng.random((rows, n)), axis=1)[:, :count]
    found = rng.integers(0, n, (rows, count))
    while True:
        ordered = np.sort(found, axis=1)
        again = np.flatnonzero((np.diff(ordered, axis=1) == 0).any(axis=1))
        if not len(again):
            return found
        found[again] = rng.integers(0, n, (len(again), count))


def needed(error, goal, start, most, least=4):
    """Smallest number of users with an error up to the goal, on a grid of factors of two.

    The bracket found there is halved once; inside it the error is taken as linear in log m. Inf if
    ``most`` users are not enough.
    """
    seen = {}

    def good(m):
        seen[m] = error(round(m))
        return seen[m] <= goal

    m = min(start, most)
    if good(m):
        while m / 2 >= least and good(m / 2):
            m /= 2
        high, low = m, m / 2
        if low not in seen:  # the goal is met by the fewest users
            return high
    else:
        while m < most and not good(min(2 * m, most)):
            m = min(2 * m, most)
        if m >= most:
            return float("inf")
        low, high = m, min(2 * m, most)
    middle = float(np.sqrt(low * high))
    low, high = (low, middle) if good(middle) else (middle, high)
    share = (seen[low] - goal) / max(seen[low] - seen[high], 1e-12)
    return float(low * (high / low) ** share)


def exponent(x, y):
    """Slope of log y over log x with half the width of its confidence interval; nan if too few."""
    x, y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    if len(x) < 3 or np.ptp(x) == 0:
        return float("nan"), float("nan")
    fit = stats.linregress(x, y)
    width = stats.t.ppf((1 + CONFIDENCE) / 2, len(x) - 2) * fit.stderr
    return float(fit.slope), float(width)


def grows_no_faster(slope, width, promise):
    """Whether an exponent is compatible with an upper bound; ``None`` if it is too vague to say."""
    if not width <= VAGUE:  # nan too
        return None
    return bool(slope - width <= promise)
