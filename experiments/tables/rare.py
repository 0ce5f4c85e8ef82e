"""A class that two people of a hundred have: what finds it, and what ranks it.

Rows of the second class of adult and of the cover types (without files, of generated rows) are left
out at random, in training and test rows alike, until 2 % are left. ``LogisticRegression(schema)``
is fitted as it is, with ``threshold="f1"``, with ``class_weight="balanced"``, and with a threshold
around plain descent; beside them scikit-learn's without privacy, with the threshold that is best
for F1 on its own training rows. Draws are ``fresh``: whitened steps were chosen on tuning draws of
the same two sets. (That sums of noise are no rows was seen in one of the fresh ones.)
"""

import math
import warnings

import numpy as np
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve, roc_auc_score

from veilspan import LogisticRegression, RareClassWarning

from ..job import Claim
from ..style import CYCLE, LINES, MARKERS, OURS, panels, title
from . import sets

DELTA = 1e-6
SHARE = 0.02
EPSILONS = (0.5, 1.0, 3.0)
NAMES = {"adult": 36_000, "covertype": 40_000, "adult, 12,000 rows": 12_000}
GENERATED = "linear truth"
DEFAULT, THRESHOLD, BALANCED, DESCENT = "as it is", 'threshold="f1"', "balanced", "f1, descent"
WAYS = {
    DEFAULT: {},
    THRESHOLD: {"threshold": "f1"},
    BALANCED: {"class_weight": "balanced"},
    DESCENT: {"threshold": "f1", "solver": "gd"},
}
FREE = "without privacy"
NO_EPSILON = 0.0  # stands where there is none
BEHIND = 0.01  # of average precision, beside two standard errors
MEASURES = ("average precision", "area under the curve", "F1")


def thinned(task, seed):
    """Training and test rows with so few of the rarer class, and its label."""
    labels, counts = np.unique(np.asarray(task.train[task.target]).astype(str), return_counts=True)
    rare = labels[np.argmin(counts)]
    coins = np.random.default_rng([seed, 5])

    def thin(part):
        given = np.asarray(part[task.target]).astype(str) == rare
        some, others = np.flatnonzero(given), np.flatnonzero(~given)
        most = round(len(others) * SHARE / (1 - SHARE))
        kept = np.sort(np.concatenate([others, coins.choice(some, most, replace=False)]))
        return sets.take(part, kept)

    return thin(task.train), thin(task.test), rare


def measure(wanted, scores, predicted):
    """Everything that is told of one model, on test rows."""
    return {
        "average precision": float(average_precision_score(wanted, scores)),
        "area under the curve": float(roc_auc_score(wanted, scores)),
        "F1": float(f1_score(wanted, predicted)),
        "found": int(np.sum(wanted & predicted)),
    }


def one_task(name, folder, seed, epsilons, rows):
    """All fits of one split."""
    task = sets.make_task(name.split(",")[0], folder, "fresh", seed, rows)
    train, test, rare = thinned(task, seed)
    wanted = np.asarray(test[task.target]).astype(str) == rare
    row = {"task": name, "seed": seed, "rows": len(train[task.target])}
    found = [{**row, "epsilon": NO_EPSILON, "method": FREE, "warned": False,
              **free(task.schema, train, test, rare)}]  # fmt: skip
    for epsilon in epsilons:
        for way, said in WAYS.items():
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                model = LogisticRegression(
                    schema=task.schema, epsilon=epsilon, delta=DELTA, random_state=seed, **said
                ).fit(train)
            place = list(map(str, model.classes_)).index(rare)
            likely = model.predict_proba(test)[:, place]
            predicted = model.predict(test).astype(str) == rare
            warned = any(issubclass(each.category, RareClassWarning) for each in told)
            found.append({**row, "epsilon": epsilon, "method": way, "warned": warned,
                          **measure(wanted, likely, predicted)})  # fmt: skip
    return found


def free(schema, train, test, rare):
    """The same of scikit-learn's straight model without privacy."""
    from sklearn import linear_model

    x, new = schema.encode(train).x, schema.encode(test).x
    y, wanted = (np.asarray(part[schema.target.name]).astype(str) == rare for part in (train, test))
    model = linear_model.LogisticRegression(max_iter=2000).fit(x, y)
    precision, recall, places = precision_recall_curve(y, model.predict_proba(x)[:, 1])
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    likely = model.predict_proba(new)[:, 1]
    return measure(wanted, likely, likely >= places[np.argmax(f1[:-1])])


def means(rows):
    """Mean and standard error of each (task, method, epsilon, measure)."""
    cells = {}
    for row in rows:
        for name in MEASURES:
            cells.setdefault((row["task"], row["method"], row["epsilon"], name), []).append(
                row[name]
            )
    return {
        key: (float(np.mean(v)), float(np.std(v, ddof=1) / math.sqrt(len(v)) if len(v) > 1 else 0))
        for key, v in cells.items()
    }


def judge(rows):
    """Whether a threshold finds some and ranks as well as descent, whether the default warns."""
    fits = [row for row in rows if row["method"] == THRESHOLD]
    at_one = [row for row in fits if row["epsilon"] == 1.0]
    least = min(row["found"] for row in at_one)
    gains = {}
    paired = {(r["task"], r["epsilon"], r["seed"]): r for r in rows if r["method"] == DESCENT}
    for row in fits:
        other = paired[row["task"], row["epsilon"], row["seed"]]
        gain = row[MEASURES[0]] - other[MEASURES[0]]
        gains.setdefault((row["task"], row["epsilon"]), []).append(gain)
    lost = {}
    for key, found in gains.items():
        error = np.std(found, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else 0.0
        if np.mean(found) < -(BEHIND + 2 * error):
            lost[key] = float(np.mean(found))
    average = float(np.mean([np.mean(found) for found in gains.values()]))
    said = f"{average:+.3f} on average over {len(gains)} cells"
    if lost:
        said += "; behind: " + ", ".join(f"{k[0]} at {k[1]:g} ({v:+.3f})" for k, v in lost.items())
    plain = [row for row in rows if row["method"] == DEFAULT and row["epsilon"] >= 1.0]
    warned = sum(row["warned"] for row in plain)
    return [
        Claim("at epsilon 1 a threshold finds some of 2 %, in every fit",
              f"at least {least} people of the rare class in {len(at_one)} fits",
              least > 0, who="ours"),
        Claim("whitened steps rank a rare class no worse than descent, by average precision "
              f"within {BEHIND} and two standard errors", said, not lost, who="ours"),
        Claim("from epsilon 1 on the default warns that a class is rare",
              f"{warned} of {len(plain)} fits", warned == len(plain), who="ours"),
    ]  # fmt: skip


def draw(cells, epsilons):
    """A row of panels for each task: three measures against epsilon."""
    names = list(dict.fromkeys(key[0] for key in cells))
    figure, axes = panels(len(names), len(MEASURES), width=3.2, height=2.4)
    for line, name in zip(axes, names):
        for axis, measured in zip(line, MEASURES):
            for place, way in enumerate((THRESHOLD, BALANCED, DEFAULT, DESCENT)):
                ys = [cells[name, way, epsilon, measured][0] for epsilon in epsilons]
                look = OURS.line() if not place else {
                    "color": CYCLE[place], "marker": MARKERS[place], "linestyle": LINES[place]
                }  # fmt: skip
                axis.plot(epsilons, ys, **look, label=way)
            free_one = cells[name, FREE, NO_EPSILON, measured][0]
            axis.axhline(free_one, ls=":", color="0.4", label=FREE)
            axis.set(xscale="log", title=f"{name}: {measured}", xlabel="epsilon")
            axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
            axis.minorticks_off()
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    title(figure, "Two percent of all rows: how they are ranked and found on new rows")
    return figure


def run(job):
    """Fit every task at every epsilon in every way; draw, judge, print the table."""
    named = job.data is not None and job.scale != "tiny"
    names = NAMES if named else {GENERATED: job.pick(3_000, 15_000, 15_000)}
    epsilons = job.pick((1.0,), EPSILONS, EPSILONS)
    rows = []
    for name, seed in job.track([(n, s) for n in names for s in range(job.pick(1, 2, 10))]):
        rows += job.cell(
            [name, seed],
            lambda: one_task(name, job.data, seed, epsilons, names[name]),  # noqa: B023
        )
    cells = means(rows)
    job.picture(draw(cells, epsilons))
    claims = judge(rows)
    job.finish(
        f"Of 2 %: {claims[0].measured}; average precision beside descent {claims[1].measured}.",
        rows, claims, source="adult, covertype" if named else "generated rows",
        notes=[f"delta = {DELTA:g}, replace-one, curves by a schema; "
               f"{len({row['seed'] for row in rows})} fresh splits.",
               "scikit-learn's model is straight and told no curve; its threshold is the best for "
               "F1 on its training rows.", "DP-EBM is not here: it has no threshold."],
        cells=[{"task": k[0], "method": k[1], "epsilon": k[2], "measure": k[3], "mean": v[0],
                "error": v[1]} for k, v in cells.items()],
    )  # fmt: skip
