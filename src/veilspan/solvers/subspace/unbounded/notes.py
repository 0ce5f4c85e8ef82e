"""What is said of a PCA in words: decisions of its plan, and warnings from released numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan.privacy.errors import CenterWarning, LoudNoiseWarning
from veilspan.solvers.subspace.base import SubspaceProblem
from veilspan.solvers.subspace.unbounded.looks import Surroundings, sure_count
from veilspan.solvers.subspace.unbounded.row_bound import RowBound

#: A class of warnings, and what is said.
Note = tuple[type[UserWarning], str]
#: Share of the squared length about the origin from which the mean decides the first component.
MOSTLY_MEAN = 0.5
#: Part of the largest variance that a released centre's squared error may be before it is said: it
#: shows as variance towards where the mean really is.
LOUD_CENTER = 0.05
#: Columns that a note names by number.
NAMED = 5
#: Share of the rows that noise may hide far out before it is said.
MANY_UNSEEN = 0.1
#: Share of the rows' weight that a bound may move from long rows to others before it is said.
MUCH_MOVED = 0.3


def describe(
    problem: SubspaceProblem,
    row_norm: float | None,
    edge: float,
    scale: str = "none",
) -> dict[str, Any]:
    """Public choices, as plans show them; ``edge`` is what noise reaches in a sum of unit rows."""
    center = "the origin" if problem.center is None else "a public vector"
    if problem.private_center is not None:
        center = "private, from the looks"
    decisions: dict[str, Any] = {
        "center": center,
        "row_norm": "private, from the looks" if row_norm is None else float(row_norm),
        "scale": scale,
    }
    if problem.n_rows is not None:
        unit, words = (1.0, " over row_norm^2") if row_norm is None else (row_norm**2, "")
        decisions[f"noise edge, variance{words}"] = float(f"{unit * edge / problem.n_rows:.4g}")
    return decisions


def notes_of_looks(
    around: Surroundings, bound: RowBound, *, private_center: bool
) -> tuple[Note, ...]:
    """What the looks say that a user should know."""
    if not around.seen:
        return _loud(
            "noise hides how long the rows are and where they lie, so that the components are "
            "those of noise. More rows or a larger epsilon would help."
        )
    notes: list[Note] = []
    if not private_center and around.mean_share > MOSTLY_MEAN:
        text = (
            f"about {around.mean_share:.0%} of the rows' squared length is that of their mean, so "
            "the first component mostly points from the centre that was given to the mean. Leave "
            "center out, and a private mean is subtracted first."
        )
        notes.append((CenterWarning, text))
    unseen = sure_count(around.shells.noise_std, len(around.shells.counts)) / around.n_rows
    if unseen > MANY_UNSEEN:
        notes += _loud(
            f"there are so few rows for this epsilon that noise would hide up to {unseen:.0%} of "
            f"them far out. Rows longer than row_norm = {bound.row_norm:.3g} are shortened to it "
            "and count no more than others."
        )
    if bound.moved > MUCH_MOVED:
        notes += _loud(
            f"rows were shortened to row_norm = {bound.row_norm:.3g}, which leaves out about "
            f"{bound.cut:.0%} of their squared length: few rows are much longer than others, or "
            "noise is loud. The components are mostly those of ordinary rows."
        )
    return tuple(notes)


def notes_of_columns(seen: np.ndarray, resolved: np.ndarray) -> tuple[Note, ...]:
    """Which columns of a scaled PCA took no part, or are scaled by noise; of released ranges."""
    notes: list[Note] = []
    if not seen.all():
        notes += _loud(
            f"{_columns(~seen)} showed no range above the noise and took no part; scale_ is 1 "
            "there. Columns that are mostly one value look like this."
        )
    if (seen & ~resolved).any():
        notes += _loud(
            f"noise hides the spread of {_columns(seen & ~resolved)}, which weighs less than that "
            "of others. Divide by a public scale of your own first, or give more rows or a larger "
            "epsilon."
        )
    return tuple(notes)


def _columns(chosen: np.ndarray) -> str:
    """Columns by number, the first few of many."""
    places = np.flatnonzero(chosen)
    named = ", ".join(map(str, places[:NAMED]))
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return f"column {named}" if len(places) == 1 else f"columns {named}{more}"


def note_of_center(around: Surroundings, variances: np.ndarray) -> tuple[Note, ...]:
    """What the error of a released centre does to a released spectrum, where that is much."""
    largest = float(np.max(variances, initial=0.0))
    if not (largest > 0 and around.center_error > LOUD_CENTER * largest):
        return ()
    return _loud(
        "the rows lie so far from the origin for their spread that noise puts the private centre "
        f"about {around.center_error**0.5:.3g} away from their mean, which shows as variance in "
        "that direction. Give center= a public vector near the rows, or more rows or a larger "
        "epsilon; or use RobustPCA, whose differences of paired rows need no centre."
    )


def note_of_noise(
    ratios: np.ndarray, *, asked: int | None, share: float | None
) -> tuple[Note, ...]:
    """What the released spectrum says of noise, for the components that are kept."""
    shown = int(np.sum(ratios > 0))
    if shown == 0:
        return _loud(
            "no component stands out of the noise: explained_variance_ratio_ is 0 and the "
            "directions mean nothing. More rows or a larger epsilon would help."
        )
    if share is not None and float(ratios.sum()) < share - 1e-12:
        return _loud(
            f"the {len(ratios)} components that stand out of the noise hold about "
            f"{float(ratios.sum()):.0%} of the variance, not the {share:.0%} that were asked for: "
            "noise hides the rest. More rows or a larger epsilon would show more of it."
        )
    if asked is not None and shown < asked:
        return _loud(
            f"noise hides {asked - shown} of the {asked} components: those with an "
            "explained_variance_ratio_ of 0 point in directions that mean little. Ask for "
            f"n_components={shown}, or give more rows or a larger epsilon."
        )
    return ()


def _loud(text: str) -> tuple[Note, ...]:
    return ((LoudNoiseWarning, text),)
