r"""How far inliers lie from their subspace, read off the released blocks.

At scale s the trace of A is the mass of rows near the subspace,

    f(s) = alpha E[1 / (1 + (tau^2/g + R^2)/s^2)],

with the inlier share alpha, the residual scale tau and the misalignment R. g is the squared length
of an inlier inside the subspace over its mean: on the sphere, short inliers have large residuals.
It is modelled as that of a Gaussian, g ~ chi^2_r / r. Releases at several scales therefore tell
tau. The fit is a weighted least squares over a grid of tau (alpha in closed form), with a weak
prior on both; old scales fade, because the model is only locally true.

The best scale for the next release maximises the response of B to a tilt,
E[s/(s^2 + tau^2/g + R^2)], because the noise on B does not depend on s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

# Set on the settings "table" and "structured" of benchmarks/robust_pca.py, but for the two grids.
_GRID = np.geomspace(1e-13, 1.0, 261)  # of tau: 20 to a decade, closer than noise tells
_FACTORS = np.geomspace(0.4, 2.5, 41)  # of the scale, about sqrt(tau^2 + R^2): 5 % apart
_FADING = 0.5  # of a release's precision with each later one: the model is only locally true
_LEAST_MASS = 0.02  # of alpha: a subspace that fewer rows lie near is not found anyway
_MASS_SPREAD = 0.1  # prior standard deviation of alpha about the start's estimate
_LOG_SPREAD = 2.0  # prior spread of log tau, a factor of 7; with long tails: rows may be exact
_MODEL_ERROR = 0.02  # of f, because residuals are not all alike
_RESOLVED = 0.3  # a residual below this fraction of the last scale has not been seen


@dataclass(frozen=True)
class Sighting:
    """One release: its scale, the mass it saw, the misalignment before it, its precision."""

    scale: float
    mass: float
    misalignment: float
    precision: float


@dataclass(frozen=True)
class ResidualScale:
    """Sightings so far, with the prior guesses of alpha and tau."""

    mass: float
    residual: float
    n_components: int
    sightings: tuple[Sighting, ...] = ()

    def add(self, scale: float, mass: float, misalignment: float, noise: float) -> ResidualScale:
        """Add a release whose trace has noise of this standard deviation."""
        new = Sighting(scale, mass, misalignment, 1 / (noise**2 + _MODEL_ERROR**2))
        old = (replace(s, precision=_FADING * s.precision) for s in self.sightings)
        return replace(self, sightings=(*old, new))

    @property
    def tau2(self) -> float:
        """Squared residual scale; 0 if it is too small to have been seen yet."""
        if not self.sightings:
            return self.residual**2
        scale, mass, misaligned, precision = (
            np.array([getattr(s, name) for s in self.sightings])
            for name in ("scale", "mass", "misalignment", "precision")
        )
        ratios = _GRID[:, None, None] ** 2 / squared_lengths(self.n_components)
        spread = ratios + misaligned[:, None]
        shape = np.mean(1 / (1 + spread / scale[:, None] ** 2), axis=-1)
        prior = 1 / _MASS_SPREAD**2
        alpha = (precision * shape * mass).sum(axis=1) + prior * self.mass
        alpha /= (precision * shape**2).sum(axis=1) + prior
        alpha = np.clip(alpha, _LEAST_MASS, 1.0)
        loss = (precision * (mass - alpha[:, None] * shape) ** 2).sum(axis=1)
        loss += prior * (alpha - self.mass) ** 2
        loss += np.log1p((np.log(_GRID / self.residual) / _LOG_SPREAD) ** 2)
        tau = float(_GRID[np.argmin(loss)])
        return tau**2 if tau > _RESOLVED * self.sightings[-1].scale else 0.0

    def best_scale(self, misalignment: float) -> float:
        """Scale s, at most 1, at which B responds most to a tilt."""
        tau2 = self.tau2
        spread = tau2 / squared_lengths(self.n_components) + misalignment
        scales = np.sqrt(tau2 + misalignment) * _FACTORS
        response = np.mean(scales[:, None] / (scales[:, None] ** 2 + spread + 1e-300), axis=-1)
        return float(min(1.0, scales[np.argmax(response)]))


@lru_cache(maxsize=64)
def squared_lengths(n_components: int) -> np.ndarray:
    """Equally likely values of chi^2_r / r."""
    from scipy.special import gammaincinv

    levels = (np.arange(24) + 0.5) / 24
    return np.asarray(gammaincinv(n_components / 2, levels) * 2 / n_components)
