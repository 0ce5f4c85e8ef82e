"""Private streams: CPU of one block's release, noise carried on beside noise that is new each time.

    python benchmarks/private_stream.py [--quick]

Both trackers release the same blocks of 1,000 rows near three directions, at epsilon = 1, past
their first blocks; each step is a block's whole way: rows in, one answer, its noise, the new
subspace. The target is that carrying noise on costs at most twice as much at 50 columns. One BLAS
thread, best of rounds taken in turns.
"""

import argparse
import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np

from _report import best_times, met, note, ratio, save, seconds, show

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the rivals of the experiment

from experiments.streams.methods import Independent, Ours
from experiments.streams.settings import Setting

COLUMNS = (20, 50, 200, 500)
TARGET = {50: 2.0}
WARM = 3  # blocks before the clock starts: the subspace is known then


def measure(columns, rounds):
    """CPU seconds a block of both."""
    setting = Setting(columns, 3, 1000, 0.5 / np.sqrt(columns), 1.0, 0.58)
    rng = np.random.default_rng(0)
    truth = setting.truth(rng)
    block = setting.block(truth, rng)
    calls = {}
    methods = {"carried on": Ours(setting, 0), "new each time": Independent(setting, 0)}
    for name, method in methods.items():
        for _ in range(WARM):
            method.learn(setting.block(truth, rng))
        calls[name] = lambda method=method: method.learn(block)
    return best_times(calls, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args()
    rows, records, ratios = [], [], []
    for columns in COLUMNS:
        times = measure(columns, 5 if options.quick else 20)
        ours, other = times["carried on"], times["new each time"]
        rows.append([f"D = {columns}", seconds(ours), seconds(other), f"{ours / other:.2f}"])
        records.append({"columns": columns, **times})
        ratios.append(ratio(f"one block, D = {columns}", ours, other, "new noise each time", "peer",
                            TARGET.get(columns)))  # fmt: skip
        if columns in TARGET:
            verdict = (ours / other, TARGET[columns])
    show("a block of 1,000 rows, released", ["", "carried on", "new each time", "ratio"], rows)
    note(f"D = 50: {verdict[0]:.2f} times; target {verdict[1]:g}: {met(*verdict)}")
    save("private_stream", records, ratios)


if __name__ == "__main__":
    main()
