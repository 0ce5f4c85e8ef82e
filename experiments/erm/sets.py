"""Classification tables for the experiments on linear models, each with bounds known without them.

Below the folder of ``--data`` these are read: ``a9a/a9a.gz``, ``a9a/a9a.t.gz``,
``adult/adult.parquet``, ``census-income-kdd/census-income.{data,test}.gz``,
``covertype/covtype.npz``. The other sets come with scikit-learn or are generated.

**What is public here.** Per set: the range of every feature or a length that few rows exceed, and
where that is written (``bounds``). Lists of categories count as public: they are printed in the
documentation of the sets, and read off the files here only because that is shorter. Nothing else
is taken from the rows; values outside their range are clipped to it.
"""

import gzip
import io
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse

from ..environments import PeerUnavailable, peer_environ, peer_python

PARQUET = ["pyarrow", "pandas"]
TEST_PART = 0.2


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows with targets +-1, and the bounds that a private fit may use."""

    name: str
    train: tuple  # rows (dense or CSR), targets
    test: tuple
    settings: dict  # feature_range and row_norm of the estimators
    bounds: str  # where they come from

    @property
    def shape(self):
        return self.train[0].shape

    def part(self, rows, seed):
        """Some of the training rows, all test rows."""
        kept = np.sort(np.random.default_rng([13, seed]).permutation(self.shape[0])[:rows])
        train = (self.train[0][kept], self.train[1][kept])
        name = f"{self.name}, {rows:,} rows"
        return Split(name, train, self.test, self.settings, self.bounds)


def divided(name, rows, labels, seed, settings, bounds):
    """A random fifth for testing; ``seed=None`` is one split that does not change."""
    order = np.random.default_rng(0 if seed is None else [7, seed]).permutation(len(labels))
    cut = int((1 - TEST_PART) * len(labels))
    train, test = order[:cut], order[cut:]
    return Split(name, (rows[train], labels[train]), (rows[test], labels[test]), settings, bounds)


def breast_cancer(seed):
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    table = found.DESCR.split("Min    Max")[1].splitlines()[2:32]
    low, high = np.array([line.split()[-2:] for line in table], dtype=float).T
    bounds = "least and largest value of each attribute, printed in the description of the set"
    signs = 2.0 * found.target - 1
    settings = {"feature_range": (low, high), "row_norm": typical(30)}
    return divided("breast_cancer", found.data, signs, seed, settings, bounds)


def digits(seed):
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    signs = np.where(labels >= 5, 1.0, -1.0)
    settings = {"feature_range": (0.0, 16.0), "row_norm": typical(64)}
    return divided("digits >= 5", rows, signs, seed, settings, "pixels are 0 to 16")


def synthetic(seed, rows=62_500, columns=50):
    """Normal rows of variances 1/j, logistic targets: a fifth is for testing."""
    rng = np.random.default_rng([11, seed or 0])
    spread = 1 / np.sqrt(np.arange(1, columns + 1))
    x = rng.standard_normal((rows, columns)) * spread
    slope = rng.standard_normal(columns)
    slope *= 3 / np.linalg.norm(slope * spread)
    signs = np.where(rng.random(rows) < 1 / (1 + np.exp(-x @ slope)), 1.0, -1.0)
    settings = {"row_norm": 1.3 * float(np.linalg.norm(spread))}
    bounds = "1.3 times the root of the summed variances of the generator"
    return divided(f"synthetic {columns}", x, signs, seed, settings, bounds)


def typical(columns):
    """Length of a row of independent uniform values in [-1, 1]; longer rows are shortened."""
    return float(np.sqrt(columns / 3))


def a9a(folder, seed):
    from sklearn.datasets import load_svmlight_file

    def read(name):
        with gzip.open(folder / "a9a" / name) as file:
            rows, labels = load_svmlight_file(file, n_features=123)
        return sparse.csr_array(rows), np.where(labels > 0, 1.0, -1.0)

    settings = {"row_norm": float(np.sqrt(14))}
    bounds = "14 attributes, one 1 each: rows are no longer than sqrt(14)"
    return Split("a9a", read("a9a.gz"), read("a9a.t.gz"), settings, bounds)


def adult(folder, seed):
    """Numbers scaled to their documented ranges, categories one-hot, the sampling weight dropped.

    The rows are those of a9a before they were cut into intervals: not quite new to the rule.
    """
    import pandas as pd

    frame = pd.read_csv(io.StringIO(parquet_as_csv(folder / "adult" / "adult.parquet")))
    signs = np.where(frame.pop("income").str.strip(" .") == ">50K", 1.0, -1.0)
    frame = frame.drop(columns="fnlwgt")
    numbers = {
        "age": (17, 90),
        "educational-num": (1, 16),
        "capital-gain": (0, 99_999),
        "capital-loss": (0, 4_356),
        "hours-per-week": (1, 99),
    }
    rows, n_categories = one_hot(frame, numbers, logarithmic=("capital-gain", "capital-loss"))
    settings = {"row_norm": float(np.sqrt(n_categories + len(numbers)))}
    bounds = f"{n_categories} categories, a 1 each, and 5 numbers scaled to [0, 1]"
    return divided("adult", rows, signs, seed, settings, bounds)


def census_income(folder, seed):
    """The parts for training and testing as published; the sampling weight is dropped."""
    import pandas as pd

    def read(part):
        file = folder / "census-income-kdd" / f"census-income.{part}.gz"
        return pd.read_csv(file, header=None, skipinitialspace=True, keep_default_na=False)

    parts = [read("data"), read("test")]
    frame = pd.concat(parts, ignore_index=True)
    signs = np.where(frame.pop(frame.columns[-1]).str.contains("50000+", regex=False), 1.0, -1.0)
    frame = frame.drop(columns=24)  # instance weight
    numbers = {
        0: (0, 90), 5: (0, 9_999), 16: (0, 99_999), 17: (0, 4_608), 18: (0, 99_999),
        30: (0, 6), 39: (0, 52),
    }  # fmt: skip
    rows, n_categories = one_hot(frame, numbers, logarithmic=(5, 16, 17, 18))
    cut = len(parts[0])
    settings = {"row_norm": float(np.sqrt(n_categories + len(numbers)))}
    bounds = f"{n_categories} categories, a 1 each, and 7 numbers scaled to [0, 1]"
    train, test = (rows[:cut], signs[:cut]), (rows[cut:], signs[cut:])
    return Split("census-income", train, test, settings, bounds)


def covertype(folder, seed):
    """Class 2 against the others: 10 numbers and two categories, one-hot as published."""
    with np.load(folder / "covertype" / "covtype.npz") as found:
        numbers = found["X10"].astype(float)
        flags = np.unpackbits(found["Xbin"], axis=1)[:, :44]
        signs = np.where(found["y"] == 2, 1.0, -1.0)
    # Metres, degrees and shades of the ten numbers, rounded outwards.
    low = np.array([1800, 0, 0, 0, -200, 0, 0, 0, 0, 0], dtype=float)
    high = np.array([3900, 360, 70, 1400, 600, 7200, 255, 255, 255, 7200], dtype=float)
    scaled = np.clip(2 * (numbers - low) / (high - low) - 1, -1, 1)
    rows = sparse.csr_array(np.hstack([scaled, flags]))
    settings = {"row_norm": float(np.sqrt(typical(10) ** 2 + 2))}
    bounds = "ranges in metres, degrees and shades; two categories, a 1 each"
    return divided("covertype", rows, signs, seed, settings, bounds)


def one_hot(frame, numbers, logarithmic):
    """Numbers scaled to [0, 1] (amounts of money by their logarithm), the rest one-hot; CSR."""
    parts = []
    for column, (low, high) in numbers.items():
        values = frame[column].to_numpy(dtype=float).clip(low, high)
        if column in logarithmic:
            values, low, high = np.log1p(values), np.log1p(low), np.log1p(high)
        parts.append(sparse.csr_array(((values - low) / (high - low))[:, None]))
    rest = [column for column in frame.columns if column not in numbers]
    for column in rest:
        codes, levels = frame[column].astype(str).factorize(sort=True)
        ones = (np.ones(len(codes)), (np.arange(len(codes)), codes))
        parts.append(sparse.csr_array(ones, (len(codes), len(levels))))
    return sparse.csr_array(sparse.hstack(parts, format="csr")), len(rest)


def parquet_as_csv(file):
    """Read a parquet file in an environment of its own: nothing else here needs that reader.

    Raises ``FileNotFoundError`` before an environment is made, ``PeerUnavailable`` where the reader
    fails.
    """
    if not file.is_file():
        raise FileNotFoundError(file)
    code = "import pandas, sys; pandas.read_parquet(sys.argv[1]).to_csv(sys.stdout, index=False)"
    command = [str(peer_python("parquet", PARQUET)), "-c", code, str(file)]
    done = subprocess.run(command, env=peer_environ(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerUnavailable(f"{file.name} is not readable (exit code {done.returncode}).")
    return done.stdout


CHOSEN_ON = {"breast_cancer": breast_cancer, "digits": digits, "synthetic": synthetic}
FROM_FILES = {"a9a": a9a, "adult": adult, "census-income": census_income, "covertype": covertype}
HELD_OUT = ("adult", "census-income", "covertype")  # no constant was chosen by looking at these


def sources(folder=None):
    """Makers ``make(seed)`` by name: those of FOLDER only if there is one."""
    if not folder:
        return CHOSEN_ON
    return CHOSEN_ON | {name: partial(make, Path(folder)) for name, make in FROM_FILES.items()}


def describe(split):
    rows, columns = split.shape
    positive = float(np.mean(split.test[1] > 0))
    return (
        f"{split.name}: {rows:,} x {columns} training rows, {len(split.test[1]):,} test rows, "
        f"{max(positive, 1 - positive):.3f} of them in the larger class. Bounds: {split.bounds}."
    )
