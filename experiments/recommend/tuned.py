"""How far the default is from the best setting, found by looking at the held-out ratings.

Every setting of a grid (clipping norm, ridge, with factors or without) is fitted by the solver
``"covariance"``; the best mean RMSE is what nobody could have chosen with private ratings. The rule
was found on splits of Jester and of MovieLens 1M, 100k and latest-small.
"""

import itertools
from functools import partial

import numpy as np

from veilspan.solvers.completion.covariance import CovarianceCompletion

from ..job import Claim
from . import data as sets
from .crossover import generated
from .methods import DEFAULT, measure, ours, summary

NORMS = (0.35, 0.55, 0.8, 1.1)  # of a full row of typical deviations
RIDGES = (12.0, 20.0, 35.0)
GOAL = 0.01
EPSILONS = {"jester": (0.1, 1.0, 5.0), "movielens-1m": (0.1, 1.0, 5.0)}
OTHERS = (1.0, 5.0, 20.0)  # smaller sets need more
NAMES = ("jester", "movielens-1m", "movielens-100k", "movielens-small")


def settings():
    """Labels with norm and ridge: bias alone by norm, with factors by norm and ridge."""
    for norm in NORMS:
        yield f"bias, norm {norm}", norm, None
    for norm, ridge in itertools.product(NORMS, RIDGES):
        yield f"factors, norm {norm}, ridge {ridge:g}", norm, ridge


def fit(data, seed, epsilon, norm, ridge):
    """Return the held-out error of the covariance solver with one setting."""
    deviation = (data.rating_range[1] - data.rating_range[0]) / 4
    full = norm * deviation * np.sqrt(min(data.cap, data.shape[1]))
    if ridge is None:
        solver = CovarianceCompletion(full, bias_share=1.0)
    else:
        solver = CovarianceCompletion(full, bias_share=0.15, ridge=ridge, refills=6)
    return ours(data, solver, epsilon, seed, components=24)


def methods_of(epsilons):
    """The default and the grid, at every epsilon."""
    for e in epsilons:
        yield DEFAULT, e, lambda data, seed, e=e: ours(data, DEFAULT, e, seed)
        for label, norm, ridge in settings():
            yield label, e, lambda data, seed, a=(e, norm, ridge): fit(data, seed, *a)


def judge(rows):
    """How far the default is behind the best setting, cell by cell."""
    cells, behind = summary(rows), {}
    for name, epsilon in dict.fromkeys((row["data"], row["epsilon"]) for row in rows):
        grid = {m: c[0] for (d, m, e), c in cells.items() if (d, e) == (name, epsilon)}
        default = grid.pop(DEFAULT)
        best = min(grid, key=grid.get)
        behind[f"{name} at {epsilon:g} ({best})"] = default - grid[best]
    worst = max(behind, key=behind.get)
    return [Claim(f"the default is within {GOAL} of the best of 16 settings on every set",
                  f"furthest behind {behind[worst]:+.4f}: {worst}; "
                  f"{sum(x <= GOAL for x in behind.values())} of {len(behind)} cells within",
                  bool(behind[worst] <= GOAL), who="ours")], behind  # fmt: skip


def draw(behind, job):
    """Distance of the default from the best setting, one bar a set and epsilon."""
    from .. import style

    figure, axes = style.panels(1, 1, width=6.4, height=1.2 + 0.32 * len(behind))
    ax, names = axes[0, 0], list(behind)
    ax.barh(range(len(names)), list(behind.values()), color=style.OURS.color)
    ax.axvline(GOAL, color="black", linewidth=0.8, linestyle="--")
    ax.set_yticks(range(len(names)), [name.split(" (")[0] for name in names])
    ax.invert_yaxis()
    ax.set_xlabel("RMSE of the default above the best setting (dashed: the goal)")
    style.title(figure, "The default beside the best of 16 settings")
    job.picture(figure)


NOTES = (
    "Every setting of the grid is chosen by the held-out ratings: nobody could do that with "
    "private ones.",
    "The default's constants come from Jester, MovieLens-1M and MovieLens-100k.",
)


def run(job):
    """Fit the grid on every set, judge and draw."""
    names = sets.available(job.data, NAMES) if job.full else []
    used = [(n, partial(sets.LOADERS[n], job.data), EPSILONS.get(n, OTHERS)) for n in names]
    if not used:
        users, items = job.pick((400, 15), (3000, 60), (10_000, 200))
        epsilons = job.pick((5.0,), OTHERS, OTHERS)
        used = [("generated", partial(generated, users, items), epsilons)]
    rows = []
    for name, load, epsilons in used:
        for seed in range(job.pick(1, 1, 2)):
            rows += measure(job, name, load, methods_of(epsilons), seed)
    claims, behind = judge(rows)
    draw(behind, job)
    return job.finish(f"The default: {claims[0].measured}.", rows, claims, notes=NOTES,
                      source=", ".join(n for n, _, _ in used), behind=behind)  # fmt: skip
