r"""Correlations of all pairs of numbers, from one noisy matrix of moments.

With Z_j the sum of numbers, R_j how many are missing, S_jk and W_jk the sums of z_j z_k and of
z_j r_k, and V_jk how many miss both, all over n people:

    N_jk = n - R_j - R_k + V_jk          people who have both numbers,
    A_jk = Z_j - W_jk                    sum of z_j over them,
    cov  = S_jk / N_jk - A_jk A_kj / N_jk^2,
    var_j = S_jj / n_j - (Z_j / n_j)^2,  n_j = n - R_j   (over all who have j),
    rho  = cov / sqrt(var_j var_k).

That is what the same formula gives without noise, and what the error bar speaks of. The bar is that
of the first-order change of rho in the noise of every entry, which is independent from entry to
entry. It holds where noise is small beside both variances: a pair is measurable if each variance is
at least ``FIRM`` times its noise, each number has at least ``LEAST_SPREAD`` of its range for a
standard deviation, and the bar is at most that of the rule (``estimates.LIMITS``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.solvers.profile.estimates import LIMITS, Z95, Estimate
from veilspan.solvers.profile.moments import Moments
from veilspan.solvers.profile.ratios import FIRM

#: Least variance of a number of [-1, 1]: below it a column is as good as constant.
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class Correlations:
    """Correlations of all pairs of numbers.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    value, bar : array of shape (m, m)
        Estimates and their error bars.
    measurable : array of bool of shape (m, m)
        By the rule above.
    """

    names: tuple[str, ...]
    value: np.ndarray
    bar: np.ndarray
    measurable: np.ndarray

    def of(self, one: str, other: str) -> Estimate:
        """The correlation of two columns."""
        i, j = self.names.index(one), self.names.index(other)
        value, bar = float(self.value[i, j]), float(self.bar[i, j])
        low, high = max(-1.0, value - bar), min(1.0, value + bar)
        return Estimate(value, low, high, bool(self.measurable[i, j]))

    def to_dict(self) -> list[dict[str, Any]]:
        """All pairs of columns, for JSON."""
        return [
            {"columns": [one, other], **self.of(one, other).to_dict()}
            for i, one in enumerate(self.names)
            for other in self.names[i + 1 :]
        ]


def find_correlations(moments: Moments) -> Correlations:
    """Correlations of all pairs, with bars by noise alone."""
    with np.errstate(all="ignore"):
        value, variance, firm = _estimate(moments)
    bar = np.where(firm, Z95 * np.sqrt(np.where(firm, variance, 0.0)), 2.0)
    bar = np.minimum(bar, 2.0)
    value = np.where(firm, np.clip(value, -1.0, 1.0), 0.0)
    np.fill_diagonal(value, 1.0)
    np.fill_diagonal(bar, 0.0)
    measurable = firm & (bar <= LIMITS.correlation)
    return Correlations(moments.names, value, bar, measurable)


def _estimate(moments: Moments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correlations, variances of their first-order noise, and where both variances are firm."""
    n, z, r = moments.people.value, moments.sums, moments.missing
    s, w, v = moments.products, moments.with_missing, moments.both_missing
    one, many = moments.sum_std, moments.product_std
    own = n - r
    mean = z / own
    square = np.diag(s) / own
    spread = square - mean**2
    spread_std = np.sqrt((moments.square_std / own) ** 2 + (2 * mean * one / own) ** 2)
    firm = (spread >= FIRM * spread_std) & (spread >= LEAST_VARIANCE) & (own >= FIRM * one)
    both = n - r[:, None] - r[None, :] + v
    a = (z[:, None] - w) / both
    b = a.T
    cov = s / both - a * b
    scale = np.sqrt(np.outer(spread, spread))
    rho = cov / scale
    # Change of rho in the noise of each entry: of products, of sums, of what is missing.
    half = -rho / 2
    in_both = (-s / both**2 + 2 * a * b / both) / scale
    of_mean = -2 * mean / own / spread  # of log var_j, in Z_j
    of_own = (-square / own + 2 * mean**2 / own) / spread  # of log var_j, in n_j
    in_z = -b / both / scale + half * of_mean[:, None]
    in_w = b / both / scale
    in_r = -in_both - half * of_own[:, None]
    in_n = in_both + half * (of_own[:, None] + of_own[None, :])
    variance = (many / both / scale) ** 2
    variance = variance + (moments.square_std * half / (own * spread)[:, None]) ** 2
    variance = variance + (moments.square_std * half / (own * spread)[None, :]) ** 2
    variance = variance + one**2 * (in_z**2 + in_z.T**2 + in_r**2 + in_r.T**2)
    variance = variance + many**2 * (in_w**2 + in_w.T**2 + in_both**2)
    variance = variance + (moments.people.std * in_n) ** 2
    fits = np.outer(firm, firm) & (both >= FIRM * many) & np.isfinite(rho) & np.isfinite(variance)
    return rho, variance, fits
