"""Time and memory of private logistic regression, beside diffprivlib's.

    python benchmarks/linear_models.py [--data DIR] [--repeats 3] [--quick] [--no-peers]

*Time.* ``LogisticRegression`` with its default solver on a9a (32,561 rows, 123 columns, CSR), or
without --data on a generated one-hot table of that shape, beside diffprivlib in the same run: the
least CPU time of a few fits each, one thread. diffprivlib takes dense tables only; its environment
is made on first use.

*Memory.* A sparse table that would not fit dense: what a fit holds at its peak beyond the table
(tracemalloc), which blocks have to bound, and the largest resident size of the process.
"""

import argparse
import resource
import sys
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from _limits import Limits
from _limits import measure as measure_limits
from _peers import PeerUnavailable
from _report import met, note, ratio, save, say, seconds, show
from experiments.erm.peers import logistic_fits
from veilspan.estimators.linear.classification import LogisticRegression
from veilspan.solvers.linear.gradient_descent import GradientDescent

EPSILONS = (0.1, 1.0)
PEER, SLOWEST = "diffprivlib 0.6.6", 1.0  # goal: the ratio ours / theirs
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


def model(epsilon: float, rows: int, **changes: object) -> LogisticRegression:
    """The default, told what is public about the table."""
    settings = {"row_norm": float(np.sqrt(ATTRIBUTES)), "classes": [-1.0, 1.0]}
    settings |= {"neighbors": "add-remove", "expected_rows": rows, "epsilon": epsilon}
    return LogisticRegression(**{**settings, **changes})


def peer_times(table: sparse.csr_array, signs: np.ndarray, repeats: int) -> dict[float, float]:
    """Least CPU seconds of diffprivlib at each epsilon, on dense rows inside the unit ball."""
    rows = np.hstack([table.toarray(), np.ones((table.shape[0], 1))]) / np.sqrt(ATTRIBUTES + 1)
    try:
        fits = logistic_fits(rows, signs, EPSILONS, [1.0] * repeats, 0)
    except PeerUnavailable as reason:
        say(f"without {PEER}: {reason}")
        return {}
    return {e: min(fit["cpu"] for fit in fits if fit["epsilon"] == e) for e in EPSILONS}


def own_time(epsilon: float, table: sparse.csr_array, signs: np.ndarray, repeats: int) -> float:
    """Least CPU seconds of a fit, planning included."""
    model(epsilon, table.shape[0]).fit(table[:500], signs[:500])  # imports
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        model(epsilon, table.shape[0]).fit(table, signs)
        spent.append(time.process_time() - start)
    return min(spent)


def measure_time(options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Ours and theirs in one run."""
    table, signs = a9a(options.data)
    with threadpool_limits(1):
        ours = {epsilon: own_time(epsilon, table, signs, options.repeats) for epsilon in EPSILONS}
    theirs = {} if options.no_peers else peer_times(table, signs, options.repeats)
    rows, found = [], {}
    for epsilon in EPSILONS:
        own, other = ours[epsilon], theirs.get(epsilon)
        chosen = model(epsilon, table.shape[0]).plan(None, table.shape[1]).decisions
        solver = str(chosen["chosen solver"]).split("(")[0]
        times = None if other is None else own / other
        verdict = "-" if times is None else f"{times:.2f} ({met(times, SLOWEST)})"
        peer = "-" if other is None else seconds(other)
        rows.append([f"epsilon = {epsilon:g}, {solver}", seconds(own), peer, verdict])
        size = table.data.nbytes + table.indices.nbytes + table.indptr.nbytes
        found[str(epsilon)] = {"ours": own, "peer": other, "solver": solver, "bytes": size}
    source = "a9a" if options.data else "generated, the shape of a9a"
    title = f"CPU time of a fit, {table.shape[0]:,} x {table.shape[1]}, {source}"
    show(title, ["", "veilspan", PEER, "ratio"], rows)
    return found


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
    for epsilon, t in times.items():
        case = f"logistic fit, epsilon {epsilon}"
        found.append(ratio(case, t["ours"], t["peer"], PEER, "peer", SLOWEST))
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
