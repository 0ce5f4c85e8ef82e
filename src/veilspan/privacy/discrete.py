r"""The exact discrete Gaussian, for small answers and for those who trust no float.

Pr[k] is proportional to exp(-k^2 / (2 s^2)) over the integers, drawn with integer arithmetic only
from uniform random bits (Canonne, Kamath & Steinke 2020, Algorithms 1-3). Nothing is approximated:
s^2 is the exact rational that the float s stands for.

Guarantee. A continuous Gaussian G of std s rounded to the integers is post-processing of a Gaussian
mechanism: mu-GDP, exactly. The discrete one, D, is not the same. By symmetry,

    G(k) = phi_s(k) * integral over |x| < 1/2 of cosh(k x / s^2) e^(-x^2 / (2 s^2)),

which lies between 1 - 1/(24 s^2) and 1 + k^2/(24 s^4) (1 + tiny) times phi_s(k), while
D(k) = phi_s(k) to within e^(-19 s^2) (Poisson summation). So for |k| <= T s, T >= 1,

    -a <= log D(k)/G(k) <= b,    a = 1.01 T^2 / (24 s^2),    b = 1.01 / (24 s^2),

and in total variation D and G are within 1/(48 s^2) to leading order. For m answers of p numbers
each, chosen adaptively, on a table and on its neighbour, these add up: D keeps

    epsilon + m p (a + b)   and   e^(m p b) delta + 2 m p (1 + 2 e^epsilon) e^(-T^2/2)

where G keeps epsilon and delta. (By total variation alone it would be epsilon and
delta + m p (1 + e^epsilon)/(48 s^2). With s = 2^26, as fine as the grid of a release may be, 1000
answers of 20,000 numbers at epsilon = 8 would add 2.8e-7 to delta: more than most deltas.) So D is
drawn with s = 2^90 or more (``FINE``), whatever the grid of the release, and then rounded to that
grid. That is post-processing again: the exact value is a multiple of the coarse grid, so it may be
added before the rounding as well as after. With T^2 = 2 (epsilon + 800) and p <= 20,000 the cost is

    at most 1e-48 m (1 + epsilon/800) of epsilon, the factor 1 + 1e-51 m and m e^(-788) on delta:

for m = 1e12 answers less than 1e-26 of delta in all. It is paid for by what the accountant leaves:
1e-9 of mu or of epsilon in ``calibrate_noise``, and never less than 1e-14 of delta, by which
``gdp.delta_of`` is rounded up for every plan that passes. Nothing else need be
charged. By itself the discrete Gaussian satisfies 1/(2 z^2)-zCDP exactly (their Theorem 14),
without that remark.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, isqrt

import numpy as np

from veilspan.privacy.grid import NoiseScale
from veilspan.privacy.noise import NoiseSource

FINE = 90  # the noise is drawn 2^90 steps to a standard deviation, see above
LARGEST = 20_000  # coordinates; about 30 microseconds each, and what the guarantee above counts on


def add_discrete_noise(value: np.ndarray, scale: NoiseScale, source: NoiseSource) -> np.ndarray:
    """Round the value to the grid and add exact discrete Gaussian noise."""
    if scale.std == 0:
        return np.array(value, dtype=np.float64)
    if value.size > LARGEST:
        raise ValueError(
            f"exact noise is for answers of at most {LARGEST} numbers; this one has {value.size}. "
            'Use noise="grid".'
        )
    coins = Coins(source)
    spread = Fraction(scale.std) / Fraction(scale.step)
    finer = max(0, FINE - floor(spread).bit_length() + 1)  # bits below the grid of the release
    variance = (spread * 2**finer) ** 2
    noise = np.array(
        [shift_and_round(discrete_gaussian(variance, coins), finer) for _ in range(value.size)],
        dtype=float,
    )
    return np.asarray((np.rint(value / scale.step) + noise.reshape(value.shape)) * scale.step)


def shift_and_round(number: int, bits: int) -> int:
    """Round number / 2^bits to the nearest integer, halves to the even one for either sign."""
    if bits == 0:
        return number
    half, whole = 1 << (bits - 1), number >> bits
    rest = number - (whole << bits)
    return whole + (rest > half or (rest == half and whole % 2 == 1))


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
            drawn = self._draw(bits)
            if drawn < bound:
                return drawn

    def happens(self, numerator: int, denominator: int) -> bool:
        """Heads with probability numerator / denominator, at most 1, exactly.

        A uniform number is compared with it, 64 binary digits of both at a time.
        """
        while True:
            digits, numerator = divmod(numerator << 64, denominator)
            drawn = self._draw(64)
            if drawn != digits:
                return drawn < digits

    def exp_minus(self, numerator: int, denominator: int = 1) -> bool:
        """Heads with probability exp(-numerator / denominator), exactly (their Algorithm 1)."""
        whole, rest = divmod(numerator, denominator)
        if any(not self._exp_minus_at_most_one(1, 1) for _ in range(whole)):
            return False
        return self._exp_minus_at_most_one(rest, denominator)

    def _exp_minus_at_most_one(self, numerator: int, denominator: int) -> bool:
        # von Neumann: heads of probability x, x/2, x/3, ... in a row; the chance that the first
        # tails comes at an odd place is 1 - x + x^2/2! - ... = e^-x.
        k = 1
        while self.happens(numerator, denominator * k):
            k += 1
        return k % 2 == 1

    def _draw(self, bits: int) -> int:
        """Return that many uniform bits as an integer; they are drawn 256 bytes at a time."""
        while self._bits < bits:
            self._buffer |= int.from_bytes(self._generator.bytes(256), "big") << self._bits
            self._bits += 2048
        drawn = self._buffer & ((1 << bits) - 1)
        self._buffer >>= bits
        self._bits -= bits
        return drawn


def discrete_laplace(scale: int, coins: Coins) -> int:
    """Draw k with probability proportional to exp(-|k|/scale) (their Algorithm 2)."""
    while True:
        remainder = coins.below(scale)
        if not coins.exp_minus(remainder, scale):
            continue
        multiple = 0
        while coins.exp_minus(1):
            multiple += 1
        size = remainder + scale * multiple
        # Zero has two signs: with one of them it is drawn again, or it would come twice as often.
        negative = coins.below(2) == 1
        if not (negative and size == 0):
            return -size if negative else size


def discrete_gaussian(variance: Fraction, coins: Coins) -> int:
    """Draw k with probability proportional to exp(-k^2/(2 variance)) (their Algorithm 3).

    A drawn k is kept with probability exp(-(|k| - variance/scale)^2 / (2 variance)), whose exponent
    is a ratio of integers.
    """
    above, below = variance.numerator, variance.denominator
    scale = isqrt(floor(variance)) + 1
    denominator = 2 * above * below * scale**2
    while True:
        drawn = discrete_laplace(scale, coins)
        if coins.exp_minus((abs(drawn) * scale * below - above) ** 2, denominator):
            return drawn
