r"""How far noise may have moved a mean on a manifold, from released numbers alone.

The last step of the default solver asks for the mean gradient g = G + Z at a released point w, Z
isotropic of a public standard deviation t in d dimensions, and goes by -h times what it believes of
g. Near w the mean without noise is exp_w(-h G), h being the inverse curvature, so exp_w(-h g) is
within h |Z| of it, and |Z|^2 / t^2 is chi-square with d degrees of freedom. What the solver did not
believe, or cut, moved the result away from exp_w(-h g) by a released length b. Together

    distance <= h t sqrt(F) + b,    F the 95 % point of chi-square,

to first order in curvature. Not in it: other people who might have come (sampling), points that a
clip shortens. All of it is post-processing of released values: nothing is spent.
"""

from __future__ import annotations

import math
from typing import Any

from veilspan.estimators.noise.summary import NO_BARS, NOISE_ONLY, Line, Parts

LEVEL = 0.95


def find_mean_radius(trace: Any, dim: int) -> float | None:
    """The distance of the formula, or ``None`` where the solver does not tell."""
    last = trace[-1] if trace else {}
    if "held_back" not in last:
        return None
    from scipy.stats import chi2

    noise = float(last["size"]) * float(last["noise_std"]) * math.sqrt(chi2.ppf(LEVEL, dim))
    return noise + float(last["held_back"])


def summarize_mean(estimator: Any, radius: float | None) -> Parts:
    """Where the mean lies and within which distance noise leaves it."""
    if radius is None:
        return Parts("", (), (NO_BARS,))
    ball = estimator.ball
    far = float(estimator.manifold.dist(ball.center, estimator.mean_))
    line = Line("from the centre of the ball", far, radius)
    return Parts("distance of the mean", (line,), (NOISE_ONLY,), marks=True)
