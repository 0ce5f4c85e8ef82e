r"""What item factors are worth to users: each hides a part of her ratings and predicts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veilspan._scales import check_derived_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.row_maps import row_map
from veilspan.curator.rows import Block, row_dots
from veilspan.privacy.spaces import AnswerSpace, VectorSpace
from veilspan.queries.completion.local_fits import fit_users, with_level
from veilspan.queries.completion.rating_rows import KeptRatings, RatingRule, hash_ratings
from veilspan.queries.completion.residual_moment import check_ridge

#: One rating in so many is hidden.
HIDDEN_PART = 5
#: Keeps the coins that hide apart from those that choose which ratings of a long row are kept.
HIDING = 0x5EED_0F_41D1


class HoldoutGains(RowQuery):
    r"""Sum over users of how much factors lower her error on hidden ratings, one number a ridge.

    The point is (bias, factors), both released before. A user keeps what the rule keeps of her row,
    hides a fifth of it, fits the rest with the bias alone and with the factors at each of L ridges
    (:func:`~veilspan.queries.completion.local_fits.fit_users`), and predicts what she hid. With E
    the mean squared error of these predictions, clipped to the range, she reports what the first
    ridge gains her over the bias, and each other ridge over the first:

        a_1 = clip((E_bias - E_1) / unit, -1, 1),    a_l = clip((E_1 - E_l) / step, -1, 1).

    Ridges differ by less than all of them do from the bias: a smaller unit lets that be heard above
    the same noise. A user who has hidden nothing reports 0. Which ratings are hidden is a hash of
    her own row and of the rule's salt: coins that all users share and that have seen no rating. So
    a is a function of her own row and of public numbers, bit for bit wherever the row stands.

    Sensitivity, for every salt and every point. |a_l| <= 1, hence |a| <= sqrt(L). *add-remove*:
    sqrt(L), met by a user to whom each comparison is worth its unit. *replace-one*: 2 sqrt(L) by
    the triangle inequality, met by her and a user whom each costs its unit: gains have both signs,
    so nothing smaller holds. For three ridges sqrt(3) and 2 sqrt(3).

    Parameters
    ----------
    rule : RatingRule
        What is kept of a row; its centre does not matter, users fit a level of their own.
    ridges : sequence of float
        Penalties that are compared; the first is the one that the others are held against.
    unit, step : float
        Differences of mean squared errors that count as 1, in squared units of ratings.
    """

    def __init__(self, rule: RatingRule, ridges: Sequence[float], unit: float, step: float) -> None:
        if not len(ridges):
            raise ValueError("at least one ridge is needed to be compared.")
        self.rule = replace(rule, center="middle")
        self.ridges = tuple(check_ridge(ridge) for ridge in ridges)
        self.unit = check_derived_scale(unit, "unit")
        self.step = check_derived_scale(step, "step")
        self.bound = math.sqrt(len(self.ridges))

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """A number for each ridge."""
        return VectorSpace((len(self.ridges),))

    @row_map
    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Clipped gains of shape (users, L)."""
        bias, factors = point
        kept = self.rule.keep(block)
        hidden = hide_part(kept, self.rule.salt)
        users = np.repeat(np.arange(block.n_rows), kept.counts)
        ratings = kept.steps * self.rule.step
        shown, starts = ~hidden, np.zeros(block.n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(users[shown], minlength=block.n_rows), out=starts[1:])
        fit = starts, kept.items[shown], ratings[shown] - bias[kept.items[shown]]
        where = users[hidden], kept.items[hidden]
        alone = fit_users(*fit, factors[:, :0], self.ridges[:1])
        with_factors = fit_users(*fit, factors, self.ridges)
        before, first, *others = (
            self._errors(own, with_level(factors), bias, ratings[hidden], where)
            for own in (*alone, *with_factors)
        )
        gains = [(before - first) / self.unit, *((first - e) / self.step for e in others)]
        return np.clip(np.column_stack(gains), -1.0, 1.0)

    def _errors(
        self,
        own: np.ndarray,
        design: np.ndarray,
        bias: np.ndarray,
        truth: np.ndarray,
        where: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """Mean squared error of each user's predictions of what she hid, 0 where that is none."""
        users, items = where
        predicted = bias[items]
        for k in range(own.shape[1]):  # entry by entry: no product over many rows
            predicted = predicted + own[users, k] * design[items, k]
        half = (self.rule.high - self.rule.low) / 2
        squares = (np.clip(predicted, -half, half) - truth) ** 2
        counts = np.bincount(users, minlength=len(own))
        return np.bincount(users, squares, minlength=len(own)) / np.maximum(counts, 1)

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Length of each user's vector of gains."""
        return np.sqrt(row_dots(block, block))

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum of the gains."""
        return np.asarray(weights @ block)

    def row_floats(self, n_features: int, point: Any) -> int:
        """Normal matrices, their factors, and the ratings in several forms."""
        width = 1 + point[1].shape[1]
        return 4 * width**2 + 12 * min(n_features, self.rule.max_ratings)


def hide_part(kept: KeptRatings, salt: int) -> np.ndarray:
    """Mask of the ratings that are hidden: about one in five of each user's.

    A rating is hidden if a hash of it, of all of the user's other ratings and of the salt is in the
    lowest fifth: by her own row and shared coins alone.
    """
    codes = hash_ratings(kept.starts, kept.items, kept.steps, salt ^ HIDING)
    return np.asarray(codes < np.uint64(2**64 // HIDDEN_PART))
