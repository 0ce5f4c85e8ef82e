"""Classes of images: public descriptions of each image, and linear models of them.

MNIST and Fashion-MNIST as published, 60,000 images for training and 10,000 for testing (``--data``
with ``mnist/`` and ``fashion-mnist/``); without files pictures of slanted gratings. Every image is
described by itself (``hog``, ``edges_and_brightness``), which costs no budget, and
``LogisticRegression(row_norm=1, classes=..., epsilon, delta)`` is fitted to the descriptions.

Beside the default stand the other solvers of several classes, on the first 10,000 images alone:
some of them take minutes on all.
"""

import warnings

import numpy as np

from veilspan import LogisticRegression
from veilspan.features import edges_and_brightness, hog

from ..job import Claim
from ..riemannian.data import find_images, read_idx
from ..style import CYCLE, LINES, MARKERS, OURS, panels, title

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 3.0)
RELATIONS = ("replace-one", "add-remove")
MAPS = {"edges and brightness": edges_and_brightness, "HOG": hog}
BEST, PLAIN = MAPS
SOLVERS = ("newton", "objective", "accmd", "svrg", "sgd")
SOLVER_ROWS = 10_000
SEED = 7  # of the noise; played no part in the choice of constants
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
    f"delta = {DELTA:g}. One seed of noise a cell; a difference of .002 is noise.",
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


def fit(rows, labels, epsilon, relation, solver="auto"):
    """One model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations
        return LogisticRegression(
            row_norm=1.0, classes=np.arange(labels.max() + 1), epsilon=epsilon, delta=DELTA,
            neighbors=relation, random_state=SEED, solver=solver,
            expected_rows=None if relation == "replace-one" else len(labels),
        ).fit(rows, labels)  # fmt: skip


def one_set(job, name, epsilons, rows):
    """Rows of the CSV of one set."""
    images, labels, new, wanted = read_images(name, job.data, rows)
    found = []
    for described, describe in MAPS.items():
        train, test = describe(images), describe(new)

        def score(epsilon, relation, solver="auto", few=None):
            model = fit(train[:few], labels[:few], epsilon, relation, solver)  # noqa: B023
            return {"set": name, "features": described, "rows": len(train[:few]),  # noqa: B023
                    "solver": solver, "neighbors": relation, "epsilon": epsilon,
                    "accuracy": float(model.score(test, wanted))}  # noqa: B023  # fmt: skip

        for epsilon in epsilons:
            # HOG alone is fitted where a goal is set for it.
            both = RELATIONS if described == BEST else RELATIONS[:1]
            found += [score(epsilon, relation) for relation in both]
            if described == PLAIN:
                few = min(SOLVER_ROWS, len(labels) // 2)
                solvers = ("auto", *SOLVERS[: job.pick(1, None, None)])
                found += [score(epsilon, RELATIONS[0], solver, few) for solver in solvers]
    return found


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
            ys = [row["accuracy"] for row in mine
                  if (row["features"], row["neighbors"]) == (described, relation)]  # fmt: skip
            look = OURS.line() if not place else {
                "color": CYCLE[place], "marker": MARKERS[place], "linestyle": LINES[place]
            }  # fmt: skip
            axis.plot(epsilons, ys, **look, label=f"{described}, {relation}")
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
    for name in job.track(names):
        rows += job.cell([name], lambda: one_set(job, name, epsilons, size))  # noqa: B023
    job.picture(draw(rows, epsilons))
    claims = judge(rows)
    job.finish(
        f"Images: {claims[0].measured} goals met; {claims[1].measured}.", rows, claims,
        source="generated pictures" if names == [GENERATED] else ", ".join(names), notes=NOTES,
    )  # fmt: skip
