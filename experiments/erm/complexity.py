"""Gradients asked and excess risk against n and p: Tables 1 to 3 of Wang, Ye & Xu (2017), measured.

    python experiments/erm/complexity.py [--only low|wide] [--quick] [--out DIR]

Logistic loss of rows in the unit ball, |theta| = 5 (1 and 2, no clipping but by ``auto``) or a
sparse theta (3), epsilon = 1 unless said otherwise, delta = 1e-6, replace-one (n is public, as in
the paper).

1. strongly convex (l2 penalty 0.01): the paper promises an excess of order p / n^2 (its factor
   log n aside) and, for variance reduction, n log n gradients where noisy SGD takes n^2;
2. convex: sqrt(p) / n, and fewer gradients for SVRG++;
3. p = 10,000, n = 2,000, an l1-ball: a rate that knows the Gaussian width of the ball, not p.

Writes ``complexity.csv`` and ``complexity.png`` and says which promise was seen.
"""

import argparse
import csv
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from fits import gradients, plain, private

from veilspan.problems.linear_losses import Logistic
from veilspan.problems.penalties import L2, L1Ball
from veilspan.solvers.linear_frank_wolfe import FrankWolfe
from veilspan.solvers.linear_gd import GradientDescent
from veilspan.solvers.linear_mirror import AcceleratedMirror
from veilspan.solvers.linear_table import linear_solver

ROOT = Path(__file__).resolve().parents[2]
RIDGE, LENGTH = 0.01, 5.0
CASES = {
    "strongly convex": (RIDGE, ("gd", "sgd", "svrg", "newton", "objective")),
    "convex": (None, ("gd", "sgd", "svrg++", "accmd", "auto")),
}
OF_THE_BALL = ("accmd, entropy", "frank-wolfe")
STEPS = 60  # of every method but the default: a pass over 20 million numbers is slow
AHEAD, CHANCE = 0.01, 0.55  # accuracies: by how much to be ahead, and what nobody has learned below
NEAREST = {"strongly convex": (-2.0, 1.0), "convex": (-1.0, 0.5)}  # powers of n and p, promised


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in the unit ball with targets +-1, fresh ones for testing, and the theta behind them."""

    rows: np.ndarray
    signs: np.ndarray
    fresh: tuple
    theta: np.ndarray

    def risk(self, theta, ridge=0.0):
        losses = Logistic().value(self.rows @ theta, self.signs)
        return float(losses.mean() + ridge / 2 * theta @ theta)

    def accuracy(self, theta):
        rows, signs = self.fresh
        return float(np.mean(np.where(rows @ theta >= 0, 1.0, -1.0) == signs))


def table(rows, theta, scales, seed, fresh=4000):
    """Normal rows with these column scales, brought to length 1."""
    rng = np.random.default_rng([17, seed])
    x = rng.standard_normal((rows + fresh, len(theta))) * scales
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(rng.random(len(x)) < 1 / (1 + np.exp(-x @ theta)), 1.0, -1.0)
    return Table(x[:rows], y[:rows], (x[rows:], y[rows:]), theta)


def even(rows, columns, seed):
    """All columns alike, theta in a random direction."""
    theta = np.random.default_rng([19, seed]).standard_normal(columns)
    return table(rows, LENGTH * theta / np.linalg.norm(theta), np.ones(columns), seed)


def measure(data, case, name, solver, epsilon, seed, least, penalty=None, ridge=0.0):
    theta, cpu, events = private(
        data, solver, epsilon, seed, "replace-one", penalty=penalty, intercept=False
    )
    rows, columns = data.rows.shape
    return {
        "case": case, "method": name, "rows": rows, "columns": columns, "epsilon": epsilon,
        "seed": seed, "excess": data.risk(theta, ridge) - least,
        "accuracy": data.accuracy(theta), "gradients": round(gradients(events, rows)),
        "cpu": round(cpu, 3),
    }  # fmt: skip


def unclipped(name):
    """A solver without the clip of its defaults, which the theorems do not know.

    Capped slopes have another minimum: below some noise their excess risk stays where it is.
    """
    solver = linear_solver(name)
    return replace(solver, clip=1.0) if hasattr(solver, "clip") else solver


def low_dimensional(options):
    """Cases 1 and 2: n at p = 20, p at n = 8,000."""
    sizes = (1000, 4000) if options.quick else (1000, 2000, 4000, 8000, 16_000, 32_000)
    widths = (10, 40) if options.quick else (5, 10, 20, 40, 80)
    middle = 4000 if options.quick else 8000
    shapes = [(n, 20) for n in sizes] + [(middle, p) for p in widths if p != 20]
    if options.tiny:
        shapes = [(200, 3), (400, 3)]
    found = []
    for case, (ridge, names) in CASES.items():
        names = ("gd", "newton") if options.tiny else names
        for rows, columns in shapes:
            for seed in range(options.seeds):
                data = even(rows, columns, seed)
                best = plain(data.rows, data.signs, rows * (ridge or 1e-7))
                least = data.risk(best, ridge or 0.0)
                penalty = L2(ridge) if ridge else None
                for name in names:
                    solver = unclipped(name)
                    found.append(
                        measure(data, case, name, solver, 1.0, seed, least, penalty, ridge or 0.0)
                    )
    return found


def wide_tables(options):
    """Case 3: columns alike, and columns of size 1/j; ten coefficients of one size."""
    rows, columns = (100, 50) if options.tiny else (2000, 2000 if options.quick else 10_000)
    for name, scales in (("even", np.ones(columns)), ("decaying", 1 / np.arange(1, columns + 1))):
        theta = np.zeros(columns)
        theta[:10] = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
        spread = np.linalg.norm(theta * scales) / np.linalg.norm(scales)
        yield f"wide, {name}", lambda seed, t=3 * theta / spread, s=scales: table(rows, t, s, seed)


def high_dimensional(options):
    """Methods of the l1-ball with the true radius, and methods that know of no ball."""
    found = []
    for case, make in wide_tables(options):
        for seed in range(1):  # minutes each
            data = make(seed)
            ball = L1Ball(float(np.abs(data.theta).sum()))
            least = data.risk(data.theta)
            methods = {
                "accmd, entropy": (AcceleratedMirror(STEPS, geometry="entropy"), ball),
                "frank-wolfe": (FrankWolfe(STEPS), ball),
                "gd, projected": (GradientDescent(STEPS, step=25.0), ball),
                "accmd, l2": (AcceleratedMirror(STEPS, geometry="l2"), None),
                "auto": (linear_solver("auto"), None),
            }
            for epsilon in (1.0,) if options.tiny else (1.0, 10.0):
                for name, (solver, penalty) in methods.items():
                    found.append(measure(data, case, name, solver, epsilon, seed, least, penalty))
            zero = {**found[-1], "method": "theta = 0", "epsilon": 0.0, "gradients": 0, "cpu": 0}
            zero |= {"excess": math.log(2) - least, "accuracy": 0.5}
            truth = {**zero, "method": "true theta", "epsilon": math.inf, "excess": 0.0}
            found += [zero, {**truth, "accuracy": data.accuracy(data.theta)}]
    return found


def mean(found, **keys):
    kept = [row for row in found if all(row[key] == value for key, value in keys.items())]
    return {
        name: float(np.mean([row[name] for row in kept]))
        for name in ("excess", "accuracy", "gradients", "cpu")
    }


def power(x, y):
    """Slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-12)), 1)[0])


def verdict_low(found, case):
    """Powers of n and p that the excess and the number of gradients follow."""
    rows = [row for row in found if row["case"] == case]
    largest = max(row["rows"] for row in rows)
    sizes = sorted({row["rows"] for row in rows if row["columns"] == rows[0]["columns"]})
    middle = next((r["rows"] for r in rows if r["columns"] != rows[0]["columns"]), largest)
    widths = sorted({row["columns"] for row in rows if row["rows"] == middle})
    promised_n, promised_p = NEAREST[case]
    print(f"\n{case}: excess risk ~ n^{promised_n:g} p^{promised_p:g} promised (logarithms aside)")
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        by_n = [mean(own, rows=n, columns=rows[0]["columns"]) for n in sizes]
        by_p = [mean(own, rows=middle, columns=p) for p in widths]
        in_n = power(sizes, [cell["excess"] for cell in by_n])
        in_p = power(widths, [cell["excess"] for cell in by_p]) if len(widths) > 1 else math.nan
        passes = by_n[-1]["gradients"] / sizes[-1]
        asked = "inside one release" if method == "objective" else f"{passes:5.0f} n"
        print(
            f"  {method:10} n^{in_n:+.2f} p^{in_p:+.2f}; at n = {sizes[-1]:,}: excess "
            f"{by_n[-1]['excess']:.5f}, gradients {asked}, CPU {by_n[-1]['cpu']:.2f} s"
        )


def verdict_wide(found):
    """Does a method that knows the l1-ball earn its place?"""
    cases = [c for c in dict.fromkeys(row["case"] for row in found) if c.startswith("wide")]
    for case in cases:
        rows = [row for row in found if row["case"] == case]
        print(f"\n{case}: {rows[0]['rows']:,} x {rows[0]['columns']:,}; accuracy (excess risk)")
        epsilons = sorted({r["epsilon"] for r in rows if r["method"] == "auto"})
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["method"] == method]
            texts = [
                f"{epsilon:g}: {cell['accuracy']:.3f} ({cell['excess']:.3f})"
                for epsilon in sorted({row["epsilon"] for row in own})
                for cell in [mean(own, epsilon=epsilon)]
            ]
            print(f"  {method:16} epsilon {',  '.join(texts)}")
        for epsilon in epsilons:
            cells = {
                method: mean(rows, method=method, epsilon=epsilon)["accuracy"]
                for method in dict.fromkeys(r["method"] for r in rows if r["epsilon"] == epsilon)
            }
            best = max(cells, key=cells.get)
            geometric = max(cells[name] for name in OF_THE_BALL)
            euclidean = max(value for name, value in cells.items() if name not in OF_THE_BALL)
            learned = max(geometric, euclidean) > CHANCE
            earned = "earns its place" if geometric > euclidean + AHEAD else "earns no place"
            word = earned if learned else "has nothing to show: nobody learns"
            print(
                f"verdict: {case}, epsilon {epsilon:g}: best {best}; the geometry of the l1-ball "
                f"{word} ({geometric:.3f} against {euclidean:.3f})"
            )


def write(found, file):
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(found[0]))
        writer.writeheader()
        writer.writerows(found)


def draw(found, file):
    """Excess risk against n, and against gradients asked, for cases 1 and 2."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axis, case in zip(axes, CASES):
        rows = [row for row in found if row["case"] == case]
        columns = rows[0]["columns"]
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [r for r in rows if r["method"] == method and r["columns"] == columns]
            sizes = sorted({row["rows"] for row in own})
            excess = [mean(own, rows=n)["excess"] for n in sizes]
            axis.loglog(sizes, excess, marker="o", markersize=3, label=method)
        axis.set(title=f"{case}, p = {columns}", xlabel="rows")
        axis.legend(fontsize="small")
    axes[0].set_ylabel("excess risk, epsilon = 1")
    figure.savefig(file, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two sizes, p = 2,000, one seed")
    parser.add_argument("--tiny", action="store_true", help="seconds, for tests: shows nothing")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("low", "wide"), help="cases 1 and 2, or 3")
    parser.add_argument("--out", type=Path, default=ROOT / "experiments" / "results" / "erm")
    options = parser.parse_args()
    if options.quick or options.tiny:
        options.seeds = 1
    options.out.mkdir(parents=True, exist_ok=True)
    found = []
    if options.only != "wide":
        found += low_dimensional(options)
        for case in CASES:
            verdict_low(found, case)
        draw(found, options.out / "complexity.png")
    if options.only != "low":
        found += high_dimensional(options)
        verdict_wide(found)
    write(found, options.out / "complexity.csv")


if __name__ == "__main__":
    main()
