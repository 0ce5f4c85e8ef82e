r"""What other people would have done to the coefficients of least squares: sampling.

Coefficients solve sum_i psi(r_i) x_i = 0 (and a ridge D): r = y - <x, theta> is the residual, cut
so that no gradient is longer than the cap C. For n independent rows the covariance of theta is

    A^-1 B A^-1 / n,     A = k M + D,    B = E psi^2 x x^T,    M = E x x^T,

k being the share of the rows that are not cut (Huber 1967). Where residuals are spread alike
everywhere (homoscedastic) and independent of x, B = b M with b = E |psi x|^2 / tr M. M, the lengths
|r x| in bins, and n were released: M by the solver's matrix (lifted out of its noise), the lengths
by the histogram that the cap was chosen by (:mod:`veilspan.solvers.linear.asked.residual_cap`),
with the noise that theta had then in them: b is rather too large. All of it is post-processing.

Without a released curvature, or without released residuals, none of it is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan._threads import threads_for
from veilspan.solvers.linear.asked.residual_cap import EDGES, seen_shares
from veilspan.solvers.linear.tables.curve_noise import NewtonNoise

ASSUMED = (
    "With sampling: had other people come. Rows are taken to be independent, and residuals to be "
    "spread alike whatever the columns are."
)
NO_SAMPLING = (
    "no sampling in bars: it is told for least squares whose curvature and residuals were "
    'released, as solver="auto" does for regressions with little noise, unless clip is given.'
)
ALL_CUT = (
    "no sampling in bars: every residual that was seen is longer than the cap of the slopes, so "
    "that nothing released tells how far other people would move the coefficients."
)
HIDDEN = "no sampling in bars: noise hides how far targets lie from the predictions."


def find_sampling(noise: Any) -> tuple[np.ndarray | None, str]:
    """Covariance of theta over other people, or why it is not known.

    Parameters
    ----------
    noise : NewtonNoise or other
        What the solver tells of its answers.
    """
    if not isinstance(noise, NewtonNoise) or noise.residuals is None:
        return None, NO_SAMPLING
    shares = seen_shares(noise.residuals, noise.rows)
    if shares is None:
        return None, HIDDEN
    low, high = np.append(EDGES[0], EDGES), np.append(EDGES, EDGES[-1])
    squares = (low**2 + low * high + high**2) / 3  # the mean over a bin, evenly filled
    cut = np.maximum(np.abs(low), np.abs(high)) > noise.clip * (1 + 1e-9)
    kept = float(shares[~cut].sum())
    if kept == 0:  # A is D alone, which an intercept has no part in
        return None, ALL_CUT
    square = float(shares @ np.minimum(squares, noise.clip**2))
    moment = noise.lifted - noise.ridge
    with threads_for(len(moment)):
        away = np.linalg.inv(kept * moment + noise.ridge)
        spread = square / max(float(np.trace(noise.released)), 1e-300)
        return np.asarray(spread / noise.rows * away @ moment @ away), ASSUMED
