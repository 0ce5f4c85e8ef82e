"""The loops over rows, compiled by Numba when it is there (the extra ``fast``).

The source is that of :mod:`veilspan.nonprivate.grouse.loops`: one formula for each decision. Sums
are ordered differently from NumPy's (vector units, fused multiply-adds): a step of the two engines
agrees to a few units of rounding, not to the last bit. The compiled loops themselves repeat bit for
bit, however a stream is cut into blocks.

Nothing is compiled on import. The first block compiles for some seconds, and Numba keeps the
result on disk for later processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from veilspan.nonprivate.grouse import loops

# Sums may be reordered, which vector units need; nothing may assume that no value is NaN.
_FASTMATH = {"reassoc", "contract", "nsz"}
# In the order of their calls: a function comes before its callers.
_CALLED = (
    "_fraction",
    "_learn_noise",
    "_watch",
    "skip",
    "turn",
    "turn_factors",
    "turn_basis",
    "solve_observed",
)


@lru_cache(maxsize=1)
def compiled_loops() -> tuple[Callable[..., None], Callable[..., None]] | None:
    """``full_rows`` and ``gap_rows``, compiled; ``None`` without Numba."""
    try:
        import numba
    except ImportError:
        return None
    names = dict(vars(loops))
    for name in _CALLED:
        names[name] = _compile(numba, names[name], names)
    return _compile(numba, loops.full_rows, names), _compile(numba, loops.gap_rows, names)


def _compile(numba: Any, function: Any, names: dict[str, Any]) -> Any:
    """Compile a copy of a function that looks its global names up in ``names``.

    So the source stays plain Python, and the functions that the copy finds are compiled ones. All
    of it lives in one file: Numba's cache notices changes of the file of the outermost function
    only.
    """
    copy = FunctionType(function.__code__, names, function.__name__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    try:
        return numba.njit(copy, cache=True, fastmath=_FASTMATH)
    except RuntimeError:  # no folder that the cache could be written to
        return numba.njit(copy, fastmath=_FASTMATH)
