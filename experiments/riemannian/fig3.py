"""Figure 3 of Utpala, Han, Jawanpuria & Mishra (2023): excess risk against gradient calls.

RGD, RSGD and RSVRG run at settings that were tuned with the truth in hand (``tuned.py``), the
library's default with none. All spend the same privacy, counted exactly (replace-one, delta 1e-6),
and start at the same public point. A gradient call is one row's gradient at one point: n for a step
of RGD, q n for one of RSGD, n for an anchor of RSVRG and 2 q n for its inner steps; the default's
histograms of gradient norms count like gradients, and so does its opening.
"""

import itertools
from functools import partial

import numpy as np

from veilspan import CalibratedDescent

from .data import find_nouns, hierarchy
from .embeddings import quality
from .fig3_problems import all_problems
from .paths import plot_paths
from .tuned import EPSILONS, SOLVERS, settings_for
from .verdicts import claims, summaries, verdict

DEFAULT = "default"
CHECKPOINTS, QUICK_ROWS = 9, 600
FIRST_SEED = 2000  # the search for settings used others
NOTES = (
    "All solvers spend the same exact budget (replace-one, delta = 1e-6) from the same public "
    "start. Excess risk is the paper's F: mean squared distance, or minus w^T A w.",
    "In full runs RGD has the best of 60 to 80 settings per problem, RSGD of 48 to 64 and RSVRG, "
    "which has two clips, of 96 to 128, found by looking at the excess risk, which nobody could do "
    "with private rows; tuned for the excess at the end, not for calls. All have the same steps "
    "and clips of the gradient to choose from. Some winners are at the edge of the grid. Five runs "
    "of each, as in the paper.",
    "The default has no setting that depends on the rows of a fit, but its constants were chosen "
    "while looking at these real sets: there it has seen the exam.",
    "Differences from the paper: RSVRG noises its full gradient once an epoch and clips the "
    "difference of gradients; batches are Poisson samples of 1 to 10 % of the rows instead of "
    "single rows; noise comes from exact accounting instead of closed forms.",
    "Mammals: the mean of the embedding is almost at the origin, the public start, and 1,180 rows "
    "are few; low excess there shows caution rather than optimisation. The embedding is treated as "
    "public.",
    "Images: the tissue images of the paper (two classes of 10,704 and 10,356) are not at hand: "
    "two classes of 7,000 grey clothes are used, as 9 x 9 descriptors; generated textures are in "
    "colour, 11 x 11. Digits and mammals are the paper's own.",
)


def run(job):
    epsilons = job.pick(EPSILONS[-1:], EPSILONS[-1:], EPSILONS)
    problems = all_problems(job.data, job.out / "cache", job.pick(60, QUICK_ROWS, None))
    settings, searched = settings_for(job, problems, epsilons)
    rows = measure(job, problems, settings, job.pick(2, 3, 5), epsilons)
    plot_paths(job, rows)
    table = summaries(rows)
    sources = list(dict.fromkeys(problem.source for problem in problems))
    return job.finish(
        verdict(table, job.full), rows, claims(table, job.full), source="; ".join(sources),
        notes=[*NOTES, *scale_notes(job)], cells=table, searched=searched,
        problems=[{"problem": p.name, "rows": len(p.rows), "source": p.source} for p in problems],
        embedding=embedding_facts(job, problems[-1]),
    )  # fmt: skip


def scale_notes(job):
    if job.full:
        return []
    return [
        f"One epsilon, {QUICK_ROWS} generated rows of a class, {job.pick(2, 3, 5)} runs and 2 to 4 "
        "settings per solver: too few rows to be far from noise, and too few settings to call a "
        "solver tuned. The cells judge no solver; the default can only fail against them."
    ]


def embedding_facts(job, problem):
    """How well the embedding finds ancestors, where it was trained on WordNet."""
    if find_nouns(job.data) is None:
        return None
    rank, precision = quality(problem.rows, hierarchy(job.data).pairs)
    return {"mean_rank": rank, "mean_average_precision": precision}


def measure(job, problems, settings, runs, epsilons):
    """One row per problem, epsilon, solver and checkpoint."""
    listed = list(itertools.product(problems, epsilons, (*SOLVERS, DEFAULT)))
    rows = []
    for problem, epsilon, name in job.track(listed, "paths"):
        setting = settings.get((problem.name, name, epsilon))
        paths = []
        for seed in range(FIRST_SEED, FIRST_SEED + runs):
            compute = partial(follow, problem, name, setting, epsilon, seed)
            # A setting that was searched for again must not be shown with an older path.
            paths.append(job.cell([problem.name, epsilon, name, setting, seed], compute))
        spread = np.quantile([path["excess"] for path in paths], (0.25, 0.5, 0.75), axis=0)
        words = describe(setting, problem.bound)
        for calls, low, middle, high in zip(paths[0]["calls"], *spread):
            rows.append({
                "problem": problem.name, "epsilon": epsilon, "solver": name,
                "calls": round(calls), "passes": round(calls / len(problem.rows), 3),
                "excess": float(f"{middle:.4g}"), "lower_quartile": float(f"{low:.4g}"),
                "upper_quartile": float(f"{high:.4g}"), "runs": runs, "setting": words,
                "source": problem.source,
            })  # fmt: skip
    return rows


def follow(problem, name, setting, epsilon, seed):
    """Gradient calls and excess risk along one run, at no more than ``CHECKPOINTS`` iterates."""
    solver = CalibratedDescent() if setting is None else SOLVERS[name](**setting["options"])
    clip = None if setting is None else setting["clip"]
    run = problem.solve(solver, epsilon, clip, seed)
    points = [entry["point"] for entry in run.trace] + [run.point]
    chosen = np.unique(np.linspace(0, len(points) - 1, CHECKPOINTS).round().astype(int))
    calls = call_counts(name, solver, run, len(problem.rows))[chosen]
    return {"calls": calls, "excess": [problem.excess(points[i]) for i in chosen]}


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


def describe(setting, bound):
    """A setting in words."""
    if setting is None:
        return "no tuning"
    chosen = {**setting["options"], "clip": float(f"{setting['clip'] * bound:.3g}")}
    return " ".join(f"{k}={v:g}" for k, v in chosen.items()) + " (tuned with the truth)"
