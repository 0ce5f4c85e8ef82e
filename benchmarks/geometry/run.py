"""Speed of veilspan.geometry, side by side with the paper's methods and with other libraries.

    python benchmarks/geometry/run.py [--quick] [--no-peers]

CPU time of one thread, one BLAS thread, best of interleaved rounds. Other libraries run in the
oracle environment of the tests (VEILSPAN_ORACLE_PYTHON, or .venvs/oracles); without it their
columns are empty.
"""

import one_thread  # noqa: F401

# isort: split
import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from cases import BUILD, OPERATION_SIZES, inputs
from sampling import sampler_times
from timing import interleaved

sys.path.append(str(Path(__file__).resolve().parents[1]))
from _report import ratio, save

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = ("geomstats", "pymanopt", "pyriemann")
OPERATIONS = {"exp": "xu", "log": "xy", "transport": "xyu"}
ORACLE = Path(os.environ.get("VEILSPAN_ORACLE_PYTHON", ROOT / ".venvs/oracles/bin/python"))


def show(seconds, unit=1e6):
    if seconds is None:
        return "-"
    value = seconds * unit
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def table(title, header, rows):
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}\n")
    for row in [header, ["-" * w for w in widths], *rows]:
        print(
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))
            )
        )
    sys.stdout.flush()


def name(case, sizes):
    return f"{case}({', '.join(map(str, sizes))})"


# ------------------------------------------------------------------ other libraries


def peer_times(tasks, peers=True):
    """Seconds by 'key|library' for tasks (key, case, sizes, operation, arrays, batch)."""
    if not peers:
        return {}
    if not ORACLE.exists():
        print("no oracle environment: the columns of other libraries stay empty")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f for f in ("tasks.json", "arrays.npz", "times.json")]
        arrays, listed = {}, []
        for key, case, sizes, operation, args, batch in tasks:
            names = [f"array{id(a)}" for a in args]
            arrays.update(zip(names, args))
            listed.append([key, case, sizes, operation, names, batch])
        files[0].write_text(json.dumps(listed))
        np.savez(files[1], **arrays)
        command = [ORACLE, "-W", "ignore", HERE / "peer_times.py", *files]
        library = {**os.environ, "PYTHONPATH": str(ROOT / "tests/geometry/oracles")}
        subprocess.run(command, check=True, env=library)
        return json.loads(files[2].read_text())


# ------------------------------------------------------------------ samplers


def sampler_table(quick, with_peers):
    ours = sampler_times(quick=quick)
    tasks = []
    for case, sizes in ours:
        if not (case == "grassmann" and sizes[0] > 500):
            x = BUILD[case](*sizes).random_point(np.random.default_rng(0))
            tasks.append((name(case, sizes), case, sizes, "random_tangent", [x], 0))
    peers = peer_times(tasks, with_peers)
    columns = ("veilspan", "transport", "explicit", "sparse", "gram-schmidt")
    rows = []
    for (case, sizes), times in ours.items():
        row = [name(case, sizes)] + [show(times.get(c)) for c in columns]
        row += [show(peers.get(f"{name(case, sizes)}|{lib}")) for lib in LIBRARIES[:2]]
        rows.append([*row, f"{times['veilspan'] / times['transport']:.2f}"])
    table(
        "One tangent Gaussian, microseconds (geomstats, pymanopt: mostly other distributions)",
        ["", *columns, *LIBRARIES[:2], "veilspan/transport"],
        rows,
    )
    return ours


# ------------------------------------------------------------------ exp, log, transport


def operation_table(quick, with_peers):
    batch = 100 if quick else 1000
    tasks, calls = [], {}
    for case, many in OPERATION_SIZES.items():
        for sizes in many:
            manifold = BUILD[case](*sizes)
            for size in (0, batch):
                data = inputs(manifold, size)
                for operation, letters in OPERATIONS.items():
                    if case.startswith("stiefel") and operation == "log":
                        continue
                    args = [data[k] for k in letters]
                    key = f"{name(case, sizes)} {operation}" + (f" x{size}" if size else "")
                    tasks.append((key, case, sizes, operation, args, size))
                    calls[key] = partial(getattr(manifold, operation), *args)
    effort = (0.1, 5, 0.3) if quick else ()
    ours = {key: interleaved({"f": f}, *effort)["f"] for key, f in calls.items()}
    peers = peer_times(tasks, with_peers)
    rows, worst, beside = [], [], []
    for key, seconds in ours.items():
        others = [peers.get(f"{key}|{lib}") for lib in LIBRARIES]
        present = [t for t in others if t]
        fastest = seconds / min(present) if present else None
        if fastest is not None:
            worst.append((fastest, key))
        beside += [ratio(key, seconds, t, lib, "peer", 1.3) for t, lib in zip(others, LIBRARIES)]
        rows.append(
            [key, *map(show, [seconds, *others]), "-" if fastest is None else f"{fastest:.2f}"]
        )
    table(
        f"exp, log, transport: microseconds, one call and a batch of {batch} at one base point",
        ["", "veilspan", *LIBRARIES, "veilspan/fastest"],
        rows,
    )
    return sorted(worst, reverse=True), beside


# ------------------------------------------------------------------ Table 2


def table_two(quick):
    steps = 3_000 if quick else 300_000
    rng = np.random.default_rng(0)
    rows = []
    for case, sizes, paper in (("spd-affine", (11,), "41"), ("sphere", (784,), "24")):
        manifold = BUILD[case](*sizes)
        w = manifold.random_point(rng)

        def steps_of_noise(m=manifold, w=w):
            for _ in range(steps):
                m.random_tangent(w, 1.0, rng)

        seconds = interleaved({"f": steps_of_noise}, rounds=1)["f"] * (300_000 / steps)
        rows.append([name(case, sizes), f"{seconds:.1f}", paper])
    table("Noise of 3e5 private steps, seconds (Table 2)", ["", "veilspan", "as published"], rows)


# ------------------------------------------------------------------ targets


def verdicts(samplers, ratios):
    print("\nTargets")
    slower = {
        name(*k): t["veilspan"] / t["transport"]
        for k, t in samplers.items()
        if t["veilspan"] > t["transport"]
    }
    print(f"  slower than the paper's transport: {slower or 'nowhere'}")
    largest = {}
    for (case, sizes), t in samplers.items():
        if "gram-schmidt" in t:
            largest[case] = f"{name(case, sizes)} {t['gram-schmidt'] / t['veilspan']:,.0f}x"
    print(f"  faster than Gram-Schmidt at the largest size: {', '.join(largest.values())}")
    beyond = [f"{key} {ratio:.2f}x" for ratio, key in ratios if ratio > 1.3]
    print(f"  more than 1.3x the fastest other library: {', '.join(beyond) or 'nothing'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller batches, fewer repeats")
    parser.add_argument("--no-peers", action="store_true", help="without other libraries")
    options = parser.parse_args()
    quick, peers = options.quick, not options.no_peers
    ratios, beside = operation_table(quick, peers)
    samplers = sampler_table(quick, peers)
    table_two(quick)
    verdicts(samplers, ratios)
    draws = {name(*place): times for place, times in samplers.items()}
    beside += [
        ratio(f"draw on {place}", t["veilspan"], t["transport"], "the paper's transport", "peer", 1)
        for place, t in draws.items()
    ] + [
        ratio(f"draw on {place}", t["veilspan"], t["normals"], "its normals", "limit")
        for place, t in draws.items()
    ]
    save("geometry", {"samplers": draws, "slowest": ratios}, beside)


if __name__ == "__main__":
    main()
