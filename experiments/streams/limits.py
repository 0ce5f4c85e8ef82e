r"""How little noise running sums can have at several blocks at once: a bound, with its proof.

Let C be any T x T matrix whose columns have norm at most 1, A the prefix sum, and P_t the std of
the noise of the t-th running sum, the norm of row t of A C^-1. For any weights alpha, beta >= 0

    sum_t alpha_t P_t^2  >=  | D(alpha)^(1/2) A D(beta)^(1/2) |_*^2 / sum_u beta_u ,

where |.|_* is the sum of singular values and D(.) a diagonal matrix. *Proof.* With
X = D(alpha)^(1/2) A C^-1 and Y = C D(beta)^(1/2), |X Y|_* <= |X|_F |Y|_F; |X|_F^2 is the left side
and |Y|_F^2 = sum_u beta_u |C_u|^2 <= sum_u beta_u. []

So if P_t <= p_t for all t, then sum alpha_t p_t^2 is at least the right side; with alpha_t p_t^2
that sum to 1, some t has P_t >= rho p_t where rho^2 is the right side. Every (alpha, beta) is a
proof; the search below finds good ones. (The bound is met by the best C: the problem is convex in
C^T C, and this is its dual.) It holds for mechanisms that know T, so for those that do not all the
more.
"""

import numpy as np

from veilspan.privacy.correlation import Correlation

from .methods import prefix_response
from .settings import CHECKS

BLOCKS = 128


def ours(blocks=BLOCKS):
    """Std of the noise of the running sums, in units of what one block needs alone."""
    correlation = Correlation()
    return np.array([correlation.sum_std(t) for t in range(blocks)])


def square_root_std(blocks=BLOCKS):
    """The same for the square root of the prefix sum, built for so many blocks."""
    response, norm = prefix_response(blocks)
    return norm * np.sqrt(np.cumsum(response**2))


def independent_std(blocks=BLOCKS):
    """The same for new noise in every block."""
    return np.sqrt(np.arange(1.0, blocks + 1))


def certificate(targets, rounds=200):
    """The largest rho found for which some P_t >= rho p_t, with its alpha and beta.

    Parameters
    ----------
    targets : dict of int to float
        p_t by the number t of blocks; others may have any noise.
    rounds : int
        Steps of the search: each is a fixed point's step for beta and a multiplicative one for
        alpha.
    """
    times = np.array(sorted(targets))
    size = int(times[-1])
    wanted = np.array([targets[t] for t in times])
    rows = (np.arange(size)[None, :] < times[:, None]) / wanted[:, None]  # of A, over p_t
    alpha, beta = np.full(len(times), 1 / len(times)), np.full(size, 1.0)
    best = (0.0, alpha, beta)
    for _ in range(rounds):
        scaled = np.sqrt(alpha)[:, None] * rows * np.sqrt(beta)
        left, values, right = np.linalg.svd(scaled, full_matrices=False)
        rho = float(values.sum() / np.sqrt(beta.sum()))
        if rho > best[0]:
            best = (rho, alpha, beta)
        # Rows of A C^-1 for C^T C = D^-1/2 (D^1/2 B^T B D^1/2)^1/2 D^-1/2, up to a factor.
        spread = np.einsum("ij,j->i", left**2, values) / np.maximum(alpha, 1e-300)
        beta = np.maximum(np.einsum("ji,j->i", right**2, values), 1e-12)
        alpha = alpha * spread
        alpha /= alpha.sum()
    return best


def check_certificate(targets, alpha, beta):
    """The bound of one pair of weights, by the formula alone."""
    times = np.array(sorted(targets))
    rows = np.arange(len(beta))[None, :] < times[:, None]
    scaled = np.sqrt(alpha)[:, None] * rows * np.sqrt(beta)
    scaled = scaled / np.array([targets[t] for t in times])[:, None]
    return float(np.linalg.svd(scaled, compute_uv=False).sum() / np.sqrt(beta.sum()))


def trade_off():
    """Rows of the table: noise at each check, ours beside the others, and what is impossible."""
    found = {"ours": ours(), "square root": square_root_std(), "independent": independent_std()}
    return [
        {"blocks": t, **{name: float(std[t - 1]) for name, std in found.items()}} for t in CHECKS
    ]


def least_of_ours(rounds=200):
    """No mechanism for 128 blocks has less than this share of our noise at all of them."""
    return certificate(dict(enumerate(ours(), start=1)), rounds)[0]


def both_ends(rounds=200):
    """Least factor for whoever wants independent noise's first four blocks.

    And the square root's later ones; above 1 it cannot be had.
    """
    return certificate(_wanted(1.0, 1.0), rounds)[0]


def frontier(short=False):
    """What the first four blocks cost the others: pairs of factors that nobody can have below.

    For a factor x on independent noise's first four blocks, the y on the square root's later ones
    at which the bound allows both. Ours stands beside it in ``trade_off``.
    """
    found = []
    for early in (1.0,) if short else (1.0, 1.05, 1.1, 1.2, 1.4):
        low, high = 0.8, 1.2
        for _ in range(3 if short else 9):
            late = (low + high) / 2
            impossible = certificate(_wanted(early, late), 2 if short else 40)[0] > 1
            low, high = (late, high) if impossible else (low, late)
        found.append({"first four blocks": early, "later ones at least": low})
    return found


def _wanted(early, late):
    first, later = independent_std(), square_root_std()
    return {
        t: float(early * first[t - 1] if t <= 4 else late * later[t - 1])
        for t in range(1, BLOCKS + 1)
    }
