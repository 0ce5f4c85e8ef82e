r"""SVD after cleansing, the private rival of Figure 2: McSherry & Mironov (KDD 2009).

**What it does.** Noisy averages of everybody and of every item are taken off, users take off their
own averages and clamp what is left to [-B, B]. Then a weighted covariance and the weights that go
with it are released,

    Cov = sum_u w_u r_u r_u^T,    Wgt = sum_u w_u e_u e_u^T,    w_u = 1 / c_u,

c_u being the ratings of user u, r_u what is left of them, e_u ones at what she rated. *Cleansing*
is post-processing: both are drawn to their averages, Cov / Wgt is scaled by the roots of the items'
counts, so that noise is about even, and cut to rank k. Each user predicts from that and her own
ratings.

**What it promises.** The paper's neighbours differ in *one rating*, the paper at hand protects a
*user*, all of her ratings. Calibrated for users, the weights make the covariance no dearer than
for one rating, but averages are: each user's part is scaled by her own number of ratings too, so
that every release has a bound per user. With H half of the rating range,

* averages of everybody: (mean less middle, H): at most sqrt(2) H, replace-one 2 H (the second entry
  is the same for all users, so it moves only if one is added);
* item sums and counts: (r_u, H e_u) / sqrt(c_u): each part at most H long, add-remove sqrt(2) H;
  replace-one: entries of r_u are at most H where e_u is 1, so two such pairs have no negative
  product, and they are at most sqrt(2) sqrt(2) H = 2 H apart;
* covariance and weights: (r_u r_u^T / c_u, B^2 e_u e_u^T / c_u): each at most B^2, as |r_u|^2 <=
  c_u B^2; two such matrices have no negative product, so replace-one moves the pair by 2 B^2,
  add-remove by sqrt(2) B^2.

Gaussian noise on all three, their mu^2 in the shares below, gives mu-GDP for the mu of the budget
(``Budget.mu``, by exact accounting): the epsilon in the figure is the one that holds, per user,
under the relation of the row. The text of the 2009 paper was not at hand: weights, clamp and the
steps of cleansing follow its description, the constants below are ours. `rival.py` tunes them.
"""

import math

import numpy as np
from scipy import sparse

from veilspan import Budget

from .data import pairs
from .printed import DELTA, kept_part, relation

SHARES = (0.02, 0.19, 0.79)  # of mu^2: averages of all, of items, covariance and weights
ITEM_PRIOR, USER_PRIOR = 25.0, 5.0  # ratings that draw an average to that of all
DRAWN = 5.0  # how many typical weights draw an entry of Cov and Wgt to its average
CLAMP = 0.5  # B over half of the range: 1 star of 5


def reach(neighbors, half, clamp):
    """How far one user moves each of the three releases."""
    if neighbors == "replace-one":
        return 2 * half, 2 * half, 2 * clamp**2
    return math.sqrt(2) * half, math.sqrt(2) * half, math.sqrt(2) * clamp**2


def release(data, epsilon, seed, clamp=CLAMP, shares=SHARES, drawn=DRAWN):
    """The noisy answers, cleansed: middle of the range, item averages, scaled correlations, scale.

    ``clamp`` is B over half of the range.
    """
    low, high = data.rating_range
    half, middle, n = (high - low) / 2, (low + high) / 2, data.shape[1]
    limit = clamp * half
    rng = np.random.default_rng([seed, 6])
    mu = Budget(epsilon, DELTA).mu if math.isfinite(epsilon) else math.inf
    noise = [far / (mu * math.sqrt(share)) for far, share in zip(
        reach(relation(data), half, limit), shares)]  # fmt: skip
    rows = capped(data, seed)
    user, some = pairs(rows)[0], np.maximum(np.diff(rows.indptr), 1)
    values, weight = np.clip(rows.data, low, high) - middle, 1 / np.sqrt(some[user])
    # 1. everybody
    means = np.bincount(user, values, rows.shape[0]) / some
    total = means.sum() + noise[0] * rng.standard_normal()
    people = max(rows.shape[0] + noise[0] / half * rng.standard_normal(), 1.0)
    average = float(np.clip(total / people, -half, half))
    # 2. items
    sums = np.bincount(rows.indices, values * weight, n) + noise[1] * rng.standard_normal(n)
    seen = np.bincount(rows.indices, weight, n) + noise[1] / half * rng.standard_normal(n)
    prior = ITEM_PRIOR / math.sqrt(data.cap)  # of ratings that have the least weight
    items = np.clip((sums + prior * average) / (np.maximum(seen, 0) + prior), -half, half)
    # 3. covariance and weights of what users clamp
    left = values - items[rows.indices]
    left -= (np.bincount(user, left, rows.shape[0]) / (some + USER_PRIOR))[user]
    left = np.clip(left, -limit, limit)
    cov = moment(rows, left * weight) + noise[2] * symmetric(rng, n)
    wgt = moment(rows, weight) + noise[2] / limit**2 * symmetric(rng, n)
    return middle, items, *cleanse(cov, wgt, seen, drawn)


def capped(data, seed):
    """At most ``cap`` ratings of each user, as they were."""
    rows, means = kept_part(data, seed)
    return sparse.csr_array((rows.data + np.repeat(means, np.diff(rows.indptr)), rows.indices,
                             rows.indptr), rows.shape)  # fmt: skip


def moment(rows, values, block_users=4096):
    """Sum of x x^T over users."""
    table = sparse.csr_array((values, rows.indices, rows.indptr), rows.shape)
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, rows.shape[0], block_users):
        block = table[start : start + block_users].astype(np.float32).toarray()
        total += block.T @ block
    return total


def symmetric(rng, n):
    """Noise of std 1 in every orthonormal direction of symmetric matrices."""
    noise = rng.standard_normal((n, n))
    return (noise + noise.T) / 2


def cleanse(cov, wgt, seen, strength=DRAWN):
    """Draw entries to their averages, divide, and scale to even noise; and the scale."""
    n = len(cov)
    off = ~np.eye(n, dtype=bool)
    drawn = np.empty_like(cov)
    for part in (off, ~off):
        typical, mean = max(wgt[part].mean(), 1e-9), cov[part].mean()
        below = np.maximum(wgt[part], 0) + strength * typical
        drawn[part] = (cov[part] + strength * mean) / below
    scale = np.sqrt(np.maximum(seen, 0.05 * max(float(seen.mean()), 1e-9)))
    scale /= math.sqrt(float(np.mean(scale**2)))
    return drawn * np.outer(scale, scale), scale


def predict(data, middle, items, matrix, scale, settings):
    """Held-out RMSE for each (rank, penalty): each user regresses her ratings on so many factors.

    Rank 0 are the averages of items and users alone.
    """
    vectors, train = by_size(matrix), data.train
    user, counts = pairs(train)[0], np.diff(train.indptr)
    left = train.data - middle - items[train.indices]
    level = np.bincount(user, left, train.shape[0]) / (counts + USER_PRIOR)
    target = sparse.csr_array((left - level[user], train.indices, train.indptr), train.shape)
    test_user, test_item = pairs(data.test)
    base, found = middle + items[test_item] + level[test_user], {(0, None): 0.0}
    for rank in {rank for rank, _ in settings if rank}:
        factors = vectors[:, :rank] / scale[:, None]
        penalties = [penalty for r, penalty in settings if r == rank]
        for penalty, own in zip(penalties, regress(target, factors, penalties)):
            found[rank, penalty] = np.einsum("ij,ij->i", own[test_user], factors[test_item])
    return [data.rmse(base + found[rank, penalty if rank else None]) for rank, penalty in settings]


def by_size(matrix):
    """Eigenvectors times the roots of their eigenvalues, the largest first; none below zero."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]


def regress(target, factors, penalties, block_users=4096):
    """Every user's coefficients of the factors, by ridge regression of what she rated."""
    rank = factors.shape[1]
    ones = sparse.csr_array((np.ones(target.nnz), target.indices, target.indptr), target.shape)
    pairs_of = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    found = np.empty((len(penalties), target.shape[0], rank))
    for start in range(0, target.shape[0], block_users):
        block = slice(start, start + block_users)
        gram = (ones[block] @ pairs_of).reshape(-1, rank, rank)
        right = (target[block] @ factors)[..., None]
        for place, penalty in enumerate(penalties):
            ridge = gram + penalty * np.eye(rank)
            found[place, block] = np.linalg.solve(ridge, right)[..., 0]
    return found
