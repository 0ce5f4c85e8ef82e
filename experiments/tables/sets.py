"""The tables, each with a schema that is known without its rows.

Below the folder of ``--data`` these are read: ``adult/adult.parquet``,
``census-income-kdd/census-income.{data,test}.gz``, ``covertype/covtype.npz`` and
``movielens-1m/{ml1m.npz,movies.dat,users.dat}``. Others come with scikit-learn or are generated.
Ranges are those of the documentation, rounded outwards; lists of categories count as public (they
are printed there) and are read off the files only because that is shorter.

**Splits.** ``tuning`` draws were looked at while constants were chosen; ``fresh`` ones were not:
other rows of covertype and of the generators, another random part of adult, and of census the
published test file for testing. Nothing was ever chosen on films, viewers, breast cancer and
digits.
"""

import io
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from veilspan import Schema
from veilspan.tables.columns import CategoryColumn, NumberColumn

from ..erm.sets import parquet_as_csv
from . import films

SOURCE = "documentation of the set"
TEST_ROWS = 20_000
DRAWS = {"tuning": 1, "fresh": 2}


@dataclass(frozen=True, eq=False)
class Task:
    """Rows for training and testing, and what is public of them."""

    name: str
    schema: Schema
    train: dict
    test: dict

    @property
    def target(self):
        return self.schema.target.name

    @property
    def is_classes(self):
        return self.schema.classes is not None

    @property
    def rows(self):
        return len(self.train[self.target])


@dataclass(frozen=True, eq=False)
class Table:
    """All rows of a set: columns by name, ranges of numbers, which column is predicted."""

    columns: dict
    ranges: dict  # of the columns that hold numbers; all others are categories
    target: str

    def schema(self, name):
        made = []
        for column, values in self.columns.items():
            said = {"role": "target"} if column == self.target else {}
            said["source"] = SOURCE
            if column in self.ranges:
                made.append(NumberColumn(column, range=self.ranges[column], **said))
            else:
                labels = tuple(sorted(set(map(str, values))))
                if column != self.target:
                    said["other"] = True
                made.append(CategoryColumn(column, categories=labels, **said))
        return Schema(name=name, columns=tuple(made))


def take(columns, chosen):
    return {name: values[chosen] for name, values in columns.items()}


def task(name, table, draw, seed, rows):
    """A random part for training and another for testing."""
    n = len(next(iter(table.columns.values())))
    order = np.random.default_rng([DRAWS[draw], seed]).permutation(n)
    tested = min(TEST_ROWS, n // 4)
    chosen = order[: min(rows, n - tested)], order[n - tested :]
    train, test = (take(table.columns, each) for each in chosen)
    return Task(name, table.schema(name), train, test)


# Real tables.


@cache
def read_adult(folder):
    import pandas as pd

    frame = pd.read_csv(io.StringIO(parquet_as_csv(folder / "adult" / "adult.parquet")))
    frame["income"] = frame["income"].str.strip(" .")
    return {name: frame[name].to_numpy() for name in frame.columns if name != "fnlwgt"}


ADULT = {
    "age": (17, 90), "educational-num": (1, 16), "capital-gain": (0, 99_999),
    "capital-loss": (0, 4_356), "hours-per-week": (1, 99),
}  # fmt: skip


def adult(folder, target="income"):
    return Table(read_adult(folder), ADULT, target)


@cache
def read_census(folder):
    import pandas as pd

    def read(part):
        file = folder / "census-income-kdd" / f"census-income.{part}.gz"
        return pd.read_csv(file, header=None, skipinitialspace=True, keep_default_na=False)

    frame = pd.concat([read("data"), read("test")], ignore_index=True).drop(columns=24)
    frame[41] = np.where(frame[41].str.contains("50000+", regex=False), "more", "less")
    # "NA" is a region code there, and a mark of missing cells in a schema.
    return {
        f"c{name}": values.to_numpy()
        if f"c{name}" in CENSUS
        else values.astype(str).replace("NA", "none").to_numpy()
        for name, values in frame.items()
    }


CENSUS = {
    "c0": (0, 90), "c5": (0, 9_999), "c16": (0, 99_999), "c17": (0, 4_608), "c18": (0, 99_999),
    "c30": (0, 6), "c39": (0, 52),
}  # fmt: skip


def census(folder, target="c41"):
    columns = dict(read_census(folder))
    if target != "c41":
        columns.pop("c41")
    return Table(columns, CENSUS, target)


@cache
def read_covertype(folder):
    names = [
        "elevation",
        "aspect",
        "slope",
        "water_h",
        "water_v",
        "roads",
        "shade_9",
        "shade_12",
        "shade_15",
        "fire",
    ]
    with np.load(folder / "covertype" / "covtype.npz") as found:
        numbers = found["X10"].astype(float)
        flags = np.unpackbits(found["Xbin"], axis=1)[:, :44]
        kinds = found["y"]
    columns = dict(zip(names, numbers.T))
    columns["area"] = flags[:, :4].argmax(axis=1).astype(str)
    columns["soil"] = flags[:, 4:].argmax(axis=1).astype(str)
    columns["kind"] = np.where(kinds == 2, "two", "other")
    return columns


COVERTYPE = {
    "elevation": (1800, 3900), "aspect": (0, 360), "slope": (0, 70), "water_h": (0, 1400),
    "water_v": (-200, 600), "roads": (0, 7200), "shade_9": (0, 255), "shade_12": (0, 255),
    "shade_15": (0, 255), "fire": (0, 7200),
}  # fmt: skip


def covertype(folder, target="kind"):
    columns = dict(read_covertype(folder))
    if target != "kind":
        columns.pop("kind")
    return Table(columns, COVERTYPE, target)


def liked_films(folder):
    return Table(films.read_ratings(folder), films.RATING_RANGES, "liked")


def viewers(folder):
    return Table(films.read_viewers(folder), films.VIEWER_RANGES, "sex")


def cancer(folder):
    """Ranges are printed in the description of the set."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    lines = found.DESCR.split("Min    Max")[1].splitlines()[2:32]
    ranges = [tuple(map(float, line.split()[-2:])) for line in lines]
    columns = {f"x{j}": values for j, values in enumerate(found.data.T)}
    columns["kind"] = np.where(found.target == 1, "benign", "malignant")
    return Table(columns, {f"x{j}": pair for j, pair in enumerate(ranges)}, "kind")


def digits(folder):
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    columns = {f"x{j}": values for j, values in enumerate(rows.T)}
    columns["large"] = np.where(labels >= 5, "yes", "no")
    return Table(columns, {f"x{j}": (0, 16) for j in range(64)}, "large")


# Generated tables: fresh rows for every draw and seed.


def linear_truth(rng, n):
    """Ten normal columns and a linear score."""
    x = rng.standard_normal((n, 10))
    slopes = np.array([1.0, -0.8, 0.6, -0.5, 0.4, 0.3, -0.2, 0.1, 0.0, 0.0])
    return x, x @ slopes, (-5.0, 5.0)


def additive_truth(rng, n):
    """Ten uniform columns, six of which bend."""
    x = rng.uniform(-1, 1, (n, 10))
    score = (
        1.5 * np.sin(3 * x[:, 0]) + 3 * (x[:, 1] ** 2 - 1 / 3) + 2 * (np.abs(x[:, 2]) - 0.5)
        + 1.5 * np.sign(x[:, 3] - 0.3) * (x[:, 3] > -0.5) + x[:, 4] + np.exp(x[:, 5]) - 1.2
    )  # fmt: skip
    return x, score, (-1.0, 1.0)


def crossed_truth(rng, n):
    """Six uniform columns whose products and differences matter."""
    x = rng.uniform(-1, 1, (n, 6))
    score = 4 * x[:, 0] * x[:, 1] + 3 * np.sin(2 * (x[:, 2] + x[:, 3])) + x[:, 4]
    return x, score, (-1.0, 1.0)


TRUTHS = {"linear": linear_truth, "additive": additive_truth, "crossed": crossed_truth}


def generated(name, truth, classes, draw, seed, rows):
    rng = np.random.default_rng([DRAWS[draw], seed, len(truth), classes])
    x, score, ends = TRUTHS[truth](rng, rows + TEST_ROWS)
    columns = {f"x{j}": values for j, values in enumerate(x.T)}
    ranges = dict.fromkeys(columns, ends)
    if classes:
        likely = 1 / (1 + np.exp(-1.2 * score))
        columns["y"] = np.where(rng.random(len(x)) < likely, "yes", "no")
    else:
        spread = 0.8 if truth == "linear" else 0.5
        columns["y"], ranges["y"] = score + spread * rng.standard_normal(len(x)), (-8.0, 8.0)
    table = Table(columns, ranges, "y")
    train, test = (take(columns, part) for part in (slice(rows), slice(rows, None)))
    return Task(name, table.schema(name), train, test)


# name: (table or generator, rows for training)
REAL = {
    "adult": (adult, 36_000),
    "covertype": (covertype, 40_000),
    "census": (census, 40_000),
    "films": (liked_films, 40_000),
    "viewers": (viewers, 4_530),
    "breast cancer": (cancer, 426),
    "digits": (digits, 1_347),
    "covertype -> elevation": (partial(covertype, target="elevation"), 40_000),
    "census -> weeks": (partial(census, target="c39"), 40_000),
    "adult -> hours": (partial(adult, target="hours-per-week"), 36_000),
}
GENERATED = {
    "linear truth": ("linear", True), "additive truth": ("additive", True),
    "crossed truth": ("crossed", True), "linear truth, numbers": ("linear", False),
    "additive truth, numbers": ("additive", False), "crossed truth, numbers": ("crossed", False),
}  # fmt: skip
GENERATED_ROWS = 15_000
WITHOUT_FILES = ("breast cancer", "digits", *GENERATED)


def usual_rows(name):
    """Rows for training, where a case does not say."""
    return GENERATED_ROWS if name in GENERATED else REAL[name][1]


def make_task(name, folder, draw, seed, rows=None):
    """A task by its name; ``rows`` for training, by default all that the comparison uses."""
    if name in GENERATED:
        truth, classes = GENERATED[name]
        return generated(name, truth, classes, draw, seed, rows or usual_rows(name))
    return task(name, REAL[name][0](folder), draw, seed, rows or usual_rows(name))
