"""Penalties and constraints on a model's coefficients, by their proximal maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Penalty(Protocol):
    """A convex function of theta, as a frozen value."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def strong_convexity(self) -> float:
        """Largest m for which the penalty minus m/2 |theta|^2 is convex."""

    def value(self, theta: np.ndarray) -> float:
        """The penalty; infinite outside a constraint."""

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """argmin_v |v - theta|^2 / (2 step) + penalty(v); the projection, for a constraint."""


@dataclass(frozen=True)
class NoPenalty:
    """Nothing."""

    name = "none"
    strong_convexity = 0.0

    def value(self, theta: np.ndarray) -> float:
        """0."""
        return 0.0

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """No change."""
        return theta


@dataclass(frozen=True)
class L2:
    """lam/2 |theta|^2."""

    lam: float

    name = "l2"

    def __post_init__(self) -> None:
        if not (self.lam >= 0 and np.isfinite(self.lam)):
            raise ValueError(f"lam must be finite and >= 0; got {self.lam}.")

    @property
    def strong_convexity(self) -> float:
        """Lam."""
        return self.lam

    def value(self, theta: np.ndarray) -> float:
        """lam/2 |theta|^2."""
        return 0.5 * self.lam * float(np.sum(theta * theta))

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Shrink."""
        return theta / (1.0 + step * self.lam)
