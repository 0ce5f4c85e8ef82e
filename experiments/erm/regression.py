"""Private linear regression: R^2 on held-out rows of every solver, squared and Huber loss.

Replace-one, delta = 1e-6, public ranges, tables that need no file. The rule of ``solver="auto"``
for regressions was chosen on these tables (with other draws): they show it, they do not test it.
The last table has skewed residuals and played no part.
"""

import math
import warnings

import numpy as np

from veilspan import Budget, HuberRegressor, LinearRegression

from ..job import Claim
from ..style import CYCLE, LINES, MARKERS, OURS, panels, title

EPSILONS = (0.1, 0.5, 1.0, 3.0)
SOLVERS = ("statistics", "newton", "gd", "auto")
MODELS = {"LinearRegression": LinearRegression, "HuberRegressor": HuberRegressor}
DELTA = 1e-6
NEW = "skewed 20,000 x 20"  # played no part in the choice of the rule
BEHIND = 0.02  # R^2 that the default may be behind the best named solver, in the median
FLOOR = -0.3  # of the picture
NOTES = (
    "Replace-one, delta = 1e-6, a random fifth of the rows for testing, public ranges.",
    "The rule of the default was chosen on these tables with other draws: they show it, they do "
    f"not test it, but for '{NEW}', which played no part.",
)


def normal_rows(rows, columns, decay, seed, skewed=False):
    """Clipped normal features of falling size, 64 % of the variance explained."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns)) * 0.5 / np.arange(1, columns + 1) ** decay
    x = np.clip(x, -1, 1)
    signal = x @ rng.normal(size=columns)
    noise = rng.exponential(size=rows) - 1 if skewed else rng.normal(size=rows)
    y = 0.8 * signal / signal.std() + 0.6 * noise
    return x, np.clip(y, -4, 4), (-1, 1), (-4, 4)


def one_hot_rows(rows, seed):
    """Eight questions with five answers each."""
    rng = np.random.default_rng(seed)
    x = np.zeros((rows, 40))
    for question in range(8):
        x[np.arange(rows), question * 5 + rng.integers(0, 5, rows)] = 1
    signal = x @ rng.normal(size=40)
    y = 0.8 * (signal - signal.mean()) / signal.std() + 0.6 * rng.normal(size=rows)
    return x, np.clip(y, -4, 4), (0, 1), (-4, 4)


def diabetes():
    """The table of scikit-learn, in ranges of its description."""
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    return x, y, (-0.2, 0.2), (0, 350)


#: name: maker of (rows, targets, public ranges)
TABLES = {
    "diabetes": diabetes,
    "2,000 x 10": lambda: normal_rows(2000, 10, 0, 0),
    "20,000 x 20": lambda: normal_rows(20_000, 20, 0.5, 1),
    "100,000 x 30": lambda: normal_rows(100_000, 30, 1, 2),
    "one-hot 20,000 x 40": lambda: one_hot_rows(20_000, 3),
    NEW: lambda: normal_rows(20_000, 20, 0.5, 4, skewed=True),
}


def score(model, table, epsilon, solver, seed):
    """R^2 on a random fifth of the rows."""
    x, y, feature_range, target_range = table
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[: 4 * len(x) // 5], order[4 * len(x) // 5 :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations; loud noise is the point
        fitted = MODELS[model](
            feature_range=feature_range, target_range=target_range, epsilon=epsilon, delta=DELTA,
            solver=solver, random_state=seed,
        ).fit(x[train], y[train])  # fmt: skip
    return float(fitted.score(x[test], y[test]))


def noise(table, epsilon):
    """nu of the training part: the noise of one released mean of unit gradients."""
    rows, columns = table[0].shape
    return 2 * math.sqrt(columns + 1) / (0.8 * rows * Budget(epsilon, DELTA).mu)


def one_table(name, model, seed, epsilons):
    """Every solver at every epsilon, one split."""
    table = TABLES[name]()
    solvers = [s for s in SOLVERS if model == "LinearRegression" or s != "statistics"]
    return [
        {"table": name, "model": model, "epsilon": epsilon, "solver": solver, "seed": seed,
         "nu": noise(table, epsilon), "r2": score(model, table, epsilon, solver, seed)}
        for epsilon in epsilons for solver in solvers
    ]  # fmt: skip


def means(rows):
    """Mean R^2 of each solver, by (table, model, epsilon)."""
    cells = {}
    for row in rows:
        key = (row["table"], row["model"], row["epsilon"])
        cells.setdefault(key, {}).setdefault(row["solver"], []).append(row["r2"])
    return {key: {s: float(np.mean(v)) for s, v in cell.items()} for key, cell in cells.items()}


def judge(cells):
    """How far the default is behind the best named solver of each cell, and about statistics."""
    behind = {
        key: max(v for s, v in cell.items() if s != "auto") - cell["auto"]
        for key, cell in cells.items()
    }
    claims = [gap_claim("over all tables", behind)]
    new = {key: gap for key, gap in behind.items() if key[0] == NEW}
    claims += [gap_claim(f"on '{NEW}', which played no part", new)] if new else []
    statistics = {key: cell for key, cell in cells.items() if "statistics" in cell}
    won = [key for key, cell in statistics.items()
           if cell["statistics"] >= max(cell["newton"], cell["gd"])]  # fmt: skip
    claims.append(
        Claim("least squares by released statistics are behind noisy steps everywhere",
              f"ahead in {len(won)} of {len(statistics)} cells"
              + (": " + ", ".join(f"{key[0]} at {key[2]:g}" for key in won) if won else ""),
              not won, who="ours")
    )  # fmt: skip
    return claims


def gap_claim(where, behind):
    """The median of the gaps is what counts; the largest is said."""
    worst = max(behind, key=behind.get)
    median = float(np.median(list(behind.values())))
    return Claim(
        f"{where} the default's R^2 is at most {BEHIND} behind the best named solver in the median",
        f"median {median:+.3f}, largest {behind[worst]:+.3f} ({worst[0]}, {worst[1]}, epsilon "
        f"{worst[2]:g})",
        median <= BEHIND,
        who="ours",
    )


def draw(cells, epsilons):
    """R^2 of the squared loss against epsilon, a panel for each table."""
    names = list(dict.fromkeys(key[0] for key in cells))
    figure, axes = panels(math.ceil(len(names) / 2), 2, width=3.9, height=2.7)
    looks = {"statistics": 1, "newton": 2, "gd": 3}
    for axis, name in zip(axes.flat, names):
        for solver in SOLVERS:
            ys = [cells[name, "LinearRegression", epsilon][solver] for epsilon in epsilons]
            place = looks.get(solver)
            look = OURS.line() if place is None else {
                "color": CYCLE[place], "marker": MARKERS[place], "linestyle": LINES[place]
            }  # fmt: skip
            label = "default (ours)" if solver == "auto" else solver
            axis.plot(epsilons, np.maximum(ys, FLOOR), **look, label=label)
        axis.set(xscale="log", title=name, xlabel="epsilon", ylabel="R\u00b2 on new rows")
        axis.set_ylim(FLOOR - 0.05, 1)
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    title(figure, f"Private least squares: R\u00b2 against epsilon (below {FLOOR:g} drawn there)")
    return figure


def run(job):
    """Fit every solver of linear regressions on every table, draw R^2, judge the claims."""
    names = list(TABLES)[: job.pick(1, 2, None)]
    epsilons = job.pick((1.0, 3.0), EPSILONS, EPSILONS)
    cases = [(n, m, s) for n in names for m in MODELS for s in range(job.pick(1, 2, 5))]
    rows = []
    for case in job.track(cases):
        rows += job.cell(list(case), lambda: one_table(*case, epsilons))  # noqa: B023
    cells = means(rows)
    job.picture(draw(cells, epsilons))
    claims = judge(cells)
    job.finish(
        f"The default is behind the best named solver by {claims[0].measured}.", rows, claims,
        source="diabetes (scikit-learn) and generated tables",
        notes=[*NOTES, f"{len({row['seed'] for row in rows})} seeds."],
        r2=[{"table": k[0], "model": k[1], "epsilon": k[2], **cell} for k, cell in cells.items()],
    )  # fmt: skip
