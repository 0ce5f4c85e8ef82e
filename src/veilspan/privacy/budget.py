"""A budget: the (epsilon, delta) that a release may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from veilspan.privacy import gdp


@dataclass(frozen=True)
class Budget:
    """What may be spent: (epsilon, delta) differential privacy.

    Parameters
    ----------
    epsilon : float
        Positive. ``inf`` means no privacy: the same algorithm without noise.
    delta : float
        Between 0 and 1, both excluded. Gaussian noise has no pure-epsilon guarantee.

    Examples
    --------
    >>> Budget(1.0, 1e-6).mu
    0.2367...
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"{name} must be a number; got {type(value).__name__}.")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be positive; got {self.epsilon}.")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie strictly between 0 and 1; got {self.delta}.")

    @property
    def is_private(self) -> bool:
        """Whether there is a guarantee at all, that is, whether epsilon is finite."""
        return math.isfinite(self.epsilon)

    @property
    def mu(self) -> float:
        """The largest mu for which mu-GDP implies this budget (``inf`` without privacy)."""
        return gdp.mu_of(self.epsilon, self.delta)
