"""What a sum over rows is made of: weights that clip, samples, blocks and groups of them.

The sums themselves are :meth:`veilspan.curator.rows.Rows.clipped_sum` and, for rows on a cluster,
that of :mod:`veilspan.curator.dask.rows`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.curator.row_maps import silent_row_map
from veilspan.privacy.noise import NoiseSource, SamplingKey

if TYPE_CHECKING:
    from veilspan.curator.query import RowQuery

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


def find_block_rows(query: RowQuery, rows: Any, point: Any) -> int:
    """Rows per block where the curator has not said it: they do not depend on the relation."""
    facts = query.public_facts("add-remove", rows.n_features, point, sparse=rows.is_sparse)
    return facts.block_rows


@silent_row_map
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
    far = float(bound) * FAR
    if np.maximum.reduce(norms, initial=0.0) <= far:  # the factor is 1, every norm is a number
        return np.asarray(bound / np.maximum(norms, bound))
    with np.errstate(all="ignore"):
        weights = bound / np.maximum(norms, bound)
        weights *= np.clip((FADE - norms / far) / (FADE - 1.0), 0.0, 1.0)
    return np.where(np.isfinite(norms), weights, 0.0)
