"""Sums and products with their rounding errors: twice the digits of float64, entry by entry.

Every function works on each entry alone, in the same operations whatever the array's size, so what
is built from them gives a row the same bits in any company.
"""

from __future__ import annotations

from veilspan.geometry._linalg import FloatArray

#: 2^27 + 1: splits 53 bits into two halves whose products are exact.
_SPLITTER = 134217729.0


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return s and e with s = fl(a + b) and s + e = a + b exactly (Knuth 1969)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def split(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two halves of at most 26 bits each, whose sum is a (Veltkamp's splitting).

    The order of the subtractions is the algorithm: what looks like it cancels is the rounding of c.
    """
    c = _SPLITTER * a
    high = c - (c - a)
    return high, a - high


def two_product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return p and e with p = fl(a b) and p + e = a b exactly, short of underflow (Dekker 1971)."""
    p = a * b
    ah, al = split(a)
    bh, bl = split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def inner(a: FloatArray, b: FloatArray, correction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum of a (b + correction) over the first axis, as a value and a correction to it.

    Products and sums keep their errors, so that the result is as if computed with 106 bits (Ogita,
    Rump and Oishi 2005); halves of the axis are added to each other until one entry is left.
    """
    high, low = two_product(a, b)
    low += a * correction
    while len(high) > 1:
        half, odd = divmod(len(high), 2)
        total, lost = two_sum(high[:half], high[half : 2 * half])
        lost += low[:half] + low[half : 2 * half]
        if odd:
            total[0], rest = two_sum(total[0], high[-1])
            lost[0] += rest + low[-1]
        high, low = total, lost
    return high[0], low[0]
