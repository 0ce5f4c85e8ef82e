"""What all figures share: the paper's settings, and errors along a run."""

import time
from dataclasses import dataclass, field

import numpy as np

from veilspan.metrics import log10_squared_angle_distance
from veilspan.solvers.spectral import leading_eigenvectors

EPSILON = 0.8
RANK = 2
TOLERANCE = -2.0  # log10 of the paper's 1e-2


def paper_delta(n_rows):
    """1/sqrt(N): the paper's choice, too large to mean much (it would allow publishing rows)."""
    return n_rows**-0.5


def paper_batch(n_rows, steps, epsilon=EPSILON):
    """B = max(N sqrt(epsilon / (4 T)), 1)."""
    return max(int(n_rows * np.sqrt(epsilon / (4 * steps))), 1)


@dataclass
class Curve:
    """Log10 d^2 along one run, CPU seconds at the same steps, and the answer's own error."""

    steps: np.ndarray
    errors: np.ndarray
    seconds: np.ndarray
    final: float

    def end(self):
        """The last point alone."""
        return Curve(self.steps[-1:], self.errors[-1:], self.seconds[-1:], self.final)

    @property
    def cpu(self):
        return float(self.seconds[-1])

    def time_to(self, tolerance=TOLERANCE):
        """CPU seconds until the error was first seen below the tolerance; nan if never."""
        below = np.flatnonzero(self.errors <= tolerance)
        return float(self.seconds[below[0]]) if len(below) else float("nan")


def checkpoints(steps, count=50):
    """Steps at which an iterate is looked at: dense in the beginning, then even."""
    early = np.geomspace(1, max(steps, 2), 15).astype(int)
    even = np.linspace(0, steps, count).astype(int)
    return frozenset(int(k) for k in [0, *early, *even, steps] if k <= steps)


@dataclass
class Watch:
    """Called with every iterate; measures the error at the checkpoints while the clock stands."""

    truth: np.ndarray
    at: frozenset
    count: int = 0
    begun: float = field(default_factory=time.process_time)
    rows: list = field(default_factory=list)

    def __call__(self, point):
        if self.count in self.at:
            now = time.process_time()
            self.rows.append((self.count, error_of(point, self.truth), now - self.begun))
            self.begun += time.process_time() - now
        self.count += 1

    def curve(self, final):
        """The curve, ended by the error of the final answer at the time it was there."""
        last = (self.count, final, time.process_time() - self.begun)
        steps, errors, seconds = np.array([*self.rows, last], dtype=float).T
        return Curve(steps, errors, seconds, final)


def error_of(point, truth):
    """Log10 d^2 of an orthonormal basis, or of the leading eigenvectors of a square matrix."""
    rank = len(truth)
    if point.shape[0] == point.shape[1]:
        return log10_squared_angle_distance(leading_eigenvectors(point, rank)[1], truth)
    return log10_squared_angle_distance(point.T, truth)


def short(epsilon):
    """An epsilon for a label: 0.0017, 0.57, 1.2e5, and 0 where delta alone covers it."""
    if epsilon < 0.01:
        return f"{epsilon:.2g}"
    if epsilon < 100:
        return f"{epsilon:.2f}"
    return f"{epsilon:.2g}".replace("e+0", "e").replace("e+", "e")
