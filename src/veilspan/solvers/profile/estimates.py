r"""One released number with its error bar, and the rule for what is not worth a number.

An error bar speaks of the noise alone: with probability 95 % over the noise it holds the number
that the same table would give without noise. It says nothing of the bounds of a range, of who is in
the table, or of what a sample says about others.

**Not measurable.** A number is given only where noise leaves it readable, by a rule on released
numbers (``LIMITS``): a share if its bar is at most half of it; a mean if its bar is at most a tenth
of the range; a quantile if its bar is at most a quarter of the range on either side; a correlation
if its bar is at most 0.25; and none of them where the number of people behind it is not firm
(``ratios.is_firm``). Elsewhere ``measurable`` is false and texts say "not measurable", with
the interval, which holds all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

#: Normal quantile of 97.5 %: both ends of an interval of 95 %.
Z95 = 1.959963984540054


class Limits(NamedTuple):
    """The largest error bars with which a number is worth reading."""

    #: Of a share, relative to itself.
    share: float = 0.5
    #: Of a mean, relative to the width of the range.
    mean: float = 0.1
    #: Of a quantile, relative to the width of the range (of logarithms on a log scale).
    quantile: float = 0.25
    #: Of a correlation.
    correlation: float = 0.25


LIMITS = Limits()


@dataclass(frozen=True)
class Estimate:
    """A released number and the interval that holds the noiseless one with 95 %.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval, by noise alone.
    measurable : bool
        Whether the rule of this module lets it stand as a number.
    """

    value: float
    low: float
    high: float
    measurable: bool = True

    @property
    def bar(self) -> float:
        """How far the interval reaches from the value: ``value ± bar`` holds all of it.

        Intervals are cut at the ends of a range, and values are made consistent inside them, so
        half of the width would not reach the farther end.
        """
        return max(self.high - self.value, self.value - self.low)

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is not measurable has no value."""
        value = self.value if self.measurable else None
        return {"value": value, "low": self.low, "high": self.high, "measurable": self.measurable}

    def __str__(self) -> str:
        if not self.measurable:
            return f"not measurable ({self.low:.4g} to {self.high:.4g})"
        return f"{self.value:.6g} ± {self.bar:.2g}"
