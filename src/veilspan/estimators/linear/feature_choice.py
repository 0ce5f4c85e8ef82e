r"""Which features a table model learns from: decided by public numbers alone.

The numbers are q = 2 n mu / a (n rows, mu of the budget, a = 2 under replace-one and 1 under
add-remove: what n rows count beside the noise of one), the columns of the schema, and

    nu = a sqrt(p) / (n mu) = 2 sqrt(p) / q,

the noise of a mean gradient of p coefficients (:mod:`veilspan.solvers.linear.auto`).

* **Waves** of a number: K = 3 sqrt(q / 2000), between 3 and 12.
* **Bins** beside them where nu, with them, is below 0.0062.
* **Random waves** of all columns together where nu, with them, is below 0.0047.
* **Classes** get a first straight fit whose score is one more feature. From nu = 0.02 on, with
  curves, a second fit costs more than it brings: one fit of lines and curves together, whose steps
  are clipped to 0.2 of the slope bound in place of 0.3, takes the place of both. From nu = 0.25 on
  the model stays linear.
* **Numbers** get a first straight fit, and curves learn what it leaves. Two fits cost more than one
  where noise is large. With nu that of a straight fit to all of the budget: where curves have
  hardly more coefficients than lines (at most 1.3 times: most columns are categories), one fit of
  lines and curves together takes the place of both from nu = 0.015 on, and always from 200 columns
  on; from nu = 0.2 on (from 1 on with 200 columns), or else from 0.03 on, the model stays linear.
* Without numbers, or with lines only, a model is linear and has coefficients. Without a number of
  rows that may be used (add-remove, none expected) there are 3 waves and nothing that needs nu.

Where the constants come from: adult, covertype, census-income and generated tables with linear and
additive truths, 2,000 to 40,000 rows, epsilon 0.1 to 3; the nu of classes: a crossed truth,
viewers, breast cancer and digits too (ten tuning draws of each). ``experiments/tables`` shows what
they do there and on draws that played no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.table_layout import TableLayout
from veilspan.solvers.linear.base import moved_lengths

#: Why it is so, where the user said so.
AS_ASKED = "as asked for"
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
#: One fit of lines and curves to classes: the nu from which it is better than two fits, length^2 of
#: the lines, and the clip over the slope bound. (Over ten draws of 14 tables, nu from 0.02 to 0.08,
#: it is ahead of two fits by 0.006 of accuracy on average: by 0.02 on digits and, where all of the
#: truth is curves, between 0.016 ahead and 0.013 behind. With lines of length^2 0.3 and the usual
#: clip it is ahead by 0.011, but 0.016 behind a straight fit where columns work by products.)
ONE_FIT_CLASSES, CLASSES_LINE_WEIGHT, CLASSES_CLIP = 0.02, 0.6, 0.2
#: One fit of lines and curves to numbers: length^2 of the lines, coefficients of the curves over
#: those of lines, and the nu or the number of lines from which it is better than two fits. (Census
#: data, 500 lines: ahead by 0.02 at epsilon 0.5, 0.01 at 1, 0.002 at 3. Cover types, whose curves
#: have 1.35 times the coefficients of lines: behind even one straight fit by 0.1 and more.)
LINE_WEIGHT, HARDLY_MORE, ONE_FIT_NOISE, MANY_LINES = 0.2, 1.3, 0.015, 200
#: Where curves are mostly noise: the nu of a straight fit to numbers, of one with few curves beside
#: it, of one with so many lines that curves hardly count (census data, 2,000 rows: ahead by 0.05 at
#: 0.85; beyond 1 nothing was compared), of curves of classes (between 0.08 and 0.21 one fit is
#: ahead of a straight one by 0.013 on average over eleven tables, behind by 0.003 at 0.32 and by
#: 0.02 at 0.75).
LINEAR_NOISE, FEW_CURVES_NOISE, MANY_LINES_NOISE, CLASSES_NOISE = 0.03, 0.2, 1.0, 0.25
#: Random waves of all columns together: how many, their length^2 over that of all others, how far
#: numbers and categories turn them, and the nu below which they are worth their noise.
FOURIER, FOURIER_WEIGHT, NUMBER_TURN, FLAG_TURN, FOURIER_NOISE = 200, 0.5, 1.0, 0.5, 0.0047


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
    score_weight : float
        Length^2 of the first fit's score over that of all other features.
    descent_clip : float or None
        Clip of steps of descent over the slope bound; None for the usual one.
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
    score_weight: float = 0.0
    descent_clip: float | None = None

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
        return FeatureChoice("linear", AS_ASKED)
    if kind == "bins":
        return FeatureChoice("bins", AS_ASKED, bins=BINS, bins_weight=1.0)
    if kind == "fourier":
        return FeatureChoice("fourier", AS_ASKED, line_weight=1.0, fourier=FOURIER)
    strength = _strength(n_rows, budget, neighbors)
    waves = FEWEST
    if strength is not None:
        waves = int(min(max(round(WAVES * math.sqrt(min(strength, 1e9) / PER)), FEWEST), MOST))
    if kind == "waves":
        return FeatureChoice("waves", AS_ASKED, waves=waves, mass=layout.n_numbers > 0)
    if not layout.n_numbers:
        return FeatureChoice("linear", "no column holds numbers")
    chosen = FeatureChoice(
        "curves", "", waves=waves, mass=True, first_share=SCORE_SHARE, score_weight=SCORE_WEIGHT
    )
    if squared:
        chosen = replace(chosen, first_share=LINE_SHARE, width_share=WIDTH_SHARE, score_weight=0.0)
    if strength is None:
        return replace(chosen, reason="no number of rows may be used, so few waves")
    if squared:
        lines = layout.n_numbers + layout.n_flags + 1
        noise = 2.0 * math.sqrt(lines) / strength
        together = replace(chosen, first_share=0.0, width_share=0.0, line_weight=LINE_WEIGHT)
        few = together.width(layout, 1) + 1 <= HARDLY_MORE * lines
        if few and (noise >= ONE_FIT_NOISE or lines >= MANY_LINES):
            chosen = together
        beside = MANY_LINES_NOISE if lines >= MANY_LINES else FEW_CURVES_NOISE
        if noise >= (beside if few else LINEAR_NOISE):
            reason = f"nu of a straight fit is {noise:.2g}: curves would mostly be noise"
            return FeatureChoice("linear", reason)
    elif (noise := _noise(chosen, layout, n_scores, strength)) >= CLASSES_NOISE:
        return FeatureChoice("linear", f"nu of curves is {noise:.2g}: they would mostly be noise")
    elif noise >= ONE_FIT_CLASSES:
        chosen = replace(
            chosen, first_share=0.0, score_weight=0.0, line_weight=CLASSES_LINE_WEIGHT,
            descent_clip=CLASSES_CLIP,
        )  # fmt: skip
    more = replace(chosen, bins=BINS, bins_weight=BINS_WEIGHT)
    chosen = more if _noise(more, layout, n_scores, strength) < BINS_NOISE else chosen
    more = replace(chosen, fourier=FOURIER)
    chosen = more if _noise(more, layout, n_scores, strength) < FOURIER_NOISE else chosen
    return replace(chosen, reason=_describe(chosen, strength))


def _noise(choice: FeatureChoice, layout: TableLayout, n_scores: int, strength: float) -> float:
    """Noise nu of the last fit; where a first one takes targets from it, by what that leaves."""
    part = math.sqrt(choice.rest_share) if choice.width_share else 1.0
    return 2.0 * math.sqrt((choice.width(layout, n_scores) + 1) * n_scores) / (strength * part)


def _describe(choice: FeatureChoice, strength: float) -> str:
    parts = [f"{choice.waves} waves"] + ([f"{choice.bins} bins"] if choice.bins else [])
    text = f"{' and '.join(parts)} a number, by rows times mu = {strength:.3g}"
    if choice.fourier:
        text += f"; {choice.fourier} random waves of all columns together"
    return text


def _strength(n_rows: int | None, budget: Budget, neighbors: Neighbors) -> float | None:
    """Strength q, or None where no number of rows may be used."""
    if not budget.is_private:
        return math.inf
    if n_rows is None:
        return None
    return 2.0 * n_rows * budget.mu / moved_lengths(neighbors)
