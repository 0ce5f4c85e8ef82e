"""Figure 3 of Utpala, Han, Jawanpuria & Mishra (2023): excess risk against gradient calls.

    python experiments/riemannian/fig3.py [--quick] [--data DIR] [--cache DIR] [--out DIR] [--tune]

RGD, RSGD and RSVRG run at settings that were tuned with the truth in hand (``tuned.py``), the
library's default with none. All spend the same privacy, counted exactly (replace-one, delta 1e-6),
and start at the same public point. A gradient call is one row's gradient at one point: n for a step
of RGD, q n for one of RSGD, n for an anchor of RSVRG and 2 q n for its inner steps; the default's
histograms of gradient norms count like gradients, and so does its opening.

Writes ``fig3.csv`` (medians and quartiles along the paths), ``fig3.json`` (what is claimed, what
was measured) and ``fig3.png``. Settings come from ``fig3_tuned.json`` where it knows the problem;
otherwise, or with --tune, they are searched for. Without --data rows are generated.
"""

import argparse
import csv
import json
from pathlib import Path

import numpy as np
from fig3_problems import all_problems
from paths import plot_paths
from tuned import EPSILONS, SOLVERS, tune_all
from verdicts import judge

from veilspan import CalibratedDescent

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER.parent / "results" / "riemannian"
DEFAULT = "default"
RUNS, CHECKPOINTS = 5, 9
FIRST_SEED = 1000  # neither the default nor the tuned settings were chosen on these
UNTUNED = ({}, None, "no tuning")
QUICK_ROWS, QUICK_RUNS, QUICK_THIN, QUICK_EPSILONS = 1000, 3, 16, (0.5,)


def call_counts(name, solver, run, n):
    """Gradient calls spent before each entry of a trace, and after the last one."""
    length = len(run.trace)
    if name == DEFAULT:
        # Every event of its plan looks at all rows once.
        events = [event.name for event in run.plan.events]
        firsts = [
            next(i for i, event in enumerate(events) if event.startswith(f"step {k + 1}"))
            for k in range(length)
        ]
        return n * np.array([*firsts, len(events)], dtype=float)
    if name == "RSVRG":
        inner = 2 * solver.batch_rate * n
        costs = [inner + n * (k % solver.inner_steps == 0) for k in range(length)]
        return np.concatenate([[0.0], np.cumsum(costs)])
    return np.arange(length + 1) * n * solver.rate


def seeds(runs):
    return range(FIRST_SEED, FIRST_SEED + runs)


def follow(problem, name, solver, epsilon, clip, seed):
    """Gradient calls and excess risk along one run, at no more than ``CHECKPOINTS`` iterates."""
    run = problem.solve(solver, epsilon, clip, seed)
    points = [entry["point"] for entry in run.trace] + [run.point]
    chosen = np.unique(np.linspace(0, len(points) - 1, CHECKPOINTS).round().astype(int))
    calls = call_counts(name, solver, run, len(problem.rows))[chosen]
    return calls, np.array([problem.excess(points[i]) for i in chosen])


def measure(problems, settings, runs, epsilons=EPSILONS):
    """One row per problem, epsilon, solver and checkpoint."""
    rows = []
    for problem in problems:
        for epsilon in epsilons:
            for name in (*SOLVERS, DEFAULT):
                options, clip, how = settings.get((problem.name, name, epsilon), UNTUNED)
                solver = SOLVERS[name](**options) if name in SOLVERS else CalibratedDescent()
                paths = [follow(problem, name, solver, epsilon, clip, seed) for seed in seeds(runs)]
                spread = np.quantile([excess for _, excess in paths], (0.25, 0.5, 0.75), axis=0)
                words = describe(options, clip, problem.bound, how)
                for calls, low, middle, high in zip(paths[0][0], *spread):
                    rows.append({
                        "problem": problem.name, "epsilon": epsilon, "solver": name,
                        "calls": round(calls), "passes": round(calls / len(problem.rows), 3),
                        "excess": float(f"{middle:.4g}"), "lower_quartile": float(f"{low:.4g}"),
                        "upper_quartile": float(f"{high:.4g}"), "runs": runs, "setting": words,
                        "source": problem.source,
                    })  # fmt: skip
    return rows


def describe(options, clip, bound, how):
    """A setting in words, and how it was found."""
    if not options:
        return how
    chosen = {**options, "clip": float(f"{clip * bound:.3g}")}
    return " ".join(f"{k}={v:g}" for k, v in chosen.items()) + f" ({how})"


def settings_for(problems, quick, again):
    """Options, clip and how found: stored if known for these problems, otherwise by a search."""
    stored = FOLDER / "fig3_tuned.json"
    rows = json.loads(stored.read_text()) if stored.exists() and not again else []
    if not {problem.name for problem in problems} <= {row["problem"] for row in rows}:
        rows = tune_all(problems, QUICK_THIN, QUICK_EPSILONS) if quick else tune_all(problems)
    return {
        (r["problem"], r["solver"], r["epsilon"]): (r["options"], r["clip"], found_how(r))
        for r in rows
    }


def found_how(row):
    """Whether a stored setting was searched for on its own problem or taken from another's."""
    return f"tuned with the truth of {row['from']}" if "from" in row else "tuned with the truth"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rows, runs and settings")
    parser.add_argument("--data", type=Path, help="folder with the files named in data.py")
    parser.add_argument("--cache", type=Path, help="folder for trained embeddings")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--tune", action="store_true", help="search for settings again")
    options = parser.parse_args()
    problems = all_problems(options.data, options.cache, QUICK_ROWS if options.quick else None)
    # Settings stored for all rows are not the best ones for a few.
    settings = settings_for(problems, options.quick, options.tune or options.quick)
    few = (QUICK_RUNS, QUICK_EPSILONS)
    rows = measure(problems, settings, *(few if options.quick else (RUNS, EPSILONS)))
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "fig3.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    verdict = judge(rows)
    (options.out / "fig3.json").write_text(json.dumps(verdict, indent=1) + "\n")
    plot_paths(rows, options.out / "fig3.png")


if __name__ == "__main__":
    main()
