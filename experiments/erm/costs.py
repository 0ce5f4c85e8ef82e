"""What the printed noise of Wang, Ye & Xu (2017) truly costs, by exact accounting."""

import itertools
import math

from scipy.stats import binom

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent

from ..job import Cost

DELTA = 1e-6
COUNTED = 5e5  # privacy loss of one sampled step above which draws are counted
STEPS_ONLY = "inner steps alone: the noiseless anchor gradients are not even counted; "


def steps_epsilon(rows, steps, std):
    """Epsilon under add-remove of one-row steps with noise ``std`` (over G), Poisson samples.

    A row contributes a change of gradients, up to 2 G long; counted as G here, so that the figures
    are below the truth rather than above it. The paper picks one of n rows, which is taken as a
    Poisson sample of one row in the mean. Where noise is so small that a drawn row is plain to
    see, epsilon is its loss times the number of draws that chance exceeds with probability delta.
    """
    loss = 1 / (2 * std**2)
    if loss > COUNTED:
        return float(binom.isf(DELTA, steps, 1 / rows) * loss)
    event = SampledGaussianEvent("printed step", 1 / rows, std, steps)
    return epsilon_spent([event], DELTA, neighbors="add-remove")


def sampled_costs(job, name, theorem, rows, steps, epochs, std, why):
    """Two entries for a printed plan at nominal epsilon 1: Remark 4.1's noise, and the theorem's.

    The remark multiplies sigma by O(ln(T / delta)) and lifts the theorems' condition on epsilon.
    """
    readings = (("Remark 4.1", math.log(epochs / DELTA)), (theorem, 1.0))
    found = []
    for reading, factor in readings:
        key = ["cost", name, reading, rows, steps]
        true = job.cell(key, lambda: steps_epsilon(rows, steps, factor * std))  # noqa: B023
        words = f"{name}, noise of {reading}, n = {rows:,}, {steps:,} steps"
        found.append(Cost(words, 1.0, float(true), DELTA, "add-remove", STEPS_ONLY + why))
    return found


def beyond_remark(costs):
    """The largest epsilon with the noise of the theorems, and the largest with the remark's."""
    remark = [cost.true for cost in costs if "Remark" in cost.method]
    return max(cost.true for cost in costs), max(remark, default=math.nan)


def constant(epsilon, delta=DELTA):
    r"""The c with which sigma^2 = c G^2 T log(1/delta) / (n epsilon)^2 is right under replace-one.

    T releases of a mean gradient that one row moves by 2 G / n are mu-Gaussian-DP with
    mu = 2 G sqrt(T) / (n sigma) = 2 epsilon / sqrt(c log(1/delta)).
    """
    return 4 * epsilon**2 / (Budget(epsilon, delta).mu ** 2 * math.log(1 / delta))


def with_constant(c, epsilon, delta=DELTA):
    """True epsilon of the printed noise with this c."""
    mu = 2 * epsilon / math.sqrt(c * math.log(1 / delta))
    return epsilon_spent([GaussianEvent("all steps", 1 / mu, 1)], delta)


def constant_costs(right_at=0.1, used_at=(1.0, 10.0, 100.0)):
    """One constant for all epsilon: right at one, wrong at larger ones."""
    c = constant(right_at)
    return [
        Cost(f"DP-GD and DP-AccMD with c = {c:.2f}, right at epsilon {right_at:g}", epsilon,
             with_constant(c, epsilon), DELTA, "replace-one",
             f"epsilon {epsilon:g} needs c = {constant(epsilon):.3g}")
        for epsilon in used_at
    ]  # fmt: skip


# ---------------------------------------------------------------- the exact gradient of DP-AccMD


def open_epsilon(steps):
    """Epsilon of printed DP-AccMD at a linear loss without a constraint, claimed 1 (replace-one).

    y_T is then Gaussian: it is a fixed multiple of the mean slope plus a mixture of the T - 1
    earlier noises (the last one never reaches y_T).
    """
    y = z = (0.0, [0.0] * steps)
    for k in range(steps):
        share, size = 2 / (k + 2), (k + 2) / 4
        x = [share * a + (1 - share) * b for a, b in zip(z[1], y[1])]
        y = (share * z[0] + (1 - share) * y[0] - 1.0, x)
        z = (z[0] - size, [v - size * (i == k) for i, v in enumerate(z[1])])
    spread = math.hypot(*y[1])
    if spread == 0:
        return math.inf
    mu = abs(y[0]) / spread * Budget(1.0, DELTA).mu / math.sqrt(steps)
    return epsilon_spent([GaussianEvent("output", 1 / mu, 1)], DELTA)


def bound_delta(steps, rows=1000, smooth=0.01):
    """Probability with which printed DP-AccMD on [-1, 1] names its table: delta at every epsilon.

    One coefficient, losses s x + L x^2 / 4 with |s| <= 1, mean slope 0 or (one row replaced) 2/n;
    noise exactly calibrated to epsilon 1 for all T gradients. Whenever every z lies at an end of
    the interval, y_T is one of 2^(T-1) points, and they differ between the tables.
    """
    std = 2 * math.sqrt(steps) / (rows * Budget(1.0, DELTA).mu)
    ours, others = (_points(steps, mean, smooth, std) for mean in (0.0, 2 / rows))
    taken = {round(point, 9) for point, _ in others}
    return sum(chance for point, chance in ours if round(point, 9) not in taken)


def _points(steps, slope, smooth, std):
    """Outputs with their probabilities, over all ways in which the z lie at the ends."""
    found = []
    for ends in itertools.product((-1.0, 1.0), repeat=steps - 1):
        y = z = 0.0
        chance = 1.0
        for k in range(steps):
            share, size = 2 / (k + 2), (k + 2) / (4 * smooth)
            x = share * z + (1 - share) * y
            gradient = slope + smooth / 2 * x
            y = min(max(x - gradient / smooth, -1.0), 1.0)
            if k < steps - 1:  # the last z is not used
                aim = z - size * gradient
                chance *= _below((ends[k] * aim - 1) / (size * std))
                z = ends[k]
        found.append((y, chance))
    return found


def _below(value):
    """Probability that a standard normal variable is below."""
    return math.erfc(-value / math.sqrt(2)) / 2


def leak_costs():
    """The three ways in which the exact gradient of the y-step shows."""
    entries = [("DP-AccMD, T = 1", math.inf, "y_1 is a function of the exact gradient")]
    entries += [
        (f"DP-AccMD, linear loss, no constraint, T = {steps}", open_epsilon(steps),
         "y_T is Gaussian; the y-step's gradient is exact")
        for steps in (2, 3, 10)
    ]  # fmt: skip
    entries += [
        (f"DP-AccMD on [-1, 1], T = {steps}", math.inf,
         f"with probability {delta:.2g} every z is at an end and y_T names the table")
        for steps in (3, 10) for delta in [bound_delta(steps)] if delta > DELTA
    ]  # fmt: skip
    return [Cost(name, 1.0, true, DELTA, "replace-one", why) for name, true, why in entries]
