r"""Variances of a released second moment, with what noise adds taken off.

An eigenvalue l of a matrix with symmetric Gaussian noise shows as about l + N/l, where N is the
noise's squared length in the line of its eigenvector (the sum of the variances of D entries), as
long as that is above the edge 2 sqrt(N) of the noise's own eigenvalues (Baik, Ben Arous & Peche
2005). Below the edge an eigenvector is noise's own, and its variance counts as none. The trace is
not inflated at all.
"""

from __future__ import annotations

import numpy as np

from veilspan.solvers.subspace.base import CLEARLY_ABOVE_NOISE


def signal_variances(
    values: np.ndarray, squared_noise: np.ndarray | float, edge: np.ndarray | float
) -> np.ndarray:
    """Variances without what noise adds; 0 where noise hides them.

    Parameters
    ----------
    values : array of shape (r,)
        Eigenvalues of the noisy matrix.
    squared_noise : array of shape (r,) or float
        N.
    edge : array of shape (r,) or float
        Eigenvalue that noise alone reaches, there or anywhere.
    """
    shown = values > np.maximum(CLEARLY_ABOVE_NOISE * edge, 0.0)
    roots = np.sqrt(np.maximum(values**2 - 4.0 * squared_noise, 0.0))
    return np.where(shown, (values + roots) / 2, 0.0)


def signal_ratios(signal: np.ndarray, trace: float) -> np.ndarray:
    """The same over the noisy total, which is at least what they add up to."""
    total = max(trace, float(signal.sum()), 1e-300)
    return np.asarray(signal / total)


def count_for_share(ratios: np.ndarray, share: float) -> int:
    """Fewest leading components that hold a share of the variance; all that noise shows if fewer.

    Parameters
    ----------
    ratios : array of shape (D,)
        Of all components, by decreasing eigenvalue.
    share : float
        Between 0 and 1.
    """
    shown = max(int(np.sum(np.cumprod(ratios > 0))), 1)
    reached = np.flatnonzero(np.cumsum(ratios[:shown]) >= share - 1e-12)
    return int(reached[0]) + 1 if reached.size else shown
