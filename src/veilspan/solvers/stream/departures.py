"""Whether rows have left the subspace of a running sum, or were just not there."""

from __future__ import annotations

import math

import numpy as np

from veilspan.solvers.stream.running_belief import RunningBelief
from veilspan.solvers.stream.spectra import KNOWN, LOST, has_left


def rows_left(belief: RunningBelief, value: np.ndarray, noise: float, n_rows: int) -> bool:
    """Whether a direction of the estimate has lost the energy that it had in the sum.

    Parameters
    ----------
    belief : RunningBelief
        Before the block.
    value : array of shape (D, D)
        The block's mean answer, still stretched.
    noise : float
        Std of its noise.
    n_rows : int
        Rows of a block.
    """
    basis = belief.basis
    if belief.total is None or basis is None:
        return False
    width, size = basis.shape
    if width - size >= KNOWN * belief.precision:
        return False
    whole = belief.weight * n_rows
    if float(np.trace(value)) < LOST * belief.traces / whole:
        return False  # a block without rows, or with few
    before, now = basis.T @ belief.total @ basis / whole, basis.T @ value @ basis
    rest = float(np.trace(belief.total)) / whole - float(np.trace(before))
    floor = max(rest, 0.0) / (width - size) * np.eye(size)  # a direction outside has as much
    if has_left(before - floor, now - floor, noise):
        return True
    # Two blocks see what one is too noisy for; neighbours' noise is never positively related.
    pair = None if belief.recent is None else (belief.recent + now) / 2 - floor
    return pair is not None and has_left(before - floor, pair, noise / math.sqrt(2))
