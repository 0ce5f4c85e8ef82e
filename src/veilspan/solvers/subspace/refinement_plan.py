r"""How to spend a budget over refinement steps: a data-free model of their errors.

One refinement with budget mu_k at scale s turns the noise of B into a tilt of variance, per entry,

    e^2 = (k / (n mu_k l))^2 (c + 1/c)^2 (tau^2 + R^2),      s = c sqrt(tau^2 + R^2),

where k/(n mu_k) is the noise on an entry of B, l the inliers' share of the smallest direction, tau
the residual scale of inliers, R the current misalignment. Inliers have |b| ~ sqrt(tau^2 + R^2)/s,
so A shrinks by 1/(1 + 1/c^2) and the tilt s B / A is noisier by s (1 + 1/c^2). Fusing the step with
a prior of variance v leaves v e^2/(v + e^2). Misalignment shrinks from step to step, and with it
the noise: this is why several small releases beat one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# What follows was set on the settings "table" and "structured" of benchmarks/robust_pca.py; its
# "held-out" ones were never tuned on.

#: Steps that a plan looks ahead at most. It is made anew after every step: no run is bound by it.
MOST_PLANNED_STEPS = 12
#: Of plans whose predicted variances differ by no more than this factor, the one with the fewest
#: steps is as good as the best: the model is not that exact.
AS_GOOD = 1.03
#: Within this factor of the best, more steps are preferred, which can correct the model.
SLACK = 1.1
#: A share of the start takes the place of another if it predicts less than this fraction of its
#: variance: ties go to the larger start, which depends less on the model.
CLEARLY_BETTER = 0.98
#: Refinements are planned only if they predict less than this fraction of what the whole budget
#: gives when it is spent on the start: a clear gain.
WORTH_REFINING = 0.6
#: Largest predicted squared angle of a start that refinements may be planned from.
INFORMATIVE_ANGLE2 = 0.2
#: Shares of the budget that a start may take; larger ones come first, see ``CLEARLY_BETTER``.
START_SHARES = (0.7, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05)
#: Squared residual scale that even perfect inliers are credited with: below it rounding counts.
LEAST_TAU2 = 1e-26


@dataclass(frozen=True)
class Model:
    """Public constants of the error model.

    Attributes
    ----------
    n_rows, n_outside : float
        Number of rows n and codimension D - r.
    noise : float
        n mu times the noise on an entry of B for a release of budget mu.
    scale : float
        c in s = c sqrt(tau^2 + R^2).
    """

    n_rows: float
    n_outside: int
    noise: float
    scale: float

    def after(self, steps: int, variance: float, tau2: float, mu2: float, share: float) -> float:
        """Tilt variance per entry after ``steps`` equal releases that share mu^2."""
        unit = self.noise / (self.n_rows * share) * (self.scale + 1 / self.scale)
        for _ in range(steps):
            spread = min(tau2 + self.n_outside * variance, 1.0)
            variance = fuse(variance, unit**2 * steps / mu2 * spread)
        return variance


def fuse(prior: float, error: float) -> float:
    """Variance of the best mean of two independent estimates."""
    return prior * error / (prior + error) if prior + error > 0 else 0.0


def choose_number_of_steps(
    model: Model,
    variance: float,
    tau2: float,
    mu2: float,
    share: float,
    *,
    most: int,
    preferred: int,
) -> tuple[int, float]:
    """Number of equal steps for what is left of the budget, and the variance that it predicts.

    The sampling error of the inliers themselves, tau^2/(n D l), is a floor that no budget lowers.
    Among plans within ``SLACK`` of the best, more steps are preferred up to ``preferred``: later
    steps can correct what the model got wrong.
    """
    if mu2 <= 0:
        return 0, variance
    floor = (tau2 + LEAST_TAU2) / ((model.n_outside + 1) * model.n_rows * share)
    predicted = [model.after(m, variance, tau2, mu2, share) + floor for m in range(1, most + 1)]
    best = min(predicted)
    base = next(m for m, value in enumerate(predicted, 1) if value <= AS_GOOD * best)
    good = range(base, min(max(base, preferred), most) + 1)
    chosen = max((m for m in good if predicted[m - 1] <= SLACK * best), default=base)
    return chosen, predicted[base - 1]


def plan_start(
    model: Model,
    start_noise: float,
    mu: float,
    *,
    n_features: int,
    n_components: int,
    inlier_share: float,
    tau: float,
    most: int,
    preferred: int,
) -> tuple[float, int]:
    """Share of mu^2 for the start, and how many refinements follow; (1, 0) if none would pay.

    ``start_noise`` is n mu times the noise on an off-diagonal entry of the start's mean moment.
    """
    smallest = inlier_share / n_components
    sampling = 1 / (model.n_rows * n_features**2 * smallest**2)
    everything = (start_noise / (model.n_rows * mu * smallest)) ** 2 + sampling
    best = (1.0, 0, WORTH_REFINING * everything)
    for share in START_SHARES:
        start = (start_noise / (model.n_rows * mu * math.sqrt(share) * smallest)) ** 2
        if model.n_outside * start > INFORMATIVE_ANGLE2:
            continue
        steps, predicted = choose_number_of_steps(
            model,
            start + sampling,
            tau**2,
            mu**2 * (1 - share),
            smallest,
            most=most,
            preferred=preferred,
        )
        if predicted < CLEARLY_BETTER * best[2]:
            best = (share, steps, predicted)
    return best[0], best[1]
