r"""The one range that public scales live in, and why rows cannot leave float64 inside it.

A *public scale* is a number set without the rows that lengths are compared with or divided by: a
bound on rows, the width of a range, the radius of a ball, a clip, a ridge. Let s be one of them,
10^-60 <= s <= 10^60, let the entries of a row be at most V = 10^140 (``LARGEST_VALUE``), a public
centre at most 10^60, and let it have p <= 10^20 columns. With u = 2^-53:

* *Products.* |x - c|^2 <= p (V + 10^60)^2 < 10^301, so no squared length of a row overflows. s^4 is
  between 10^-240 and 10^240, so a squared bound, and a squared norm in a space of second moments,
  neither overflow nor underflow, times 2^53 rows included.
* *Quotients.* s / |x - c| > 10^-60 / 10^151 is a normal number, so shortening a row to s costs a
  relative error of a few u, and its length is at most s (1 + few u). Squared quotients are not so
  lucky, s^2 / |x - c|^2 may be below 2^-1022: whoever clips contributions weighs such rows
  down to nothing (:func:`veilspan.curator.clipping.clip_weights`).
* *Underflow.* A squared length that underflows belongs to a row shorter than 10^-150, which is less
  than 10^-90 s: it is not clipped, with or without its length's digits. What such a row adds is off
  by less than 2^-1000 s.

Outside of this range one of the three fails for some row, and the guarantee with it: a bound of
1.6e-23 and a row of 1e139 made bound^2 / |x|^2 a denormal number of one bit and moved an answer
1.9 times as far as declared.

Beside scales, what else of a solver's settings is a public number: its steps and its rates.

Who makes such numbers compares them with the ends of their range in place, and comes here for the
sentence that says what is wrong.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Any range much wider breaks one of the three derivations; any narrower one holds as well.
SMALLEST_SCALE, LARGEST_SCALE = 1e-60, 1e60
#: Factor between a scale that a user sets and one that is derived from it.
DERIVED = 1e10
#: The range of derived scales, for whoever compares many numbers at once.
SMALLEST_DERIVED, LARGEST_DERIVED = SMALLEST_SCALE / DERIVED, LARGEST_SCALE * DERIVED


def check_scale(value: Any, name: str) -> float:
    """Return a public scale as a float, or raise with the range."""
    return _in_range(value, name, SMALLEST_SCALE, LARGEST_SCALE)


def check_derived_scale(value: Any, name: str) -> float:
    """Return a scale that was made of public ones, or raise: the range is ``DERIVED`` wider.

    Rows of bounded entries, say, are sqrt(p) times as long as the bound. The derivations above hold
    with 10^70 for 10^60 throughout.
    """
    return _in_range(value, name, SMALLEST_DERIVED, LARGEST_DERIVED)


def check_location(value: Any, name: str) -> np.ndarray:
    """Return public numbers of either sign (a centre, ends of ranges) as an array, or raise."""
    numbers = np.asarray(value, dtype=np.float64)
    if not (np.abs(numbers) <= LARGEST_SCALE).all():  # false where one is not a number
        raise ValueError(f"{name} must hold finite numbers of at most {LARGEST_SCALE:g} in size.")
    return numbers


def check_width(low: Any, high: Any, name: str) -> None:
    """Refuse ends of ranges whose width is neither zero nor a scale."""
    width = np.asarray(high) / 2 - np.asarray(low) / 2
    if not ((width == 0) | (width >= SMALLEST_SCALE)).all():
        raise ValueError(
            f"{name} has a width too small to divide by: half of it must be at least "
            f"{SMALLEST_SCALE:g}."
        )


def check_steps(value: Any, name: str) -> None:
    """Refuse what is not a whole number of steps, at least one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1; got {value!r}.")


def check_rate(value: Any) -> None:
    """Refuse a sampling rate outside (0, 1); at 1 it would not be a sample."""
    if not 0 < value < 1:
        raise ValueError(f"batch_rate must lie strictly between 0 and 1; got {value}.")


def _in_range(value: Any, name: str, smallest: float, largest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise TypeError(f"{name} must be a number; got {type(value).__name__}.")
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite; got {value}.")
    if not smallest <= value <= largest:
        raise ValueError(
            f"{name} must lie between {smallest:g} and {largest:g}, where no product with a row "
            "leaves the range of floating-point numbers. Change the unit of the data."
        )
    return float(value)
