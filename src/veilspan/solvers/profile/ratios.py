r"""Ratios of two noisy numbers, with intervals that hold exactly.

Let Z have the noise a and M the noise b, both Gaussian and independent. For the noiseless ratio t
the number Z - t M is Gaussian around 0 with variance a^2 + t^2 b^2, so

    {t : (Z - t M)^2 <= z^2 (a^2 + t^2 b^2)},     z the normal quantile of 97.5 %,

holds it with probability 95 % exactly (Fieller 1954). With g = z^2 b^2 / M^2 < 1 it is the interval

    (Z / M -+ z sqrt(a^2 + (Z/M)^2 b^2 - g a^2) / M) / (1 - g).

A denominator is worth dividing by from ``FIRM`` standard deviations on. Below it nothing is known
of the ratio.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.solvers.profile.estimates import Z95

#: A denominator is worth dividing by from this many standard deviations on.
FIRM = 4.0


def is_firm(count: float, std: float) -> bool:
    """Whether a noisy number of people is worth dividing by: at least one, and far above noise."""
    return count >= max(1.0, FIRM * std)


def bound_ratio(total: Any, total_std: float, count: float, count_std: float) -> tuple[Any, Any]:
    """Ends of the interval of a ratio, or of several over one firm denominator."""
    ratio, g = total / count, (Z95 * count_std / count) ** 2
    spread = Z95 * np.sqrt(total_std**2 * (1 - g) + (ratio * count_std) ** 2) / count
    return (ratio - spread) / (1 - g), (ratio + spread) / (1 - g)
