"""Step sizes from successive gradients, where noise allows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.geometry import Manifold


@dataclass(frozen=True)
class SecantSteps:
    r"""The step of Barzilai & Borwein (1988), <s, s> / <s, y>, on a manifold.

    s is the last move and y the change of the gradient over it, both at the new point. Without
    noise it adapts to the curvature and converges faster than any constant step; y is a small
    difference, though, so where noise makes up more than ``noise_share`` of it the plain size is
    used. Both inputs are earlier answers: a function of them tells nothing new.

    Parameters
    ----------
    initial : float
        The plain size.
    noise_share : float
        Largest share of noise in y.
    range : float
        Sizes stay within this factor of the plain one.
    """

    initial: float = 1.0
    noise_share: float = 0.1
    range: float = 5.0

    def size(
        self,
        manifold: Manifold,
        point: np.ndarray,
        gradient: np.ndarray,
        noise_std: float,
        trace: Sequence[dict[str, Any]],
    ) -> float:
        """Size of the next step, from the last entry of a solver's trace."""
        if not trace:
            return self.initial
        last = trace[-1]
        carried = manifold.transport(last["point"], point, last["direction"])
        change = gradient - carried
        length = float(manifold.norm(point, change))
        noise = math.sqrt(2 * manifold.dim) * noise_std
        if noise > self.noise_share * length or length == 0:
            return self.initial
        # s = -last size * carried.
        slope = -float(manifold.inner(point, carried, change))
        if slope <= 0:
            return self.initial
        found = last["size"] * float(manifold.inner(point, carried, carried)) / slope
        return float(np.clip(found, self.initial / self.range, self.initial * self.range))
