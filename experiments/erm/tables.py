"""Accuracy and excess risk of every way to fit a private logistic regression.

Epsilon 0.1, 0.5, 1 and 3, delta = 1e-6, add-remove (one more row: replace-one) with the number of
training rows as ``expected_rows``. Excess risk is the mean loss of the training rows above that of
scikit-learn. diffprivlib gets the same rows, bounds and constant column, and **the best of its C by
the test rows**; its promise is pure epsilon-DP, a stronger one.
"""

import math

import numpy as np

from veilspan.solvers.linear.by_name import linear_solver
from veilspan.solvers.linear.gradient_descent import StochasticGradient

from ..environments import PeerUnavailable
from ..style import BASELINE, OURS, panels, title
from ..style import PEER as PEER_LOOK
from ..style import PLAIN as PLAIN_LOOK
from . import peers, sets
from .fits import private, scaled

EPSILONS = (0.1, 0.5, 1.0, 3.0)
AUTO, REPLACED, FIXED = "auto", "auto, replace-one", "auto, fixed split"
PEER, PLAIN = "diffprivlib, best C", "scikit-learn, not private"
RECIPE = "DP-SGD recipe"
ONE_PASS = ("objective", "newton")
SOLVERS = (*ONE_PASS, "gd", "sgd", "accmd", "svrg", "svrg++")
# Accuracy that the default has to reach, at EPSILONS, on a split that does not change: a hundredth
# or so below what few seeds gave before, so that a loss shows.
GOALS = {
    "breast_cancer": (0.850, 0.915, 0.945, 0.960),
    "digits >= 5": (0.720, 0.850, 0.865, 0.885),
    "a9a": (0.842, 0.849, 0.850, 0.850),
}
HINDSIGHT = 0.005  # below the best of our solvers, on sets that the rule was not chosen on
# name: (seeds of the default, seeds of the other solvers, rows of an additional smaller table). The
# other library gets two seeds at least.
PLANS = {
    "breast_cancer": (20, 5, None),
    "digits": (20, 5, None),
    "synthetic": (5, 1, None),
    "a9a": (5, 2, None),
    "adult": (5, 2, None),
    "census-income": (3, 1, 30_000),
    "covertype": (3, 1, 30_000),
}
QUICK = ("breast_cancer", "digits")
LARGER = "always the larger class"
NOTES = (
    "One row is one person; delta = 1e-6; add-remove with the number of training rows as expected.",
    "Bounds come from documentation, never from a quantile of the rows.",
    "The rule of the default was chosen on breast_cancer, digits, a9a and the synthetic table; "
    "adult (the same census as a9a), census-income and covertype played no part.",
    "diffprivlib gets the best of four C by the test rows and promises pure epsilon-DP, which "
    "needs more noise; it needs dense tables and is left out above 20 million numbers.",
    "A fixed split is one split with other noise: the goals were set on it.",
    "Clipped slopes have another minimum: where noise is large the default classifies well while "
    "its probabilities are off.",
)
SLOW = 100_000  # rows from which solvers of hundreds of steps are left to the smaller table


def solver_of(name):
    """A solver by name; the recipe is that of Opacus' tutorials."""
    if name == RECIPE:
        return StochasticGradient(epochs=20, batch_rate=0.05, step=2.0, clip=1.0, output="last")
    return linear_solver(AUTO if name in (AUTO, REPLACED, FIXED) else name)


def measure(data, method, epsilon, seed):
    """One row of the CSV."""
    neighbors = "replace-one" if method == REPLACED else "add-remove"
    theta, cpu, _ = private(data, solver_of(method), epsilon, seed, neighbors)
    return record(data, method, epsilon, seed, theta, cpu)


def record(data, method, epsilon, seed, theta, cpu, note=""):
    rows, columns = data.split.shape
    positive = float(np.mean(data.split.test[1] > 0))
    return {
        "data": data.split.name, "rows": rows, "columns": columns, "method": method,
        "epsilon": epsilon, "seed": seed, "accuracy": round(data.accuracy(theta), 5),
        "excess": round(data.risk(theta) - data.least_risk, 5), "cpu": round(cpu, 3), "note": note,
        "larger_class": max(positive, 1 - positive),
    }  # fmt: skip


def parts(job, name):
    """What is computed and kept as one: (seed, rows of a part or ``None``, kind)."""
    many, few, smaller = PLANS[name]
    if not job.full:
        many, few = job.pick((1, 1), (2, 1), None)
    sizes = (None,) if smaller is None else (None, smaller)
    found = [
        (seed, rows, "all" if seed < few else "default") for seed in range(many) for rows in sizes
    ]
    if name in ("breast_cancer", "digits"):
        found += [(seed, None, "fixed") for seed in range(many)]
    return found


def data_of(make, part):
    """Scaled rows of one part."""
    seed, rows, kind = part
    if kind == "fixed":
        return scaled(make(seed=None))
    split = make(seed=seed)
    return scaled(split if rows is None else split.part(rows, seed))


def measure_part(job, make, part):
    """Rows of the CSV for one part, all but those of the other library."""
    seed, _, kind = part
    data = data_of(make, part)
    epsilons = job.pick((1.0,), EPSILONS, EPSILONS)
    if kind == "fixed":
        return [measure(data, FIXED, epsilon, seed) for epsilon in epsilons]
    return on_split(job, data, seed, kind == "all", epsilons)


def on_split(job, data, seed, everyone, epsilons):
    """The default, and our other solvers if it is their turn."""
    slow = data.split.shape[0] > SLOW
    methods = [AUTO] if slow and not everyone else [AUTO, REPLACED]
    if everyone:
        methods += ONE_PASS if slow or job.scale == "tiny" else (*SOLVERS, RECIPE)
    found = [record(data, PLAIN, math.inf, seed, data.minimum, 0.0)]
    for epsilon in epsilons:
        found += [measure(data, method, epsilon, seed) for method in methods]
    return found


def has_peer(job, part):
    """Whether it is the other library's turn: two seeds at least, never on a fixed split."""
    seed, _, kind = part
    return job.full and job.peers and kind != "fixed" and (kind == "all" or seed < 2)


def measure_peer(job, name, make, part):
    """Rows of the other library, and why there are none: ours is worth having without it.

    A part of its own, and the failure is caught outside of it: a run that goes on tries again.
    """
    ask = lambda: peers.diffprivlib(data_of(make, part), EPSILONS, part[0], record)  # noqa: E731
    try:
        return job.cell([name, *part, "diffprivlib"], ask), ""
    except PeerUnavailable as error:
        job.say(f"without diffprivlib: {error}")
        return [], f"diffprivlib is missing for some seeds of {name}: {error}"


def study(job):
    """Rows of the CSV, and why sets or the other library are missing."""
    makers = sets.sources(job.data)
    names = job.pick(QUICK[:1], QUICK, tuple(makers))
    found, missing = [], {}
    if "adult" in names and not job.peers:
        missing["adult"] = "adult was left out: its file is read in an environment of its own."
    for name, part in job.track([(n, part) for n in names for part in parts(job, n)]):
        if name in missing:
            continue
        compute = lambda: measure_part(job, makers[name], part)  # noqa: E731, B023
        try:
            found += job.cell([name, *part], compute)
        except PeerUnavailable as error:
            missing[name] = f"{name} was left out, its file could not be read: {error}"
            continue
        except FileNotFoundError:
            missing[name] = f"{name} was left out: its files are not in the folder of --data."
            continue
        if has_peer(job, part):
            rows, why = measure_peer(job, name, makers[name], part)
            found += rows
            missing |= {(name, "diffprivlib"): why} if why else {}
    for row in found:
        row["epsilon"] = float(row["epsilon"])  # "inf" where nothing is private
    return found, list(missing.values())


def summary(found):
    """Mean, standard error of the mean and mean excess by (set, method, epsilon)."""
    cells = {}
    for row in found:
        key = (row["data"], row["method"], float(row["epsilon"]))
        cells.setdefault(key, []).append((float(row["accuracy"]), float(row["excess"])))
    return {key: statistics(values) for key, values in cells.items()}


def statistics(values):
    accuracy, excess = np.array(values).T
    error = accuracy.std(ddof=1) / math.sqrt(len(accuracy)) if len(accuracy) > 1 else math.nan
    return float(accuracy.mean()), float(error), float(excess.mean()), len(accuracy)


def best_of_peer(found):
    """Keep, for every set and epsilon, the C of the other library with the best test accuracy."""
    tried = [row for row in found if row["method"].startswith("diffprivlib C=")]
    cells = summary(tried)
    kept = [row for row in found if row not in tried]
    for data, epsilon in dict.fromkeys((key[0], key[2]) for key in cells):
        best = max(
            (key for key in cells if key[0] == data and key[2] == epsilon),
            key=lambda key: cells[key][0],
        )
        chosen = [r for r in tried if (r["data"], r["method"], float(r["epsilon"])) == best]
        kept += [{**row, "method": PEER, "note": best[1]} for row in chosen]
    return kept


def draw(cells, names, epsilons):
    """Accuracy against epsilon, a panel for each set."""
    figure, axes = panels(math.ceil(len(names) / 2), 2, width=3.9, height=2.7)
    for axis, name in zip(axes.flat, names):
        for method, label, look in ((AUTO, "default (ours)", OURS.line()),
                                    (PEER, "diffprivlib, best C", PEER_LOOK.line())):  # fmt: skip
            xs = [epsilon for epsilon in epsilons if (name, method, epsilon) in cells]
            if xs:
                shown = [cells[name, method, epsilon] for epsilon in xs]
                errors = [0.0 if math.isnan(cell[1]) else cell[1] for cell in shown]
                axis.errorbar(
                    xs, [cell[0] for cell in shown], errors, label=label, capsize=2, **look
                )
        top = cells[name, PLAIN, math.inf][0]
        axis.axhline(top, label="not private", color=PLAIN_LOOK.color, ls=PLAIN_LOOK.linestyle)
        axis.axhline(cells[name, LARGER, math.inf][0], label="always the larger class",
                     color=BASELINE.color, ls=BASELINE.linestyle)  # fmt: skip
        axis.set(xscale="log", title=name, xlabel="epsilon", ylabel="test accuracy")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    lines = {}
    for axis in axes.flat:
        lines |= dict(zip(*axis.get_legend_handles_labels()[::-1]))
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4)
    title(figure, "Test accuracy of private logistic regression (bars: one standard error)")
    return figure


def with_larger_class(found):
    """One more row for each set and seed: the accuracy of always saying the larger class."""
    return found + [
        {**row, "method": LARGER, "accuracy": row["larger_class"]}
        for row in found if row["method"] == PLAIN
    ]  # fmt: skip


def seeds_text(found):
    """How many seeds each set has: of the default, of the other solvers, of diffprivlib."""

    def count(name, method):
        return len({row["seed"] for row in found if (row["data"], row["method"]) == (name, method)})

    names = dict.fromkeys(row["data"] for row in found)
    texts = [f"{n} {count(n, AUTO)} / {count(n, SOLVERS[0])} / {count(n, PEER)}" for n in names]
    return "Seeds of the default / other solvers / diffprivlib: " + ", ".join(texts) + "."


def run(job):
    """Fit every linear solver on every set, draw test accuracy, judge the claims."""
    from . import verdicts

    found, missing = study(job)
    found = best_of_peer(found)
    epsilons = job.pick((1.0,), EPSILONS, EPSILONS)
    cells = summary(with_larger_class(found))
    names = list(dict.fromkeys(row["data"] for row in found))
    job.picture(draw(cells, names, epsilons))
    claims = verdicts.judge(found, cells, epsilons)
    default = "; ".join(f"{name} {verdicts.series(cells, name, AUTO, epsilons)} (not private "
                        f"{cells[name, PLAIN, math.inf][0]:.3f})" for name in names)  # fmt: skip
    at = " / ".join(f"{epsilon:g}" for epsilon in epsilons)
    source = "sets that come with scikit-learn"
    if job.full:
        source += ", a generated one" + (", and the files of --data" if job.data else "")
    job.finish(f"Test accuracy of the default at epsilon {at}: {default}.", found, claims,
               source=source, notes=[*NOTES, seeds_text(found), *missing],
               accuracy=verdicts.accuracy_table(cells, names, epsilons))  # fmt: skip
