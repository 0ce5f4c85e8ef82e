"""Apply a function to a stack although it fails for some members, without failing the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veilspan.geometry._linalg import FloatArray


def apply_or_nan(
    function: Callable[[FloatArray], FloatArray], stack: FloatArray, shape: tuple[int, ...]
) -> FloatArray:
    """Apply ``function`` to a stack and put NaN where it fails for a member.

    LAPACK refuses a whole stack for one matrix that has no factor. Where it does, the stack is
    halved until the culprits are alone, so that the outcome of a member depends on that member
    only.

    Parameters
    ----------
    function : callable
        From a stack to a stack, member by member.
    stack : array
        The members along the first axis.
    shape : tuple of int
        Shape of the function's value for one member.
    """
    try:
        return function(stack)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        if len(stack) <= 1:
            return np.full((len(stack), *shape), np.nan)
    middle = len(stack) // 2
    return np.concatenate(
        [apply_or_nan(function, s, shape) for s in (stack[:middle], stack[middle:])]
    )
