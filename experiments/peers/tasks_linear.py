"""Tasks on linear models, and the noise that all private ways need."""

from typing import Any

import numpy as np

from .measure import OURS, Metric, Table, Task, Way
from .tasks_subspace import APPROXIMATE, EPSILON, PURE

ACCURACY, R2 = Metric("test accuracy", lower=False), Metric("test R^2", lower=False)
SPREAD = Metric("|std / wanted - 1|")
DEVIATION = 5.0  # of the noise


def accuracy(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
    rows, signs = table.truth
    return (float(np.mean((rows @ answer["slope"] + answer["constant"] > 0) == (signs > 0))),)


def r_squared(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
    rows, targets = table.truth
    left = targets - rows @ answer["slope"] - answer["constant"]
    return (float(1 - left.var() / targets.var() - left.mean() ** 2 / targets.var()),)


# ---------------------------------------------------------------- logistic regression


def in_unit_ball(rows: Any, settings: dict[str, Any]) -> np.ndarray:
    """Rows scaled by public ranges, shortened to the public length, divided by it."""
    rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=float)
    if "feature_range" in settings:
        low, high = (np.asarray(end, dtype=float) for end in settings["feature_range"])
        rows = (rows - (low + high) / 2) / ((high - low) / 2)
    rows = rows / settings["row_norm"]
    return rows / np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]


def of_split(split: Any) -> Table:
    """All libraries get the same scaled rows."""
    train, test = (in_unit_ball(part[0], split.settings) for part in (split.train, split.test))
    given = {"rows": train, "targets": np.asarray(split.train[1], dtype=float)}
    return Table(given, (test, np.asarray(split.test[1])))


def made_labels(n: int, d: int, seed: int) -> Table:
    rng = np.random.default_rng([31, seed])
    rows = rng.uniform(-1, 1, (n + 1000, d)) / np.sqrt(d)
    slope = rng.standard_normal(d)
    signs = np.where(rng.logistic(size=len(rows)) < 8 * rows @ slope, 1.0, -1.0)
    return Table({"rows": rows[:n], "targets": signs[:n]}, (rows[n:], signs[n:]))


def logistic_ways() -> tuple[Way, ...]:
    grid = tuple({"epsilon": EPSILON, "C": c, "fit_intercept": intercept}
                 for c in (0.01, 0.1, 1.0, 10.0) for intercept in (True, False))  # fmt: skip
    return (
        Way(OURS, "LogisticRegression", "ways_here.logistic", ({"epsilon": EPSILON},), APPROXIMATE,
            audit="ours LogisticRegression"),
        Way("diffprivlib", "models.LogisticRegression", "ways_private.diffprivlib_logistic", grid,
            PURE, "best of 4 C, with and without intercept, by the test rows",
            "diffprivlib LogisticRegression"),
        Way(OURS, "LogisticRegression, epsilon = inf", "ways_here.logistic", ({"epsilon": None},)),
        Way("scikit-learn", "LogisticRegression", "ways_here.sklearn_logistic",
            tuple({"C": c} for c in (1.0, 100.0)), granted="best of 2 C by the test rows"),
    )  # fmt: skip


def logistic(job: Any) -> list[Task]:
    def task(name: str, tables: Any) -> Task:
        return Task(
            f"logistic regression, {name}", (ACCURACY,), tables, lambda: made_labels(200, 5, 99),
            logistic_ways(), accuracy, limit=10,
        )  # fmt: skip

    if job.scale == "tiny":
        return [task("generated", lambda: [made_labels(500, 4, 0)])]
    from ..erm import sets

    seeds = range(job.pick(1, 3, 5))
    found = [
        task("breast cancer", lambda: [of_split(sets.breast_cancer(seed)) for seed in seeds]),
        task("digits >= 5", lambda: [of_split(sets.digits(seed)) for seed in seeds]),
    ]
    if job.data is not None and (job.data / "a9a" / "a9a.gz").is_file():
        # One split is published; the tables differ in the noise alone.
        found.append(task("a9a", lambda: [of_split(sets.a9a(job.data, s)) for s in range(3)]))
    return found


# ---------------------------------------------------------------- least squares


def made_targets(n: int, d: int, seed: int) -> Table:
    """Uniform rows, a line, normal errors; rows and targets within [-1, 1]."""
    rng = np.random.default_rng([37, seed])
    rows = rng.uniform(-1, 1, (n + 1000, d))
    slope = rng.standard_normal(d)
    slope *= 0.35 / np.linalg.norm(slope)
    targets = np.clip(0.1 + rows @ slope + 0.1 * rng.standard_normal(len(rows)), -1, 1)
    return Table({"rows": rows[:n], "targets": targets[:n]}, (rows[n:], targets[n:]))


def least_squares(job: Any, width: int) -> Task:
    n, seeds = job.pick(300, 2000, 2000), range(job.pick(1, 5, 10))
    intercepts = tuple({"epsilon": EPSILON, "fit_intercept": f} for f in (True, False))
    theil_sen = tuple({"epsilon": EPSILON, "runs": r, "candidates": c}
                      for r in (1, 4) for c in (100, 400))  # fmt: skip
    ways = [
        Way(OURS, "LinearRegression", "ways_here.linear", ({"epsilon": EPSILON},), APPROXIMATE,
            audit="ours LinearRegression"),
        Way("diffprivlib", "models.LinearRegression", "ways_private.diffprivlib_linear",
            intercepts, PURE, "best with and without intercept, by the test rows"),
        Way("scikit-learn", "LinearRegression", "ways_here.sklearn_linear"),
    ]  # fmt: skip
    if width == 1:  # all that it takes
        granted = "best of 2 runs x 2 numbers of candidates, by the test rows"
        what, question = "sklearn LinearRegression (Theil-Sen)", "ways_private.opendp_linear"
        ways.insert(2, Way("opendp", what, question, theil_sen, PURE, granted))
    columns = "1 column" if width == 1 else f"{width} columns"
    return Task(
        f"linear regression, {n:,} rows, {columns}", (R2,),
        lambda: [made_targets(n, width, seed) for seed in seeds],
        lambda: made_targets(100, width, 99), tuple(ways), r_squared, limit=30,
    )  # fmt: skip


# ---------------------------------------------------------------- noise


def spread(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
    drawn = answer["noisy"] - table.given["values"]
    return (abs(float(drawn.std() / DEVIATION - 1)),)


def noise(job: Any) -> Task:
    size = job.pick(200, 2000, 5000)
    guarantee = "Gaussian mechanism"
    ways = tuple(
        Way(OURS, f"noise, {kind}", "ways_here.noise", ({"deviation": DEVIATION, "kind": kind},),
            guarantee, "secure source", "ours PCA")
        for kind in ("grid", "exact")
    )  # fmt: skip
    options = ({"deviation": DEVIATION},)
    theirs = Way("opendp", "make_gaussian", "ways_private.opendp_noise", options, guarantee,
                 "secure source", "opendp Gaussian")  # fmt: skip

    def values(count: int) -> Table:
        return Table({"values": np.linspace(-1000, 1000, count)}, None)

    return Task(f"Gaussian noise for {size:,} numbers", (SPREAD,), lambda: [values(size)],
                lambda: values(100), (*ways, theirs), spread, repeats=5, limit=60)  # fmt: skip


def tasks(job: Any) -> list[Task]:
    """All tasks of this module."""
    return [*logistic(job), least_squares(job, 1), least_squares(job, 10), noise(job)]
