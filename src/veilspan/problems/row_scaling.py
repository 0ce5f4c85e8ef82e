r"""Rows of a linear model inside the unit ball, by a public map of each row on its own.

A row x becomes

    v / max(|v|, R),      v = (cut((x - center) / scale), intercept),      R = ``row_norm``,

so that every row has at most unit length and rows longer than R are shortened, the constant column
with them; cut keeps entries to [-limit, limit]. The map looks at one row and public numbers only:
whoever changes (adds, removes) one row before it changes (adds, removes) one row after it, so it
costs no privacy and may stand before the curator. Where its numbers were themselves released
(private ranges), the curator holds the raw rows and the map is part of each question:
:class:`ScaledQuery`, asked through :func:`scaled_view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import LARGEST_VALUE, Block
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace
from veilspan.problems.moments import squared_norms

# Rows hold numbers up to LARGEST_VALUE; a smaller scale could make infinite ones of them.
SMALLEST_SCALE = 1e-100


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
    limit : float
        Largest scaled entry; larger ones are cut, so that one wild entry does not shorten its
        whole row to nothing. For ranges that miss some rows, such as private ones, 1 is natural.
    """

    center: np.ndarray | None = None
    scale: float | np.ndarray = 1.0
    row_norm: float = 1.0
    intercept: float = 0.0
    limit: float = np.inf

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=np.float64)
        if not (np.isfinite(scale).all() and (scale >= SMALLEST_SCALE).all()):
            raise ValueError("scale must be positive and finite in every column.")
        if not (self.row_norm > 0 and np.isfinite(self.row_norm)):
            raise ValueError(f"row_norm must be positive and finite; got {self.row_norm}.")
        if not (self.intercept >= 0 and np.isfinite(self.intercept)):
            raise ValueError(f"intercept must be finite and >= 0; got {self.intercept}.")
        if not self.limit > 0:
            raise ValueError(f"limit must be positive; got {self.limit}.")
        if self.center is not None and not (np.abs(self.center) <= LARGEST_VALUE).all():
            raise ValueError("center must hold finite numbers.")

    @classmethod
    def from_ranges(
        cls,
        low: np.ndarray,
        high: np.ndarray,
        *,
        intercept: float = 0.0,
        keep_zeros: bool = False,
        limit: float = np.inf,
    ) -> RowScaling:
        """Map each range [low, high] onto [-1, 1], or its far end onto 1 if zeros stay zero.

        Rows inside their p ranges then have squared length at most p + intercept^2, which is R^2:
        they are never shortened.
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        if low.ndim != 1 or low.shape != high.shape:
            raise ValueError(f"ranges need two equal shapes (p,); got {low.shape}, {high.shape}.")
        if not (low < high).all():
            raise ValueError("every range needs low < high.")
        far = np.maximum(np.abs(low), np.abs(high))
        row_norm = float(np.sqrt(low.size + intercept**2))
        if keep_zeros:
            return cls(None, far, row_norm, intercept, limit)
        return cls((low + high) / 2, (high - low) / 2, row_norm, intercept, limit)

    def width(self, n_features: int) -> int:
        """Columns after the map."""
        return n_features + (self.intercept > 0)

    def __call__(self, block: Block) -> Block:
        """Scaled rows, dense or CSR as they came; targets stay."""
        scaled = self._sparse(block.x) if block.is_sparse else self._dense(block.x)
        return Block(scaled, block.y)

    def user_coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept for raw rows, of a theta of shape (p',) or (p', k).

        For rows neither cut nor shortened, <scaled row, theta> = <x, coefficients> + intercept.
        """
        weights = theta[:-1] if self.intercept > 0 else theta
        scale = np.broadcast_to(np.asarray(self.scale, dtype=np.float64), weights.shape[:1])
        coefficients = (weights.T / (scale * self.row_norm)).T
        constant = np.zeros(theta.shape[1:])
        if self.intercept > 0:
            constant = self.intercept * theta[-1] / self.row_norm
        if self.center is not None:
            constant = constant - self.center @ coefficients
        return coefficients, np.asarray(constant)

    def _dense(self, x: np.ndarray) -> np.ndarray:
        if self.center is not None:
            x = x - self.center
        rows = np.empty((x.shape[0], self.width(x.shape[1])))
        entries = rows[:, : x.shape[1]]
        np.divide(x, self.scale, out=entries)
        if np.isfinite(self.limit):
            np.clip(entries, -self.limit, self.limit, out=entries)
        if self.intercept > 0:
            rows[:, -1] = self.intercept
        rows *= self._shortening(rows)[:, None]
        return rows

    def _sparse(self, x: Any) -> Any:
        from scipy import sparse

        if self.center is not None:
            raise ValueError("sparse rows need center=None: a centre would fill their zeros.")
        scale = np.broadcast_to(np.asarray(self.scale, dtype=np.float64), x.shape[1:])
        rows = sparse.csr_array(x, copy=True, dtype=np.float64)
        rows.data /= scale[rows.indices]
        if np.isfinite(self.limit):
            np.clip(rows.data, -self.limit, self.limit, out=rows.data)
        if self.intercept > 0:
            constant = np.full((x.shape[0], 1), self.intercept)
            rows = sparse.csr_array(sparse.hstack([rows, constant], format="csr"))
        rows.data *= np.repeat(self._shortening(rows), np.diff(rows.indptr))
        return rows

    def _shortening(self, rows: Any) -> np.ndarray:
        """1 / max(|v|, R); 0 for a row whose squared length is beyond float64."""
        with np.errstate(over="ignore"):
            lengths = np.sqrt(squared_norms(rows))
        return np.asarray(1.0 / np.maximum(lengths, self.row_norm))


class ScaledQuery(RowQuery):
    """Another query, asked of scaled rows while the curator holds raw ones.

    Sensitivity. Both relations: the other query's, whose proof holds for any two tables; scaled
    neighbours are neighbours. *add-remove*, *replace-one*: see there.

    Parameters
    ----------
    query : RowQuery
        What is asked of the scaled rows.
    scaling : RowScaling
        Public map: fixed in advance or computed from earlier answers.
    """

    def __init__(self, query: RowQuery, scaling: RowScaling) -> None:
        self.query = query
        self.scaling = scaling
        self.bound = query.bound

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """That of the query, at the width of scaled rows."""
        return self.query.space(self.scaling.width(n_features), point)

    def prepare(self, block: Block, point: Any) -> Any:
        """Scale, then what the query prepares."""
        return self.query.prepare(self.scaling(block), point)

    def norms(self, block: Any, point: Any) -> np.ndarray:
        """Those of the query."""
        return self.query.norms(block, point)

    def weighted_sum(self, block: Any, weights: np.ndarray, point: Any) -> Any:
        """That of the query."""
        return self.query.weighted_sum(block, weights, point)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """That of the query."""
        return self.query.sensitivity(neighbors)

    def row_floats(self, n_features: int, point: Any) -> int:
        """What the query keeps, and the scaled row."""
        width = self.scaling.width(n_features)
        return self.query.row_floats(width, point) + 2 * width

    def roundoff(self, n_features: int, point: Any) -> float:
        """That of the query, and of the length that rows are shortened by.

        Rounding a scaled row is part of the map, as long as it is rounded alike on both tables;
        a length may not be, where its row has another place in its block.
        """
        width = self.scaling.width(n_features)
        return self.query.roundoff(width, point) + 2 * width

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.query.name} of scaled rows"


class _ScaledView:
    """What a solver may ask of a curator, with every query turned into a :class:`ScaledQuery`."""

    def __init__(self, curator: Curator, scaling: RowScaling) -> None:
        self._curator = curator
        self._scaling = scaling
        self.plan = curator.plan
        self.source = curator.source

    @property
    def n_rows(self) -> int:
        return self._curator.n_rows

    @property
    def n_features(self) -> int:
        return self._scaling.width(self._curator.n_features)

    def answer(
        self,
        query: RowQuery,
        point: Any = None,
        *,
        event: str,
        noise_multiplier: float | None = None,
    ) -> Answer:
        scaled = ScaledQuery(query, self._scaling)
        return self._curator.answer(scaled, point, event=event, noise_multiplier=noise_multiplier)


def scaled_view(curator: Curator, scaling: RowScaling) -> Curator:
    """Let a solver ask about scaled rows of a curator that holds raw ones.

    The view has no rows and no noise of its own: it hands questions on to the one curator, which
    charges them to its plan. It has what solvers use: ``answer``, ``plan``, ``source``,
    ``n_rows``, ``n_features``.
    """
    return cast(Curator, _ScaledView(curator, scaling))
