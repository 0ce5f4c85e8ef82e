"""Write numbers as people read them: rounded, with superscripts, minus signs and thin spaces."""

from __future__ import annotations

import math

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MINUS, THIN = "\u2212", "\u202f"


def equals(symbol: str, value: float, digits: int = 4) -> str:
    """``ε = 1``, never broken across lines."""
    return f"{symbol}\u00a0=\u00a0{number(value, digits)}"


def number(value: float, digits: int = 4) -> str:
    r"""A number with so many digits: ``0.25``, ``10⁻⁶``, ``2.3 × 10⁻⁷``, ``∞``.

    Examples
    --------
    >>> number(1e-6), number(2.5e-7), number(-0.25), number(12345.0, 6)
    ('10⁻⁶', '2.5\u202f×\u202f10⁻⁷', '−0.25', '12345')
    """
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    mantissa = mantissa.replace("-", MINUS)
    if not power:
        return mantissa
    raised = "10" + str(int(power)).translate(_SUPERSCRIPT)
    if mantissa in ("1", f"{MINUS}1"):
        return mantissa.replace("1", raised)
    return f"{mantissa}{THIN}×{THIN}{raised}"


def plain(value: float, digits: int = 4) -> str:
    r"""A value of a column: below a million without powers of ten, which few people read.

    From 10,000 on thousands are set apart; a year stays a year.

    Examples
    --------
    >>> plain(99_999), plain(-2000.4), plain(0.12345), plain(1e6)
    ('99,999', '−2000', '0.1235', '10⁶')
    """
    whole = round(value) if math.isfinite(value) else 0
    if not 1000 <= abs(whole) < 1_000_000:
        return number(value, digits)
    return (f"{whole:,}" if abs(whole) >= 10_000 else str(whole)).replace("-", MINUS)


def power(value: float) -> str:
    """A power of ten, from ``1`` on always as one.

    Examples
    --------
    >>> power(0.01), power(1.0)
    ('10⁻²', '1')
    """
    exponent = round(math.log10(value))
    return "10" + str(exponent).translate(_SUPERSCRIPT) if exponent else "1"


def percent_up(share: float, digits: int = 3) -> str:
    r"""A share in percent, rounded up, since it is an upper bound; at most 100 %.

    Examples
    --------
    >>> percent_up(0.59412), percent_up(0.0010001), percent_up(1.0)
    ('59.5\u202f%', '0.101\u202f%', '100\u202f%')
    """
    percent = min(100.0, 100 * max(share, 0.0))
    if percent > 0:
        scale = 10.0 ** (digits - 1 - math.floor(math.log10(percent)))
        # 1e-9: what is a round number up to rounding of floats stays one.
        percent = min(100.0, math.ceil(percent * scale * (1 - 1e-9)) / scale)
    return f"{number(percent, digits + 1)}{THIN}%"


def percent(share: float, digits: int = 3) -> str:
    """A share in percent, rounded to the nearest."""
    return f"{number(100 * share, digits)}{THIN}%"


def count(value: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun, in the singular or the plural: ``1 row``, ``2,387 rows``."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"
