"""Means of the scores, and whether ours is at or above the best rival of each cell."""

import math
from typing import NamedTuple

import numpy as np

from ..job import Claim

#: What ours may be behind the best rival, in accuracy and in R^2, beside two standard errors.
BEHIND = {True: 0.003, False: 0.01}
NUMBERS = ("->", "numbers")


class Mean(NamedTuple):
    """Mean, its standard error and the number of seeds."""

    mean: float
    error: float
    count: int


class Gap(NamedTuple):
    """How far ours is ahead of the rival of a task, over paired seeds."""

    task: str
    epsilon: float
    rival: str
    ahead: float
    error: float
    allowed: float

    @property
    def holds(self):
        slack = 0.0 if math.isnan(self.error) else 2 * self.error
        return self.ahead >= -(self.allowed + slack)


def mean_of(values):
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Mean(float(values.mean()), float(error), len(values))


def summarise(found):
    """Mean by (task, draw, epsilon, method)."""
    cells = {}
    for row in found:
        key = (row["task"], row["draw"], row["epsilon"], row["method"])
        cells.setdefault(key, []).append(row["score"])
    return {key: mean_of(values) for key, values in cells.items()}


def rival_of(found, task, ours, others):
    """The rival with the best mean over all epsilons, fixed for the task; ``None`` without any."""
    totals = {}
    for row in found:
        if row["task"] == task and row["method"] not in (ours, *others):
            totals.setdefault(row["method"], {}).setdefault(row["epsilon"], []).append(row["score"])
    means = {
        method: np.mean([np.mean(values) for values in by_epsilon.values()])
        for method, by_epsilon in totals.items()
    }
    return max(means, key=means.get, default=None)


def gaps(found, draw, ours, others):
    """Ours against the rival of each task, at each epsilon, over the seeds that both have."""
    found = [row for row in found if row["draw"] == draw]
    scores = {(r["task"], r["epsilon"], r["method"], r["seed"]): r["score"] for r in found}
    made = []
    for task in dict.fromkeys(row["task"] for row in found):
        rival = rival_of(found, task, ours, others)
        classes = not any(mark in task for mark in NUMBERS)
        for epsilon in sorted({e for t, e, _, _ in scores if t == task and math.isfinite(e)}):
            pairs = [
                value - scores[task, epsilon, rival, seed]
                for (t, e, method, seed), value in scores.items()
                if (t, e, method) == (task, epsilon, ours)
                and (task, epsilon, rival, seed) in scores
            ]
            if pairs:
                mean = mean_of(pairs)
                made.append(Gap(task, epsilon, rival, mean.mean, mean.error, BEHIND[classes]))
    return made


def judge(found, ours, others, whom="the best rival"):
    """One claim for fresh draws and, where there are any, one for those that were tuned on.

    ``others`` are no rivals; ``whom`` says who is.
    """
    claims = []
    for draw, words in (("fresh", "on draws that played no part"), ("tuning", "on tuning draws")):
        made = gaps(found, draw, ours, others)
        if not made:
            continue
        lost = [gap for gap in made if not gap.holds]
        worst = min(made, key=lambda gap: gap.ahead)
        text = f"{len(made) - len(lost)} of {len(made)} cells hold {words}; largest gap "
        text += f"{worst.ahead:+.4f} ({worst.task}, epsilon {worst.epsilon:g}, to {worst.rival})"
        if lost:
            text += "; lost: " + ", ".join(
                f"{g.task} at {g.epsilon:g} ({g.ahead:+.4f} to {g.rival})" for g in lost
            )
        what = (
            f"{words} ours is at or above {whom} of the task in every cell, within .003 "
            "accuracy or .01 R\u00b2 plus two standard errors"
        )
        claims.append(Claim(what, text, not lost, who="ours"))
    return claims
