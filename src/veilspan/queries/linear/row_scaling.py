r"""Rows of a linear model inside the unit ball, by a public map of each row on its own.

A row x, clipped to public ranges where there are any, becomes

    v / max(|v|, R),      v = ((x - center) / scale, intercept),      R = ``row_norm``,

so that every row has at most unit length and rows longer than R are shortened, the constant column
with them. The map looks at one row and public numbers only: whoever changes (adds, removes) one row
before it changes (adds, removes) one row after it, so it costs no privacy, whether its numbers were
known in advance or released earlier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._scales import (
    LARGEST_DERIVED,
    LARGEST_SCALE,
    SMALLEST_DERIVED,
    check_derived_scale,
    check_location,
)
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.curator.sparse_rows import sparse_squares, with_constant
from veilspan.queries.linear.target_scaling import TargetScaling


@dataclass(frozen=True, eq=False)
class RowScaling:
    """A public map of rows into the unit ball (formula above).

    Parameters
    ----------
    center : array of shape (p,) or None
        Subtracted first. ``None`` keeps zeros zero, as sparse rows need.
    scale : float or array of shape (p,)
        What each column is divided by.
    row_norm : float
        R: length from which scaled rows, constant included, are shortened.
    intercept : float
        The constant that is appended as the last column; 0 appends none.
    low, high : array of shape (p,) or None
        What features are clipped to first; both or neither. A column whose range is its centre
        alone becomes zero: it is left out.
    targets : TargetScaling or None
        What becomes of targets; ``None`` leaves them as they are.
    """

    center: np.ndarray | None = None
    scale: float | np.ndarray = 1.0
    row_norm: float = 1.0
    intercept: float = 0.0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    targets: TargetScaling | None = None

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=np.float64)
        least, most = scale.min(), scale.max()
        if not (least > 0 and most < math.inf):  # neither holds for what is not a number
            raise ValueError("scale must be positive and finite in every column.")
        scales = {"scale": (least, most), "row_norm": (self.row_norm,)}
        if self.intercept != 0:
            scales["intercept"] = (self.intercept,)
        for name, numbers in scales.items():
            for number in numbers:
                if not SMALLEST_DERIVED <= number <= LARGEST_DERIVED:
                    check_derived_scale(number, name)
        if self.center is not None and not (np.abs(self.center) <= LARGEST_SCALE).all():
            check_location(self.center, "center")

    @property
    def features_norm(self) -> float:
        """Length from which the scaled features alone are shortened."""
        return math.sqrt(max(self.row_norm**2 - self.intercept**2, 0.0))

    def width(self, n_features: int) -> int:
        """Number of columns after the map, with the constant one."""
        return n_features + (self.intercept > 0)

    @row_map
    def __call__(self, block: Block) -> Block:
        """Scaled rows, dense or CSR as they came, and targets."""
        scaled = self._sparse(block.x) if block.is_sparse else self._dense(block.x)
        return Block(scaled, block.y if self.targets is None else self.targets(block.y))

    def user_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept for raw rows, of a theta of shape (p',) or (p', k).

        For rows that are neither clipped nor shortened,
        <scaled row, theta> = <x, coefficients> + intercept. Columns that the map makes zero (a
        range of one point) get the coefficient 0: there is nothing but noise in theirs.
        """
        empty = self.left_out()
        if empty is not None:
            theta = theta.copy()
            if empty.any():
                theta[: empty.size][empty] = 0.0
        weights = theta[:-1] if self.intercept > 0 else theta
        coefficients = (weights.T / (np.asarray(self.scale, dtype=np.float64) * self.row_norm)).T
        constant = np.zeros(theta.shape[1:])
        if self.intercept > 0:
            constant = self.intercept * theta[-1] / self.row_norm
        if self.center is not None:
            constant = constant - self.center @ coefficients
        return coefficients, np.asarray(constant)

    def left_out(self) -> np.ndarray | None:
        """Which columns the map makes zero; ``None`` where nothing is clipped."""
        if self.low is None or self.high is None:
            return None
        middle = 0.0 if self.center is None else self.center
        return np.asarray((self.low == middle) & (self.high == middle))

    def _dense(self, x: np.ndarray) -> np.ndarray:
        if self.low is not None and self.high is not None:
            x = np.maximum(x, self.low)
            np.minimum(x, self.high, out=x)
            if self.center is not None:
                x -= self.center
        elif self.center is not None:
            x = x - self.center
        rows = np.empty((x.shape[0], self.width(x.shape[1])))
        if np.ndim(self.scale) == 0 and self.scale == 1:  # the same bits in half of the time
            rows[:, : x.shape[1]] = x
        else:
            np.divide(x, self.scale, out=rows[:, : x.shape[1]])
        if self.intercept > 0:
            rows[:, -1] = self.intercept
        # A row whose squared length is beyond float64 becomes 0.
        rows *= (1.0 / np.maximum(np.sqrt(row_dots(rows, rows)), self.row_norm))[:, None]
        return rows

    def _sparse(self, x: Any) -> Any:
        from scipy import sparse

        if self.center is not None:
            raise ValueError("sparse rows need center=None: a centre would fill their zeros.")
        scale = np.broadcast_to(np.asarray(self.scale, dtype=np.float64), x.shape[1:])
        rows = sparse.csr_array(x, copy=True, dtype=np.float64)
        rows.sum_duplicates()  # an entry stored twice is the sum of both: that is clipped
        if self.low is not None and self.high is not None:  # zero, not stored, is inside
            rows.data = np.clip(rows.data, self.low[rows.indices], self.high[rows.indices])
        rows.data /= scale[rows.indices]
        if self.intercept > 0:
            rows = with_constant(rows, self.intercept)
        factors = 1.0 / np.maximum(np.sqrt(sparse_squares(rows)), self.row_norm)
        rows.data *= np.repeat(factors, np.diff(rows.indptr))
        return rows
