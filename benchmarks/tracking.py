"""Streaming subspaces: time per vector and accuracy, ours beside others.

    python benchmarks/tracking.py [--quick] [--only speed|stationary|drifting]

Rows are unit vectors of a d-dimensional subspace plus noise of a hundredth of their energy. All
methods see the same rows. CPU time, one BLAS thread, best of rounds taken in turns.

* **speed**: one vector's cost, beside the two matrix-vector products that no method can do without
  (w = U^T x and U w), by BLAS from Python and from a compiled loop without any Python.
* **stationary**: vectors after which epsilon, the sum of squared sines of the angles to the truth,
  stays below 1.5 times that of PCA of all rows; times the cost of one: seconds to equal accuracy.
* **drifting**: every direction turns steadily; mean epsilon to the subspace of the moment over the
  second half of the rows.

Everybody is given the settings that were best for this very table: IncrementalPCA its batch size
(and on the drifting stream a fresh start every so many rows, its only way to forget), Oja's rule
its step, the plain GROUSE of the paper the true noise level. Ours runs by its defaults, on the
drifting stream with the best of the same number of forgetting factors.
"""

import argparse
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import time
import warnings

import numpy as np

from _report import met, note, ratio, save, say, seconds, show
from _trackers import (
    Incremental,
    Oja,
    Ours,
    PlainGrouse,
    Restarted,
    Tracker,
    compiled_products,
    python_products,
)
from veilspan.metrics import frobenius_discrepancy

SIZES = ((2000, 20), (500, 10), (100, 5))
NOISE = 0.01
ROWS = 10_000
NEAR = 1.5  # of the error of PCA of all rows
TURN = 5e-4  # radians per row of the drifting stream
PRODUCTS = "two products, compiled BLAS"
PYTHON_PRODUCTS = "two products, BLAS from Python"
BATCHES = (1, 2, 5, 10, 25, 50)  # of IncrementalPCA, in units of d
OJA_STEPS = (0.5, 1.0, 2.0, 4.0)


def stream(n, d, rows, rng, turn=0.0):
    """Rows, and the true basis after any of them."""
    frame = np.linalg.qr(rng.standard_normal((n, 2 * d)))[0].T
    angles = turn * np.arange(rows)
    signal = rng.standard_normal((rows, d))
    signal /= np.linalg.norm(signal, axis=1, keepdims=True)
    x = (signal * np.cos(angles)[:, None]) @ frame[:d]
    x += (signal * np.sin(angles)[:, None]) @ frame[d:]
    x += rng.standard_normal((rows, n)) * np.sqrt(NOISE / n)
    return x, lambda t: np.cos(turn * t) * frame[:d] + np.sin(turn * t) * frame[d:]


def time_per_vector(calls, rows, rounds):
    """Least CPU seconds per vector of each method, in turns, past its first rows."""
    best = dict.fromkeys(calls, np.inf)
    for learn in calls.values():
        learn(rows)  # compilation, starts
    for _ in range(rounds):
        for name, learn in calls.items():
            begun = time.process_time()
            learn(rows)
            best[name] = min(best[name], (time.process_time() - begun) / len(rows))
    return best


def trackers(n, d, drifting=False):
    """By name, the candidates of each method; the best one is shown."""
    batches = sorted({max(d, int(m * d)) for m in BATCHES})
    listed = {
        "SubspaceTracker": [Ours(d)],
        "  its loop, Numba": [Ours(d, engine="numba")],
        "  its loop, NumPy": [Ours(d, engine="numpy")],
        "plain NumPy GROUSE": [PlainGrouse(d, NOISE)],
        "Oja, blocked": [Oja(d, c, block=2 * d) for c in OJA_STEPS],
        "IncrementalPCA": [Incremental(d, b) for b in batches],
    }
    if drifting:
        listed["SubspaceTracker"] = [Ours(d, forgetting=f) for f in (None, 0.1, 0.2, 0.3, 0.5)]
        del listed["  its loop, Numba"], listed["  its loop, NumPy"]
        listed["plain NumPy GROUSE"] += [PlainGrouse(d, NOISE, size=f) for f in (0.1, 0.3, 0.5)]
        listed["Oja, blocked"] += [Oja(d, c, block=2 * d, constant=True) for c in (0.05, 0.1, 0.3)]
        windows = [int(m * d) for m in (5, 10, 25, 50)]
        listed["IncrementalPCA, restarted"] = [Restarted(d, max(d, w // 5), w) for w in windows]
    return listed


def speed(quick):
    """One vector's cost by method, and whether the loop is near its two products."""
    records = []
    for n, d in SIZES:
        say(f"speed: n = {n}, d = {d}")
        rows, truth = stream(n, d, 1000, np.random.default_rng(0))
        calls = {
            PRODUCTS: compiled_products(truth(0)),
            PYTHON_PRODUCTS: python_products(truth(0)),
        }
        for name, candidates in trackers(n, d).items():
            for tracker in candidates:
                tracker.start(n, np.random.default_rng(1))
                tracker.learn(rows)
                calls[timed_as(name, tracker)] = tracker.learn
        best = time_per_vector(calls, rows, 3 if quick else 10)
        records += [{"n": n, "d": d, "method": m, "seconds": s, "products": s / best[PRODUCTS]}
                    for m, s in best.items()]  # fmt: skip
        show(f"speed: one vector, n = {n}, d = {d}", ["", "CPU", "in units of the two products"],
             [[m, seconds(s), f"{s / best[PRODUCTS]:.2f}"] for m, s in best.items()])  # fmt: skip
    return records


def label(name: str, tracker: Tracker) -> str:
    return f"{name}{tracker.setting}"


def timed_as(name: str, tracker: Tracker) -> str:
    return label(name, tracker) if tracker.timing is None else f"{name}{tracker.timing}"


def rows_to(tracker, n, rows, truth, goal, seed):
    """Vectors after which epsilon stays at the goal (inf: never), and its last value."""
    tracker.start(n, np.random.default_rng(seed))
    reached, every = np.inf, tracker.stride
    for start in range(0, len(rows), every):
        tracker.learn(rows[start : start + every])
        error = discrepancy(tracker, truth(0))
        reached = min(reached, start + every) if error <= goal else np.inf
    return reached, error


def discrepancy(tracker, truth):
    found = tracker.basis()
    return float(len(truth)) if found is None else frobenius_discrepancy(found, truth)


def stationary(quick, costs):
    """Seconds to equal accuracy: vectors needed times the cost of one."""
    records = []
    for n, d in SIZES:
        say(f"stationary: n = {n}, d = {d}")
        results = {}
        for seed in range(1 if quick else 3):
            rows, truth = stream(n, d, ROWS, np.random.default_rng([7, seed]))
            limit = batch_error(rows, truth(0))
            for name, candidates in trackers(n, d).items():
                for tracker in candidates:
                    got = rows_to(tracker, n, rows, truth, NEAR * limit, seed)
                    key = name, label(name, tracker), timed_as(name, tracker)
                    results.setdefault(key, []).append((*got, limit))
        records += [
            stationary_record(n, d, name, setting, runs, costs[n, d, timed])
            for (name, setting, timed), runs in results.items()
        ]
    best = best_of(records, "seconds_to_accuracy")
    for n, d in SIZES:
        show(
            f"stationary: n = {n}, d = {d}, to {NEAR:g}x the error of PCA of {ROWS} rows",
            ["", "vectors", "CPU per vector", "CPU to accuracy", "last error / PCA"],
            [[r["setting"], f"{r['vectors']:.0f}".replace("inf", "never"), seconds(r["per_vector"]),
              seconds(r["seconds_to_accuracy"]), f"{r['last_error']:.2f}"]
             for r in best if (r["n"], r["d"]) == (n, d)],
        )  # fmt: skip
    return best


def batch_error(rows, truth):
    """Epsilon of the leading right singular vectors of all rows."""
    vectors = np.linalg.eigh(rows.T @ rows)[1][:, -len(truth) :].T
    return frobenius_discrepancy(vectors, truth)


def stationary_record(n, d, name, setting, runs, cost):
    vectors, last, limit = np.array(runs).T
    needed = float(np.median(vectors))
    return {"n": n, "d": d, "method": name, "setting": setting, "vectors": needed,
            "per_vector": cost, "seconds_to_accuracy": needed * cost,
            "last_error": float(np.median(last / limit))}  # fmt: skip


def best_of(records, key):
    """The best setting of each method at each size."""
    best = {}
    for r in records:
        place = r["n"], r["d"], r["method"]
        order = (r[key], r.get("last_error", 0.0))  # among those that never arrive, the nearest
        if place not in best or order < (best[place][key], best[place].get("last_error", 0.0)):
            best[place] = r
    return list(best.values())


def drifting(quick):
    """Mean epsilon to the subspace of the moment, over the second half."""
    records = []
    for n, d in SIZES:
        say(f"drifting: n = {n}, d = {d}")
        rows, truth = stream(n, d, ROWS // 2 if quick else ROWS, np.random.default_rng(8), TURN)
        for name, candidates in trackers(n, d, drifting=True).items():
            for tracker in candidates:
                error, cost = follow(tracker, n, rows, truth)
                records.append({"n": n, "d": d, "method": name, "setting": label(name, tracker),
                                "error": error, "per_vector": cost})  # fmt: skip
    best = best_of(records, "error")
    for n, d in SIZES:
        show(
            f"drifting: n = {n}, d = {d}, {TURN:g} radians a row, every direction",
            ["", "mean error", "CPU per vector, once"],
            [[r["setting"], f"{r['error']:.3g}", seconds(r["per_vector"])]
             for r in best if (r["n"], r["d"]) == (n, d)],
        )  # fmt: skip
    return best


def follow(tracker, n, rows, truth, step=97):
    """Mean error at even places of the second half, and CPU seconds per vector.

    The step is prime, so that no method is always looked at right after a window or a batch.
    """
    tracker.start(n, np.random.default_rng(0))
    errors, spent = [], 0.0
    for start in range(0, len(rows), step):
        begun = time.process_time()
        tracker.learn(rows[start : start + step])
        spent += time.process_time() - begun
        if start >= len(rows) // 2:
            errors.append(discrepancy(tracker, truth(min(start + step, len(rows)))))
    return float(np.mean(errors)), spent / len(rows)


def ratios(records):
    """A vector's cost beside each peer at its best, and beside its two products."""
    found = []
    for n, d in SIZES:
        times = {r["method"]: r["seconds"] for r in records if (r["n"], r["d"]) == (n, d)}
        case, loop = f"one vector, n = {n}, d = {d}", times["  its loop, Numba"]
        for peer in ("IncrementalPCA", "Oja", "plain NumPy GROUSE"):
            other = min(t for name, t in times.items() if name.startswith(peer))
            found.append(ratio(case, times["SubspaceTracker"], other, peer, "peer"))
        target = 3 if n == 2000 else None
        found.append(ratio(case, loop, times[PRODUCTS], "two gemv", "limit", target))
    return found


def verdicts(results):
    """The targets, and whether they hold."""
    if "speed" in results:
        cost = {(r["n"], r["d"], r["method"]): r for r in results["speed"]}
        times = cost[2000, 20, "  its loop, Numba"]["products"]
        note(f"n = 2000, d = 20: {times:.2f} times the two products; target 3: {met(times, 3)}")
        own = cost[100, 5, "SubspaceTracker"]["seconds"]
        call = cost[100, 5, PYTHON_PRODUCTS]["seconds"]
        note(f"n = 100, d = 5: {seconds(own)} per vector; only calling the two products from "
             f"Python takes {seconds(call)}; no Python per vector: {met(own, call)}")  # fmt: skip
    for suite, key, words in (("stationary", "seconds_to_accuracy", "time to equal accuracy"),
                              ("drifting", "error", "mean error")):  # fmt: skip
        for n, d in SIZES if suite in results else ():
            here = [r for r in results[suite] if (r["n"], r["d"]) == (n, d)]
            ours = next(r[key] for r in here if r["method"] == "SubspaceTracker")
            for r in here:
                if r["method"].startswith("IncrementalPCA"):
                    times = ours / r[key]
                    note(f"{suite}, n = {n}, d = {d}: {words} {times:.3g} times that of "
                         f"{r['setting']}; target 1: {met(times, 1)}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds and seeds")
    parser.add_argument("--only", choices=["speed", "stationary", "drifting"])
    options = parser.parse_args()
    results = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if options.only != "drifting":  # times to accuracy need the costs of one vector
            results["speed"] = speed(options.quick)
            costs = {(r["n"], r["d"], r["method"]): r["seconds"] for r in results["speed"]}
        if options.only in (None, "stationary"):
            results["stationary"] = stationary(options.quick, costs)
        if options.only in (None, "drifting"):
            results["drifting"] = drifting(options.quick)
    verdicts(results)
    save("tracking", results, ratios(results["speed"]) if "speed" in results else ())


if __name__ == "__main__":
    main()
