r"""Second moment of what a Frank-Wolfe history leaves of every user's ratings.

The state of a user is a function of the public history and of her own ratings y (centred, on the
items O that she rated), so nobody has to keep it: each round replays it. With a public bias b, unit
directions v_1 .. v_t, gains k_1 .. k_t and steps h_s = 2/(s + 1),

    g_s = clip_c(y - b - Y_{s-1}),   a_s = <g_s, v_s>,   Y_s = (1 - h_s) Y_{s-1} + h_s k_s a_s v_s,

all on O, from Y_0 = 0. This is Algorithm 1 of Jain, Thakkar & Thakurta (2018) with three
corrections: steps 2/(s + 1) instead of 1/T, which never reach the nuclear-norm budget; a residual
clipped to c by the curator, not a promise about |y|; no empty first round. Clipping the gradient
is Frank-Wolfe on the Huber loss of the row's residual, |r|^2/2 up to c and c |r| - c^2/2 beyond.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block
from veilspan.queries.completion.integer_gram import IntegerRows
from veilspan.queries.completion.rating_moments import NORM_STEPS, RatingCovariance
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.queries.completion.small_systems import solve_each

LocalStep = Literal["classic", "line-search", "refit"]


class History(NamedTuple):
    """Public rounds so far: bias (n,), unit directions as rows (t, n), gains (t,)."""

    bias: np.ndarray
    directions: np.ndarray
    gains: np.ndarray

    @classmethod
    def start(cls, bias: np.ndarray) -> History:
        """The history before the first round: a bias, and no direction."""
        return cls(bias, np.zeros((0, len(bias))), np.zeros(0))

    def then(self, direction: np.ndarray, gain: float) -> History:
        """The history after one more round, in this direction and with this gain."""
        directions = np.vstack([self.directions, direction])
        return History(self.bias, directions, np.append(self.gains, gain))


@dataclass(frozen=True)
class LocalState:
    """Users at a history: coefficients (rows, t) on the directions, residuals in CSR."""

    coefficients: np.ndarray
    residual: Any


def step_size(round_number: int) -> float:
    """2/(s + 1) for s = 1, 2, ...: the first round takes the whole budget."""
    return 2.0 / (round_number + 1)


def keep_ratings(rule: RatingRule, block: Block) -> Any:
    """What the rule keeps of a block's rows: centred ratings as CSR, no item twice."""
    from scipy import sparse

    kept = rule.keep(block)
    shape = (block.n_rows, kept.n_items)
    ratings = sparse.csr_array((kept.steps * rule.step, kept.items, kept.starts), shape=shape)
    if not ratings.has_canonical_format:
        ratings.sum_duplicates()
    return ratings


def follow(
    ratings: Any,
    history: History,
    row_norm: float,
    local: LocalStep = "classic",
    ridge: float = 1.0,
) -> LocalState:
    """Replay a history on users' own ratings; every user's result depends on her row alone.

    Parameters
    ----------
    ratings : CSR array of shape (rows, n)
        Centred ratings; stored entries are ratings, also those that are zero.
    history : History
        Public rounds.
    row_norm : float
        Clip c of the residuals that set the coefficients.
    local : {"classic", "line-search", "refit"}
        Steps 2/(s + 1), steps that are best for the user within [0, 1], or a ridge fit of the
        user's ratings on all directions. The last two are free under joint differential privacy.
    ridge : float
        Penalty of the refit.
    """
    y = with_values(ratings, ratings.data - history.bias[ratings.indices])
    if local == "refit":
        return _refit(y, history.directions, ridge)
    coefficients = np.zeros((y.shape[0], len(history.gains)))
    fitted = np.zeros_like(y.data)
    for s, (direction, gain) in enumerate(zip(history.directions, history.gains)):
        residual = with_values(y, y.data - fitted)
        target = gain * (clip_rows(residual, row_norm) @ direction)
        steps = np.full(y.shape[0], step_size(s + 1))
        along = direction[y.indices]
        if local == "line-search":
            steps = _best_steps(residual, per_rating(y, target) * along - fitted)
        coefficients *= (1 - steps)[:, None]
        coefficients[:, s] += steps * target
        fitted *= per_rating(y, 1 - steps)
        fitted += per_rating(y, steps * target) * along
    return LocalState(coefficients, with_values(y, y.data - fitted))


class ResidualMoment(RatingCovariance):
    r"""Sum of g g^T for the clipped residual g of every user at a public :class:`History`.

    A residual is computed from the user's own row alone, entry by entry and in the row's own order,
    so it is the same wherever the row stands in its block; like the ratings of
    :class:`~veilspan.queries.completion.rating_moments.RatingCovariance` it is then scaled down to
    norm c, rounded towards zero to whole steps, and summed exactly.

    Sensitivity. *add-remove*: |g g^T|_F = |g|^2 <= c^2, met by any user whose residual is c or
    longer. *replace-one*: |g g^T - h h^T|_F^2 = |g|^4 + |h|^4 - 2 (g.h)^2 <= 2 c^4, so sqrt(2) c^2,
    met by users without a common item. (4 c^2, as printed, comes of bounding |y| and |Y| one by
    one instead of |y - Y|.)

    Parameters
    ----------
    rule : RatingRule
        What is kept of a row.
    row_norm : float
        Clip c of the residual, in units of ratings.
    local, ridge
        How users move along the history, see :func:`follow`.
    """

    def __init__(
        self, rule: RatingRule, row_norm: float, local: LocalStep = "classic", ridge: float = 1.0
    ) -> None:
        super().__init__(rule, row_norm)
        if local not in get_args(LocalStep):
            words = ", ".join(get_args(LocalStep))
            raise ValueError(f"local must be one of {words}; got {local!r}.")
        self.local = local
        self.ridge = check_ridge(ridge)

    @row_map
    def prepare(self, block: Block, point: Any) -> IntegerRows:
        """Residuals in whole steps of c / ``NORM_STEPS``."""
        ratings = keep_ratings(self.rule, block)
        left = follow(ratings, History(*point), self.row_norm, self.local, self.ridge).residual
        lengths = np.sqrt(row_sums(left, left.data**2))
        scale = NORM_STEPS / np.maximum(lengths, self.row_norm)
        whole = np.trunc(left.data * per_rating(left, scale))
        return IntegerRows(left.indptr, left.indices, whole, left.shape[1])


def ridge_solutions(ratings: Any, factors: np.ndarray, penalty: float) -> np.ndarray:
    r"""u_i = (sum_j v_j v_j^T + penalty I)^-1 sum_j y_ij v_j over each user's own items.

    All normal matrices of a block come from one product of the users' pattern (ones at the rated
    items) with the n x r^2 table of the v_j v_j^T, and each is solved by itself: also that of a
    user without ratings, whose u is 0 (see :mod:`veilspan.queries.completion.small_systems`).
    """
    size = factors.shape[1]
    if size == 0:
        return np.zeros((ratings.shape[0], 0))
    squares = np.einsum("ja,jb->jab", factors, factors).reshape(len(factors), -1)
    normal = (with_values(ratings, np.ones(len(ratings.data))) @ squares).reshape(-1, size, size)
    normal += penalty * np.eye(size)
    return solve_each(normal, ratings @ factors, len(factors))


def check_ridge(ridge: Any) -> float:
    """A penalty of users' own fits: finite and not negative, or a sentence."""
    if isinstance(ridge, bool) or not isinstance(ridge, (int, float, np.integer, np.floating)):
        raise TypeError(f"ridge must be a number; got {type(ridge).__name__}.")
    if not (math.isfinite(ridge) and ridge >= 0):
        raise ValueError(f"ridge must be finite and not negative; got {ridge}.")
    return float(ridge)


def per_rating(ratings: Any, values: np.ndarray) -> np.ndarray:
    """A value per row, repeated for each of the row's ratings."""
    return np.repeat(values, np.diff(ratings.indptr))


def row_sums(ratings: Any, values: np.ndarray) -> np.ndarray:
    """Sum over each row's ratings of one value per rating."""
    return np.asarray(with_values(ratings, values) @ np.ones(ratings.shape[1]))


def with_values(ratings: Any, values: np.ndarray) -> Any:
    """The same users and items with another value for each rating."""
    from scipy import sparse

    return sparse.csr_array((values, ratings.indices, ratings.indptr), shape=ratings.shape)


def clip_rows(ratings: Any, row_norm: float) -> Any:
    """Scale down the rows that are longer than a norm."""
    lengths = np.sqrt(row_sums(ratings, ratings.data**2))
    weights = row_norm / np.maximum(lengths, row_norm)
    return with_values(ratings, per_rating(ratings, weights) * ratings.data)


def _refit(y: Any, directions: np.ndarray, ridge: float) -> LocalState:
    """Ridge fit on directions scaled to entries of size 1, so that a penalty means ratings."""
    size = math.sqrt(y.shape[1])
    found = size * ridge_solutions(y, size * directions.T, ridge)
    return LocalState(found, with_values(y, y.data - _predict(y, found, directions)))


def _predict(ratings: Any, coefficients: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Sum of coefficient times direction at each rating, a direction at a time."""
    fitted = np.zeros(len(ratings.data))
    for own, direction in zip(coefficients.T, directions):
        fitted += per_rating(ratings, own) * direction[ratings.indices]
    return fitted


def _best_steps(residual: Any, move: np.ndarray) -> np.ndarray:
    """Step in [0, 1] that leaves each user the least residual along her move."""
    gain, length = row_sums(residual, residual.data * move), row_sums(residual, move**2)
    return np.clip(gain / np.where(length > 0, length, 1.0), 0.0, 1.0)
