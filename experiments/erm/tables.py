"""Accuracy and excess risk of every way to fit a private logistic regression.

    python experiments/erm/tables.py [--data DIR] [--only NAME ...] [--seeds N] [--quick]

Epsilon 0.1, 0.5, 1 and 3, delta = 1e-6, add-remove (one more row: replace-one) with the number of
training rows as ``expected_rows``. Excess risk is the mean loss of the training rows above that of
scikit-learn. diffprivlib gets the same rows, bounds and constant column, and **the best of its C by
the test rows**; its promise is pure epsilon-DP, a stronger one. Writes ``tables.csv`` and prints a
table for each set and what became of the goals.
"""

import argparse
import csv
import math
import sys
import time
from pathlib import Path

import numpy as np
import peers
import sets
from fits import private, scaled

from veilspan.solvers.linear_gd import StochasticGradient
from veilspan.solvers.linear_table import linear_solver

ROOT = Path(__file__).resolve().parents[2]
EPSILONS = (0.1, 0.5, 1.0, 3.0)
AUTO, REPLACED, FIXED = "auto", "auto, replace-one", "auto, fixed split"
PEER, PLAIN = "diffprivlib, best C", "scikit-learn, not private"
RECIPE = "DP-SGD recipe"
ONE_PASS = ("objective", "newton")
SOLVERS = (*ONE_PASS, "gd", "sgd", "accmd", "svrg", "svrg++")
# Accuracy that the default has to reach, at EPSILONS, on a split that does not change.
GOALS = {
    "breast_cancer": (0.740, 0.912, 0.940, 0.957),
    "digits >= 5": (0.655, 0.835, 0.862, 0.876),
    "a9a": (0.842, 0.849, 0.850, 0.850),
}
HINDSIGHT = 0.005  # below the best of our solvers, on sets that the rule was not chosen on
# name: (seeds of the default, seeds of the others, rows of an additional smaller table). The other
# library gets two seeds at least.
PLANS = {
    "breast_cancer": (20, 20, None),
    "digits": (20, 20, None),
    "synthetic": (5, 2, None),
    "a9a": (5, 5, None),
    "adult": (5, 5, None),
    "census-income": (3, 1, 30_000),
    "covertype": (3, 1, 30_000),
}
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
    return {
        "data": data.split.name, "rows": rows, "columns": columns, "method": method,
        "epsilon": epsilon, "seed": seed, "accuracy": round(data.accuracy(theta), 5),
        "excess": round(data.risk(theta) - data.least_risk, 5), "cpu": round(cpu, 3), "note": note,
    }  # fmt: skip


def run_set(name, make, options):
    """All methods on a set, seed by seed: small tables are split anew for each."""
    many, few, smaller = PLANS[name]
    if options.seeds:
        many, few = options.seeds, min(few, options.seeds)
    found = []
    for seed in range(many):
        split = make(seed=seed)
        if smaller is None or not options.small:
            found += on_split(split, seed, seed < few, options)
        if smaller is not None:
            found += on_split(split.part(smaller, seed), seed, seed < few, options)
    if split.name in GOALS and name != "a9a":  # which has one split
        fixed = scaled(make(seed=None))
        for epsilon in options.epsilons:
            found += [measure(fixed, FIXED, epsilon, seed) for seed in range(many)]
    return found


def on_split(split, seed, everyone, options):
    """The default, and the others if it is their turn."""
    start = time.process_time()
    data = scaled(split)
    slow = split.shape[0] > SLOW
    methods = [AUTO] if slow and not everyone else [AUTO, REPLACED]
    if everyone:
        methods += ONE_PASS if slow else (*SOLVERS, RECIPE)
    found = [record(data, PLAIN, math.inf, seed, data.minimum, 0.0)]
    for epsilon in options.epsilons:
        found += [measure(data, method, epsilon, seed) for method in methods]
    if options.peer and (everyone or seed < 2):
        found += peers.diffprivlib(data, options.epsilons, seed, record)
    spent = time.process_time() - start
    print(f"  {split.name}, seed {seed}: {spent:.0f} s of CPU", file=sys.stderr, flush=True)
    return found


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


def write(found, file):
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the files named in sets.py")
    parser.add_argument("--only", nargs="+", choices=PLANS, help="some of the sets")
    parser.add_argument("--seeds", type=int, help="at most so many")
    parser.add_argument("--quick", action="store_true", help="2 seeds, small sets, no peers")
    parser.add_argument("--tiny", action="store_true", help="seconds, for tests: shows nothing")
    parser.add_argument("--small", action="store_true", help="parts of the two largest sets only")
    parser.add_argument("--no-peers", dest="peer", action="store_false")
    parser.add_argument("--out", type=Path, default=ROOT / "experiments" / "results" / "erm")
    options = parser.parse_args()
    options.epsilons = (1.0,) if options.tiny else EPSILONS
    options.peer = options.peer and not (options.quick or options.tiny)
    if options.quick or options.tiny:
        options.seeds = 1 if options.tiny else 2
        options.only = options.only or ["breast_cancer"] + ["digits"] * options.quick
    options.out.mkdir(parents=True, exist_ok=True)
    run(options)


def run(options):
    """Measure, write after every set, print."""
    import verdicts

    makers = sets.sources(options.data)
    found = []
    for name in options.only or makers:
        if name not in makers:
            print(f"{name} needs --data", file=sys.stderr)
            continue
        print(sets.describe(makers[name](seed=0)), flush=True)
        found += run_set(name, makers[name], options)
        write(found, options.out / "tables.csv")
    verdicts.show(best_of_peer(found), options.epsilons)


if __name__ == "__main__":
    main()
