r"""Noise in the coefficients of each column's features: what error bars of curves are made of.

A solver says how noise comes out in theta, given the curvature of the objective
(:mod:`veilspan.solvers.linear.tables.noise_response`,
:mod:`veilspan.solvers.linear.tables.curve_noise`). The curvature is that of rows made up from
released answers (:mod:`veilspan.solvers.linear.tables.made_up_rows`), with a released diagonal.

**A first fit's score** is one more feature of classes, to which every column adds: its curve is
<own features, theta_own> + s(x) theta_s, s(x) being what the column adds to the score. s is written
as <own features, b> as well as they can (it is straight, and they can bend), so that the noise of
both together is that of coefficients theta_own + b theta_s of the column's own features. b is kept
short: nearly all rows of a skewed column lie in one place, its waves are nearly alike over the rest
of the range, and would write s by large coefficients that cancel each other.

**A first fit to numbers**, of which the last one learns the rest, leaves noise of its own in
coefficients of categories that few rows have: :meth:`NewtonNoise.left_of` tells how much.

The noise of the first fit of classes the last one undoes as far as rows pull it back; of a category
that no row has all of it stays. What stays of it is taken to be what stays of the last fit's own
noise: the std of a coefficient over that of one that no row pulls back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veilspan.estimators.linear.shapes.score_slope import score_slope
from veilspan.losses.linear import LinearLoss
from veilspan.queries.linear.asked.curvature_diagonal import STEEP, share_of_curvature
from veilspan.queries.linear.learned_features import LearnedFeatures
from veilspan.queries.linear.residual_features import ResidualFeatures
from veilspan.queries.linear.table_features import TableFeatures
from veilspan.solvers.linear.asked.curvature import loss_minimised
from veilspan.solvers.linear.base import LinearResult
from veilspan.solvers.linear.tables.curve_noise import NewtonNoise, column_blocks
from veilspan.solvers.linear.tables.made_up_rows import model_moment
from veilspan.solvers.linear.tables.moments_noise import MomentsNoise

#: Places of a number's range at which a straight score is written in the column's features.
PLACES = 129
#: What the noise of a first fit's score adds to that of the last fit, which undoes the rest of it:
#: measured on generated tables, 3,000 to 20,000 rows at epsilon 0.5 to 3.
FIRST_FIT = 1.2
#: Directions of own features that move a curve less than this part of the strongest write no score.
#: What stays of noise is told for each coefficient alone, and breaks what cancels: with all of them
#: bars of adult's capital gains were 90 times too long at epsilon 1. From .01 to .1 bars are alike
#: there; .1 is closest to the spread of refits at epsilon 0.5 to 3.
FAINT = 0.1


def learn_features(row_map: Any, result: LinearResult, loss: LinearLoss) -> LearnedFeatures:
    """A fitted map with its coefficients, and what is known of noise and slopes; see below."""
    slope = score_slope(row_map, result)
    theta = result.confidence * result.theta
    bare = LearnedFeatures(row_map, theta, None, slope)
    return replace(bare, noise=learned_noise(bare, result, loss))


def learned_noise(
    learned: LearnedFeatures, result: LinearResult, loss: LinearLoss
) -> tuple[np.ndarray, ...] | None:
    """Noise in the coefficients of each column's features, where the solver's answers tell it.

    Parameters
    ----------
    learned : LearnedFeatures
        The map of rows, with coefficients.
    result : LinearResult
        Of the last fit.
    loss : LinearLoss
        What it minimised, before class weights that were asked for.
    """
    features = learned.features
    before = _noise_before(learned)
    covariance = _covariance(features, result, loss_minimised(loss, result), before)
    if covariance is None:
        return None
    stays = _what_stays(covariance, result) if features.score_line is not None else None
    # Coefficients are theta times a factor, which has noise of its own.
    both = np.ravel(result.theta)
    covariance = covariance + result.confidence_std**2 * np.outer(both, both)
    covariance = result.confidence**2 * covariance
    if stays is None:
        return column_blocks(covariance, features.columns, len(features.layout.columns))
    return _with_scores(learned, covariance, stays)


def _covariance(
    features: TableFeatures, result: LinearResult, loss: LinearLoss, before: np.ndarray | None
) -> np.ndarray | None:
    """Covariance of the noise in theta; None where nothing was released that would tell it."""
    noise = result.noise
    if isinstance(noise, NewtonNoise):
        if loss.name not in STEEP or not noise.exact or noise.ridge.any():
            return None  # bands of curves were measured for these alone
        moment = model_moment(features, noise.diagonal, noise.std)
        found = noise.covariance(moment)
        return found if before is None else found + noise.left_of(before, moment)
    if noise is None or result.diagonal is None or isinstance(noise, MomentsNoise):
        return None

    def weigh(rows: np.ndarray, coins: np.random.Generator) -> np.ndarray:
        if not loss.margin:
            return np.ones(len(rows))  # what the cap leaves is in the diagonal
        u = rows @ result.theta
        y = np.where(coins.random(len(u)) < 1.0 / (1.0 + np.exp(-np.clip(u, -30, 30))), 1.0, -1.0)
        return share_of_curvature(loss, u, y, np.linalg.norm(rows, axis=1), noise.clip)

    moment = model_moment(features, result.diagonal.value, result.diagonal.noise_std, weigh)
    room = FIRST_FIT**2 if features.score_line is not None else 1.0
    return np.asarray(room * noise.covariance(loss.smoothness * moment))


def _noise_before(learned: LearnedFeatures) -> np.ndarray | None:
    """Variances of the noise of a first fit to numbers, as coefficients of categories.

    The last fit bends straight lines of numbers, which all rows have, so that it undoes theirs.
    """
    row_map, features = learned.row_map, learned.features
    if not isinstance(row_map, ResidualFeatures) or row_map.theta_noise is None:
        return None
    layout = features.layout
    unit = features.row_norm / (row_map.line.row_norm * row_map.width_of_rest)
    flags = len(_places_of_numbers(features)) + np.arange(layout.n_flags)
    found = np.zeros(features.width)
    found[flags] = (unit * row_map.theta_noise[layout.n_numbers :][: layout.n_flags]) ** 2
    return found


def _what_stays(covariance: np.ndarray, result: LinearResult) -> np.ndarray:
    """Std of each coefficient over that of one that no row pulls back, from 0 to 1."""
    free = getattr(result.noise, "unopposed", 0.0)
    return np.sqrt(np.clip(np.diag(covariance) / max(free, 1e-300), 0.0, 1.0))


def _with_scores(
    learned: LearnedFeatures, covariance: np.ndarray, stays: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Blocks of the columns' own features, what they add by the first score included."""
    features = learned.features
    layout = features.layout
    score = int(np.flatnonzero(features.columns == -1)[0])
    probe = np.zeros(features.width)
    probe[score] = 1.0
    probing = replace(learned, theta=probe)
    # The same as if each straight coefficient of the first fit were 1.
    unit = np.ones_like(np.asarray(features.score_theta))
    straight = replace(probing, row_map=replace(features, score_theta=unit))
    first = features.score_noise * float(np.ravel(learned.theta)[score])
    blocks = []
    for owner, name in enumerate(layout.columns):
        rows = _rows_of_column(features, owner)
        own = np.flatnonzero(features.columns == owner)
        basis = probing.own_features(name, rows)
        score_as_own = _write(basis, probing.contribution(name, rows)[:, 0])
        together = np.hstack([np.eye(len(own)), score_as_own[:, None]])
        places = np.append(own, score)
        block = together @ covariance[np.ix_(places, places)] @ together.T
        line = first * _write(basis, straight.contribution(name, rows)[:, 0]) * stays[own]
        # A number has one straight coefficient, which all of its own features write together; each
        # category has its own.
        is_number = np.isin(own, _places_of_numbers(features))
        block += np.outer(line * is_number, line * is_number) + np.diag((line * ~is_number) ** 2)
        blocks.append(block)
    return tuple(blocks)


def _write(basis: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Short coefficients of features that add what ``added`` does, up to a constant."""
    away = basis - basis.mean(axis=0)
    return np.asarray(np.linalg.lstsq(away, added - added.mean(), rcond=FAINT)[0])


def _places_of_numbers(features: TableFeatures) -> np.ndarray:
    """Places of waves, lines and bins among the features; categories come behind them."""
    each = features.waves + features.bins + (features.line_weight > 0)
    return np.arange(features.layout.n_numbers * each)


def _rows_of_column(features: TableFeatures, owner: int) -> np.ndarray:
    """Encoded rows in which one column alone says something: places of a number, each flag."""
    layout = features.layout
    made = []
    for j in np.flatnonzero(layout.number_column == owner):
        rows = np.zeros((PLACES, layout.width))
        rows[:, layout.numbers[j]] = np.linspace(layout.low[j], layout.high[j], PLACES)
        made.append(rows)
    flags = layout.flags[layout.flag_column == owner]
    rows = np.zeros((len(flags) + 1, layout.width))
    rows[np.arange(len(flags)), flags] = 1.0
    made.append(rows)
    return np.concatenate(made)
