r"""Noise in a minimum of a released quadratic: least squares by sufficient statistics.

Released are G = A + N and b = a + e, means over n rows: N symmetric with std s on its diagonal and
s / sqrt(2) off it, e with std s / (sqrt(2) w) in each entry. theta minimises
<theta, G theta>/2 - <b, theta> + penalty, and t the same without noise. To first order
G (theta - t) = e - N t =: z, and z is normal with the covariance

    S = s^2/2 (|t|^2 I + t t^T) + s^2/(2 w^2) I.

* *No penalty, or an l2 one* (D on the diagonal): theta - t = (G + D)^-1 z.
* *Any other convex penalty or constraint* bends the way, but never lengthens it: both minima obey
  <G (theta - t) - z, theta - t> <= 0, subgradients of a convex function being monotone, so that

      |theta - t|_G <= |z|_(G^-1),     |<x, theta - t>| <= |x|_(G^-1) |z|_(G^-1)

  for every x. |z|^2_(G^-1) is a weighted sum of squared normals, whose 95 % point q is taken as in
  :mod:`veilspan.solvers.subspace.unbounded.component_angles`. So G^-1 q / 1.96^2 is used as a
  covariance: bars are **at most** so wide, and hold for all coefficients at once.

What is *not* in it: sampling, and the bias of the filter that lifts G out of its noise. All of it
is post-processing of released values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan._threads import threads_for

#: Half the width of an interval that holds a normal error with 95 %, in standard deviations.
Z95 = 1.959963984540054


@dataclass(frozen=True, eq=False)
class MomentsNoise:
    """What released moments tell of the noise in their minimum.

    Attributes
    ----------
    matrix : array of shape (p, p)
        G, lifted out of its noise.
    ridge : array of shape (p,) or None
        D; ``None`` for a penalty that bends the way.
    theta : array of shape (p,)
        The minimum.
    std, weight : float
        s, of means, and w.
    """

    matrix: np.ndarray
    ridge: np.ndarray | None
    theta: np.ndarray
    std: float
    weight: float

    @property
    def exact(self) -> bool:
        """Whether the covariance is that of the noise itself, not an upper end."""
        return self.ridge is not None

    def covariance(self) -> np.ndarray:
        """Covariance of the noise in theta, or what stands for one (see the module)."""
        theta, size = self.theta, len(self.theta)
        spread = float(theta @ theta) + 1.0 / self.weight**2
        moved = self.std**2 / 2 * (spread * np.eye(size) + np.outer(theta, theta))
        with threads_for(size):
            if self.ridge is not None:
                away = np.linalg.inv(self.matrix + np.diag(self.ridge))
                return np.asarray(away @ moved @ away.T)
            inverse = np.linalg.inv(self.matrix)
            return np.asarray(inverse * _point(inverse @ moved) / Z95**2)


def _point(weights: np.ndarray) -> float:
    """The 95 % point of a sum of squared normals, of which this is the matrix."""
    from scipy.stats import chi2

    total = float(np.trace(weights))
    if total == 0:
        return 0.0
    freedom = total**2 / float(np.sum(weights * weights.T))
    return total * float(chi2.ppf(0.95, freedom)) / freedom
