r"""The stage before a table model's solver: what the columns are like, a first fit, the features.

All of it shares one plan and one meter. Every event, its noise and the solver that asks it are
fixed by public numbers before a row is read (:mod:`veilspan.estimators.linear.feature_choice`);
answers enter the maps of rows, and targets, alone:

1. *Cells*: where the numbers of each column lie
   (:mod:`veilspan.solvers.linear.tables.column_mass`).
2. *First fit*: a straight one. Of classes its score becomes a feature; of numbers it is what the
   last fit need not learn any more.
3. *Width* (numbers): how wide what it leaves is (:mod:`veilspan.solvers.linear.tables.rest_width`).
4. The model's own solver learns from the features, on targets, or on what the first fit left.

Each step maps the encoded rows themselves, by a map of one row, so that what is proved for one
curator holds for all (``curator.curator``, *Stages*).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.estimators.linear.feature_choice import (
    FLAG_TURN,
    FOURIER_WEIGHT,
    NUMBER_TURN,
    FeatureChoice,
)
from veilspan.losses.class_weights import ClassWeighted
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.linear.residual_features import ResidualFeatures, RestColumn
from veilspan.queries.linear.table_features import TableFeatures, TableLine
from veilspan.queries.linear.table_layout import TableLayout
from veilspan.solvers.linear.base import LinearPrepared
from veilspan.solvers.linear.tables.column_mass import CELLS, ColumnMass, ask_mass
from veilspan.solvers.linear.tables.curve_noise import NewtonNoise
from veilspan.solvers.linear.tables.expected_length import (
    SeenNumbers,
    line_scales,
    mean_squares,
    see_numbers,
)
from veilspan.solvers.linear.tables.noise_response import DescentNoise, ObjectiveNoise
from veilspan.solvers.linear.tables.rest_width import WIDTH, ask_width

#: What the names of the first fit's events end with in the plan.
FIRST = " of the first fit"
#: Scores of a first fit beyond which they say no more, by the name of the loss, weighted or not;
#: else 1. (From 3 to 10 costs 0.0015 of accuracy on average over 16 tables, 0.004 on crossed ones.)
REACH = {"logistic": 3.0, "multinomial": 3.0}
#: Residuals within so many of their half-widths are told apart.
TOLD_WIDTHS, MOST_WIDTH = 1.5, 1.5
#: Length of rows over that which the released mass expects: longer rows are shortened.
ROOM, LINE_ROOM = 1.6, 2.0
#: The random waves are public: the same for everybody.
FOURIER_SEED = 20_210


@dataclass(frozen=True)
class FeatureStage:
    """Asks what it must, and returns the map from encoded rows to features.

    Attributes
    ----------
    layout : TableLayout
        Where the columns are.
    choice : FeatureChoice
        What becomes of them.
    n_columns : int
        Features of a row, the constant included.
    intercept_scaling, shortened : float
        The constant over the length of a row; the share of a row's length that is kept.
    cells : int
        Cells of the histogram of the mass.
    events : tuple of events
        All that is asked here.
    first : LinearPrepared or None
        The first fit.
    """

    layout: TableLayout
    choice: FeatureChoice
    n_columns: int
    intercept_scaling: float
    shortened: float
    cells: int = 0
    events: tuple[Event, ...] = ()
    first: LinearPrepared | None = None

    def find_map(self, curator: Curator) -> TableFeatures | ResidualFeatures:
        """Ask for the mass, fit, ask for the width, as far as they were chosen."""
        choice, mass, seen = self.choice, None, None
        if choice.mass:
            mass = ask_mass(curator, self.layout, self.cells)
            seen = see_numbers(self.layout, mass)
        features = self._features(mass, seen)
        if self.first is None:
            return self._sized(features, seen)
        line = self._line(seen)
        theta, noise = _run_first(curator, self.first, line)
        if not choice.width_share:
            loss: Any = self.first.problem.loss
            reach = REACH.get(loss.loss.name if isinstance(loss, ClassWeighted) else loss.name, 1.0)
            scored = replace(
                features, score_line=line, score_theta=theta, score_weight=choice.score_weight,
                score_reach=reach, score_noise=_free_noise(noise),
            )  # fmt: skip
            return self._sized(scored, seen)
        width = ask_width(curator, RestColumn(line, theta))
        told = min(TOLD_WIDTHS * width, MOST_WIDTH)
        spread = _spread_of(noise)
        return ResidualFeatures(self._sized(features, seen), line, theta, told, spread)

    def _line(self, seen: SeenNumbers | None) -> TableLine:
        """Straight rows: on the public ranges, or where the mass lies."""
        center: Any = 0.5
        spread: Any = 0.5
        square = float(self.layout.groups)
        if seen is not None:
            center, spread, square = line_scales(self.layout, seen, LINE_ROOM)
        length = self.shortened * math.sqrt(square)
        constant = self.intercept_scaling * length
        return TableLine(self.layout, math.hypot(length, constant), constant, center, spread)

    def _features(self, mass: ColumnMass | None, seen: SeenNumbers | None) -> TableFeatures:
        choice, layout = self.choice, self.layout
        center: Any = 0.5
        spread: Any = 0.5
        if seen is not None:
            center, spread, _ = line_scales(layout, seen, LINE_ROOM)
        frequencies = phases = None
        if choice.fourier:
            coins = np.random.default_rng(FOURIER_SEED)
            turns = [NUMBER_TURN] * layout.n_numbers + [FLAG_TURN] * layout.n_flags
            frequencies = coins.standard_normal((len(turns), choice.fourier))
            frequencies *= np.array(turns)[:, None]
            phases = coins.uniform(0.0, 2 * np.pi, choice.fourier)
        return TableFeatures(
            layout,
            1.0,
            0.0,
            waves=choice.waves,
            bins=choice.bins,
            bins_weight=choice.bins_weight,
            line_weight=choice.line_weight,
            line_center=center,
            line_spread=spread,
            mass=None if mass is None else mass.below,
            shown=None if mass is None else mass.shown,
            mass_noise=None if mass is None else mass.noise,
            alike=None if mass is None else mass.alike,
            frequencies=frequencies,
            phases=phases,
            fourier_weight=FOURIER_WEIGHT if choice.fourier else 0.0,
        )

    def _sized(self, features: TableFeatures, seen: SeenNumbers | None) -> TableFeatures:
        """The same with the length of rows and the constant that goes with it."""
        groups = self.layout.groups
        square = float(groups) if seen is None else mean_squares(features, seen, ROOM)
        square += groups * (features.score_weight + features.fourier_weight)
        length = self.shortened * math.sqrt(square)
        constant = self.intercept_scaling * length
        return replace(features, row_norm=math.hypot(length, constant), intercept=constant)


def first_events(prepared: LinearPrepared) -> tuple[Event, ...]:
    """The first fit's events under the names that they have in the whole plan."""
    return tuple(replace(event, name=event.name + FIRST) for event in prepared.events)


def single_event(name: str, share: float, mu: float) -> GaussianEvent:
    """One Gaussian release that takes a share of mu^2."""
    noise = 1.0 / (mu * math.sqrt(share)) if math.isfinite(mu) else 0.0
    return GaussianEvent(name, noise)


def _run_first(curator: Curator, first: LinearPrepared, line: TableLine) -> tuple[np.ndarray, Any]:
    """Its coefficients, and what its solver tells of the noise in them."""
    view = curator.mapped(line, line.width).part(first.budget, first.events, FIRST)
    result = first.solver.run(view, first.problem)
    return np.asarray(result.theta), result.noise


def _free_noise(noise: Any) -> float:
    """Std of the noise in coefficients that no row pulls back; 0 if untold."""
    told = isinstance(noise, (DescentNoise, ObjectiveNoise))
    return math.sqrt(noise.unopposed) if told else 0.0


def _spread_of(noise: Any) -> np.ndarray | None:
    """Std of the noise in each coefficient of Newton-like steps; None if untold.

    The released diagonal stands in for the matrix as far as noise hides the latter.
    """
    if not isinstance(noise, NewtonNoise) or not noise.exact:
        return None
    stand_in = np.diag(np.maximum(noise.diagonal, 0.0))
    try:
        found = np.sqrt(np.maximum(np.diag(noise.covariance(stand_in)), 0.0))
    except np.linalg.LinAlgError:
        return None  # bars never cost a fit
    return found if np.isfinite(found).all() else None


__all__ = ["CELLS", "WIDTH", "FeatureStage", "first_events", "single_event"]
