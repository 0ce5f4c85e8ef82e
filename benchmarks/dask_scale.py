"""Where Dask pays: seconds per step in memory and on clusters of one and two processes.

    python benchmarks/dask_scale.py [--rows 2000000] [--columns 100] [--repeats 5] [--quick]

The table is float32, made by tasks, and kept on the workers; a step is one clipped sum, once of the
robust method (a d x 5 answer, little work a row) and once of a covariance (d x d, much work a
row). Workers run with memory that is used again, as docs/howto/dask.md proposes, and once as Dask
starts them. All are timed in turns by the wall clock, because parallelism is the question, and
medians are reported: on a machine with other work to do, look at the ratios. BLAS has one thread
everywhere. A step over two rows shows what a step costs beside its work, and steps over tables in
more and more parts what a further part costs, kept (a group of parts is one task) and read again (a
task each).

Last a table of twice the memory of all workers, which is made again in each step: that run has
to end without a worker killed.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import statistics
import time
from typing import Any

import numpy as np

from _report import note, ratio, save, say, seconds, show
from veilspan.curator.dask import table as tables
from veilspan.curator.dask.rows import DaskRows
from veilspan.curator.rows import Rows
from veilspan.queries.moments import SecondMoment
from veilspan.queries.subspace.geodesic_gradient import GeodesicGradient

RANK = 5
MEGABYTE = 1_000_000
MALLOC = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 268_435_456,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 33_554_432,
}
PLACES = {
    "1 worker": (1, True),
    "2 workers": (2, True),
    "2 workers, Dask's malloc": (2, False),
}


def chunk(start: int, rows: int, columns: int) -> np.ndarray:
    """Some rows, the same each time they are made."""
    rng = np.random.default_rng(start)
    made = rng.standard_normal((rows, columns), dtype=np.float32)
    return np.multiply(made, np.float32(1 / np.sqrt(columns)), out=made)


def lazy_table(rows: int, columns: int, parts: int) -> Any:
    """A Dask array of so many parts, each made by a task."""
    import dask.array as da
    from dask import delayed

    step = -(-rows // parts)
    starts = range(0, rows, step)
    sizes = [min(step, rows - start) for start in starts]
    make = delayed(chunk, pure=True)
    pieces = [
        da.from_delayed(make(start, size, columns), (size, columns), np.float32)
        for start, size in zip(starts, sizes)
    ]
    return da.concatenate(pieces)


def questions(columns: int) -> dict[str, tuple[Any, Any]]:
    """Queries and public points."""
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((columns, RANK)))[0]
    return {"robust": (GeodesicGradient(), basis), "covariance": (SecondMoment(1.0), None)}


def ask(asked_rows: Any, query: Any, point: Any, columns: int) -> float:
    """Wall-clock seconds of one sum."""
    space = query.space(columns, point)
    start = time.perf_counter()
    asked_rows.clipped_sum(query, point, space)
    return time.perf_counter() - start


def client_of(workers: int, memory: str | int = "6 GB", *, reuse: bool = True) -> Any:
    """A cluster of processes of one thread each, and its client.

    Dask starts workers with a setting under which every temporary array is given back to the
    system and fetched anew; ``reuse`` undoes that.
    """
    import dask
    from distributed import Client, LocalCluster

    for name in MALLOC:  # which an earlier cluster has left in this process
        os.environ.pop(name.rpartition(".")[2], None)
    with dask.config.set(MALLOC if reuse else {}):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit=memory,
            silence_logs="ERROR",
        )
    return Client(cluster, set_as_default=False)


def close(client: Any) -> None:
    cluster = client.cluster
    client.close()
    cluster.close()


def on_cluster(client: Any, rows: int, columns: int, parts: int) -> Any:
    """Rows of a table that lie on a cluster."""
    with client.as_current():
        return DaskRows(tables.dask_table(lazy_table(rows, columns, parts)).keep_parts())


def measure_steps(rows: int, columns: int, parts: int, repeats: int) -> dict[str, Any]:
    """Median seconds of a step, by question and place, in turns."""
    say("a table in memory ...")
    x = np.concatenate([chunk(i, -(-rows // parts), columns) for i in range(parts)])[:rows]
    places = {"memory": (None, Rows(x))}
    for name, (workers, reuse) in PLACES.items():
        say(f"a table on {name} ...")
        client = client_of(workers, reuse=reuse)
        places[name] = (client, on_cluster(client, rows, columns, parts))
    found: dict[str, Any] = {}
    try:
        for name, (query, point) in questions(columns).items():
            times: dict[str, list[float]] = {place: [] for place in places}
            for turn in range(repeats + 1):
                say(f"{name}, turn {turn} of {repeats} ...")
                for place, (client, asked_rows) in places.items():
                    times[place].append(timed(client, asked_rows, query, point, columns))
            found[name] = {place: statistics.median(all_[1:]) for place, all_ in times.items()}
    finally:
        for client, _ in places.values():
            if client is not None:
                close(client)
    return found


def timed(client: Any, asked_rows: Any, query: Any, point: Any, columns: int) -> float:
    if client is None:
        return ask(asked_rows, query, point, columns)
    with client.as_current():
        return ask(asked_rows, query, point, columns)


def measure_overhead(repeats: int) -> dict[str, dict[int, float]]:
    """Median seconds of a step over two rows a part, by number of parts, kept and not."""
    client, found = client_of(2), {"kept": {}, "read again": {}}
    query, point = questions(10)["robust"]
    share = tables.KEPT_SHARE
    try:
        for parts in (2, 20, 100):
            for kept in found:
                say(f"overhead, {parts} parts, {kept} ...")
                tables.KEPT_SHARE = share if kept == "kept" else 0.0
                asked_rows = on_cluster(client, 2 * parts, 10, parts)
                times = [timed(client, asked_rows, query, point, 10) for _ in range(repeats + 2)]
                found[kept][parts] = statistics.median(times[2:])
    finally:
        tables.KEPT_SHARE = share
        close(client)
    return found


def measure_larger(rows: int, columns: int, limit: int) -> dict[str, Any]:
    """A fit on a table of twice the memory of both workers; who was killed meanwhile."""
    from veilspan import PCA

    client = client_of(2, limit)
    size = 4 * rows * columns
    try:
        before = sorted(client.scheduler_info()["workers"])
        parts = max(2, size // (16 * MEGABYTE))
        say(f"{size / 1e6:.0f} MB on two workers of {limit / 1e6:.0f} MB ...")
        with client.as_current():
            start = time.perf_counter()
            PCA(RANK, epsilon=1.0, delta=1e-9).fit(lazy_table(rows, columns, parts))
            wall = time.perf_counter() - start
        after = sorted(client.scheduler_info()["workers"])
    finally:
        close(client)
    return {"bytes": size, "limit": limit, "seconds": wall, "survived": before == after}


def print_all(shape: str, steps: dict, overhead: dict, larger: dict) -> None:
    names = list(steps)
    rows = [
        [place]
        + [seconds(steps[name][place]) for name in names]
        + [f"{steps[name]['memory'] / steps[name][place]:.2f}" for name in names]
        for place in steps[names[0]]
    ]
    gains = [f"gain, {name}" for name in names]
    show(f"One step over {shape}, wall clock", ["", *names, *gains], rows)
    counts = list(next(iter(overhead.values())))
    show(
        "A step with next to no work, wall clock",
        ["", *(f"{n} parts" for n in counts)],
        [[kind, *(seconds(times[n]) for n in counts)] for kind, times in overhead.items()],
    )
    per_task = (overhead["read again"][counts[-1]] - overhead["read again"][counts[0]]) / (
        counts[-1] - counts[0]
    )
    note(f"A further task costs {seconds(max(per_task, 1e-9))} (parts that are read again).")
    note(
        f"{larger['bytes'] / 1e6:.0f} MB on two workers of {larger['limit'] / 1e6:.0f} MB: "
        f"{seconds(larger['seconds'])}, "
        f"{'no worker was killed' if larger['survived'] else 'A WORKER WAS KILLED'}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--parts", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, 2 repeats")
    options = parser.parse_args()
    n = options.rows // 10 if options.quick else options.rows
    repeats = 2 if options.quick else options.repeats
    steps = measure_steps(n, options.columns, options.parts, repeats)
    overhead = measure_overhead(3 * repeats)
    limit = 400 * MEGABYTE
    larger = measure_larger(4 * limit // (4 * options.columns), options.columns, limit)
    print_all(f"{n:,} x {options.columns} float32", steps, overhead, larger)
    ratios = [
        ratio(f"{name} on 2 workers", times["2 workers"], times["memory"], "in memory", "peer")
        for name, times in steps.items()
    ]
    save("dask_scale", {"steps": steps, "overhead": overhead, "larger": larger}, ratios)


if __name__ == "__main__":
    main()
