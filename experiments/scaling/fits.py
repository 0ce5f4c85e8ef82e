"""What one fit costs, and the power of a size by which costs grow."""

import math
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 0.25


@dataclass(frozen=True)
class Exponent:
    """A fitted power a in cost = c size^a, with its standard error, and the line itself."""

    value: float
    error: float
    factor: float
    first: float  # smallest size that was used

    def at(self, size: Any) -> Any:
        """Cost by the fitted law."""
        return self.factor * np.asarray(size, dtype=float) ** self.value


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> Exponent:
    """Least squares in logarithms on the upper half of the range, where overhead is small.

    The standard error is that of the residuals: what noise of the clock leaves of a power law, and
    what is not a power law at all.
    """
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(costs, dtype=float))
    upper = x >= (x[0] + x[-1]) / 2 - 1e-6
    x, y = x[upper], y[upper]
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    start = float(y.mean() - slope * x.mean())
    rest = y - start - slope * x
    spread = math.sqrt(float(rest @ rest) / max(1, len(x) - 2))
    error = spread / math.sqrt(float(centred @ centred)) if len(x) > 2 else math.inf
    return Exponent(slope, error, math.exp(start), float(np.exp(x[0])))


def judged(found: Exponent, expected: float, *, at_most: bool = False) -> bool | None:
    """Whether the exponent is the expected one, or no larger; ``None`` if it is too uncertain.

    One that keeps a bound with two standard errors against it is certain enough.
    """
    if at_most and found.value + 2 * found.error <= expected + TOLERANCE:
        return True
    if found.error > TOLERANCE:
        return None
    gap = found.value - expected
    return bool(gap <= TOLERANCE if at_most else abs(gap) <= TOLERANCE)


def cpu_seconds(call: Callable[[], Any], repeats: int, long: float) -> float:
    """Least CPU seconds of at most ``repeats`` calls, no more after ``long`` seconds of them."""
    best, spent = math.inf, 0.0
    for _ in range(repeats):
        start = time.process_time()
        call()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > long:
            break
    return best


def extra_bytes(call: Callable[[], Any]) -> tuple[int, Any]:
    """Largest number of bytes that a call holds beyond what was there, and what it returns."""
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()
