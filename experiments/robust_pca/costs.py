"""What the printed noise truly costs.

Full-batch steps are composed exactly by the library's accountant. For the printed minibatch noise
the library's accountant gives only an upper bound: it counts steps with hardly any noise as
unsampled (3e7 in the setting of Fig. 1), because its fine grid of privacy losses would not fit
into memory. Here the same privacy loss distribution is composed on a grid whose cells grow with
the loss of one sampled step, 1/(2 s^2): pessimistic, within 1 % of the limit, and seconds.

The minibatches are taken as Poisson samples; the paper draws with replacement, for which the
amplification it cites is not a theorem.
"""

import math
from functools import cache

from scipy.stats import binom

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent

CELLS = 1000  # cells per 1/(2 s^2)
STEP = "printed step"


def noise_std(method, n_rows, steps, epsilon, delta, batch):
    """Printed standard deviation on the mean gradient, all constants c = 1.

    dp-GGD: T log^2(1/delta) / (epsilon N)^2 (Theorem 6); full-batch REAP: 32 T log^2(T/delta) /
    (epsilon N)^2 (appendix A); minibatches: (B/N)^2 T log(1/delta) / (epsilon N)^2 (all three).
    """
    unit = math.sqrt(steps) / (epsilon * n_rows)
    if method.startswith("S"):
        return batch / n_rows * unit * math.sqrt(math.log(1 / delta))
    if method == "GGD":
        return unit * math.log(1 / delta)
    return unit * math.sqrt(32) * math.log(steps / delta)


@cache
def true_epsilon(method, n_rows, steps, epsilon, delta, batch):
    """Epsilon at ``delta``, under replace-one, of the noise that the paper adds in ``steps`` steps.

    One row moves the mean gradient by at most 2/N (GGD) or sqrt(2)/N (REAP). The start is not in
    this number: the Wishart start of GGD has no finite epsilon at any small delta, that of REAP
    does not depend on rows.
    """
    std = noise_std(method, n_rows, steps, epsilon, delta, batch)
    if method.startswith("S"):
        return sampled_epsilon(std * batch, batch / n_rows, steps, delta)
    moved = 2.0 if method == "GGD" else math.sqrt(2)
    return epsilon_spent([GaussianEvent(STEP, std * n_rows / moved, steps)], delta)


def sampled_epsilon(multiplier, rate, steps, delta):
    """Epsilon of Poisson-sampled Gaussian steps under replace-one, on a grid fit to its size."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as pld

    loss = 1 / (2 * multiplier**2)
    if loss > 500 * CELLS:
        # A sampled row is plain to see, and its loss is ``loss`` up to a factor 1 + O(multiplier):
        # epsilon is that many times the number of draws that chance exceeds with probability delta.
        return float(binom.isf(delta, steps, rate) * loss)
    cell = max(1e-4, loss / CELLS)
    one = pld.from_gaussian_mechanism(
        multiplier,
        sampling_prob=rate,
        value_discretization_interval=cell,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
    )
    return float(one.self_compose(steps).get_epsilon_for_delta(delta))


def upper_bound(method, n_rows, steps, epsilon, delta, batch):
    """What the library's accountant says of the minibatch noise (see above)."""
    std = noise_std(method, n_rows, steps, epsilon, delta, batch)
    event = SampledGaussianEvent(STEP, batch / n_rows, std * batch, steps)
    return epsilon_spent([event], delta)


def wishart_delta(epsilon):
    """Least delta of the Wishart start at *every* epsilon, one row added: 1 - exp(-epsilon/3).

    The released matrix is never smaller than the data's own, so outputs that are not above the
    neighbour's matrix prove which table it was.
    """
    return 1 - math.exp(-epsilon / 3)
