"""What the printed noise truly costs.

All costs come from the library's accountant. For the smallest minibatches even a coarse
distribution of the privacy loss would not fit into memory; there the number of times that a row is
drawn decides, and epsilon is counted from it (see ``sampled_epsilon``).

The minibatches are taken as Poisson samples; the paper draws with replacement, for which the
amplification it cites is not a theorem.
"""

import math
from functools import cache

from scipy.stats import binom

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent

from ..job import Cost

COUNTED = 5e5  # privacy loss of one sampled step above which draws are counted
STEP = "printed step"


def noise_std(method, n_rows, steps, epsilon, delta, batch):
    """Printed standard deviation on the mean gradient, all constants c = 1.

    dp-GGD: T log^2(1/delta) / (epsilon N)^2 (Theorem 6); full-batch REAP: 32 T log^2(T/delta) /
    (epsilon N)^2 (appendix A); minibatches: (B/N)^2 T log(1/delta) / (epsilon N)^2 (Theorem 6 and
    Algorithms 1 and 2). For minibatches of REAP Theorem 8 prints N^2 times that variance: see
    ``theorem_8_epsilon``.
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


def theorem_8_std(n_rows, steps, epsilon, delta, batch):
    """Standard deviation that Theorem 8 prints for minibatches of REAP, on the mean gradient."""
    return batch * math.sqrt(steps * math.log(1 / delta)) / (epsilon * n_rows)


@cache
def theorem_8_epsilon(n_rows, steps, epsilon, delta, batch):
    """Epsilon of minibatches of REAP with the noise of Theorem 8, under replace-one.

    Its variance on the mean gradient is B^2 T log(1/delta) / (epsilon N)^2, and two rows' parts are
    at most sqrt(2) apart.
    """
    std = theorem_8_std(n_rows, steps, epsilon, delta, batch)
    return sampled_epsilon(std * batch / math.sqrt(2), batch / n_rows, steps, delta)


def sampled_epsilon(multiplier, rate, steps, delta):
    """Epsilon of Poisson-sampled Gaussian steps under replace-one."""
    loss = 1 / (2 * multiplier**2)
    if loss > COUNTED:
        # A sampled row is plain to see, and its loss is ``loss`` up to a factor 1 + O(multiplier):
        # epsilon is that many times the number of draws that chance exceeds with probability delta.
        return float(binom.isf(delta, steps, rate) * loss)
    return epsilon_spent([SampledGaussianEvent(STEP, rate, multiplier, steps)], delta)


def wishart_delta(epsilon):
    """Least delta of the Wishart start at *every* epsilon, one row added: 1 - exp(-epsilon/3).

    The released matrix is never smaller than the data's own, so outputs that are not above the
    neighbour's matrix prove which table it was.
    """
    return 1 - math.exp(-epsilon / 3)


def steps_costs(method, n_rows, steps, epsilon, delta, batch, where=""):
    """What the printed steps of a method promise and have, by every reading that is printed.

    The one that keeps its promise best comes first; ``where`` names the setting.
    """
    setting = n_rows, steps, epsilon, delta, batch
    end = f", {where}" if where else ""
    found = []
    if method in ("SGD-REAP", "SMD-REAP"):
        true = theorem_8_epsilon(*setting)
        why = "far more noise than the promise needs; the algorithms print another"
        found.append(_cost(f"dp-{method}, noise of Theorem 8{end}", epsilon, true, delta, why))
    true = true_epsilon(method, *setting)
    name = f"dp-{method}, steps" if method.endswith("GGD") else f"dp-{method}"
    if method.startswith("S"):
        why = f"the minibatch noise lacks a factor of about N/B = {n_rows / batch:.0f}"
        name += ", noise of the algorithm" if found else ""
    elif method == "GGD":
        why = "steps only, which have more noise than they need; its start is counted apart"
    else:
        why = "more noise than the promise needs; its start depends on no row"
        why += "; delta alone covers it" * (true == 0)
    return [*found, _cost(name + end, epsilon, true, delta, why)]


def _cost(words, epsilon, true, delta, why):
    return Cost(words, epsilon, float(f"{true:.4g}"), delta, "replace-one", why)


def start_cost(epsilon, delta):
    """What the Wishart start of dp-GGD and dp-SGGD has; no epsilon where delta is too small."""
    least = wishart_delta(epsilon)
    if least <= delta:
        raise ValueError(f"this bound shows nothing at delta {delta:g} >= {least:g}.")
    why = f"its start is not private at any epsilon: delta is at least {least:.2g} at each of them"
    return Cost("Wishart start of dp-(S)GGD", epsilon, math.inf, delta, "add-remove", why)


def is_private(method, n_rows, steps, epsilon, delta, batch):
    """Whether a printed method keeps its promise, its start included."""
    steps_keep = true_epsilon(method, n_rows, steps, epsilon, delta, batch) <= epsilon
    start_keeps = not method.endswith("GGD") or wishart_delta(epsilon) <= delta
    return steps_keep and start_keeps
