"""``check_query``: whether a row query keeps what it declares.

Three things can be wrong with a query, and each is checked against something that shares no code
with it: its fast block functions against one row at a time, its norms against the norm of the
answer space, and its declared sensitivity against a search for rows that break it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.clipping import clip_weights
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.privacy.neighbors import Neighbors

Reference = Callable[[Block, Any], Any]


class QueryCheckError(AssertionError):
    """A query breaks its contract; the text names the query and what is wrong, and no row."""


@dataclass(frozen=True)
class QueryReport:
    """What the search found: the largest change of the clipped sum over the declared sensitivity.

    Values near 1 say that the declared sensitivity is tight; far below 1, that noise is wasted
    (or that the search did not find the worst rows).
    """

    replace_one: float
    add_remove: float
    rows_tried: int


def check_query(
    query: RowQuery,
    n_features: int,
    *,
    points: Sequence[Any] = (None,),
    reference: Reference | None = None,
    make_rows: Callable[[np.random.Generator, int], Block] | None = None,
    steps: int = 150,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> QueryReport:
    """Check a row query's block functions and its declared sensitivity.

    Parameters
    ----------
    query : RowQuery
        The query.
    n_features : int
        Width of the simulated table.
    points : sequence
        Public points at which to check.
    reference : callable, optional
        ``reference(one_row_block, point)``: the row's contribution, written as slowly and plainly
        as possible, in the form that ``weighted_sum`` returns. Without it, single-row calls of the
        query itself serve as the reference.
    make_rows : callable, optional
        ``make_rows(rng, count)`` returns a block; by default rows of many sizes, equal, opposite,
        orthogonal, zero and huge ones, without targets.
    steps : int
        Steps of the search for a worse pair of rows.
    seed : int
        Seed of the simulated rows.
    tolerance : float
        Relative tolerance of all comparisons.

    Returns
    -------
    QueryReport
        How much of the declared sensitivity was used.

    Raises
    ------
    QueryCheckError
        Naming what is wrong.
    """
    rng = np.random.default_rng(seed)
    replaced = added = 0.0
    tried = 0
    for point in points:
        block = make_rows(rng, 48) if make_rows else adversarial_rows(rng, n_features)
        checker = _Checker(query, n_features, point, reference or _single_row(query), tolerance)
        checker.check_block_functions(block, rng)
        found, count = checker.search(block, rng, steps)
        replaced, added = max(replaced, found["replace-one"]), max(added, found["add-remove"])
        tried += count
    return QueryReport(replaced, added, tried)


def adversarial_rows(rng: np.random.Generator, n_features: int) -> Block:
    """Rows that tend to break things: of many lengths, equal, opposite, orthogonal, zero."""
    plain = rng.standard_normal((8, n_features))
    units = plain / np.linalg.norm(plain, axis=1, keepdims=True)
    axes = np.eye(n_features)[: min(6, n_features)]
    zero = np.zeros((1, n_features))
    scaled = [units * scale for scale in (1e-9, 0.3, 1.0, 3.0, 1e8)]
    return Block(np.concatenate([zero, axes, -axes, *scaled, -units[:4], units[:1]]))


def _single_row(query: RowQuery) -> Reference:
    def contribution(row: Block, point: Any) -> Any:
        return query.weighted_sum(query.prepare(row, point), np.ones(1), point)

    return contribution


@dataclass
class _Checker:
    """The checks of one query at one public point."""

    query: RowQuery
    n_features: int
    point: Any
    reference: Reference
    tolerance: float

    def __post_init__(self) -> None:
        self.space = self.query.space(self.n_features, self.point)

    def contributions(self, block: Block) -> np.ndarray:
        """One embedded contribution per row, by the reference, a row at a time."""
        rows = range(block.n_rows)
        mask = np.eye(block.n_rows, dtype=bool)
        return np.stack(
            [self.space.embed(self.reference(block.take(mask[i]), self.point)) for i in rows]
        )

    def check_block_functions(self, block: Block, rng: np.random.Generator) -> None:
        """Norms and sums of the whole block against the reference; linearity in the weights."""
        single = self.contributions(block)
        prepared = self.query.prepare(block, self.point)
        norms = np.asarray(self.query.norms(prepared, self.point))
        self._close(norms, np.linalg.norm(single, axis=1), "norms differ from the norms in space()")
        u, v = rng.random(block.n_rows), rng.random(block.n_rows)
        sums = [self._sum(prepared, weights) for weights in (u, v, u + 2 * v, np.zeros_like(u))]
        for weights, total in zip((u, v), sums):
            scale = np.abs(weights[:, None] * single).sum(axis=0)
            self._close(total, weights @ single, "weighted_sum differs from a row at a time", scale)
        scale = (np.abs(single) * 3).sum(axis=0)
        self._close(sums[2], sums[0] + 2 * sums[1], "weighted_sum is not linear in weights", scale)
        self._close(sums[3], 0 * sums[3], "weighted_sum of zero weights is not zero")
        # Rounding may leave a sum a hair beside the space, relative to all that was added up.
        nearest = self.space.nearest_coordinates(sums[0].copy())
        size = float(u @ np.linalg.norm(single, axis=1))
        self._close(nearest, sums[0], "a sum lies outside of its answer space", size)

    def search(
        self, block: Block, rng: np.random.Generator, steps: int
    ) -> tuple[dict[Neighbors, float], int]:
        """Look for rows that move the clipped sum by more than declared."""
        clipped = self._clip(block)
        gaps = np.linalg.norm(clipped[:, None] - clipped[None], axis=-1)
        i, j = np.unravel_index(np.argmax(gaps), gaps.shape)
        best = {"replace-one": float(gaps.max()), "add-remove": _longest(clipped)}
        pair = block.take(np.isin(np.arange(block.n_rows), [i, j]))
        for step in range(steps if pair.n_rows == 2 else 0):
            moved = _perturb(pair, rng, 10.0 ** rng.uniform(-3, 0.5))
            both = self._clip(moved)
            gap = float(np.linalg.norm(both[0] - both[1]))
            best["add-remove"] = max(best["add-remove"], _longest(both))
            # A climb that never goes down gets stuck: every fortieth step is taken as it comes.
            if gap >= best["replace-one"] or step % 40 == 39:
                pair = moved
            best["replace-one"] = max(best["replace-one"], gap)
        used: dict[Neighbors, float] = {}
        for relation in ("replace-one", "add-remove"):
            declared = self.query.sensitivity(relation)
            used[relation] = best[relation] / declared
            if used[relation] > 1 + self.tolerance:
                raise QueryCheckError(
                    f"{self.query.name}: two neighbours ({relation}) move the clipped sum by "
                    f"{used[relation]:.6g} times the declared sensitivity {declared:.6g}."
                )
        self._check_tables(block)
        return used, block.n_rows + 2 * steps

    def _check_tables(self, block: Block) -> None:
        """The same through the code that the curator runs, on whole tables."""
        keep = np.arange(block.n_rows) > 0
        whole = self.space.embed(clipped_block_sum(self.query, block, self.point))
        without = self.space.embed(clipped_block_sum(self.query, block.take(keep), self.point))
        moved = float(np.linalg.norm(whole - without))
        if moved > self.query.sensitivity("add-remove") * (1 + self.tolerance) + 1e-12 * float(
            np.linalg.norm(whole)
        ):
            raise QueryCheckError(
                f"{self.query.name}: removing a row moves the sum of a whole table by more than "
                "its sensitivity. Raise the bound, or check that weighted_sum uses the weights."
            )

    def _clip(self, block: Block) -> np.ndarray:
        """Contributions as the curator weights them, by the query's own norms."""
        norms = np.asarray(self.query.norms(self.query.prepare(block, self.point), self.point))
        weights = clip_weights(norms, self.query.bound)
        return np.asarray(weights[:, None] * self.contributions(block))

    def _sum(self, prepared: Any, weights: np.ndarray) -> np.ndarray:
        return np.array(self.space.embed(self.query.weighted_sum(prepared, weights, self.point)))

    def _close(self, value: np.ndarray, expected: np.ndarray, what: str, scale: Any = None) -> None:
        allowed = self.tolerance * (np.abs(expected) if scale is None else scale) + 1e-300
        if value.shape != expected.shape or not np.all(np.abs(value - expected) <= allowed):
            raise QueryCheckError(f"{self.query.name}: {what}.")


def _perturb(pair: Block, rng: np.random.Generator, size: float) -> Block:
    x = pair.dense()
    length = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-3)
    return Block(x + size * length * rng.standard_normal(x.shape) / np.sqrt(x.shape[1]), pair.y)


def _longest(vectors: np.ndarray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())
