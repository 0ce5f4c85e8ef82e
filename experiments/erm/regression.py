"""Private linear regression: R^2 on held-out rows of every solver, squared and Huber loss.

    python experiments/erm/regression.py [--quick] [--out DIR]

Replace-one, delta = 1e-6, public ranges, tables that need no file. The rule of ``solver="auto"``
for regressions was chosen on these tables (with other draws): they show it, they do not test it.
The last table has skewed residuals and played no part.
"""

import argparse
import csv
import math
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

from veilspan import Budget, HuberRegressor, LinearRegression

RESULTS = Path(__file__).resolve().parent.parent / "results" / "erm"
EPSILONS = (0.1, 0.5, 1.0, 3.0)
SOLVERS = ("statistics", "newton", "gd", "auto")
DELTA = 1e-6


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


def tables(quick):
    """Name, rows, targets, public ranges."""
    x, y = load_diabetes(return_X_y=True)
    yield "diabetes", (x, y, (-0.2, 0.2), (0, 350))
    yield "2,000 x 10", normal_rows(2000, 10, 0, 0)
    if quick:
        return
    yield "20,000 x 20", normal_rows(20_000, 20, 0.5, 1)
    yield "100,000 x 30", normal_rows(100_000, 30, 1, 2)
    yield "one-hot 20,000 x 40", one_hot_rows(20_000, 3)
    yield "skewed 20,000 x 20", normal_rows(20_000, 20, 0.5, 4, skewed=True)


def scores(model, table, epsilon, solver, seeds):
    """R^2 on a random fifth of the rows, seed by seed."""
    x, y, feature_range, target_range = table
    found = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(x))
        train, test = order[: 4 * len(x) // 5], order[4 * len(x) // 5 :]
        fitted = model(
            feature_range=feature_range,
            target_range=target_range,
            epsilon=epsilon,
            delta=DELTA,
            solver=solver,
            random_state=seed,
        ).fit(x[train], y[train])
        found.append(fitted.score(x[test], y[test]))
    return np.array(found)


def noise(table, epsilon):
    """nu of the training part."""
    rows, columns = table[0].shape
    return 2 * math.sqrt(columns + 1) / (0.8 * rows * Budget(epsilon, DELTA).mu)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two small tables, two seeds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # seeds make simulations; loud noise is the point
    lines = []
    for name, table in tables(options.quick):
        for model in (LinearRegression, HuberRegressor):
            solvers = [s for s in SOLVERS if model is LinearRegression or s != "statistics"]
            for epsilon in EPSILONS:
                cells = [f"{name:20} {model.__name__:16} eps {epsilon:<4}"]
                cells.append(f"nu {noise(table, epsilon):.4f}")
                for solver in solvers:
                    r2 = scores(model, table, epsilon, solver, 2 if options.quick else 5)
                    lines.append((name, model.__name__, epsilon, solver, r2.mean(), r2.std()))
                    cells.append(f"{solver} {r2.mean():+.3f}")
                print("  ".join(cells), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "regression.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("table", "model", "epsilon", "solver", "r2", "std"))
        writer.writerows(lines)
    print_verdict(lines)
    return 0


def print_verdict(lines):
    """How far auto is behind the best named solver of each cell."""
    cells = {}
    for name, model, epsilon, solver, r2, _ in lines:
        cells.setdefault((name, model, epsilon), {})[solver] = r2
    behind = {
        key: max(v for s, v in cell.items() if s != "auto") - cell["auto"]
        for key, cell in cells.items()
    }
    worst = max(behind, key=behind.get)
    print(
        f"auto behind the best named solver: median {np.median(list(behind.values())):+.3f}, "
        f"largest {behind[worst]:+.3f} ({worst[0]}, {worst[1]}, epsilon {worst[2]:g})"
    )


if __name__ == "__main__":
    raise SystemExit(main())
