r"""Penalties and constraints on a model's coefficients, by their proximal maps.

All are functions of all entries of theta together, whatever its shape; :class:`Group` groups rows
of theta (features), with all their scores. A constraint is the penalty that is 0 inside and
infinite outside, so its proximal map is the projection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

ROUNDING = 1e-12  # relative excess over a constraint that is explained by rounding


class Penalty(Protocol):
    """A convex function of theta, as a frozen value."""

    @property
    def name(self) -> str:
        """Name of the penalty, for records and messages."""

    @property
    def strong_convexity(self) -> float:
        """Largest m for which the penalty minus m/2 |theta|^2 is convex."""

    def value(self, theta: np.ndarray) -> float:
        """The penalty; infinite outside a constraint."""

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """argmin_v |v - theta|^2 / (2 step) + penalty(v); the projection, for a constraint."""


@dataclass(frozen=True)
class NoPenalty:
    """No penalty: every theta costs 0 and stays where it is."""

    name = "none"
    strong_convexity = 0.0

    def value(self, theta: np.ndarray) -> float:
        """0, whatever the coefficients are."""
        return 0.0

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Return theta as it is: there is nothing to shrink."""
        return theta


@dataclass(frozen=True)
class L2:
    """The ridge penalty lam/2 |theta|^2: shrinks all coefficients alike."""

    lam: float

    name = "l2"

    def __post_init__(self) -> None:
        _check_lam(self.lam)

    @property
    def strong_convexity(self) -> float:
        """Lam: the penalty is a parabola of that curvature."""
        return self.lam

    def value(self, theta: np.ndarray) -> float:
        """Half of lam times the squared length of theta."""
        return 0.5 * self.lam * float(np.sum(theta * theta))

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Divide theta by 1 + step lam: shrunk, never to exact zeros."""
        return theta / (1.0 + step * self.lam)


@dataclass(frozen=True)
class L1:
    """lam |theta|_1: sets coefficients to zero (Tibshirani 1996)."""

    lam: float

    name = "l1"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        _check_lam(self.lam)

    def value(self, theta: np.ndarray) -> float:
        """Lam times the sum of the absolute coefficients."""
        return self.lam * float(np.abs(theta).sum())

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Towards zero by step lam, not beyond it."""
        return soft_threshold(theta, step * self.lam)


@dataclass(frozen=True)
class ElasticNet:
    """lam (l1_ratio |theta|_1 + (1 - l1_ratio) / 2 |theta|^2) (Zou & Hastie 2005)."""

    lam: float
    l1_ratio: float = 0.5

    name = "elastic net"

    def __post_init__(self) -> None:
        _check_lam(self.lam)
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must lie between 0 and 1; got {self.l1_ratio}.")

    @property
    def strong_convexity(self) -> float:
        """Weight of |theta|^2 / 2."""
        return self.lam * (1.0 - self.l1_ratio)

    def value(self, theta: np.ndarray) -> float:
        """The weighted sum of both norms, times lam."""
        absolute, square = float(np.abs(theta).sum()), float(np.sum(theta * theta))
        return self.lam * (self.l1_ratio * absolute + 0.5 * (1.0 - self.l1_ratio) * square)

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Move towards zero as L1 does, then shrink as L2 does."""
        moved = soft_threshold(theta, step * self.lam * self.l1_ratio)
        return moved / (1.0 + step * self.strong_convexity)


@dataclass(frozen=True)
class Group:
    r"""lam sum_g sqrt(m_g) |theta_g|, m_g coefficients in group g (Yuan & Lin 2006).

    Whole groups are set to zero. Features in no group are not penalised.

    Parameters
    ----------
    lam : float
        Weight.
    groups : sequence of sequences of int
        Disjoint, public groups of feature numbers (of rows of theta).
    """

    lam: float
    groups: Sequence[Sequence[int]]

    name = "group"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        _check_lam(self.lam)
        groups = tuple(tuple(int(j) for j in group) for group in self.groups)
        listed = [j for group in groups for j in group]
        if not all(groups) or min(listed, default=0) < 0 or len(set(listed)) < len(listed):
            raise ValueError("groups must be non-empty, disjoint lists of feature numbers >= 0.")
        object.__setattr__(self, "groups", groups)

    def value(self, theta: np.ndarray) -> float:
        """Weighted sum of the groups' lengths."""
        parts = [theta[list(group)] for group in self.groups]
        return self.lam * sum(math.sqrt(part.size) * _length(part) for part in parts)

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Each group towards zero by step lam sqrt(m_g), not beyond it."""
        moved = np.array(theta, dtype=np.float64)
        for group in self.groups:
            part = moved[list(group)]
            length, by = _length(part), step * self.lam * math.sqrt(part.size)
            moved[list(group)] = part * (1.0 - by / length) if length > by else 0.0
        return moved


@dataclass(frozen=True)
class Box:
    """Constraint: every coefficient in [lo, hi]."""

    lo: float
    hi: float

    name = "box"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        if not self.lo <= self.hi:
            raise ValueError(f"a box needs lo <= hi; got lo = {self.lo}, hi = {self.hi}.")

    def value(self, theta: np.ndarray) -> float:
        """0 inside the box and infinite outside, without a tolerance: clipping is exact."""
        return _inside(bool(np.all((theta >= self.lo) & (theta <= self.hi))))

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Clip every coefficient to the box, which is the projection."""
        return np.clip(theta, self.lo, self.hi)


@dataclass(frozen=True)
class Simplex:
    """Constraint: coefficients >= 0 with sum ``total``."""

    total: float = 1.0

    name = "simplex"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        _check_size(self.total, "total")

    def value(self, theta: np.ndarray) -> float:
        """0 inside, up to rounding."""
        slack = ROUNDING * self.total
        sums = abs(float(np.sum(theta)) - self.total) <= slack * max(1, theta.size)
        return _inside(sums and bool(np.all(theta >= -slack)))

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Return the nearest point of the simplex, whatever the step."""
        return project_simplex(theta, self.total)


@dataclass(frozen=True)
class L1Ball:
    """Constraint: the absolute coefficients sum to at most ``radius``."""

    radius: float

    name = "l1-ball"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        _check_size(self.radius, "radius")

    def value(self, theta: np.ndarray) -> float:
        """0 inside, up to rounding."""
        return _inside(float(np.abs(theta).sum()) <= self.radius * (1.0 + ROUNDING * theta.size))

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Projection: that of the absolute values onto a simplex, with the signs (Duchi 2008)."""
        sizes = np.abs(theta)
        if float(sizes.sum()) <= self.radius:
            return theta
        return np.copysign(project_simplex(sizes, self.radius), theta)


@dataclass(frozen=True)
class L2Ball:
    """Constraint: theta has a Euclidean length of at most ``radius``."""

    radius: float

    name = "l2-ball"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        _check_size(self.radius, "radius")

    def value(self, theta: np.ndarray) -> float:
        """0 inside, up to rounding."""
        return _inside(_length(theta) <= self.radius * (1.0 + ROUNDING))

    def prox(self, theta: np.ndarray, step: float) -> np.ndarray:
        """Shorten theta to the radius if it is longer, which is the projection."""
        length = _length(theta)
        return theta if length <= self.radius else theta * (self.radius / length)


def soft_threshold(theta: np.ndarray, by: float) -> np.ndarray:
    """Move every entry towards zero, not beyond it."""
    return np.asarray(theta - np.clip(theta, -by, by))


def project_simplex(theta: np.ndarray, total: float) -> np.ndarray:
    r"""Nearest point with entries >= 0 and sum ``total``, in O(p log p).

    It is max(theta - t, 0), with the t that gives the sum: for the r largest entries, the largest r
    for which the r-th stays positive (Held, Wolfe & Crowder 1974; Duchi et al. 2008).
    """
    # Shifting all entries alike changes nothing, and small numbers lose no digits.
    shifted = theta.ravel() - float(np.max(theta))
    ordered = np.sort(shifted)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    last = int(np.nonzero(ordered > excess)[0][-1])
    return np.maximum(shifted - excess[last], 0.0).reshape(theta.shape)


def _length(theta: np.ndarray) -> float:
    return float(np.linalg.norm(theta))


def _inside(inside: bool) -> float:
    return 0.0 if inside else math.inf


def _check_lam(lam: float) -> None:
    if lam != 0:
        _check_size(lam, "lam", ">= 0")


def _check_size(value: float, name: str, sign: str = "positive") -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} must be finite and {sign}; got {value}.")
