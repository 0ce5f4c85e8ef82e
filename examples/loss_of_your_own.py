"""Private gradient descent on a loss of your own: ten noisy, clipped gradients under one budget."""

import numpy as np

from veilspan import Budget, GaussianEvent, Plan, calibrate_noise, epsilon_spent
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.noise import SecureNoise
from veilspan.queries.own_gradient import RowGradient

rng = np.random.default_rng(0)  # the simulated rows; the noise below is not seeded
x = rng.standard_normal((20_000, 5))
y = x @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + rng.standard_normal(20_000)


def huber(block, theta):
    """Gradients of Huber's loss, for all rows of a block at once."""
    residual = block.x @ theta - block.y
    return np.clip(residual, -1, 1)[:, None] * block.x


budget = Budget(epsilon=1.0, delta=1e-6)
plan = Plan(
    method="Huber regression",
    budget=budget,
    neighbors="replace-one",
    n_rows=len(x),
    n_features=5,
    events=calibrate_noise(budget, [GaussianEvent("gradient", count=10)]),
)
curator = Curator(Rows(x, y), plan, SecureNoise())
theta = np.zeros(5)
for _ in range(10):
    answer = curator.answer(RowGradient(huber, bound=3.0), theta, event="gradient")
    theta = theta - 1.5 * answer.value / curator.n_rows

print("theta:", np.round(theta, 2))
print("spent: epsilon =", round(epsilon_spent(curator.spent, 1e-6), 6))
