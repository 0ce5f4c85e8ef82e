"""Where sums over rows run. This one walks through memory, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, Rows
from veilspan.privacy.grid import MAX_ROWS, float_slack
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace

BLOCK_BYTES = 4_000_000  # of working memory per block: small enough for the cache, see benchmarks/
GROUP = 256  # blocks added up before they join the total: keeps the rounding error small


def clip_weights(norms: np.ndarray, bound: float) -> np.ndarray:
    """Weights min(1, bound/norm) that bring every contribution within the bound.

    A norm that is not a number says that the contribution is not one either: such a row gets
    weight 0, and queries leave rows of weight 0 out.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        weights = np.minimum(1.0, bound / norms)
    return np.where(np.isfinite(norms), weights, 0.0)


class MemoryExecutor:
    """Clipped sums over a table in memory, with bounded extra memory for any number of rows."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.n_features = rows.n_features

    def blocks(self, rows_per_block: int) -> Iterator[Block]:
        """The table, a block at a time, for sums that are not those of a query."""
        return self._rows.blocks(rows_per_block)

    def block_rows(self, query: RowQuery, point: Any) -> int:
        """Rows per block: a public number, from the width of the table and the query."""
        floats = max(1, query.row_floats(self.n_features, point))
        return int(np.clip(BLOCK_BYTES // (8 * floats), 1, 65_536))

    def rounding_slack(self, query: RowQuery, point: Any, neighbors: Neighbors) -> float:
        """What float64 arithmetic may add to the sensitivity (see ``privacy.grid``)."""
        replace = neighbors == "replace-one"
        rows = self._rows.n_rows if replace else MAX_ROWS
        return float_slack(
            rows,
            query.bound,
            self.block_rows(query, point),
            GROUP,
            roundoff=query.roundoff(self.n_features, point),
            moved_rows=1 if replace else rows,
        )

    def clipped_sum(
        self,
        query: RowQuery,
        point: Any,
        space: AnswerSpace,
        sampling: tuple[float, np.random.Generator] | None = None,
    ) -> np.ndarray:
        """Sum of all clipped contributions, in the coordinates of ``space``.

        With ``sampling = (rate, coins)`` each row takes part with that probability,
        independently (Poisson sampling).
        """
        # A warning about arithmetic could tell something of a row.
        with threads_for(self.n_features), np.errstate(all="ignore"):
            return self._sum_blocks(query, point, space, sampling)

    def _sum_blocks(
        self,
        query: RowQuery,
        point: Any,
        space: AnswerSpace,
        sampling: tuple[float, np.random.Generator] | None,
    ) -> np.ndarray:
        total = np.zeros(space.coordinates)
        subtotal = np.zeros(space.coordinates)
        pending = 0
        for block in self._rows.blocks(self.block_rows(query, point)):
            if sampling is not None:
                rate, coins = sampling
                block = block.take(coins.random(block.n_rows) < rate)
                if block.n_rows == 0:
                    continue
            subtotal += space.embed(clipped_block_sum(query, block, point))
            pending += 1
            if pending == GROUP:
                total += subtotal
                subtotal[:] = 0.0
                pending = 0
        total += subtotal
        return total


def clipped_block_sum(query: RowQuery, block: Block, point: Any) -> Any:
    """Clipped sum of one block: the only place where contributions are weighted."""
    prepared = query.prepare(block, point)
    norms = np.asarray(query.norms(prepared, point), dtype=np.float64)
    if norms.shape != (block.n_rows,):
        raise ValueError(
            f"{query.name}.norms must return one number per row; got shape {norms.shape}."
        )
    return query.weighted_sum(prepared, clip_weights(norms, query.bound), point)
