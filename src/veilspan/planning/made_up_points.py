"""Made-up points around a mean that lies off the public centre, for means on manifolds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.planning.trials import Case
from veilspan.planning.utility_curve import NotSimulatedError

#: Distance of the mean from the ball's centre over its radius: how much there is to learn.
STRENGTHS = {"weak": 0.05, "medium": 0.15, "strong": 0.4}
#: Root mean square distance of points from their mean, over the radius.
SPREAD = 0.3
#: On compact manifolds points stay where geodesics are still unique.
WIDEST = 1.0


def check(case: Case) -> None:
    """Refuse a mean without a ball: nobody knows where points could lie."""
    if case.estimator.ball is None:
        raise NotSimulatedError("a mean is simulated inside its public ball: give ball=...")


def say_measure(case: Case) -> str:
    """What is compared, in words."""
    return "squared distance to the true mean, over that of the ball's centre"


def say_strength(case: Case, strength: str) -> str:
    """What a strength means, in words."""
    return f"the mean lies {STRENGTHS[strength]:.0%} of the ball's radius from its centre"


@dataclass(frozen=True)
class MeanTrial:
    """Points to fit, and their true mean."""

    case: Case
    points: np.ndarray
    truth: np.ndarray
    apart: float

    def learn(self, epsilon: float, seed: int, share: float) -> float:
        """1 at the true mean, 0 at the centre of the ball or as far away."""
        model = self.case.make_model(epsilon, seed, share).fit(self.points)
        far = float(self.case.estimator.manifold.dist(model.mean_, self.truth))
        return 1 - (far / self.apart) ** 2 if math.isfinite(far) else 0.0


def make_trial(case: Case, strength: str, rows: int, seed: int) -> MeanTrial:
    """Gaussian tangent vectors at a mean, followed along geodesics and pulled into the ball."""
    rng = np.random.default_rng(seed)
    ball: Any = case.estimator.ball
    manifold = ball.manifold
    radius = min(float(ball.radius), WIDEST if _is_round(manifold) else math.inf)
    apart = STRENGTHS[strength] * radius
    way = manifold.random_tangent(ball.center, 1.0, rng)
    way = way * (apart / float(manifold.norm(ball.center, way)))
    truth = manifold.exp(ball.center, way)
    std = SPREAD * radius / math.sqrt(manifold.dim)
    points = manifold.exp(truth, manifold.random_tangent(truth, std, rng, size=rows))
    return MeanTrial(case, ball.pull_in(points), truth, apart)


def _is_round(manifold: Any) -> bool:
    """Whether geodesics meet again, as on a sphere."""
    return type(manifold).__name__ in ("Sphere", "Grassmann", "Stiefel", "Product")
