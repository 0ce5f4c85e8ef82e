"""Time and memory of private logistic regression, beside diffprivlib's.

    python benchmarks/linear_models.py [--data DIR] [--repeats 3] [--quick] [--no-peers]

*Time.* ``LogisticRegression`` with its default solver on a9a (32,561 rows, 123 columns, CSR, or
without --data a generated one-hot table of that shape), breast cancer and digits (ten classes) at
epsilon 0.1 to 3, beside diffprivlib in the same run, and without noise beside scikit-learn: the
least CPU time of a few fits each, one thread. Both of those get dense rows that are scaled already;
diffprivlib's environment is made on first use.

*Memory.* A sparse table that would not fit dense: what a fit holds at its peak beyond the table
(tracemalloc), which blocks have to bound, and the largest resident size of the process.
"""

import argparse
import math
import resource
import sys
import time
import tracemalloc
import warnings
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression as PlainRegression
from threadpoolctl import threadpool_limits

from _limits import Limits
from _limits import measure as measure_limits
from _peers import PeerUnavailable
from _report import best_times, met, note, ratio, save, say, seconds, show
from experiments.erm.peers import logistic_fits
from veilspan.estimators.linear.classification import LogisticRegression
from veilspan.solvers.linear.gradient_descent import GradientDescent

EPSILONS = (0.1, 0.3, 1.0, 3.0)
PEER, SLOWEST = "diffprivlib 0.6.6", 1.5  # goal: the ratio ours / theirs
PLAIN, SLOWEST_PLAIN = "scikit-learn", 2.0  # the same without noise
MOST_BEYOND = 256  # megabytes that a fit may hold beyond the table
ATTRIBUTES = 14  # of a9a: a row has as many ones


def a9a(folder: Path | None) -> tuple[sparse.csr_array, np.ndarray]:
    """The table of LIBSVM, or one of its shape."""
    if folder is None:
        return one_hot(32_561, 123, ATTRIBUTES)
    import gzip

    from sklearn.datasets import load_svmlight_file

    with gzip.open(folder / "a9a" / "a9a.gz") as file:
        rows, labels = load_svmlight_file(file, n_features=123)
    return sparse.csr_array(rows), np.where(labels > 0, 1.0, -1.0)


def one_hot(rows: int, columns: int, ones: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Random attributes, one 1 each; logistic targets."""
    rng = np.random.default_rng(0)
    edges = np.linspace(0, columns, ones + 1).astype(int)
    indices = np.stack([rng.integers(a, b, rows) for a, b in pairwise(edges)], axis=1)
    starts = np.arange(0, rows * ones + 1, ones)
    table = sparse.csr_array((np.ones(rows * ones), indices.ravel(), starts), (rows, columns))
    scores = table @ rng.standard_normal(columns)
    return table, np.where(rng.logistic(size=rows) < scores, 1.0, -1.0)


@dataclass(frozen=True)
class Case:
    """A table, its labels and what is public about it."""

    name: str
    rows: Any
    labels: np.ndarray
    facts: dict[str, Any]

    def model(self, epsilon: float, **changes: Any) -> LogisticRegression:
        """The default under add-remove, which is diffprivlib's relation."""
        known = {"neighbors": "add-remove", "expected_rows": self.rows.shape[0]}
        return LogisticRegression(**{**known, "epsilon": epsilon, **self.facts, **changes})

    def scaled(self) -> np.ndarray:
        """Dense rows inside the unit ball with a constant column, as the model scales them."""
        rows = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        low, high = self.facts.get("feature_range", (-1.0, 1.0))
        rows = (rows - (low + high) / 2) / ((high - low) / 2)
        bound = self.facts.get("row_norm", np.sqrt(rows.shape[1]))
        rows = np.hstack([rows, np.full((len(rows), 1), 0.3 * bound)])
        return rows / (bound * np.sqrt(1.09))


def cases(folder: Path | None) -> list[Case]:
    """The three tables."""
    rows, signs = a9a(folder)
    one_hot_facts = {"row_norm": float(np.sqrt(ATTRIBUTES)), "classes": [-1.0, 1.0]}
    name = "a9a" if folder else "the shape of a9a"
    found = [Case(name, rows, signs, one_hot_facts)]
    for name, data in (("breast cancer", load_breast_cancer()), ("digits", load_digits())):
        low, high = data.data.min(axis=0), data.data.max(axis=0)
        unit = (data.data - low) / np.maximum(high - low, 1e-12)
        labels = [int(label) for label in range(data.target.max() + 1)]
        facts = {"feature_range": (0.0, 1.0), "classes": labels}
        found.append(Case(name, unit, data.target, facts))
    return found


def model(epsilon: float, rows: int, **changes: object) -> LogisticRegression:
    """The default for a one-hot table, told what is public about it."""
    settings = {"row_norm": float(np.sqrt(ATTRIBUTES)), "classes": [-1.0, 1.0]}
    settings |= {"neighbors": "add-remove", "expected_rows": rows, "epsilon": epsilon}
    return LogisticRegression(**{**settings, **changes})


def peer_times(case: Case, repeats: int) -> dict[float, float]:
    """Least CPU seconds of diffprivlib at each epsilon, on dense rows inside the unit ball."""
    try:
        fits = logistic_fits(case.scaled(), case.labels, EPSILONS, [1.0] * repeats, 0)
    except PeerUnavailable as reason:
        say(f"without {PEER}: {reason}")
        return {}
    return {e: min(fit["cpu"] for fit in fits if fit["epsilon"] == e) for e in EPSILONS}


def own_times(case: Case, repeats: int) -> dict[float, float]:
    """Least CPU seconds of a fit at each epsilon, planning included.

    Each is the first of its model, as each of the peer's is: later ones also say what all fits of
    one model come to together.
    """
    found = {}
    for epsilon in EPSILONS:
        case.model(epsilon).fit(case.rows, case.labels)  # imports
        spent = []
        for _ in range(repeats):
            ready = case.model(epsilon)
            start = time.process_time()
            ready.fit(case.rows, case.labels)
            spent.append(time.process_time() - start)
        found[epsilon] = min(spent)
    return found


def plain_times(case: Case, repeats: int) -> dict[str, float]:
    """The same without noise, beside scikit-learn at its own C, on the same scaled rows."""
    ours = case.model(math.inf, C=1.0, solver="objective")
    scaled = case.scaled()
    theirs = PlainRegression(fit_intercept=False, max_iter=1000)
    return best_times(
        {
            "ours": lambda: ours.fit(case.rows, case.labels),
            PLAIN: lambda: theirs.fit(scaled, case.labels),
        },
        repeats,
    )


def measure_time(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Ours and theirs in one run."""
    found: dict[str, dict[str, Any]] = {}
    warnings.simplefilter("ignore")  # that little can be learned at epsilon 0.1 is known here
    for case in cases(options.data):
        # Short fits are made more often: their times vary more.
        repeats = options.repeats if case.rows.shape[0] > 10_000 else 7 * options.repeats
        with threadpool_limits(1):
            ours, plain = own_times(case, repeats), plain_times(case, repeats)
        theirs = {} if options.no_peers else peer_times(case, repeats)
        table, rows = case.rows, []
        size = (
            table.data.nbytes + table.indices.nbytes + table.indptr.nbytes
            if sparse.issparse(table)
            else table.nbytes
        )
        for epsilon, own in ours.items():
            chosen = case.model(epsilon).plan(None, table.shape[1]).decisions
            solver = str(chosen["chosen solver"]).split("(")[0]
            other = theirs.get(epsilon)
            rows.append(_line(f"epsilon = {epsilon:g}, {solver}", own, other, SLOWEST))
            entry = {"ours": own, "peer": other, "solver": solver, "bytes": size}
            found[f"{case.name}, epsilon {epsilon:g}"] = {**entry, "name": PEER, "goal": SLOWEST}
        rows.append(_line(f"no noise, C = 1, {PLAIN}", plain["ours"], plain[PLAIN], SLOWEST_PLAIN))
        found[f"{case.name}, no noise"] = {
            "ours": plain["ours"], "peer": plain[PLAIN], "bytes": size, "name": PLAIN,
            "goal": SLOWEST_PLAIN,
        }  # fmt: skip
        title = f"CPU time of a fit, {case.name}, {table.shape[0]:,} x {table.shape[1]}"
        show(title, ["", "veilspan", "peer", "ratio"], rows)
    return found


def _line(what: str, own: float, other: float | None, goal: float) -> list[str]:
    if other is None:
        return [what, seconds(own), "-", "-"]
    times = own / other
    return [what, seconds(own), seconds(other), f"{times:.2f} ({met(times, goal)})"]


def measure_memory(quick: bool) -> list[dict[str, object]]:
    """Peak of what is allocated during a fit, for two solvers and two widths."""
    rows = 20_000 if quick else 200_000
    cases = [
        ("10 steps", 50_000, GradientDescent(steps=10)),
        ("default", 500, "auto"),
    ]
    found = []
    for name, columns, solver in cases:
        table, signs = one_hot(rows, columns, ATTRIBUTES)
        size = (table.data.nbytes + table.indices.nbytes + table.indptr.nbytes) / 2**20
        tracemalloc.start()
        with threadpool_limits(1):
            model(1.0, rows, solver=solver).fit(table, signs)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        dense = rows * columns * 8 / 2**20
        found.append(
            {"case": name, "columns": columns, "table": size, "peak": peak, "dense": dense}
        )
    show(
        f"Memory of a fit beyond its table, {rows:,} rows, {ATTRIBUTES} entries each",
        ["", "columns", "table, MB", "fit beyond it, MB", "dense table, MB"],
        [
            [str(f["case"]), f"{f['columns']:,}"]
            + [f"{f[k]:,.0f}" for k in ("table", "peak", "dense")]
            for f in found
        ],
    )
    largest = max(float(f["peak"]) for f in found)
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resident /= 2**20 if sys.platform == "darwin" else 2**10
    note(
        f"verdict: at most {largest:.0f} MB beyond the table, goal {MOST_BEYOND} MB: "
        f"{met(largest, MOST_BEYOND)}; largest resident size of this process {resident:,.0f} MB."
    )
    return found


def ratios(times: dict[str, dict], limits: Limits) -> list[dict[str, object] | None]:
    """A fit beside diffprivlib's, and beside reading its sparse table once."""
    found = []
    for name, t in times.items():
        case = f"logistic fit, {name}"
        found.append(ratio(case, t["ours"], t["peer"], t["name"], "peer", t["goal"]))
        once = limits.traffic(t["bytes"])
        found.append(ratio(case, t["ours"], once, "one read of the table", "limit"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with a9a/a9a.gz")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one repeat, a smaller sparse table")
    parser.add_argument("--no-peers", action="store_true", help="make no other environment")
    options = parser.parse_args()
    options.repeats = 1 if options.quick else options.repeats
    times = measure_time(options)
    memory = measure_memory(options.quick)
    results = {"times": times, "memory": memory}
    save("linear_models", results, ratios(times, measure_limits()))


if __name__ == "__main__":
    main()
