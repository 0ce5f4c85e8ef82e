"""Noisy counts in bins: how far out rows surely lie."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

#: Probability, over the noise, that any column's range breaks its promise. A column of which noise
#: makes a range does little harm: its rows are clipped to it, in a fit and afterwards.
FAILURE = 1e-3
#: The least number above 0: whatever is at least this is above 0.
ABOVE_NONE = 5e-324


@lru_cache(maxsize=64)  # pure, and asked again for every fit
def noise_quantile(n_features: int, n_bins: int, failure: float = FAILURE) -> float:
    """Normal quantile z of level failure / (6 p B)."""
    from scipy.special import ndtri

    return float(-ndtri(failure / (6 * n_features * n_bins)))


def find_outermost(counts: np.ndarray, wanted: np.ndarray, noise: float) -> np.ndarray:
    r"""First bin from the left that rows are in, for each column; one past the end if none.

    With N_m the noisy count of the first m bins and c_m that of the last of them, it is the first
    bin with c_m >= max(w, z s) or N_m >= max(w, z s sqrt(m)). Outside of the outermost row's own
    bin both are noise, so that no bin there is taken but with the probability of z, for each of the
    tests.

    Parameters
    ----------
    counts : array of shape (p, B)
        Noisy counts of p columns.
    wanted : array of shape (p,)
        w: rows that must be there at least.
    noise : float
        z s: a quantile of the noise times its std.
    """
    sums, reached = np.cumsum(counts, axis=1), np.arange(1, counts.shape[1] + 1)
    # Without noise, and where no row is wanted, an empty bin would do.
    wanted = np.maximum(wanted, ABOVE_NONE)[:, None]
    alone = counts >= np.maximum(wanted, noise)
    passed = alone | (sums >= np.maximum(wanted, noise * np.sqrt(reached)))
    return np.where(passed.any(axis=1), np.argmax(passed, axis=1), counts.shape[1])
