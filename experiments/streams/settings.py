"""The seven streams, and how far an estimate is from their subspace."""

from dataclasses import dataclass

import numpy as np

DELTA = 1e-6
CHECKS = (1, 4, 16, 64, 128)


@dataclass(frozen=True)
class Setting:
    """Rows near a subspace of r directions in D columns, cut to length 1, a person in one block."""

    columns: int
    rank: int
    rows: int
    noise: float
    epsilon: float
    scale: float

    @property
    def name(self) -> str:
        """What pictures and tables call it."""
        words = f"D {self.columns}, r {self.rank}, {self.rows} rows, noise {self.noise:g}"
        return f"{words}, ε {self.epsilon:g}"

    def truth(self, rng):
        """Orthonormal columns."""
        return np.linalg.qr(rng.standard_normal((self.columns, self.rank)))[0]

    def block(self, truth, rng):
        """The next block of rows."""
        inside = self.scale * rng.standard_normal((self.rows, self.rank)) @ truth.T
        return inside + self.noise * rng.standard_normal((self.rows, self.columns))


SETTINGS = (
    Setting(20, 2, 500, 0.1, 1.0, 0.7),
    Setting(50, 3, 300, 0.1, 1.0, 0.5),
    Setting(20, 2, 100, 0.2, 1.0, 0.4),
    Setting(50, 3, 300, 0.15, 0.3, 0.5),
    Setting(20, 2, 1000, 0.02, 1.0, 0.66),
    Setting(20, 2, 1000, 0.002, 1.0, 0.66),
    Setting(50, 3, 1000, 0.05, 1.0, 0.58),
)


def distance(truth, found):
    """Projection distance of the spans of two orthonormal bases (columns), at most 1.

    |P - Q|_F / sqrt(2 r): the root mean square of the sines of the angles.
    """
    rest = truth - found @ (found.T @ truth)
    return float(np.linalg.norm(rest) / np.sqrt(truth.shape[1]))
