"""Where sums over rows run. This one walks through memory, a block at a time.

An executor has two duties: the clipped sum of a query, and the sum of another function of blocks
(of the second door). What it returns is exact and stays with the curator. It also says how sums are
put together there, by which the curator bounds what float64 rounding adds to a sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, Rows
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.noise import NoiseSource, SamplingKey
from veilspan.privacy.spaces import AnswerSpace

GROUP = 256  # blocks added up before they join the total: keeps the rounding error small
FAR, FADE = 2.0**1000, 2.0**20  # see clip_weights


@dataclass(frozen=True)
class Sampling:
    """Poisson sampling of one step: each row takes part with probability ``rate``."""

    rate: float
    source: NoiseSource
    step: int

    def coins(self) -> np.random.Generator:
        """Coins of the whole table, row after row."""
        return self.source.sampling_stream(self.step)

    def of_part(self, part: int) -> PartSampling:
        """The same for a part of the table that is summed elsewhere."""
        return PartSampling(self.rate, self.source.sampling_key(self.step, part))


@dataclass(frozen=True)
class PartSampling:
    """Poisson sampling of one part of the rows, by a key of its own."""

    rate: float
    key: SamplingKey

    def coins(self) -> np.random.Generator:
        """Coins of the part, row after row."""
        return self.key.coins()


class Executor(Protocol):
    """What the curator needs of the place where rows are."""

    @property
    def extra_terms(self) -> Mapping[Neighbors, int]:
        """A public bound on the sums of parts that are added up beyond those of one table."""

    @property
    def rounds_alike(self) -> bool:
        """Whether a row that stays in its place is rounded alike on both neighbouring tables."""

    def clipped_sum(
        self,
        query: RowQuery,
        point: Any,
        space: AnswerSpace,
        sampling: Sampling | None = None,
        rows_per_block: int | None = None,
    ) -> np.ndarray:
        """Sum of all clipped contributions, in the coordinates of ``space``."""

    def total(
        self, part: Callable[[Block], np.ndarray], rows_per_block: int, group: int
    ) -> np.ndarray:
        """Sum of ``part`` over blocks."""


def find_block_rows(query: RowQuery, rows: Any, point: Any) -> int:
    """Rows per block where the curator has not said it: they do not depend on the relation."""
    facts = query.public_facts("add-remove", rows.n_features, point, sparse=rows.is_sparse)
    return facts.block_rows


@row_map
def clip_weights(norms: np.ndarray, bound: float) -> np.ndarray:
    r"""Weights min(1, C/|c|) that bring every contribution c within the bound C.

    A norm that is not a number says that the contribution is not one either: such a row gets
    weight 0, and queries leave rows of weight 0 out.

    Far out C/|c| would be a denormal number of few bits, and the product with c as much as twice
    too long. So from |c| = F C on, F = 2^1000, the weight falls faster and is 0 from K F C on,
    K = 2^20:

        C/|c| max(0, (K - t) / (K - 1)),      t = |c| / (F C).

    Every weight that is not zero is then above 2^-1021, a normal number, and weight times |c| is at
    most C (1 + 4u). A sensitivity rests on weights of at most C/|c| only, so it holds as before.
    The fall is continuous, so that rounding cannot switch a row off: let the norm be known up to
    the relative error e and the contribution to d |c|. With f the factor, which changes by
    t e / (K - 1), the clipped contribution is off by at most
    C (f (d + e) + t e / (K - 1)) <= C (d + e K / (K - 1)), what it is near by, up to a millionth.
    """
    weights = np.minimum(1.0, bound / norms)
    far = bound * FAR
    if (norms > far).any():  # elsewhere the factor is exactly 1
        weights *= np.clip((FADE - norms / far) / (FADE - 1.0), 0.0, 1.0)
    return np.where(np.isfinite(norms), weights, 0.0)


@dataclass(frozen=True, eq=False)
class MemoryExecutor:
    """Clipped sums over a table in memory, with bounded extra memory for any number of rows."""

    _rows: Rows

    #: A table in memory is one part, so that no sums of parts are added up.
    extra_terms: ClassVar[Mapping[Neighbors, int]] = MappingProxyType(
        {"replace-one": 0, "add-remove": 0}
    )
    rounds_alike: ClassVar[bool] = True

    def clipped_sum(
        self,
        query: RowQuery,
        point: Any,
        space: AnswerSpace,
        sampling: Sampling | PartSampling | None = None,
        rows_per_block: int | None = None,
    ) -> np.ndarray:
        """Sum of all clipped contributions, in the coordinates of ``space``.

        With ``sampling`` each row takes part with its rate, independently (Poisson sampling).
        """
        coins = None if sampling is None else sampling.coins()

        def part(block: Block) -> Any:
            if sampling is not None and coins is not None:
                block = block.take(coins.random(block.n_rows) < sampling.rate)
                if block.n_rows == 0:
                    return 0.0
            return space.embed(clipped_block_sum(query, block, point))

        stride = rows_per_block or find_block_rows(query, self._rows, point)
        # A warning about arithmetic could tell something of a row.
        with threads_for(self._rows.n_features), np.errstate(all="ignore"):
            total = sum_in_groups(self._rows.blocks(stride), part, GROUP)
        return np.asarray(total + np.zeros(space.coordinates))

    def total(self, part: Callable[[Block], Any], rows_per_block: int, group: int) -> np.ndarray:
        """Sum of ``part`` over blocks, added up in groups."""
        return sum_in_groups(self._rows.blocks(rows_per_block), part, group)


def sum_in_groups(blocks: Iterable[Block], part: Callable[[Block], Any], group: int) -> np.ndarray:
    """Sum over blocks, ``group`` of them at a time: the order that rounding bounds count on."""
    total: Any = 0.0
    subtotal: Any = 0.0
    for number, block in enumerate(blocks):
        subtotal = subtotal + part(block)
        if number % group == group - 1:
            total, subtotal = total + subtotal, 0.0
    return np.asarray(total + subtotal)


def clipped_block_sum(query: RowQuery, block: Block, point: Any) -> Any:
    """Clipped sum of one block: the only place where contributions are weighted."""
    prepared = query.prepare(block, point)
    norms = np.asarray(query.norms(prepared, point), dtype=np.float64)
    if norms.shape != (block.n_rows,):
        # The shape would tell how many rows the block has, which may be private.
        raise ValueError(f"{query.name}.norms must return one number per row of the block.")
    weights = clip_weights(norms, query.bound)
    if block.present is not None:  # an absent row has weight 0 and keeps its place
        weights = np.where(block.present, weights, 0.0)
    return query.weighted_sum(prepared, weights, point)
