"""The Fréchet mean of positive definite matrices: ours without privacy, and pyRiemann's.

    python benchmarks/frechet.py [--rounds 15] [--quick] [--no-peers]

One BLAS thread, CPU time, best of rounds taken in turns. pyRiemann runs in the oracle environment
of the tests (VEILSPAN_ORACLE_PYTHON, or .venvs/oracles), with its default tolerance 1e-8 and with
1e-10, which comes closer to what ours reaches. "error" is the affine-invariant
distance to the mean found by 100 further steps. The private fit is timed beside them, and one
eigendecomposition of every point by NumPy, below which no step of the mean can be.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import json
import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from _report import ratio, save, show
from veilspan import Ball, FrechetMean
from veilspan.datasets import make_spd
from veilspan.geometry import SPD

ROOT = Path(__file__).resolve().parents[1]
ORACLE = Path(os.environ.get("VEILSPAN_ORACLE_PYTHON", ROOT / ".venvs/oracles/bin/python"))
PEER = """
import sys, time, json, numpy as np
try:
    from pyriemann.geometry.mean import mean_riemann
except ImportError:
    from pyriemann.utils.mean import mean_riemann
points = np.load(sys.argv[1])
for line in sys.stdin:
    start = time.process_time()
    mean = mean_riemann(points, tol=float(line))
    print(json.dumps([time.process_time() - start, mean.tolist()]), flush=True)
"""
SIZES = [(1000, 11, 0.3), (1000, 11, 0.7), (1000, 30, 0.2), (10_000, 5, 0.5)]


class Peer:
    def __init__(self, points):
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "points.npy"
        np.save(path, points)
        self.process = subprocess.Popen(
            [ORACLE, "-c", PEER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def mean(self, tolerance):
        self.process.stdin.write(f"{tolerance}\n")
        self.process.stdin.flush()
        seconds, mean = json.loads(self.process.stdout.readline())
        return seconds, np.array(mean)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def ours(points, size, **parameters):
    start = time.process_time()
    mean = FrechetMean(SPD(size), **parameters).fit(points).mean_
    return time.process_time() - start, mean


def true_mean(manifold, points):
    mean = ours(points, manifold.n, epsilon=math.inf)[1]
    for _ in range(100):
        mean = manifold.exp(mean, 0.8 * manifold.log(mean, points).mean(axis=0))
    return mean


def eigenvalues(points):
    start = time.process_time()
    np.linalg.eigh(points)
    return time.process_time() - start


def measure(count, size, spread, rounds, peers=True):
    manifold = SPD(size)
    points = make_spd(count, size, spread=spread, random_state=1).points
    truth, ball = true_mean(manifold, points), Ball.from_eigenvalues(manifold, 1e-3, 1e3)
    methods = {
        "veilspan": lambda: ours(points, size, epsilon=math.inf),
        "veilspan, epsilon = 1": lambda: ours(points, size, epsilon=1.0, ball=ball),
    }
    peer = Peer(points) if peers and ORACLE.exists() else None
    if peer:
        methods["pyRiemann, tol 1e-8"] = lambda: peer.mean(1e-8)
        methods["pyRiemann, tol 1e-10"] = lambda: peer.mean(1e-10)
    best = dict.fromkeys(methods, math.inf)
    errors, eigh = {}, math.inf
    for _ in range(rounds):
        eigh = min(eigh, eigenvalues(points))
        for name, call in methods.items():
            seconds, mean = call()
            best[name] = min(best[name], seconds)
            errors[name] = float(manifold.dist(truth, mean))
    if peer:
        peer.close()
    return best, errors, eigh


def ratios(case, best, eigh):
    own, private = best["veilspan"], best["veilspan, epsilon = 1"]
    found = [ratio(case, own, best.get(f"pyRiemann, tol {tol}"), f"pyRiemann, tol {tol}", "peer")
             for tol in ("1e-8", "1e-10")]  # fmt: skip
    found.append(ratio(case, own, eigh, "one eigh of every point", "limit"))
    name = f"{case}, epsilon = 1"
    return [*found, ratio(name, private, eigh, "one eigh of every point", "limit")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="3 rounds")
    parser.add_argument("--no-peers", action="store_true", help="without pyRiemann")
    args = parser.parse_args()
    rounds = 3 if args.quick else args.rounds
    rows, records, beside = [], [], []
    for count, size, spread in SIZES:
        best, errors, eigh = measure(count, size, spread, rounds, not args.no_peers)
        beside += ratios(f"{count} x SPD({size}), spread {spread}", best, eigh)
        for name, seconds in best.items():
            times = best["veilspan"] / seconds
            rows.append([f"{count} x SPD({size}), spread {spread}", name, f"{1e3 * seconds:.1f}",
                         f"{errors[name]:.1e}", f"{times:.2f}"])  # fmt: skip
            records.append({"points": count, "size": size, "spread": spread, "method": name,
                            "seconds": seconds, "error": errors[name]})  # fmt: skip
    show(
        "Fréchet mean, affine-invariant metric",
        ["points", "method", "CPU ms", "error", "veilspan / method"],
        rows,
    )
    save("frechet", records, beside)


if __name__ == "__main__":
    main()
