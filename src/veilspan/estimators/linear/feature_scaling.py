"""The stage before a linear model: rows are scaled, by public bounds or by ranges paid for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from veilspan.curator.curator import Curator
from veilspan.estimators.linear.budget_parts import prepare_rest
from veilspan.estimators.linear.feature_bounds import FeatureBounds
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.queries.linear.target_scaling import TargetScaling
from veilspan.solvers.linear.asked.class_shares import AskShares
from veilspan.solvers.linear.asked.private_ranges import (
    FINER,
    LENGTH,
    RANGES,
    TARGETS,
    private_length,
    private_ranges,
    private_target_range,
)
from veilspan.solvers.linear.base import LinearPrepared

#: Shares of mu^2 for ranges of features, for the length of rows, and for the range of targets:
#: errors of them only make rows and targets shorter than they need be.
RANGES_SHARE, FINER_SHARE, LENGTH_SHARE, TARGETS_SHARE = 0.07, 0.02, 0.01, 0.02


@dataclass(frozen=True)
class FeatureScaling:
    """The stage before a linear model's solver: rows are scaled into the unit ball.

    Attributes
    ----------
    bounds : FeatureBounds
        What is public about the features.
    n_columns : int
        Columns of the scaled rows, the constant one of the intercept included.
    events : tuple of events
        Releases of ranges, of a length, of the targets' range; none with public bounds.
    public_map : RowScaling or None
        The map of public bounds for dense tables.
    """

    bounds: FeatureBounds
    n_columns: int
    events: tuple[Event, ...] = ()
    public_map: RowScaling | None = None

    def find_map(self, curator: Curator) -> RowScaling:
        """The map by public bounds, or by what is asked for now."""
        asked = {event.name for event in self.events}
        row_map = self._find_features(curator, asked)
        if TARGETS not in asked:
            return row_map
        low, high = private_target_range(curator)
        shifted = self.bounds.intercept_scaling is not None
        if not shifted:  # a range around zero, so that its width is public in units of its end
            low, high = -max(-low, high), max(-low, high)
        return replace(row_map, targets=TargetScaling.of_range(low, high, shifted))

    def _find_features(self, curator: Curator, asked: set[str]) -> RowScaling:
        if RANGES in asked:
            self.bounds.refuse_midpoint(curator.is_sparse)
            row_map = self.bounds.map_of_ranges(private_ranges(curator), curator.is_sparse)
            if LENGTH not in asked:
                return row_map
            bare = replace(row_map, row_norm=row_map.features_norm, intercept=0.0)
            return self.bounds.sized(row_map, private_length(curator, bare))
        if self.public_map is not None and not curator.is_sparse:
            return self.public_map
        return self.bounds.map_for(curator.n_features, curator.is_sparse)


def prepare_scaled(
    bounds: FeatureBounds,
    n_features: int,
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], LinearPrepared],
    targets: bool = False,
    afters: tuple[AskShares, ...] = (),
) -> LinearPrepared:
    """A solver for scaled rows; what nobody knows of them is asked for first.

    Parameters
    ----------
    bounds : FeatureBounds
        What is public about the features. Where that is nothing, ranges are asked for with shares
        of 0.07 and 0.02 of mu^2 and the length of rows with 0.01. If all releases are Gaussian
        the solver's part has the rest; else it is searched for, by accounting all parts together.
    n_features : int
        Columns of the rows as they are.
    budget : Budget
        Of the whole fit.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    prepare : callable
        The solver, prepared for a part of the budget.
    targets : bool
        Whether the range of the targets is to be asked for, with a share of 0.02.
    afters : tuple of afters
        What is asked once the solver is done.
    """
    public_map = bounds.check(n_features)
    parts: list[tuple[str, int, float]] = []  # name, questions, share of mu^2
    if public_map is None:
        parts += [(RANGES, 1, RANGES_SHARE), (FINER, 1, FINER_SHARE)]
        if bounds.row_norm is None:
            parts.append((LENGTH, 1, LENGTH_SHARE))
    if targets:
        parts.append((TARGETS, 2, TARGETS_SHARE))
    first: tuple[Event, ...] = ()
    rest = 1.0
    for name, count, share in parts:
        first += (GaussianEvent(name, math.sqrt(count / share) / budget.mu, count),)
        rest -= share
    columns = n_features + (bounds.intercept_scaling is not None)
    stage = FeatureScaling(bounds, columns, first, public_map)
    kept = prepare_rest(first, rest, budget, neighbors, prepare, afters)
    if kept is None:
        raise ValueError(
            f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for private "
            "bounds and a solver together: give public bounds, or a larger epsilon."
        )
    return replace(kept, stages=(stage,))
