"""The stage before a linear model: rows are scaled, by public bounds or by ranges paid for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from veilspan.curator.curator import Curator
from veilspan.estimators.linear.budget_parts import prepare_rest
from veilspan.estimators.linear.feature_bounds import FeatureBounds
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.row_scaling import RowScaling
from veilspan.solvers.linear.base import LinearPrepared
from veilspan.solvers.linear.private_ranges import private_ranges, ranges_event

#: Share of mu^2 for private ranges: their errors only make rows shorter than they need be.
RANGES_SHARE = 0.1


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
        Releases of ranges; none with public bounds.
    public_map : RowScaling or None
        The map of public bounds for dense tables.
    """

    bounds: FeatureBounds
    n_columns: int
    events: tuple[Event, ...] = ()
    public_map: RowScaling | None = None

    def find_map(self, curator: Curator) -> RowScaling:
        """The map by public bounds, or by ranges that are asked for now."""
        if self.events:
            bounds = self.bounds.with_ranges(private_ranges(curator))
            return bounds.map_for(curator.n_features, curator.is_sparse)
        if self.public_map is not None and not curator.is_sparse:
            return self.public_map
        return self.bounds.map_for(curator.n_features, curator.is_sparse)


def prepare_with_ranges(
    bounds: FeatureBounds,
    n_columns: int,
    budget: Budget,
    neighbors: Neighbors,
    prepare: Callable[[Budget], LinearPrepared],
) -> LinearPrepared:
    """A solver for rows scaled by private ranges, which are asked for first.

    Parameters
    ----------
    bounds : FeatureBounds
        What is public about the features. Ranges are asked for with a share of 0.1 of mu^2. If all
        releases are Gaussian the solver's part has the other 0.9; else it is searched for, by
        accounting both parts together.
    n_columns : int
        Columns of the scaled rows.
    budget : Budget
        Of the whole fit.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    prepare : callable
        The solver, prepared for a part of the budget.
    """
    event = ranges_event()
    if not budget.is_private:
        stage = FeatureScaling(bounds, n_columns, (with_noise(event, 0.0),))
        return replace(prepare(budget), stages=(stage,))
    first = (with_noise(event, math.sqrt(event.count / RANGES_SHARE) / budget.mu),)
    stage = FeatureScaling(bounds, n_columns, first)
    kept = prepare_rest(first, 1 - RANGES_SHARE, budget, neighbors, prepare)
    if kept is None:
        raise ValueError(
            f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for private "
            "bounds and a solver together: give public bounds, or a larger epsilon."
        )
    return replace(kept, stages=(stage,))
