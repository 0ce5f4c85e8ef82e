r"""The algorithms of Jain, Thakkar & Thakurta (2018) as printed, for comparison only.

Kept from print: the noise levels, i.i.d. (asymmetric) noise, steps 1/T from zero, the bias of line
6, T rounds of which T - 1 update anything, and the scaling m n / |Omega| of Algorithm 3, which uses
everybody's number of ratings and is not private. Corrected, because no promise would hold
otherwise: rows are clipped to L before they are used (Algorithm 1 assumes it and does not do it),
and a singular value replaces an eigenvalue that may be complex.

**The epsilon that they truly have.** Algorithm 1 publishes T matrices with noise
sigma = L^2 sqrt(64 T log(1/delta)) / epsilon. A residual row is at most 2 L long, so one user moves
a matrix by at most 4 L^2 (add-remove) or 4 sqrt(2) L^2 (replace-one, the paper's own definition):
T Gaussian releases are mu-GDP with mu = sqrt(T) 4 L^2 a / sigma, a = 1 or sqrt(2), which does not
depend on T or L. Algorithm 3 has sensitivity a L^2 at the same sigma with T = 1.

**The growing noise of Section 4** ("according to the number of iterations that the algorithm has
completed"; no formula is given) is taken as sigma_t^2 in proportion to t, scaled so that the sum of
1 / sigma_t^2 over all T rounds is what equal rounds have: the same mu, and the same true epsilon.
"""

import math
from functools import lru_cache

import numpy as np
from scipy import linalg, sparse

from veilspan.privacy.gdp import epsilon_of

from ..job import Cost
from .data import pairs

DELTA = 1e-6
BETA = 0.05  # failure probability in the bias; the paper gives none
RELATION = {"add-remove": 1.0, "replace-one": math.sqrt(2)}


def relation(data):
    """Synthetic ratings by the paper's own relation, the others by the usual one."""
    return "replace-one" if data.name == "synthetic" else "add-remove"


def printed_noise(bound, rounds, epsilon, delta):
    return bound**2 * math.sqrt(64 * rounds * math.log(1 / delta)) / epsilon


def growing(noise, rounds, growth):
    """Noise of rounds 1 to T with variances as t^growth and the promise of T equal ones."""
    variances = np.arange(1.0, rounds + 1) ** growth
    return noise * np.sqrt(variances * np.mean(1 / variances))


def true_epsilon(epsilon, delta, neighbors, algorithm="frank-wolfe"):
    """Epsilon at ``delta`` of the printed noise for a nominal ``epsilon``."""
    moved = {"frank-wolfe": 4.0, "svd": 1.0}[algorithm] * RELATION[neighbors]
    return epsilon_of(moved / printed_noise(1.0, 1, epsilon, delta), delta)


def costs(epsilons, delta, neighbors):
    """What the printed noise of both algorithms truly gives, for the verdict."""
    clipped = "by exact accounting, if rows are clipped to L first, which it does not do"
    fixed = "with |Omega| the same for all ratings, as where every user gives sqrt(n) of them"
    counts = "with |Omega| counted: its local step uses the ratings of everybody without noise"
    found = [
        Cost("Algorithm 1 (private Frank-Wolfe)", epsilon,
             true_epsilon(epsilon, delta, neighbors), delta, neighbors, clipped)
        for epsilon in epsilons
    ]  # fmt: skip
    svd = "Algorithm 3 (private SVD)"
    noise = true_epsilon(1.0, delta, neighbors, "svd")
    return [*found, Cost(svd, 1.0, noise, delta, neighbors, fixed),
            Cost(svd, 1.0, math.inf, delta, neighbors, counts)]  # fmt: skip


@lru_cache(maxsize=1)  # the same for a whole grid of settings
def kept_part(data, seed):
    """At most ``cap`` ratings of each user, at random; less the mean of these. And the means.

    Users without ratings get the middle of the range. Synthetic ratings are not centred.
    """
    train = data.train
    user, item = pairs(train)
    keys = np.random.default_rng([seed, 3]).random(train.nnz)
    order = np.lexsort((keys, user))
    rank = np.arange(train.nnz) - train.indptr[user[order]]
    kept = np.zeros(train.nnz, bool)
    kept[order[rank < data.cap]] = True
    counts = np.bincount(user[kept], minlength=train.shape[0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = sparse.csr_array((train.data[kept].astype(float), item[kept], starts), train.shape)
    if data.name == "synthetic":
        return rows, np.zeros(train.shape[0])
    sums = rows.sum(axis=1)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.mean(data.rating_range))
    rows.data -= np.repeat(means, counts)
    return rows, means


def clip_rows(rows, bound):
    """Scale rows longer than ``bound`` back to it."""
    lengths = np.sqrt(np.bincount(pairs(rows)[0], rows.data**2, minlength=rows.shape[0]))
    factors = np.minimum(1, bound / np.maximum(lengths, 1e-300))
    return with_data(rows, rows.data * np.repeat(factors, np.diff(rows.indptr))), factors


def with_data(rows, values):
    return sparse.csr_array((values, rows.indices, rows.indptr), rows.shape)


def second_moment(rows, block_users=4096):
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, rows.shape[0], block_users):
        block = rows[start : start + block_users].astype(np.float32).toarray()
        total += block.T @ block
    return total


def leading(moment):
    """Largest singular value and its right vector, from all of them."""
    _, values, right = np.linalg.svd(moment)
    return values[0], right[0]


def leading_alone(moment):
    """The same to rounding, six times as fast: one eigenvector of M^T M."""
    last = len(moment) - 1
    squares, vectors = linalg.eigh(moment.T @ moment, subset_by_index=(last, last))
    return math.sqrt(max(squares[0], 0.0)), vectors[:, 0]


def frank_wolfe(
    data, *, epsilon, delta, bound, nuclear_norm, rounds, seed, growth=0.0, lead=leading
):
    """Held-out RMSE of Algorithm 1; ``epsilon`` is nominal, ``inf`` is without noise.

    ``growth`` 1 is the growing noise of Section 4, 0 the equal noise of Algorithm 1; ``lead`` finds
    the singular vector.
    """
    rows, means = kept_part(data, seed)
    rows, _ = clip_rows(rows, bound)
    rng = np.random.default_rng([seed, 4])
    n = rows.shape[1]
    noise = printed_noise(bound, rounds, epsilon, delta) if math.isfinite(epsilon) else 0.0
    user, item = pairs(rows)
    test_user, test_item = pairs(data.test)
    own, held = np.zeros(rows.nnz), np.zeros(data.test.nnz)
    for level in growing(noise, rounds, growth)[:-1]:
        bias = math.sqrt(level * math.log(n / BETA) * n**0.25)
        residual = with_data(rows, own - rows.data)
        moment = second_moment(residual) + level * rng.standard_normal((n, n))
        value, direction = lead(moment)
        top = math.sqrt(value) + bias
        local = -nuclear_norm / rounds * (residual @ direction) / top
        own = (1 - 1 / rounds) * own + local[user] * direction[item]
        shrunk, factors = clip_rows(with_data(rows, own), bound)
        own = shrunk.data
        held = (1 - 1 / rounds) * held + local[test_user] * direction[test_item]
        held *= factors[test_user]
    return data.rmse(held + means[test_user])


#: Balls that are tried, over the norm of the matrix: 1/T reaches it from 1.58 norms on.
WIDER = (1.0, 1.3, 1.6, 2.0, 3.0)


def widest_frank_wolfe(data, *, nuclear_norm, **settings):
    """Held-out RMSE of Algorithm 1 with the best k of ``WIDER``, chosen by it: in its favour."""
    tried = (frank_wolfe(data, nuclear_norm=w * nuclear_norm, **settings) for w in WIDER)
    return min(tried)


def svd(data, *, epsilon, delta, bound, rank, seed):
    """Held-out RMSE of Algorithm 3; ``epsilon`` is nominal."""
    rows, means = kept_part(data, seed)
    clipped, _ = clip_rows(rows, bound)
    rng = np.random.default_rng([seed, 5])
    n = rows.shape[1]
    noise = printed_noise(bound, 1, epsilon, delta) if math.isfinite(epsilon) else 0.0
    moment = second_moment(clipped) + noise * rng.standard_normal((n, n))
    basis = np.linalg.svd(moment)[2][:rank].T
    test_user, test_item = pairs(data.test)
    scale = rows.shape[0] * n / rows.nnz
    found = scale * np.einsum("ij,ij->i", (rows @ basis)[test_user], basis[test_item])
    return data.rmse(found + means[test_user])
