r"""Which features a table model learns from: decided by public numbers alone.

The numbers are q = 2 n mu / a (n rows, mu of the budget, a = 2 under replace-one and 1 under
add-remove: what one row among n counts beside the noise), the columns of the schema, and

    nu = a sqrt(p) / (n mu),

the noise of a mean gradient of p coefficients (:mod:`veilspan.solvers.linear.auto`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.table_layout import TableLayout
from veilspan.solvers.linear.base import moved_lengths

KINDS = ("auto", "linear", "bins", "waves", "fourier")
#: Shares of mu^2: the mass of the columns; the first fit of classes and of numbers; the width.
CELLS_SHARE, SCORE_SHARE, LINE_SHARE, WIDTH_SHARE = 0.05, 0.12, 0.20, 0.03
#: K = WAVES sqrt(q / PER) in [FEWEST, MOST].
WAVES, FEWEST, MOST, PER = 3.0, 3, 12, 2000.0
#: Bins of a number, their part of its length^2 beside waves, and the nu below which they are worth
#: their noise.
BINS, BINS_WEIGHT, BINS_NOISE = 16, 0.4, 0.0062
#: Length^2 of a first fit's score over that of all others.
SCORE_WEIGHT = 0.1
#: Random waves of all columns together: how many, their length^2 over that of all others, how far
#: numbers and categories turn them, and the nu below which they are worth their noise.
FOURIER, FOURIER_WEIGHT, NUMBER_TURN, FLAG_TURN, FOURIER_NOISE = 200, 0.5, 1.0, 0.5, 0.0015
#: Least q from which curves are worth their noise.
LEAST_STRENGTH = 0.0


@dataclass(frozen=True)
class FeatureChoice:
    """What becomes of the columns.

    Attributes
    ----------
    kind : str
        One of ``KINDS`` but ``"auto"``; ``"curves"`` for what ``"auto"`` makes of a table.
    reason : str
        Why, for the plan.
    waves, bins : int
        K and B; 0 without.
    bins_weight, line_weight : float
        Length^2 of bins and of the numbers' own lines beside waves.
    fourier : int
        Random waves; 0 without.
    mass : bool
        Whether the mass of the columns is asked for.
    first_share, width_share : float
        Of mu^2: a first straight fit, the width of what it leaves; 0 without.
    """

    kind: str
    reason: str
    waves: int = 0
    bins: int = 0
    bins_weight: float = 0.0
    line_weight: float = 0.0
    fourier: int = 0
    mass: bool = False
    first_share: float = 0.0
    width_share: float = 0.0

    @property
    def cells_share(self) -> float:
        """Share of the histogram of the mass."""
        return CELLS_SHARE if self.mass else 0.0

    @property
    def rest_share(self) -> float:
        """What is left to the last fit."""
        return 1.0 - self.cells_share - self.first_share - self.width_share

    def width(self, layout: TableLayout, n_scores: int) -> int:
        """Features of a row, without a constant."""
        each = self.waves + self.bins + (self.line_weight > 0)
        scores = n_scores if self.first_share and not self.width_share else 0
        return layout.n_numbers * each + layout.n_flags + scores + self.fourier


def check_kind(kind: Any) -> str:
    """One of the kinds of features, or a sentence that lists them."""
    if kind not in KINDS:
        names = ", ".join(f'"{each}"' for each in KINDS)
        raise ValueError(f"features must be one of {names}, or None for the default; got {kind!r}.")
    return str(kind)


def choose_features(
    kind: str,
    layout: TableLayout,
    n_scores: int,
    squared: bool,
    n_rows: int | None,
    budget: Budget,
    neighbors: Neighbors,
) -> FeatureChoice:
    """Decide what becomes of the columns; everything here is public.

    Parameters
    ----------
    kind : str
        What the user said.
    layout : TableLayout
        The columns.
    n_scores : int
        Scores of the model.
    squared : bool
        Whether what a first fit leaves of the targets can be learned by itself.
    n_rows : int or None
        Number of rows that defaults may be chosen by.
    budget, neighbors : Budget, str
        What may be spent, and for whom.
    """
    if kind == "linear":
        return FeatureChoice("linear", "as asked for")
    if kind == "bins":
        return FeatureChoice("bins", "as asked for", bins=BINS, bins_weight=1.0)
    if kind == "fourier":
        return FeatureChoice("fourier", "as asked for", line_weight=1.0, fourier=FOURIER)
    strength = _strength(n_rows, budget, neighbors)
    waves = FEWEST
    if strength is not None:
        waves = int(min(max(round(WAVES * math.sqrt(min(strength, 1e9) / PER)), FEWEST), MOST))
    if kind == "waves":
        return FeatureChoice("waves", "as asked for", waves=waves, mass=layout.n_numbers > 0)
    if not layout.n_numbers:
        return FeatureChoice("linear", "no column holds numbers")
    if strength is not None and strength < LEAST_STRENGTH:
        reason = (
            f"rows times mu are {strength:.3g}, below {LEAST_STRENGTH:g}: curves would be noise"
        )
        return FeatureChoice("linear", reason)
    shares = (LINE_SHARE, WIDTH_SHARE) if squared else (SCORE_SHARE, 0.0)
    chosen = FeatureChoice(
        "curves", "", waves=waves, mass=True, first_share=shares[0], width_share=shares[1]
    )
    if strength is None:
        return FeatureChoice(**{**vars(chosen), "reason": "no number of rows may be used"})
    part = math.sqrt(chosen.rest_share if squared else 1.0)

    def noise(choice: FeatureChoice) -> float:
        size = (choice.width(layout, n_scores) + 1) * n_scores
        return 2.0 * math.sqrt(size) / (strength * part)

    more = FeatureChoice(**{**vars(chosen), "bins": BINS, "bins_weight": BINS_WEIGHT})
    if noise(more) < BINS_NOISE:
        chosen = more
    more = FeatureChoice(**{**vars(chosen), "fourier": FOURIER})
    if noise(more) < FOURIER_NOISE:
        chosen = more
    parts = [f"{chosen.waves} waves"]
    parts += [f"{chosen.bins} bins"] if chosen.bins else []
    reason = f"rows times mu are {strength:.3g}: {' and '.join(parts)} a number"
    if chosen.fourier:
        reason += f", {chosen.fourier} random waves for all columns together"
    return FeatureChoice(**{**vars(chosen), "reason": reason})


def _strength(n_rows: int | None, budget: Budget, neighbors: Neighbors) -> float | None:
    """q, or None where no number of rows may be used."""
    if not budget.is_private:
        return math.inf
    if n_rows is None:
        return None
    return 2.0 * n_rows * budget.mu / moved_lengths(neighbors)
