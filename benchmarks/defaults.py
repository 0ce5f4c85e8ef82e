"""What a fit costs whoever sets nothing: PCA's default, and one step of a private stream.

    python benchmarks/defaults.py [--quick]
    benchmarks/run --against COMMIT defaults

Made for ``--against``: there this script runs on the sources of both commits, also of one that is
older than it, so that it names nothing but ``PCA``, ``SubspaceTracker`` and ``make_haystack``. The
goal for PCA is at most 3 times the CPU of 022c571, whose default asked one question of rows of
public length about the origin; that of today asks three, from 16 columns on four.

Times are over the eigenvectors of X^T X by NumPy, or for a stream's block over X^T X alone. One
BLAS thread, best of rounds taken in turns, another estimator for every fit.
"""

import argparse
import os
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

from _report import best_times, ratio, save, seconds, show
from veilspan import PCA, SubspaceTracker
from veilspan.datasets import make_haystack

EPSILON, DELTA, RANK = 0.8, 1e-5, 2
TABLES = ((2_000, 4), (2_000, 8), (2_000, 20), (20_000, 100))
BLOCK, COLUMNS = 1_000, 50
WARM = 3  # blocks before the clock starts: the subspace is known then


def time_pca(n, d, rounds):
    """CPU seconds of a default fit, and of the eigenvectors without privacy."""
    x = make_haystack(n, d, RANK, random_state=0).rows
    calls = {
        "ours": lambda: PCA(RANK, epsilon=EPSILON, delta=DELTA).fit(x),
        "limit": lambda: np.linalg.eigh(x.T @ x),
    }
    return best_times(calls, rounds)


def time_block(rounds):
    """CPU seconds of one block of a stream, and of its plain second moment."""
    blocks = [make_haystack(BLOCK, COLUMNS, RANK, random_state=k).rows for k in range(WARM + 1)]
    tracker = SubspaceTracker(RANK, epsilon=EPSILON, delta=DELTA, block_size=BLOCK, random_state=0)
    for block in blocks[:WARM]:
        tracker.partial_fit(block)
    x = blocks[WARM]
    return best_times({"ours": lambda: tracker.partial_fit(x), "limit": lambda: x.T @ x}, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 10 if parser.parse_args().quick else 40
    warnings.simplefilter("ignore")  # what noise hides, and that a seed is a simulation
    cases = {f"PCA, {n:,} x {d}": (time_pca(n, d, rounds), "eigenvectors") for n, d in TABLES}
    cases[f"a stream's block, D = {COLUMNS}"] = (time_block(rounds), "X^T X")
    rows = [
        [case, seconds(times["ours"]), seconds(times["limit"]), limit]
        for case, (times, limit) in cases.items()
    ]
    show("nothing set, CPU", ["", "ours", "without privacy", "which is"], rows)
    ratios = [
        ratio(case, times["ours"], times["limit"], limit, "limit")
        for case, (times, limit) in cases.items()
    ]
    save("defaults", {case: times for case, (times, _) in cases.items()}, ratios)


if __name__ == "__main__":
    main()
