"""Noise that drowns what was learned: found in released and public numbers, said in plain words.

Every estimator compares what it has released with what noise alone would give. All of it is
post-processing of released values, so it costs nothing; whoever has the release could say it too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veilspan.privacy.errors import LoudNoiseWarning
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent
from veilspan.privacy.plan import Plan

HELP = "More rows or a larger epsilon would help."
#: The noise of a mean, over how far points lie from it, above which it says little.
LOUD_MEAN = 0.5
#: Share of a guessed item bias that noise leaves, below which items are told apart by noise.
LEAST_KEPT = 0.5
#: Standard deviations by which the largest of many noises may exceed its expected value: once in
#: about a thousand releases of nothing.
MARGIN = 3.1
#: Predicted squared angle, summed over directions, from which a subspace counts as lost in noise.
#: One of noise alone is predicted to be off by 1 - r/D and more of D columns.
LOST_ANGLE2 = 0.5


def as_cautions(texts: tuple[str, ...]) -> tuple[tuple[type[UserWarning], str], ...]:
    """What is to be said once a release is kept, as warnings of the right kind."""
    return tuple((LoudNoiseWarning, text) for text in texts)


def find_loud_mean(trace: Any, plan: Plan, dim: int) -> tuple[str, ...]:
    """Whether the noise of a mean on a manifold is as large as the distance of points from it.

    The last step's noise stays in the mean: its length, over the clip, which is a quantile of the
    distances where they were measured and a public bound elsewhere.
    """
    ratio = _noise_of_last_step(trace, plan, dim)
    if ratio is None or ratio <= LOUD_MEAN:
        return ()
    return (
        f"noise moves the mean by about {ratio:.2g} times as far as points lie from it: it tells "
        f"little of where they are. {HELP}",
    )


def _noise_of_last_step(trace: Any, plan: Plan, dim: int) -> float | None:
    last = trace[-1] if trace else {}
    if last.get("clip") and "noise_std" in last:
        return float(last["noise_std"]) * math.sqrt(dim) / float(last["clip"])
    if plan.n_rows is None:  # how many there are is private, and no step has said it
        return None
    steps = [e for e in plan.events if isinstance(e, (GaussianEvent, SampledGaussianEvent))]
    if not steps:
        return None
    event = steps[-1]
    rows = plan.n_rows * getattr(event, "rate", 1.0)
    moved = 2.0 if plan.neighbors == "replace-one" else 1.0
    # The mean of several steps averages their noise.
    return moved * event.noise_multiplier * math.sqrt(dim / max(1, event.count)) / rows


def find_loud_items(kept: float | None) -> tuple[str, ...]:
    """Whether noise leaves little of what tells items apart.

    ``kept`` is the share of a guessed bias that the solver believes, after what it knows of noise;
    the rest is shrunk to zero, so that predictions fall back on each user's own mean.
    """
    if kept is None or kept >= LEAST_KEPT:
        return ()
    return (
        f"noise leaves about {kept:.0%} of what tells items apart: predictions are hardly better "
        f"than each user's own mean. {HELP}",
    )


def find_loud_popularity(popularity: np.ndarray, noise_std: float) -> tuple[str, ...]:
    """Whether any item's popularity stands out of the noise."""
    if not noise_std > 0:
        return ()
    reached = noise_std * (math.sqrt(2 * math.log(max(2, len(popularity)))) + MARGIN)
    if float(np.max(popularity, initial=0.0)) > reached:
        return ()
    return (f"no item stands out of the noise: lists are in the order of noise. {HELP}",)


def find_loud_subspace(precision: float, n_features: int, n_components: int) -> tuple[str, ...]:
    """Whether a tracked subspace is hardly better known than a random one."""
    if precision > 0 and (n_features - n_components) / precision < LOST_ANGLE2:
        return ()
    return (
        "noise may have turned the released subspace by 45 degrees or more: it tells little of the "
        "rows. Larger blocks, more of them or a larger epsilon would help.",
    )


def find_loud_profile(hidden: tuple[str, ...], total: int) -> tuple[str, ...]:
    """Which columns of a profile noise hides altogether."""
    if not hidden:
        return ()
    named = ", ".join(hidden[:5]) + (f" and {len(hidden) - 5:,} more" if len(hidden) > 5 else "")
    whole = "all columns" if len(hidden) == total else f"{len(hidden)} of {total} columns ({named})"
    return (f"noise hides every share of {whole}: nothing can be said of them. {HELP}",)
