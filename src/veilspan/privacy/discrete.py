r"""The exact discrete Gaussian, for small answers and for those who trust no float.

Pr[k] is proportional to exp(-k^2 / (2 s^2)) over the integers, drawn with integer arithmetic only
from uniform random bits (Canonne, Kamath & Steinke 2020, Algorithms 1-3). Nothing is approximated:
s^2 is the exact rational that the float s stands for.

Guarantee. A continuous Gaussian of std s rounded to the integers is mu-GDP as post-processing. The
probabilities of the discrete one differ from it by the factor 1 + (1 - k^2/s^2)/(24 s^2) to leading
order, in total variation by less than 1/(48 s^2) per coordinate. s >= 2^26 is enforced, so that the
largest answer allowed adds less than 1e-13 (1 + e^epsilon) to delta. By itself the discrete
Gaussian satisfies 1/(2 z^2)-zCDP exactly (their Theorem 14), without that remark.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, isqrt

import numpy as np

from veilspan.privacy.grid import Scale
from veilspan.privacy.noise import NoiseSource

LEAST_BITS = 26  # the noise spans at least 2^26 steps of the grid
LARGEST = 20_000  # coordinates; about 40 microseconds each


def add_discrete_noise(value: np.ndarray, scale: Scale, source: NoiseSource) -> np.ndarray:
    """Round the value to the grid and add exact discrete Gaussian noise."""
    if scale.std == 0:
        return np.array(value, dtype=np.float64)
    if value.size > LARGEST:
        raise ValueError(
            f"exact noise is for answers of at most {LARGEST} numbers; this one has {value.size}. "
            'Use noise="grid".'
        )
    if scale.std < 2.0**LEAST_BITS * scale.step:
        raise ValueError(
            "exact noise would need a coarser grid than it can stand behind at this many rows and "
            'so little noise. Use noise="grid".'
        )
    coins = Coins(source)
    variance = (Fraction(scale.std) / Fraction(scale.step)) ** 2
    noise = np.array([discrete_gaussian(variance, coins) for _ in range(value.size)], dtype=float)
    return np.asarray((np.rint(value / scale.step) + noise.reshape(value.shape)) * scale.step)


class Coins:
    """Exact uniform integers and biased coins from a stream of random bytes."""

    def __init__(self, source: NoiseSource) -> None:
        self._generator = source.generator
        self._buffer = 0
        self._bits = 0

    def below(self, bound: int) -> int:
        """Uniform integer in [0, bound), by rejection."""
        bits = (bound - 1).bit_length()
        while True:
            if self._bits < bits:
                self._buffer |= int.from_bytes(self._generator.bytes(256), "big") << self._bits
                self._bits += 2048
            drawn = self._buffer & ((1 << bits) - 1)
            self._buffer >>= bits
            self._bits -= bits
            if drawn < bound:
                return drawn

    def exp_minus(self, exponent: Fraction) -> bool:
        """Heads with probability exp(-exponent), exactly (their Algorithm 1)."""
        whole = floor(exponent)
        if any(not self._exp_minus_at_most_one(Fraction(1)) for _ in range(whole)):
            return False
        return self._exp_minus_at_most_one(exponent - whole)

    def _exp_minus_at_most_one(self, exponent: Fraction) -> bool:
        k = 1
        while self.below(exponent.denominator * k) < exponent.numerator:
            k += 1
        return k % 2 == 1


def discrete_laplace(scale: int, coins: Coins) -> int:
    """Draw k with probability proportional to exp(-|k|/scale) (their Algorithm 2)."""
    while True:
        remainder = coins.below(scale)
        if not coins.exp_minus(Fraction(remainder, scale)):
            continue
        multiple = 0
        while coins.exp_minus(Fraction(1)):
            multiple += 1
        size = remainder + scale * multiple
        negative = coins.below(2) == 1
        if not (negative and size == 0):
            return -size if negative else size


def discrete_gaussian(variance: Fraction, coins: Coins) -> int:
    """Draw k with probability proportional to exp(-k^2/(2 variance)) (their Algorithm 3)."""
    scale = isqrt(floor(variance)) + 1
    while True:
        drawn = discrete_laplace(scale, coins)
        gap = abs(drawn) - variance / scale
        if coins.exp_minus(gap * gap / (2 * variance)):
            return drawn
