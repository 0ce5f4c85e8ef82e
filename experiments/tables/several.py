"""Several classes on ordinary tables: the default's steps beside those of the other solvers.

Cover types (seven), marital status and occupation of adult (seven, fifteen) and digits of 64 pixels
(ten), whole and in part. ``LogisticRegression(schema, features="linear")`` by each solver on the
same encoded rows, the default with curves, and scikit-learn's without privacy. Constants were
chosen on other draws of cover types and of adult, and on images; digits played no part.
"""

import math
import warnings
from functools import cache

import numpy as np

from veilspan import LogisticRegression

from ..job import Claim
from ..style import CYCLE, LINES, MARKERS, OURS, panels, title
from . import sets

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 3.0)
AUTO, CURVES, FREE, MAJORITY = "auto", "curves (default)", "without privacy", "majority"
SOLVERS = (AUTO, "newton", "gd", "objective")
NO_EPSILON = 0.0  # stands where there is none
BEHIND = 0.005
#: Rows for training.
SIZES = {
    "cover types": (40_000, 5_000), "marital status": (36_000, 5_000), "occupation": (36_000,),
    "digits": (1_347,),
}  # fmt: skip


@cache
def make_table(name, folder):
    """The table of a task."""
    if name == "digits":
        from sklearn.datasets import load_digits

        rows, labels = load_digits(return_X_y=True)
        columns = {f"x{j}": values for j, values in enumerate(rows.T)}
        columns["digit"] = labels.astype(str)
        return sets.Table(columns, {f"x{j}": (0, 16) for j in range(64)}, "digit")
    if name == "cover types":
        with np.load(folder / "covertype" / "covtype.npz") as found:
            kinds = found["y"].astype(str)
        return sets.Table(sets.read_covertype(folder) | {"kind": kinds}, sets.COVERTYPE, "kind")
    target = {"marital status": "marital-status", "occupation": "occupation"}[name]
    return sets.Table(sets.read_adult(folder), sets.ADULT, target)


def one_task(name, folder, seed, epsilons, rows):
    """Accuracy of all fits of one split."""
    task = sets.task(name, make_table(name, folder), "fresh", seed, rows)
    wanted = np.asarray(task.test[task.target]).astype(str)
    row = {"task": name, "rows": task.rows, "seed": seed}
    found = [
        {**row, "epsilon": NO_EPSILON, "method": method, "score": score}
        for method, score in references(task, wanted).items()
    ]
    for epsilon in epsilons:
        for method in (*SOLVERS, CURVES):
            said = {"solver": method, "features": "linear"} if method != CURVES else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # seeds make simulations; loud noise is the point
                model = LogisticRegression(
                    schema=task.schema, epsilon=epsilon, delta=DELTA, random_state=seed, **said
                ).fit(task.train)
            score = float(np.mean(model.predict(task.test).astype(str) == wanted))
            found.append({**row, "epsilon": epsilon, "method": method, "score": score})
    return found


def references(task, wanted):
    """What needs no privacy, and what needs no features."""
    from sklearn import linear_model

    x, new = task.schema.encode(task.train).x, task.schema.encode(task.test).x
    y = np.asarray(task.train[task.target]).astype(str)
    labels, counts = np.unique(y, return_counts=True)
    free = linear_model.LogisticRegression(max_iter=1000).fit(x, y).predict(new)
    return {
        FREE: float(np.mean(free == wanted)),
        MAJORITY: float(np.mean(wanted == labels[np.argmax(counts)])),
    }


def label_of(row):
    return f"{row['task']}, {row['rows']:,} rows"


def means(rows):
    """Mean and standard error of each (task, method, epsilon)."""
    cells = {}
    for row in rows:
        cells.setdefault((label_of(row), row["method"], row["epsilon"]), []).append(row["score"])
    return {
        key: (float(np.mean(v)), float(np.std(v, ddof=1) / math.sqrt(len(v)) if len(v) > 1 else 0))
        for key, v in cells.items()
    }


def judge(rows):
    """Whether the default's solver is the best, and whether a fit is below the majority."""
    cells = means(rows)
    behind = {}
    for (task, method, epsilon), (mean, error) in cells.items():
        if method in SOLVERS[1:]:
            own, own_error = cells[task, AUTO, epsilon]
            gap = mean - own - 2 * math.hypot(error, own_error)
            behind[task, epsilon, method] = gap
    worst = max(behind, key=behind.get)
    lost = sum(gap > BEHIND for gap in behind.values())
    nothing = {(label_of(r), r["seed"]): r["score"] for r in rows if r["method"] == MAJORITY}
    fits = [r for r in rows if r["method"] in (AUTO, CURVES) and r["epsilon"] >= 1.0]
    leads = [row["score"] - nothing[label_of(row), row["seed"]] for row in fits]
    least = fits[int(np.argmin(leads))]
    said = f"{len(behind) - lost} of {len(behind)} comparisons; most behind beyond two standard "
    said += f"errors {behind[worst]:+.4f} ({worst[0]} at {worst[1]:g}, to {worst[2]})"
    return [
        Claim(f"of the solvers the default is the best, within {BEHIND} and two standard errors",
              said, not lost, who="ours"),
        Claim("from epsilon 1 on no fit is below the majority",
              f"least lead of {len(fits)} fits {min(leads):+.3f} ({label_of(least)}, "
              f"{least['method']}, epsilon {least['epsilon']:g})", min(leads) >= 0, who="ours"),
    ]  # fmt: skip


def draw(cells, epsilons):
    """Accuracy against epsilon, a panel for each task."""
    names = list(dict.fromkeys(key[0] for key in cells))
    figure, axes = panels(math.ceil(len(names) / 3), min(3, len(names)), width=3.2, height=2.5)
    for axis, name in zip(axes.flat, names):
        for place, method in enumerate((AUTO, CURVES, *SOLVERS[1:])):
            ys = [cells[name, method, epsilon][0] for epsilon in epsilons]
            look = OURS.line() if not place else {
                "color": CYCLE[place], "marker": MARKERS[place], "linestyle": LINES[place]
            }  # fmt: skip
            axis.plot(epsilons, ys, **look, label=method)
        for method, style in ((FREE, "--"), (MAJORITY, ":")):
            axis.axhline(cells[name, method, NO_EPSILON][0], ls=style, color="0.4", label=method)
        axis.set(xscale="log", title=name, xlabel="epsilon", ylabel="accuracy")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    title(figure, "Several classes: straight fits by each solver, and the default's curves")
    return figure


def run(job):
    """Fit every task at every epsilon by every solver; draw, judge, print the table."""
    named = job.data is not None and job.scale != "tiny"
    cases = [(n, rows) for n, sizes in SIZES.items() if named or n == "digits" for rows in sizes]
    epsilons = job.pick((1.0,), EPSILONS, EPSILONS)
    rows = []
    planned = [(*case, seed) for case in cases for seed in range(job.pick(1, 2, 5))]
    for name, size, seed in job.track(planned):
        rows += job.cell(
            [name, size, seed],
            lambda: one_task(name, job.data, seed, epsilons, size),  # noqa: B023
        )
    cells = means(rows)
    job.picture(draw(cells, epsilons))
    claims = judge(rows)
    job.finish(
        f"Several classes: {claims[0].measured}; {claims[1].measured}.", rows, claims,
        source="adult, covertype, digits" if named else "digits",
        notes=[f"delta = {DELTA:g}, replace-one; {len({row['seed'] for row in rows})} fresh "
               "splits. Solvers have their defaults and the same encoded rows."],
        cells=[{"task": k[0], "method": k[1], "epsilon": k[2], "mean": v[0], "error": v[1]}
               for k, v in cells.items()],
    )  # fmt: skip
