r"""How far a released centre may lie from the mean of the rows, from released numbers alone.

Each coordinate has noise of a public std. Beside it

* *rows left out*: the looks of :mod:`.looks` take the mean over shells that stand out of the noise.
  Which share f of the rows that leaves out is released (a count); where these rows lie is not. They
  are taken to lie to one side by the column's standard deviation s: a shift of f s.
* *sampling*: the mean of n other people, independent ones, has a std of s / sqrt(n).

s is the root of the released second moment's diagonal. All of it is post-processing: nothing is
spent. What is *not* in it: rows that a public bound shortens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Half the width of an interval that holds a normal error with 95 %, in standard deviations.
Z95 = 1.959963984540054


@dataclass(frozen=True)
class CenterDoubt:
    """What moves a released centre, one number a column.

    Attributes
    ----------
    noise : array of shape (D,)
        Std of its noise.
    spread : array of shape (D,)
        Std of the rows' columns.
    n_rows : float
        Number of rows, public or released.
    left_out : float
        Share of the rows that noise kept out of it.
    """

    noise: np.ndarray
    spread: np.ndarray
    n_rows: float
    left_out: float = 0.0

    @classmethod
    def of_variances(
        cls, noise: np.ndarray, variances: np.ndarray, n_rows: float, left_out: float = 0.0
    ) -> CenterDoubt:
        """From a released diagonal, which noise may have made negative."""
        return cls(noise, np.sqrt(np.maximum(variances, 0.0)), n_rows, left_out)

    def times(self, factor: np.ndarray) -> CenterDoubt:
        """The same for columns times these factors."""
        return CenterDoubt(factor * self.noise, factor * self.spread, self.n_rows, self.left_out)

    def bars(self, *, sampling: bool) -> np.ndarray:
        """Half widths that hold with 95 %: of noise alone, or with sampling."""
        std = self.noise
        if sampling:
            std = np.hypot(std, self.spread / math.sqrt(self.n_rows))
        return np.asarray(Z95 * std + self.left_out * self.spread)
