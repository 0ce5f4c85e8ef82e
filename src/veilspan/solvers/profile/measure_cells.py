"""The solver of a profile: one joint answer of counts, one of moments, and no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.profile.cell_counts import CellCounts
from veilspan.queries.profile.number_moments import NumberMoments
from veilspan.solvers.base import Prepared, Result
from veilspan.solvers.profile.estimates import Z95
from veilspan.tables.profiling.layout import Layout

CELLS, MOMENTS = "cells", "moments"
#: Share of the budget (of mu^2) for the counts of cells. Half: nobody knows which of the two parts
#: its reader will look at, and each then has 1.41 times the noise that it would have alone.
CELL_SHARE = 0.5


@dataclass(frozen=True)
class ProfileProblem:
    """What is counted, and of how many people."""

    layout: Layout
    n_rows: int | None
    slots: int = 1


@dataclass(frozen=True)
class ProfileResult(Result):
    """Noisy counts and moments with the standard deviation of their noise."""

    counts: np.ndarray
    count_std: float
    moments: np.ndarray
    moment_std: float


@dataclass(frozen=True)
class MeasureCells:
    """Ask for all counts in one answer and for all moments in another."""

    name = "joint counts and moments"

    def prepare(
        self, problem: ProfileProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[Any, Any]:
        """Two events share the budget; without numbers the counts have all of it.

        The number of people is not asked for apart: the counts hold it.
        """
        layout = problem.layout
        events: tuple[Event, ...] = (GaussianEvent(CELLS),)
        shares: tuple[float, ...] = (1.0,)
        if layout.numbers:
            events = (*events, GaussianEvent(MOMENTS))
            shares = (CELL_SHARE, 1 - CELL_SHARE)
        noisy = calibrate_noise(budget, events, neighbors=neighbors, weights=shares)
        decisions: dict[str, Any] = {
            "histograms": layout.votes,
            "cells": layout.starts[-1],
            "numbers": len(layout.numbers),
        }
        decisions |= _say_bars(foretell_bars(problem, noisy, neighbors))
        if layout.left_out:
            decisions["left_out"] = list(layout.left_out)
        if problem.slots > 1:
            decisions["rows_a_person"] = problem.slots
        return Prepared(self, problem, budget, noisy, decisions)

    def run(self, curator: Curator, problem: ProfileProblem) -> ProfileResult:
        """Ask for the counts, and for the moments if there are numbers."""
        layout = problem.layout
        counts = curator.answer(count_query(layout, problem.slots), event=CELLS)
        if not layout.numbers:
            return ProfileResult(counts.value, counts.noise_std, np.zeros((0, 0)), 0.0)
        moments = curator.answer(moment_query(layout, problem.slots), event=MOMENTS)
        return ProfileResult(counts.value, counts.noise_std, moments.value, moments.noise_std)


def foretell_bars(
    problem: ProfileProblem, events: tuple[Event, ...], neighbors: Neighbors
) -> dict[str, float]:
    """How exact the profile will be, where the number of people is public: known before it is run.

    ``share`` is of a share in a column of many cells, ``mean`` of a mean of which nothing is
    missing, as a part of its range: bars that hold the number without noise with 95 %.
    """
    n, layout = problem.n_rows, problem.layout
    if n is None or not all(event.noise_multiplier > 0 for event in events):
        return {}
    std = events[0].noise_multiplier * count_query(layout).sensitivity(neighbors)
    bars = {"share": Z95 * std / n}
    if layout.numbers:
        query = moment_query(layout)
        std = events[1].noise_multiplier * query.sensitivity(neighbors)
        bars["mean"] = Z95 * std / (math.sqrt(2) * query.constant * n) / 2
    return bars


def _say_bars(bars: dict[str, float]) -> dict[str, str]:
    forms = {"share": "± {:.2g} points", "mean": "± {:.2g} % of the range"}
    return {f"a {name} is known to": forms[name].format(100 * bar) for name, bar in bars.items()}


def count_query(layout: Layout, slots: int = 1) -> CellCounts:
    """The question for all counts of a layout."""
    crossed = [(layout.place(a), layout.place(b)) for a, b in layout.crosstabs]
    sizes = [column.size for column in layout.columns]
    return CellCounts(sizes, crossed, layout.width, slots)


def moment_query(layout: Layout, slots: int = 1) -> NumberMoments:
    """The question for all moments of a layout."""
    first = len(layout.columns)
    numbers = range(first, first + len(layout.numbers))
    groups = [(layout.place(name), layout.by_name[name].size) for name in layout.groups]
    return NumberMoments(list(numbers), groups, layout.width, slots)
