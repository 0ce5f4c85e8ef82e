"""Table models beside their rivals: test scores on real and generated tables.

Every seed is one split (or one generated table) on which all methods are fitted: differences are
paired. delta = 1e-6, both relations of neighbours for ours. Cells of ``tuning`` draws, which
constants were chosen on, are kept apart from ``fresh`` ones.
"""

import math
import warnings
from dataclasses import replace

from veilspan import LinearRegression, LogisticRegression

from ..environments import PeerUnavailable
from ..style import CYCLE, LINES, MARKERS, OURS, panels, title
from . import peers, rivals, sets
from .verdicts import judge, summarise

EPSILONS = (0.1, 0.5, 1.0, 3.0)
DELTA = 1e-6
AUTO, LINEAR, BINS, PLAIN = "auto (ours)", "linear", "bins", "plain array"
EBM, CEILING = "DP-EBM", "gradient boosting, not private"
#: Seeds by epsilon: noise is largest where it is smallest.
SEEDS = {0.1: 20, 0.5: 5, 1.0: 5, 3.0: 5}
QUICK = ("linear truth", "additive truth", "linear truth, numbers", "additive truth, numbers")
RELATIONS = ("replace-one", "add-remove")
#: Tables that are fitted with fewer rows as well.
SMALLER = {
    "adult": (2_000, 10_000), "covertype": (2_000, 10_000), "additive truth": (2_000,),
    "adult -> hours": (2_000, 10_000), "linear truth, numbers": (2_000,),
    "additive truth, numbers": (2_000,), "covertype -> elevation": (2_000, 10_000),
    "census -> weeks": (2_000, 10_000),
}  # fmt: skip
NOTES = (
    "delta = 1e-6; ours under replace-one, and under add-remove where a task says so (told a round "
    "number of rows). DP-EBM, AdaSSP and BoostedAdaSSP promise for rows that are added or removed, "
    "which takes half of the noise of replace-one, and stand beside both; DP-EBM gets the exact "
    "ranges.",
    "BoostedAdaSSP is given the best of 5, 25 and 100 rounds by the test rows.",
    "'plain array' is the default without a schema: every encoded column a feature of its own, "
    "rows as long as the root of their number.",
    "Constants were chosen on tuning draws; only fresh draws are judged.",
)


def score(task, method, epsilon, seed, relation):
    """Accuracy or R^2 of one of our ways on the test rows."""
    kind = LogisticRegression if task.is_classes else LinearRegression
    said = {"epsilon": epsilon, "delta": DELTA, "random_state": seed, "neighbors": relation}
    if relation == "add-remove":  # a guess that anybody could make
        said["expected_rows"] = max(100, round(task.rows, -3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations; loud noise is the point
        if method != PLAIN:
            features = {AUTO: "auto", LINEAR: "linear", BINS: "bins"}[method]
            unit = replace(task.schema.unit, neighbors=relation)
            schema = replace(task.schema, unit=unit)
            model = kind(schema=schema, features=features, **said).fit(task.train)
            return float(model.score(task.test))
        train, test = (task.schema.encode(part) for part in (task.train, task.test))
        said |= {"feature_range": task.schema.bounds_out}
        if task.is_classes:
            said["classes"] = [0.0, 1.0]
        else:
            said["target_range"] = task.schema.target_range
        return float(kind(**said).fit(train.x, train.y).score(test.x, test.y))


def label_of(name, rows, relation):
    name = name if rows is None else f"{name}, {rows:,} rows"
    return name if relation == "replace-one" else f"{name}, {relation}"


def one_split(job, case, epsilons):
    """Rows of the CSV of one split: every method at every epsilon."""
    name, draw, rows, seed, relation = case
    task = sets.make_task(name, job.data, draw, seed, rows)
    said = {"task": label_of(name, rows, relation), "draw": draw, "seed": seed, "rows": task.rows}
    found = []
    for epsilon in epsilons:
        scored = {
            method: score(task, method, epsilon, seed, relation)
            for method in (AUTO, LINEAR, BINS, PLAIN)
        }
        if not task.is_classes:
            scored |= rivals.scores(task, epsilon, DELTA, seed)
        found += [{**said, "epsilon": epsilon, "method": m, "score": s} for m, s in scored.items()]
    if seed < 2:
        ceiling = {"epsilon": math.inf, "method": CEILING, "score": peers.boosted(task)}
        found.append({**said, **ceiling})
    return found


def peer_split(job, case, epsilons):
    """The same for DP-EBM, whose answers stand beside both relations of ours."""
    name, draw, rows, seed, relation = case
    task = sets.make_task(name, job.data, draw, seed, rows)
    said = {"task": label_of(name, rows, relation), "draw": draw, "seed": seed, "rows": task.rows}
    ask = lambda: peers.dp_ebm(task, epsilons, DELTA, seed)  # noqa: E731
    told = job.cell([name, draw, rows, seed, EBM, list(epsilons)], ask)
    return [
        {**said, "epsilon": epsilon, "method": EBM, "score": value}
        for epsilon, value in zip(epsilons, told)
    ]


def cases_of(job):
    """What is fitted: (task, draw, rows, seed, relation), and at which epsilons."""
    if not job.full:
        names = QUICK[: job.pick(1, 4, None)]
        rows = job.pick(600, 5_000, None)
        for name in names:
            for seed in range(job.pick(1, 2, None)):
                case = (name, "fresh", rows, seed, "replace-one")
                yield case, job.pick((1.0,), (0.1, 1.0), None)
        return
    names = [*sets.REAL, *sets.GENERATED] if job.data is not None else sets.WITHOUT_FILES
    sizes = [(name, None) for name in names]
    sizes += [(name, rows) for name in names for rows in SMALLER.get(name, ())]
    parts = (("fresh", "replace-one"), ("fresh", "add-remove"), ("tuning", "replace-one"))
    for seed in range(max(SEEDS.values())):
        for draw, relation in parts:
            epsilons = tuple(e for e in EPSILONS if seed < (SEEDS[e] if draw == "fresh" else 2))
            for name, rows in sizes:
                if epsilons and (relation == "replace-one" or rows is None):
                    yield (name, draw, rows, seed, relation), epsilons


def study(job):
    """Rows of the CSV, and why tables or DP-EBM are missing."""
    found, missing = [], {}
    for case, epsilons in job.track(list(cases_of(job))):
        name, seed = case[0], case[3]
        if name in missing:
            continue
        try:
            found += job.cell(list(case), lambda: one_split(job, case, epsilons))  # noqa: B023
        except (PeerUnavailable, FileNotFoundError):
            missing[name] = f"{name} was left out: its file could not be read."
            continue
        if job.full and job.peers and seed < 5 and EBM not in missing:
            try:
                found += peer_split(job, case, epsilons)
            except PeerUnavailable as error:
                missing[EBM] = f"DP-EBM is missing from some point on: {error}"
    for row in found:
        row["epsilon"] = float(row["epsilon"])
    return found, list(missing.values())


def draw(cells, epsilons):
    """Scores against epsilon, a panel for each task of fresh draws."""
    names = list(dict.fromkeys(key[0] for key in cells if key[1] == "fresh"))
    figure, axes = panels(math.ceil(len(names) / 3), 3, width=3.0, height=2.4)
    shown = (AUTO, LINEAR, BINS, PLAIN, EBM, "AdaSSP", "BoostedAdaSSP")
    for axis, name in zip(axes.flat, names):
        best = []
        for place, method in enumerate(shown):
            xs = [e for e in epsilons if (name, "fresh", e, method) in cells]
            ys = [cells[name, "fresh", e, method].mean for e in xs]
            look = OURS.line() if method == AUTO else {
                "color": CYCLE[place % len(CYCLE)], "marker": MARKERS[place % len(MARKERS)],
                "linestyle": LINES[place % len(LINES)],
            }  # fmt: skip
            best += ys
            axis.plot(xs, ys, label=method, **look)
        ceiling = cells.get((name, "fresh", math.inf, CEILING))
        if ceiling is not None:
            axis.axhline(ceiling.mean, color="0.5", ls=":", label=CEILING)
            best.append(ceiling.mean)
        top = max(best)
        axis.set_ylim(max(min(best), top - 0.5) - 0.01, top + 0.01)
        axis.set(xscale="log", title=name, xlabel="epsilon")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    lines = {}
    for axis in axes.flat:
        lines |= dict(zip(*axis.get_legend_handles_labels()[::-1]))
    figure.legend(lines.values(), lines, loc="outside lower center", ncols=4)
    title(figure, "Accuracy, or R\u00b2, of private models on new rows of tables")
    return figure


def run(job):
    """Fit every method on every table, draw the scores, judge ours against the best rival."""
    found, missing = study(job)
    cells = summarise(found)
    epsilons = sorted({row["epsilon"] for row in found if math.isfinite(row["epsilon"])})
    job.picture(draw(cells, epsilons))
    claims = judge(found, AUTO, (CEILING,))
    seeds = {row["seed"] for row in found}
    job.finish(
        claims[0].measured + ".", found, claims,
        source="generated tables" + (" and the files of --data" if job.data else ""),
        notes=[*NOTES, f"{len(seeds)} seeds at most.", *missing],
        scores=[
            {"task": k[0], "draw": k[1], "epsilon": k[2], "method": k[3],
             "mean": round(c.mean, 4), "error": None if math.isnan(c.error) else round(c.error, 4),
             "seeds": c.count}
            for k, c in cells.items()
        ],
    )  # fmt: skip
