r"""What an earlier fit leaves of the targets, and the features that learn it.

A row and its target are one person's. Both are mapped by functions of that row, of public numbers
and of what was released before, so neighbouring tables stay neighbouring, targets included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.queries.linear.table_features import (
    KEPT_BYTES,
    KEPT_ON_WORKERS,
    TableFeatures,
    TableLine,
)


@dataclass(frozen=True, eq=False)
class ResidualFeatures:
    """Features of rows, and what an earlier fit leaves of their targets.

    A target t in [-1, 1] becomes clip((t - p) / w, -1, 1), p = clip(<line, theta>, -1, 1) being the
    earlier fit's prediction and w a released width. Both are functions of the one row.

    Parameters
    ----------
    features : TableFeatures
        What becomes of the features.
    line, theta : TableLine, array of shape (p,)
        The earlier fit.
    width_of_rest : float
        w.
    theta_noise : array of shape (p,) or None
        Std of the noise in each entry of ``theta``, by the public noise of the steps and released
        numbers; for error bars alone.
    """

    features: TableFeatures
    line: TableLine
    theta: np.ndarray
    width_of_rest: float
    theta_noise: np.ndarray | None = None

    kept_bytes, kept_on_workers, on_grid = KEPT_BYTES, KEPT_ON_WORKERS, True

    @property
    def width(self) -> int:
        """How many columns there are after the map."""
        return self.features.width

    @row_map
    def __call__(self, block: Block) -> Block:
        """Features, and targets less what was predicted."""
        x = block.dense()
        rest = block.y - first_predictions(self.line, self.theta, x)
        return Block(self.features.grid_of(x), np.clip(rest / self.width_of_rest, -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class RestColumn:
    """What an earlier fit leaves of each target, as the only column of a table."""

    line: TableLine
    theta: np.ndarray

    @row_map
    def __call__(self, block: Block) -> Block:
        """The rest t - p of each row; p as in :class:`ResidualFeatures`."""
        rest = block.y - first_predictions(self.line, self.theta, block.dense())
        return Block(np.ascontiguousarray(rest[:, None]), block.y)


def first_predictions(line: TableLine, theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Predictions of an earlier fit to targets in [-1, 1], kept to these."""
    return np.clip(line.scores(x, theta)[:, 0], -1.0, 1.0)
