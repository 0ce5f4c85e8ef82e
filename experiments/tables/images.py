"""Classes of images: public descriptions of each image, and linear models of them.

MNIST and Fashion-MNIST as published, 60,000 images for training and 10,000 for testing (``--data``
with ``mnist/`` and ``fashion-mnist/``); without files pictures of slanted gratings. Every image is
described by itself (``hog``, ``edges_lines_and_brightness``), which costs no budget, and
``LogisticRegression(row_norm=1, classes=..., epsilon, delta)`` is fitted to the descriptions.

Beside the default stand the other solvers of several classes, on the first 10,000 images alone:
some of them take minutes on all.
"""

import warnings
from functools import cache

import numpy as np

from veilspan import LogisticRegression
from veilspan.features import edges_lines_and_brightness, hog

from ..job import Claim
from ..riemannian.data import find_images, read_idx
from ..style import CYCLE, LINES, MARKERS, OURS, panels, title

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 3.0)
RELATIONS = ("replace-one", "add-remove")
MAPS = {"edges, lines and brightness": edges_lines_and_brightness, "HOG": hog}
BEST, PLAIN = MAPS
SOLVERS = ("newton", "objective", "accmd", "svrg", "sgd")
SOLVER_ROWS = 10_000
#: Seeds of the noise; played no part in the choice of constants. A fit takes a minute and seeds
#: differ by a thousandth or two: goals are set at the last epsilon, which has `SEEDS`, others one.
FIRST_SEED, SEEDS = 7, 2
#: What is wanted: (map, relation, epsilon) -> accuracy. Goals at epsilon 3 name no relation.
WANTED = {
    "mnist": {(PLAIN, "replace-one", 1.0): 0.968, (PLAIN, "replace-one", 3.0): 0.971,
              (BEST, "replace-one", 3.0): 0.98, (BEST, "add-remove", 3.0): 0.98},
    "fashion-mnist": {(BEST, "replace-one", 3.0): 0.89, (BEST, "add-remove", 3.0): 0.89},
}  # fmt: skip
#: Tramer & Boneh (2021), linear model on scattering features, settings tuned on test accuracy.
REPORTED = {"mnist": 0.987, "fashion-mnist": 0.897}
GENERATED = "gratings"
NOTES = (
    "Tramer & Boneh (2021) report .987 and .897 at epsilon 3, delta 1e-5 for Poisson samples, "
    "whose accounting is that of rows added or removed; replace-one takes twice the noise.",
    f"Solvers are compared on HOG of the first {SOLVER_ROWS:,} images, replace-one.",
)


def gratings(n, seed=0, side=16):
    """Stripes of four slants under noise, 0 to 255, and which slant."""
    rng = np.random.default_rng([seed, 3])
    kinds = rng.integers(4, size=n)
    slant = (kinds * np.pi / 4 + rng.normal(0, 0.1, n))[:, None, None]
    across, down = np.meshgrid(np.arange(side), np.arange(side))
    phase = rng.uniform(0, 2 * np.pi, (n, 1, 1))
    waves = np.sin(1.2 * (across * np.cos(slant) + down * np.sin(slant)) + phase)
    noisy = 127 + 60 * waves + rng.normal(0, 25, waves.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8), kinds


def read_images(name, folder, rows):
    """Images and classes for training and for testing."""
    if name == GENERATED:
        return *gratings(rows, 0), *gratings(2_000, 1)
    found = find_images(folder, name)
    return tuple(
        read_idx(found / f"{part}-{kind}-ubyte.gz")
        for part in ("train", "t10k")
        for kind in ("images-idx3", "labels-idx1")
    )


def fit(rows, labels, epsilon, relation, seed, solver="auto"):
    """One model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations
        return LogisticRegression(
            row_norm=1.0, classes=np.arange(labels.max() + 1), epsilon=epsilon, delta=DELTA,
            neighbors=relation, random_state=seed, solver=solver,
            expected_rows=None if relation == "replace-one" else len(labels),
        ).fit(rows, labels)  # fmt: skip


@cache
def describe(name, folder, rows, described):
    """Descriptions and classes for training and for testing."""
    images, labels, new, wanted = read_images(name, folder, rows)
    return MAPS[described](images), labels, MAPS[described](new), wanted


def score(source, epsilon, relation, seeds, solver="auto", few=None):
    """Rows of the CSV of one cell, a seed each."""
    name, _, _, described = source
    train, labels, test, wanted = describe(*source)
    few = None if few is None else min(few, len(labels) // 2)
    said = {"set": name, "features": described, "rows": len(train[:few]), "solver": solver,
            "neighbors": relation, "epsilon": epsilon}  # fmt: skip
    found = []
    for seed in seeds:
        model = fit(train[:few], labels[:few], epsilon, relation, seed, solver)
        found.append({**said, "seed": seed, "accuracy": float(model.score(test, wanted))})
    return found


def cells_of(job, epsilons):
    """What is fitted: map, epsilon, relation, seeds, solver, rows."""
    all_seeds = range(FIRST_SEED, FIRST_SEED + job.pick(1, 1, SEEDS))
    for epsilon in epsilons:
        is_last = epsilon == epsilons[-1]
        seeds = all_seeds if is_last else all_seeds[:1]
        for relation in RELATIONS if is_last else RELATIONS[:1]:
            yield BEST, epsilon, relation, seeds, "auto", None
        yield PLAIN, epsilon, RELATIONS[0], seeds, "auto", None
    for epsilon in epsilons:
        for solver in ("auto", *SOLVERS[: job.pick(1, None, None)]):
            yield PLAIN, epsilon, RELATIONS[0], all_seeds[:1], solver, SOLVER_ROWS


def means(rows):
    """One row for each cell: the mean over seeds."""
    cells = {}
    for row in rows:
        key = tuple((k, v) for k, v in row.items() if k not in ("seed", "accuracy"))
        cells.setdefault(key, []).append(row["accuracy"])
    return [
        {**dict(key), "accuracy": float(np.mean(found)), "worst": min(found), "seeds": len(found)}
        for key, found in cells.items()
    ]


def judge(rows):
    """Goals, and whether the default is the best of the solvers."""
    whole = {row["set"]: max(r["rows"] for r in rows if r["set"] == row["set"]) for row in rows}
    goals, missed, gaps = 0, [], {}
    for row in rows:
        key = (row["features"], row["neighbors"], row["epsilon"])
        if row["rows"] == whole[row["set"]]:
            goal = WANTED.get(row["set"], {}).get(key)
            goals += goal is not None
            if goal is not None and row["accuracy"] < goal:
                place = f"{row['set']}, {key[0]}, {key[1]} at {key[2]:g}"
                missed.append(f"{place} ({row['accuracy']:.4f}, wanted {goal:g})")
        else:
            gaps.setdefault((row["set"], row["epsilon"]), {})[row["solver"]] = row["accuracy"]
    behind = {
        key: max(v for k, v in found.items() if k != "auto") - found["auto"]
        for key, found in gaps.items()
    }
    worst = max(behind, key=behind.get)
    told = f"{goals - len(missed)} of {goals}" + (
        f"; missed: {', '.join(missed)}" if missed else ""
    )
    return [
        Claim("the goals are met", told if goals else "no goals for generated pictures",
              not missed if goals else None, who="ours"),
        Claim("of the solvers the default is the best, within .005",
              f"at most {behind[worst]:+.4f} behind ({worst[0]}, epsilon {worst[1]:g})",
              behind[worst] <= 0.005, who="ours"),
    ]  # fmt: skip


def draw(rows, epsilons):
    """Accuracy against epsilon, a panel for each set."""
    names = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = panels(1, len(names), width=4.2, height=3.0)
    for axis, name in zip(np.ravel(axes), names):
        whole = max(row["rows"] for row in rows if row["set"] == name)
        mine = [row for row in rows if row["set"] == name and row["rows"] == whole]
        for place, (described, relation) in enumerate(
            ((BEST, RELATIONS[0]), (BEST, RELATIONS[1]), (PLAIN, RELATIONS[0]))
        ):
            found = [r for r in mine if (r["features"], r["neighbors"]) == (described, relation)]
            xs = [row["epsilon"] for row in found]
            ys = [row["accuracy"] for row in found]
            look = OURS.line() if not place else {
                "color": CYCLE[place], "marker": MARKERS[place], "linestyle": LINES[place]
            }  # fmt: skip
            axis.plot(xs, ys, **look, label=f"{described}, {relation}")
        if name in REPORTED:
            axis.plot([3.0], [REPORTED[name]], "k*", label="Tramer & Boneh (2021), add-remove")
        axis.set(xscale="log", title=name, xlabel="epsilon", ylabel="accuracy on new images")
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
    handles = np.ravel(axes)[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2)
    title(figure, "Private linear models of images described by public maps")
    return figure


def run(job):
    """Fit every set at every epsilon, with both relations; draw, judge, print the table."""
    named = job.data is not None and job.full
    names = [name for name in WANTED if named and find_images(job.data, name)] or [GENERATED]
    epsilons = job.pick((3.0,), EPSILONS, EPSILONS)
    size = job.pick(600, 6_000, 20_000)
    rows = []
    for name in names:
        for described, *cell in job.track(list(cells_of(job, epsilons)), name):
            source = (name, job.data, size, described)
            key = [name, described, *cell[:2], len(cell[2]), *cell[3:]]
            rows += job.cell(key, lambda s=source, c=cell: score(s, *c))
        describe.cache_clear()
    cells = means(rows)
    job.picture(draw(cells, epsilons))
    claims = judge(cells)
    most = max(cell["seeds"] for cell in cells)
    said = (
        f"delta = {DELTA:g}. Accuracies on the published split, at epsilon {epsilons[-1]:g} means "
    )
    said += f"over {most} seeds of the noise, elsewhere and of solvers compared one."
    job.finish(
        f"Images: {claims[0].measured} goals met; {claims[1].measured}.", rows, claims,
        source="generated pictures" if names == [GENERATED] else ", ".join(names),
        notes=[said, *NOTES], cells=cells,
    )  # fmt: skip
