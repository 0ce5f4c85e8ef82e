"""A budget: the (epsilon, delta) that a release may spend, and the range in which numbers are true.

Range. Every formula of ``privacy`` is evaluated in float64, so a budget is refused where one of
them stops holding there.

* *delta* from 1e-300: densities e^(-t^2/2) and their products stay normal numbers, down to the
  parts of delta that a ledger makes. Up to 0.99: nearer to 1 all that counts is the distance to 1.
* *epsilon* from 1e-6: the numerical accountant rounds losses up to cells of 1e-4, and at a percent
  of a cell only the noise of epsilon = 0 is left to be found. Up to 1e9: there epsilon/mu and mu/2
  cancel but for nine digits, which the margin of ``gdp.mu_of`` still pays for.

Nobody should want a budget at these ends; whoever asks for one gets the truth or a sentence. An
epsilon of ``inf`` says that there is no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from veilspan.privacy import gdp

LEAST_EPSILON, MOST_EPSILON = 1e-6, 1e9
LEAST_DELTA, MOST_DELTA = 1e-300, 0.99


@dataclass(frozen=True)
class Budget:
    """What may be spent: (epsilon, delta) differential privacy.

    Parameters
    ----------
    epsilon : float
        From 1e-6 to 1e9. ``inf`` means no privacy: the same algorithm without noise.
    delta : float
        From 1e-300 to 0.99. Gaussian noise has no pure-epsilon guarantee, so it is not 0.

    Examples
    --------
    >>> Budget(1.0, 1e-6).mu
    0.2367...
    """

    epsilon: float
    delta: float
    #: Whether there is a guarantee at all, that is, whether epsilon is finite.
    is_private: bool = field(init=False, repr=False, compare=False)
    #: The largest mu for which mu-GDP implies this budget (``inf`` without privacy).
    mu: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real):
                raise TypeError(f"{name} must be a number; got {type(value).__name__}.")
        if not self.epsilon > 0:
            raise ValueError(f"epsilon must be positive; got {_describe(self.epsilon)}.")
        if not (LEAST_EPSILON <= self.epsilon <= MOST_EPSILON or self.epsilon == math.inf):
            raise ValueError(
                f"epsilon must lie between {LEAST_EPSILON:g} and {MOST_EPSILON:g}, or be inf for "
                f"no privacy at all; got {_describe(self.epsilon)}."
            )
        if not 0 < self.delta < 1:
            raise ValueError(
                f"delta must lie strictly between 0 and 1; got {_describe(self.delta)}."
            )
        if not LEAST_DELTA <= self.delta <= MOST_DELTA:
            raise ValueError(
                f"delta must lie between {LEAST_DELTA:g} and {MOST_DELTA:g}; got "
                f"{_describe(self.delta)}."
            )
        # Plain floats: whole numbers and fractions mean the same and are written the same.
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))
        object.__setattr__(self, "is_private", math.isfinite(self.epsilon))
        object.__setattr__(self, "mu", gdp.mu_of(self.epsilon, self.delta))

    @classmethod
    def of_mu(cls, mu: float, delta: float) -> Budget:
        """The budget that mu-GDP needs at delta, for a part of a larger one; never below 1e-6."""
        return cls(max(gdp.epsilon_of(mu, delta), LEAST_EPSILON), delta)

    def part(self, share: float) -> Budget:
        """A share (of mu^2) of this budget, for a stage of a fit or the solver after it."""
        if not self.is_private:
            return self
        return Budget.of_mu(self.mu * math.sqrt(share), self.delta)


def _describe(value: Any) -> str:
    """Write a number for a message, also an int that no float can hold."""
    try:
        return f"{float(value)!r}"
    except OverflowError:
        return "a number beyond 1e308" if value > 0 else "a number below -1e308"
