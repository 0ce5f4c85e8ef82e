r"""What DP-RSVRG costs by public numbers only, under three schemes and two accountants.

The noise variance sigma^2 of an inner step is split into sigma_1^2 = alpha sigma^2 for the mean of
n clipped gradients and sigma_2^2 = (1 - alpha) sigma^2 for the variance-reduced part of one row.
Under replace-one (the relation of the paper) one row moves

* the mean by 2 C_0 / n (their Claim 3),
* the printed inner part, a difference of two gradients clipped to C_1 each, by 4 C_1 (Claim 3),
* an inner part clipped to C_1 as a whole by 2 C_1 ("difference clipped"; it clips more rows).

The paper draws the noise of the mean anew at each of the m S inner steps: m S charges. A mean
noised once an epoch and then used again needs S. In the printed scheme alpha exists on paper only
(every step is released with variance sigma^2 whatever alpha is); with noise once an epoch it is
real.

Two accountants. "one row": a fixed size of 1 of n, by the Rényi bound of Wang, Balle &
Kasiviswanathan (2019) in ``dp_accounting``, the nearest to the paper's ``autodp``; it does not
double the sensitivity of a Gaussian for replace-one, so the sensitivities above are put in whole.
"Poisson": each row with probability 1/n, by privacy loss distributions as in veilspan, in finer
cells than its own.
"""

import math
from functools import partial

import numpy as np

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent

N_ROWS, INNER_STEPS, DELTA = 100_000, 10_000, 1e-6
FULL_CLIP, STEP_CLIP = 0.1, 0.01
CLAIM_5_ALPHA = (math.sqrt(14) - 1) / 13  # minimises 2 / a + 28 / (1 - a)
#: scheme: (label, charges of the mean in an epoch, largest norm of one row's inner part)
SCHEMES = {
    "printed": ("noise of the mean every step (printed)", INNER_STEPS, 2 * STEP_CLIP),
    "once": ("noise of the mean once an epoch", 1, 2 * STEP_CLIP),
    "ours": ("once an epoch, difference clipped (veilspan)", 1, STEP_CLIP),
}


def split(sigma, alpha):
    return sigma * math.sqrt(alpha), sigma * math.sqrt(1 - alpha)


def events_of(scheme, epochs, sigma, alpha):
    """The events of a run with Poisson samples, in the units of ``veilspan.privacy.events``."""
    _, charges, norm = SCHEMES[scheme]
    full, inner = split(sigma, alpha)
    return (
        GaussianEvent("mean gradient", full * N_ROWS / (2 * FULL_CLIP), charges * epochs),
        SampledGaussianEvent("inner step", 1 / N_ROWS, inner / norm, INNER_STEPS * epochs),
    )


def orders_for(multiplier):
    """Whole Rényi orders up to where q e^(order / 2 z^2) = 1 and the bound of a step explodes."""
    steep = 2 * multiplier**2 * math.log(N_ROWS)
    shares = (*np.geomspace(0.04, 0.7, 12), *np.linspace(0.72, 1.2, 17))
    return sorted({max(2, round(share * steep)) for share in shares})


def one_row_epsilon(scheme, epochs, sigma, alpha):
    """Epsilon for one row of n in every step, by Rényi divergences."""
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    mean, inner = events_of(scheme, epochs, sigma, alpha)
    # The inner multiplier holds the norm of one contribution; replacing the row moves it by twice
    # that. The multiplier of the mean is relative to its replace-one sensitivity already.
    step = dp.GaussianDpEvent(inner.noise_multiplier / 2)
    orders = orders_for(step.noise_multiplier)
    accountant = RdpAccountant(orders, dp.NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp.GaussianDpEvent(mean.noise_multiplier), mean.count)
    accountant.compose(dp.SampledWithoutReplacementDpEvent(N_ROWS, 1, step), inner.count)
    return float(accountant.get_epsilon(DELTA))


def composed(mean, multiplier, epochs, relation, cell):
    """Epsilon by privacy loss distributions, as ``veilspan.privacy.accounting`` composes them.

    Epoch by epoch: composing a million small steps at once is slow in ``dp_accounting`` 0.6.
    """
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as pld

    make = partial(pld.from_gaussian_mechanism, value_discretization_interval=cell)
    pair = {"sampling_prob": 1 / N_ROWS, "neighboring_relation": NeighboringRelation[relation]}
    step = make(multiplier, **pair)
    total = make(1 / mean.mu).compose(step.self_compose(INNER_STEPS).self_compose(epochs))
    return float(total.get_epsilon_for_delta(DELTA))


def poisson_epsilon(scheme, epochs, sigma, alpha, cell=None):
    """Epsilon for Poisson samples of rate 1/n, in fine cells.

    A step of rate q and multiplier z has losses of the order 2 q / z. Wider cells measure rounding;
    much finer ones, over a million steps, the rounding of the Fourier transform.
    """
    mean, inner = events_of(scheme, epochs, sigma, alpha)
    cell = cell or inner.sampling_rate / (2 * inner.noise_multiplier)
    return composed(mean, inner.noise_multiplier, epochs, "REPLACE_ONE", cell)


def agreeing_rows_epsilon(epochs, sigma, alpha):
    """What the printed scheme costs on tables whose other rows all make the same inner part.

    With one row of n the pair is then (1-q) N(0) + q N(4 C_1) and N(0), in both orders. Over all
    tables, with both parts released as in the paper's proof, the cost is at least this.
    """
    mean, inner = events_of("printed", epochs, sigma, alpha)
    return composed(mean, inner.noise_multiplier / 2, epochs, "ADD_OR_REMOVE_ONE", 1 / N_ROWS)


ACCOUNTANTS = {"one row": one_row_epsilon, "Poisson": poisson_epsilon}


def leading_alpha(scheme):
    r"""Alpha that minimises the sum of squared losses to leading order in q = 1/n.

    k (2 C_0 / n)^2 / alpha + m q^2 (2 C)^2 / (1 - alpha), with k charges of the mean in an epoch
    and inner parts of norm C: alpha = 1 / (1 + sqrt(m / k) C / C_0), whatever sigma and S are.
    """
    _, charges, norm = SCHEMES[scheme]
    return 1 / (1 + math.sqrt(INNER_STEPS / charges) * norm / FULL_CLIP)


def optimise(epsilon, scheme, epochs, sigma, near):
    """Best alpha and its epsilon, and the epsilon of alpha = 1/2.

    The mean alone costs no more than the whole. Where that exceeds the cost of alpha = 1/2 nothing
    is to be found, and a distribution of the privacy loss would be large: it is not computed.
    """
    half = epsilon(scheme, epochs, sigma, 0.5)

    def cost(alpha):
        least = epsilon_spent(events_of(scheme, epochs, sigma, alpha)[:1], DELTA)
        return least if least > half else epsilon(scheme, epochs, sigma, alpha)

    alpha, lowest = best_alpha(cost, near)
    return (alpha, lowest, half) if lowest < half else (0.5, half, half)


def best_alpha(cost, near, whole=(-11.0, 2.2)):
    """Minimise ``cost(alpha)`` over the log-odds of alpha, first around ``near``."""
    from scipy.optimize import minimize_scalar
    from scipy.special import expit, logit

    def at_odds(x):
        return cost(float(expit(x)))

    def search(low, high):
        at = minimize_scalar(at_odds, bounds=(low, high), options={"xatol": 0.1})
        return at, min(at.x - low, high - at.x) > 0.3

    found, inside = search(max(logit(near) - 1.2, whole[0]), min(logit(near) + 1.2, whole[1]))
    if not inside:  # it is further away than expected
        grid = np.linspace(*whole, 12)
        i = int(np.argmin([at_odds(x) for x in grid]))
        found, _ = search(grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)])
    return float(expit(found.x)), float(found.fun)


def claim_4_epsilon(epochs, sigma, alpha, largest=math.inf):
    r"""Epsilon and order lambda by the closed form of the paper.

    K(l) = m S l (l + 1) / n^2 [ 2 C_0^2 / sigma_1^2 + 28 C_1^2 / sigma_2^2 ] (Claims 3 and 4), then
    epsilon = min over l <= ``largest`` of (K(l) + log 1/delta) / l (Mironov 2017, Proposition 3).
    """
    full, inner = split(sigma, alpha)
    orders = np.geomspace(0.01, min(largest, 1e5), 4001)
    rate = 2 * (FULL_CLIP / full) ** 2 + 28 * (STEP_CLIP / inner) ** 2
    moments = INNER_STEPS * epochs * orders * (orders + 1) / N_ROWS**2 * rate
    epsilons = (moments + math.log(1 / DELTA)) / orders
    i = int(np.argmin(epsilons))
    return float(epsilons[i]), float(orders[i])


def claim_4_largest_order(sigma, alpha, scale=1.0):
    """Largest lambda for which Claim 4 is stated: l <= 2/3 v log(n (l + 1) (1 + v')).

    v' = sigma_2^2 / (16 C_1^2). The paper prints v = sigma_2^2 (``scale`` = 1), which changes with
    the unit of the gradients; ``scale`` = 16 C_1^2 reads it as v = v'.
    """
    _, inner = split(sigma, alpha)
    relative = (inner / (4 * STEP_CLIP)) ** 2
    orders = np.geomspace(1e-6, 1e5, 20_001)
    bounds = 2 / 3 * inner**2 / scale * np.log(N_ROWS * (orders + 1) * (1 + relative))
    allowed = orders[orders <= bounds]
    return float(allowed[-1]) if len(allowed) else 0.0


def epoch_noise(scheme, alpha):
    """Std of the noise summed over an epoch's steps, relative to the printed sqrt(m) sigma."""
    uses = INNER_STEPS / SCHEMES[scheme][1]  # m uses of one draw add m^2 sigma_1^2
    return math.sqrt(uses * alpha + 1 - alpha)
