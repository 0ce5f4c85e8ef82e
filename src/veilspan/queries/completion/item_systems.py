r"""What alternating least squares asks of users: the normal equations of every item.

At public item factors v_j a user solves a ridge problem on her own ratings y (centred, less a
public item bias) and adds, for every item j that she rated, her part of the item's system

    H_j = sum_i w_ij u_i u_i^T,        s_j = sum_i w_ij y_ij u_i,

with weights that bound her influence on all items together, sum_j w_ij^2 <= B. This is the private
alternating minimisation of Chien et al. (ICML 2021, DPALS); weights that favour rare items are
those of Krichene et al. (ICML 2023, Ada-DPALS).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace, ProductSpace, VectorSpace
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.queries.completion.residual_moment import (
    clip_rows,
    keep_ratings,
    per_rating,
    ridge_solutions,
    row_sums,
    with_values,
)

ItemWeights = Literal["uniform", "tail", "adaptive"]
#: Divides in place of the zero of a user without ratings, whose weights are none anyway.
NO_RATINGS = 1e-300


class ItemPoint(NamedTuple):
    """Public state of a round: bias (n,), factors (n, r), importance of items (n,)."""

    bias: np.ndarray
    factors: np.ndarray
    importance: np.ndarray


@dataclass(frozen=True)
class UserParts:
    """A block of users: weights w and w y as CSR, the packed u u^T, and u."""

    weights: Any
    weighted_ratings: Any
    squares: np.ndarray
    users: np.ndarray


class ItemSystems(RowQuery):
    r"""Sums (H_j, s_j) for all items at once; the point is an :class:`ItemPoint`.

    H_j is packed (see :func:`pack_squares`), which keeps its Frobenius norm. Before anything is
    summed, a user's u is clipped to |u| <= G, her weights obey sum_j w_ij^2 <= B, and her weighted
    ratings |(w_ij y_ij)_j| <= L. So her part has |H| = sqrt(sum_j w_ij^2) |u|^2 <= sqrt(B) G^2
    and |s| <= L G.

    Sensitivity. *add-remove*: of (H, s), sqrt(B) G^2 and L G. *replace-one*: all w are
    non-negative, so two users' parts of H have the inner product sum_j w_j w'_j (u.u')^2 >= 0 and H
    moves by at most sqrt(2 B) G^2; s is signed and moves by at most 2 L G. Both at once are met in
    the limit by two users of opposite u whose ratings are nearly zero except for one item, which
    both rate alike, so nothing is gained by treating them together. The parts are
    weighted so that H has the share p of the squared sensitivity, which is 1 for the relation that
    the query is made for: 1 = p + (1 - p).

    A user's u is computed from her own row alone, in its own order, wherever the row stands: her
    part is a function of her row bit for bit, however well her problem is conditioned.

    Parameters
    ----------
    rule : RatingRule
        What is kept of a row.
    neighbors : {"replace-one", "add-remove"}
        Relation that the weights of the parts are made for.
    weight_budget : float
        B.
    factor_norm : float
        G.
    rating_norm : float
        L.
    ridge : float
        Penalty of the users' own problems.
    moment_share : float
        p, strictly between 0 and 1.
    item_weights : {"uniform", "tail", "adaptive"}
        w = min(1, sqrt(B / number of own ratings)); 1 for the B most important of the user's own
        items and 0 else; sqrt(B) times the importance over its length on the user's own items.
    """

    def __init__(
        self,
        rule: RatingRule,
        neighbors: Neighbors,
        *,
        weight_budget: float,
        factor_norm: float,
        rating_norm: float,
        ridge: float,
        moment_share: float = 0.5,
        item_weights: ItemWeights = "uniform",
    ) -> None:
        if item_weights not in get_args(ItemWeights):
            words = ", ".join(get_args(ItemWeights))
            raise ValueError(f"item_weights must be one of {words}; got {item_weights!r}.")
        if not 0 < moment_share < 1:
            raise ValueError("moment_share must lie strictly between 0 and 1.")
        self.rule = rule
        self.weight_budget = check_derived_scale(weight_budget, "weight_budget")
        self.factor_norm = check_derived_scale(factor_norm, "factor_norm")
        self.rating_norm = check_derived_scale(rating_norm, "rating_norm")
        self.ridge = float(ridge)
        self.item_weights = item_weights
        self._lengths = (math.sqrt(weight_budget) * factor_norm**2, rating_norm * factor_norm)
        reach = self._reach(neighbors)
        self.part_weights = (
            math.sqrt(moment_share) / reach[0],
            math.sqrt(1 - moment_share) / reach[1],
        )
        self.bound = math.hypot(*(w * c for w, c in zip(self.part_weights, self._lengths)))

    def _reach(self, neighbors: Neighbors) -> tuple[float, float]:
        """How far one user can move H, and s."""
        moment, response = self._lengths
        return (
            (math.sqrt(2) * moment, 2 * response)
            if neighbors == "replace-one"
            else (moment, response)
        )

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Packed symmetric matrices and vectors, one of each per item, weighted."""
        size = point[1].shape[1]
        parts = (
            VectorSpace((n_features, size * (size + 1) // 2)),
            VectorSpace((n_features, size)),
        )
        return ProductSpace(parts, self.part_weights)

    @row_map
    def prepare(self, block: Block, point: Any) -> UserParts:
        """Solve for every user, clip, weigh."""
        bias, factors, importance = point
        ratings = keep_ratings(self.rule, block)
        y = with_values(ratings, ratings.data - bias[ratings.indices])
        users = ridge_solutions(y, factors, self.ridge)
        lengths = np.sqrt(row_dots(users, users))
        users *= (self.factor_norm / np.maximum(lengths, self.factor_norm))[:, None]
        weights = self._weights(y, importance)
        weighted = clip_rows(with_values(y, weights * y.data), self.rating_norm)
        return UserParts(with_values(y, weights), weighted, pack_squares(users), users)

    def _weights(self, y: Any, importance: np.ndarray) -> np.ndarray:
        """One weight per rating, by the chosen rule; their squares sum to B at most."""
        counts = np.diff(y.indptr)
        if self.item_weights == "uniform":
            return per_rating(
                y, np.minimum(1.0, np.sqrt(self.weight_budget / np.maximum(counts, 1)))
            )
        own = importance[y.indices]
        if self.item_weights == "tail":
            return (_ranks(y, own) < math.floor(self.weight_budget)).astype(np.float64)
        return own * per_rating(
            y, np.sqrt(self.weight_budget / np.maximum(row_sums(y, own**2), NO_RATINGS))
        )

    def norms(self, block: UserParts, point: Any) -> np.ndarray:
        """Norm of (H, s) with the weights of the space."""
        first, second = self.part_weights
        u2 = row_dots(block.users, block.users)
        moment = first**2 * row_sums(block.weights, block.weights.data**2) * u2**2
        ratings = block.weighted_ratings
        return np.sqrt(moment + second**2 * row_sums(ratings, ratings.data**2) * u2)

    def weighted_sum(self, block: UserParts, weights: np.ndarray, point: Any) -> Any:
        """Two products of a transposed sparse block with a dense one."""
        moment = block.weights.T @ (weights[:, None] * block.squares)
        response = block.weighted_ratings.T @ (weights[:, None] * block.users)
        return np.asarray(moment), np.asarray(response)

    def sensitivity(self, neighbors: Neighbors) -> float:
        """1 for the relation of the query's weights; see above."""
        return math.hypot(*(w * c for w, c in zip(self.part_weights, self._reach(neighbors))))

    def row_floats(self, n_features: int, point: Any) -> int:
        """Normal matrix, its factor, packed squares; ratings in several forms."""
        size = point[1].shape[1]
        return 4 * size * (size + 1) + 12 * min(n_features, self.rule.max_ratings)


def pack_squares(users: np.ndarray) -> np.ndarray:
    """Upper triangles of u u^T as rows, off-diagonal entries times sqrt(2): norms are kept."""
    first, second, scale = _triangle(users.shape[1])
    return users[:, first] * users[:, second] * scale


def unpack(packed: np.ndarray, size: int) -> np.ndarray:
    """Symmetric matrices (n, r, r) of packed ones (n, r (r + 1) / 2)."""
    first, second, scale = _triangle(size)
    matrices = np.empty((len(packed), size, size))
    matrices[:, first, second] = packed / scale
    matrices[:, second, first] = packed / scale
    return matrices


def _triangle(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second = np.triu_indices(size)
    return first, second, np.where(first == second, 1.0, math.sqrt(2))


def _ranks(y: Any, importance: np.ndarray) -> np.ndarray:
    """Place of each rating among its row's, most important first (ties: lower item first)."""
    rows = per_rating(y, np.arange(y.shape[0]))
    order = np.lexsort((y.indices, -importance, rows))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - per_rating(y, y.indptr[:-1])
    return ranks
