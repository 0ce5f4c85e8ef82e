r"""Targets of a regression on the scale of the loss.

A target y, clipped to a range [low, high], becomes (y - middle) / half. The numbers are public or
were released by earlier answers, and the map looks at one row: it costs no privacy
(:mod:`veilspan.queries.linear.row_scaling`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.row_maps import row_map


@dataclass(frozen=True)
class TargetScaling:
    """A public map of targets to numbers around 0 (formula above).

    Parameters
    ----------
    low, high : float
        What targets are clipped to.
    middle, half : float
        What is subtracted, and what the rest is divided by.
    """

    low: float
    high: float
    middle: float
    half: float

    @classmethod
    def of_range(cls, low: float, high: float, shifted: bool) -> TargetScaling:
        """The middle and half of the width; zero and the larger end if nothing may shift."""
        if not shifted:
            return cls(low, high, 0.0, max(abs(low), abs(high)))
        return cls(low, high, low / 2 + high / 2, high / 2 - low / 2)

    @row_map
    def __call__(self, y: Any) -> np.ndarray:
        """Targets clipped to their range, as numbers around 0."""
        y = np.clip(np.asarray(y, dtype=np.float64), self.low, self.high)
        return np.asarray((y - self.middle) / self.half)
