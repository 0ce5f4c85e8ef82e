"""DP-RSVRG and DP-RGD on many seeds at once, on the hyperboloid and on the sphere.

Points are rows of an array (seeds, columns). Each manifold has what Algorithm 11 needs: exp,
transport along the geodesic, noise, gradients of single rows and of the mean. Gradients are never
longer than the clip, which therefore does nothing.
"""

import math

import numpy as np

from veilspan.privacy.budget import Budget

DELTA = 1e-6
LARGEST = 2.0  # epsilon at which the noise of DP-RGD is exact; below it is a little more


class Hyperboloid:
    """Fréchet means of rows within 1 of the origin: F is 1-strongly g-convex, ``clip`` = 2."""

    clip, smoothness = 2.0, 2.1  # a gradient is a distance; 2 / tanh(2) bounds the curvature

    def __init__(self, n, dimension, seed):
        rng = np.random.default_rng([101, n, dimension, seed])
        tangent = rng.standard_normal((n, dimension))
        tangent *= 0.4 * rng.random((n, 1)) / np.linalg.norm(tangent, axis=1, keepdims=True)
        tangent[:, 0] += 0.5
        lengths = np.linalg.norm(tangent, axis=1, keepdims=True)
        self.rows = np.hstack([np.cosh(lengths), np.sinh(lengths) * tangent / lengths])
        self.origin = np.eye(1, dimension + 1)
        best = self.origin
        for _ in range(60):
            best = self.exp(best, -self.mean_gradient(best) / 2)
        self.least = self.value(best)[0]

    def start(self, seeds):
        """All seeds at the origin."""
        return np.repeat(self.origin, seeds, axis=0)

    @staticmethod
    def inner(a, b):
        """Minkowski's product, row by row."""
        return np.sum(a[..., 1:] * b[..., 1:], axis=-1) - a[..., 0] * b[..., 0]

    def exp(self, at, v):
        """Along v for its length, brought back onto the sheet."""
        length = np.sqrt(np.maximum(self.inner(v, v), 1e-300))[:, None]
        made = np.cosh(length) * at + np.sinh(length) / length * v
        made[:, 0] = np.sqrt(1 + np.sum(made[:, 1:] ** 2, axis=1))
        return made

    def carry(self, a, b, v):
        """Parallel transport from a to b."""
        return v + (self.inner(b, v) / (1 - self.inner(a, b)))[:, None] * (a + b)

    def noise(self, at, rng):
        """Standard tangent noise: drawn at the origin and carried."""
        flat = np.zeros_like(at)
        flat[:, 1:] = rng.standard_normal((len(at), at.shape[1] - 1))
        return self.carry(np.broadcast_to(self.origin, at.shape), at, flat)

    def gradients(self, at, picked):
        """Minus the logarithm of one row for each seed."""
        return -self._log(at, self.rows[picked])

    def mean_gradient(self, at):
        """Exact mean gradient for each seed."""
        cosh = at[:, :1] * self.rows[:, 0] - at[:, 1:] @ self.rows[:, 1:].T
        factor = self._factor(cosh) / len(self.rows)
        return -(factor @ self.rows - np.sum(factor * cosh, axis=1, keepdims=True) * at)

    def value(self, at):
        """Half the mean squared distance."""
        cosh = at[:, :1] * self.rows[:, 0] - at[:, 1:] @ self.rows[:, 1:].T
        return np.mean(np.arccosh(np.maximum(cosh, 1)) ** 2, axis=1) / 2

    def excess(self, at):
        """F above its minimum."""
        return self.value(at) - self.least

    def squared_gradient(self, at):
        """|grad F|^2 for each seed."""
        gradient = self.mean_gradient(at)
        return self.inner(gradient, gradient)

    def _log(self, at, rows):
        cosh = -self.inner(at, rows)
        return self._factor(cosh)[:, None] * (rows - cosh[:, None] * at)

    @staticmethod
    def _factor(cosh):
        distance = np.arccosh(np.maximum(cosh, 1 + 1e-12))
        return distance / np.sinh(distance)


class Sphere:
    """The leading eigenvector, F = -w^T A w / 2: not convex, PL away from the equator."""

    clip, smoothness = 0.5, 1.0
    LEADING = 3.0  # std of the first column, of the others 1

    def __init__(self, n, dimension, seed):
        rng = np.random.default_rng([103, n, dimension, seed])
        self.rows = rng.standard_normal((n, dimension + 1))
        self.rows[:, 0] *= self.LEADING
        self.rows /= np.linalg.norm(self.rows, axis=1, keepdims=True)
        self.moment = self.rows.T @ self.rows / n
        self.values = np.linalg.eigvalsh(self.moment)
        self.pl = 1 / (self.values[-1] - self.values[-2])  # F - F* <= pl |grad F|^2 near the top

    def start(self, seeds):
        """All seeds at 72 degrees from the first axis."""
        at = np.zeros((seeds, self.rows.shape[1]))
        at[:, 0], at[:, 1] = 0.3, math.sqrt(1 - 0.09)
        return at

    def exp(self, at, v):
        """Along the great circle of v for its length."""
        length = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
        made = np.cos(length) * at + np.sin(length) / length * v
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def carry(self, a, b, v):
        """Parallel transport from a to b."""
        share = np.sum(b * v, axis=1) / (1 + np.sum(a * b, axis=1))
        return v - share[:, None] * (a + b)

    def noise(self, at, rng):
        """Standard tangent noise: the part of a normal vector that is orthogonal to the point."""
        drawn = rng.standard_normal(at.shape)
        return drawn - np.sum(drawn * at, axis=1, keepdims=True) * at

    def gradients(self, at, picked):
        """Of one row for each seed: -(z w) (z - (z w) w)."""
        rows = self.rows[picked]
        score = np.sum(rows * at, axis=1, keepdims=True)
        return -score * (rows - score * at)

    def mean_gradient(self, at):
        """Exact mean gradient for each seed."""
        pulled = at @ self.moment
        return -(pulled - np.sum(pulled * at, axis=1, keepdims=True) * at)

    def excess(self, at):
        """F above its minimum."""
        return (self.values[-1] - np.sum((at @ self.moment) * at, axis=1)) / 2

    def squared_gradient(self, at):
        """|grad F|^2 for each seed."""
        return np.sum(self.mean_gradient(at) ** 2, axis=1)


def printed_std(n, epsilon, steps, clip):
    """Sigma of Claim 5 with its constant set to 1: sqrt(m S log(1/delta)) C / (n epsilon)."""
    return math.sqrt(steps * math.log(1 / DELTA)) * clip / (n * epsilon)


def exact_std(n, epsilon, steps, clip):
    """Of a mean gradient of all rows, which one row moves by 2 C / n, asked ``steps`` times.

    As printed noise has it, in proportion to 1 / epsilon, with the constant of the largest one.
    """
    return 2 * clip * math.sqrt(steps) * LARGEST / (n * epsilon * Budget(LARGEST, DELTA).mu)


def rsvrg(problem, at, eta, inner, epochs, std, rng):
    """Algorithm 11: the last points, random iterates, the mean of |grad F|^2 along the paths."""
    seeds, n = len(at), len(problem.rows)
    squares, chosen = np.zeros(seeds), at.copy()
    drawn = rng.integers(inner * epochs, size=seeds)  # Output II, one for each seed
    for epoch in range(epochs):
        anchor, full = at, problem.mean_gradient(at)
        for t in range(inner):
            squares += problem.squared_gradient(at)
            chosen = np.where((drawn == epoch * inner + t)[:, None], at, chosen)
            picked = rng.integers(n, size=seeds)
            change = problem.carry(anchor, at, problem.gradients(anchor, picked) - full)
            step = problem.gradients(at, picked) - change + std * problem.noise(at, rng)
            at = problem.exp(at, -eta * step)
    return at, chosen, squares / (inner * epochs)


def rgd(problem, at, eta, steps, std, rng):
    """DP-RGD on all rows: the last points, and the mean of |grad F|^2 along the paths."""
    squares = np.zeros(len(at))
    for _ in range(steps):
        gradient = problem.mean_gradient(at)
        squares += problem.squared_gradient(at)
        at = problem.exp(at, -eta * (gradient + std * problem.noise(at, rng)))
    return at, squares / steps
