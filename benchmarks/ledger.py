"""Charges per second of the ledger, every one on the disk before a row is read.

    python benchmarks/ledger.py [--seconds 2] [--rounds 3] [--folder DIR] [--no-postgres]

Each of 1, 2 or 6 processes charges one and the same dataset for some seconds: checks terms and
budget, seals an entry, commits with fsync. Beside it, in the same folder: a bare SQLite commit of
one row with the same settings, and a bare fsync. These are seconds by the clock, because waiting
for the disk is what is measured; on a busy machine they vary many times over, so that calls take
turns and the best round counts. Target: 1,000 charges a second on SQLite by one process, with
synchronous=FULL.

PostgreSQL: the server at ``--postgres`` (a database in which new ones may be made), else a private
one as in the tests, if it is installed.
"""

import argparse
import itertools
import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _report import note, ratio, save, say, seconds, show
from veilspan import Budget, GaussianEvent, Plan
from veilspan.ledger import Ledger, Request

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "ledger"))

TARGET = 1000.0
PROCESSES = (1, 2, 6)
NAME = "benchmark"
START = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def request() -> Request:
    """A fit of one Gaussian release, so small that no measurement exhausts the budget."""
    budget = Budget(0.001, 1e-6)
    plan = Plan(
        method="PCA",
        budget=budget,
        neighbors="replace-one",
        n_rows=100_000,
        n_features=20,
        events=(GaussianEvent("second moment", 1 / budget.mu),),
    )
    return Request(plan, "a question")


# ---------------------------------------------------------------- what is timed


def charge(url: str, key: str) -> Callable[[], Any]:
    handle, asked = Ledger(url, key).dataset(NAME), request()
    return lambda: handle.charge(asked)


def charge_and_release(url: str, key: str) -> Callable[[], Any]:
    handle, asked = Ledger(url, key).dataset(NAME), request()
    return lambda: handle.charge(asked).release({"epsilon": 0.001})


def bare_commit(url: str, key: str) -> Callable[[], Any]:
    """One row of 200 bytes in a transaction of its own, in a database beside the ledger."""
    connection = sqlite3.connect(f"{url}.bare", timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (a TEXT)")

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (?)", ("x" * 200,))
        connection.execute("COMMIT")

    return commit


CALLS = {
    "charge": charge,
    "charge and release": charge_and_release,
    "bare commit": bare_commit,
}


def worker(call: str, url: str, key: str, duration: float, start: Any, done: Any) -> None:
    """Repeat a call for some seconds; send back how long each one took, and the CPU seconds."""
    work = CALLS[call](url, key)
    work()  # connections, caches
    start.wait(120)
    took, cpu, until = [], time.process_time(), time.perf_counter() + duration
    while (begin := time.perf_counter()) < until:
        work()
        took.append(time.perf_counter() - begin)
    done.put((took, time.process_time() - cpu))


def measure(call: str, url: str, key: str, processes: int, duration: float) -> dict[str, float]:
    """Calls per second of all processes together, and how long one takes."""
    context = multiprocessing.get_context(START)
    if START == "forkserver":  # once for all: imports take longer than a measurement
        context.set_forkserver_preload(["__main__", "scipy.special", "scipy.optimize"])
    start, done = context.Barrier(processes), context.Queue()
    settings = (call, url, key, duration, start, done)
    workers = [context.Process(target=worker, args=settings) for _ in range(processes)]
    for process in workers:
        process.start()
    told = [done.get(timeout=duration + 240) for _ in workers]
    for process in workers:
        process.join()
    # A list ends with the first call that passes the limit, so it may take a little longer.
    rate = sum(len(took) / sum(took) for took, _ in told)
    every = sorted(one for took, _ in told for one in took)
    return {
        "per_second": rate,
        "cpu": sum(cpu for _, cpu in told) / len(every),
        "median": statistics.median(every),
        "p99": every[int(0.99 * (len(every) - 1))],
    }


def bare_fsync(folder: Path, times: int = 200) -> float:
    """Median seconds to append 4 KB to a file and wait for the disk."""
    took = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(times):
            begin = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            took.append(time.perf_counter() - begin)
    return statistics.median(took)


# ---------------------------------------------------------------- ledgers


def measure_ledger(
    title: str, url: str, folder: Path, calls: list[str], duration: float, rounds: int
) -> dict[str, Any]:
    """The best of some rounds, calls in turns, on a new ledger; then its verification."""
    key = str(folder / f"{title}.key")
    ledger = Ledger(url, key)
    ledger.dataset(NAME, epsilon=100.0, delta=1e-6)
    found: dict[str, Any] = {}
    for _ in range(rounds):
        for processes, call in itertools.product(PROCESSES, calls):
            say(f"{title}, {call}, {processes} processes ...")
            times = measure(call, url, key, processes, duration)
            place = f"{call}, {processes}"
            found[place] = max(times, found.get(place, times), key=lambda t: t["per_second"])
    begin = time.perf_counter()
    report = ledger.verify()
    took = time.perf_counter() - begin
    if not report:
        raise RuntimeError(f"the ledger is not in order: {report.problems[0]}")
    print_table(title, calls, found)
    note(f"{title}: {report.entries:,} entries verified in {seconds(took)}; nothing found.")
    return {"rates": found, "entries": report.entries, "verify": took}


def measure_readers(folder: Path, lengths: tuple[int, ...]) -> dict[str, Any]:
    """Seconds of spent() and of a page of history after many charges, and of a whole check."""
    found: dict[str, Any] = {}
    for length in lengths:
        ledger = Ledger(folder / f"{length}.db", folder / f"{length}.key")
        handle = ledger.dataset(NAME, epsilon=100.0, delta=1e-6)
        fill(ledger, length)
        asked = {
            "spent": handle.spent,
            "page of 100": lambda handle=handle: handle.history(limit=100),
            "verify": ledger.verify,
        }
        for name, ask in asked.items():
            say(f"{name} after {length:,} charges ...")
            found[f"{name}, {length}"] = min(once(ask) for _ in range(1 if name == "verify" else 5))
    columns = ["after so many charges", *(f"{length:,}" for length in lengths)]
    names = ("spent", "page of 100", "verify")
    rows = [[name, *(seconds(found[f"{name}, {n}"]) for n in lengths)] for name in names]
    show("SQLite: readers; spent() and a page do not grow with the record", columns, rows)
    return found


def fill(ledger: Ledger, charges: int) -> None:
    """Write charges as :meth:`veilspan.ledger.Dataset.charge` does, in one transaction."""
    plan = request().plan.to_dict()
    with ledger.journal.writing() as page:
        for number in range(1, charges + 1):
            page.book.spend(NAME, (1, 1, 1, 1))
            totals = {"charges": number, "tests": 0, "spent": [number] * 4, "costs": [1] * 4}
            page.append("charge", NAME, {"method": "PCA", "test": "", "plan": plan, **totals})


def once(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def print_table(title: str, calls: list[str], found: dict[str, Any]) -> None:
    rows = []
    for call in calls:
        for processes in PROCESSES:
            times = found[f"{call}, {processes}"]
            each = [seconds(times[part]) for part in ("median", "p99", "cpu")]
            rows.append([call, str(processes), f"{times['per_second']:,.0f}", *each])
    columns = ["", "processes", "per second, together", "median of one", "99 % below", "CPU of one"]
    show(f"{title}: calls, all on one dataset", columns, rows)


def print_verdict(rates: dict[str, Any], fsync: float) -> None:
    """The target, and what this disk allows at all."""
    rate, bare = (rates[f"{call}, 1"]["per_second"] for call in ("charge", "bare commit"))
    verdict = "met" if rate >= TARGET else "MISSED"
    note(f"Target, {TARGET:,.0f} charges a second by one process: {rate:,.0f}, {verdict}.")
    note(
        f"An fsync of 4 KB takes {seconds(fsync)} here; SQLite alone commits {bare:,.0f} rows "
        "a second.\n"
    )


def measure_postgres(
    folder: Path, given: str | None, duration: float, rounds: int
) -> dict[str, Any] | None:
    """The same on PostgreSQL, or a sentence why not."""
    from server import OWN_SERVER, fresh_database, running_server, why_no_server

    if given:
        os.environ[OWN_SERVER] = given
    reason = why_no_server()
    if reason is not None:
        note(f"PostgreSQL was not measured: {reason}.")
        return None
    with running_server() as server, fresh_database(server) as url:
        calls = ["charge", "charge and release"]
        return measure_ledger("PostgreSQL", url, folder, calls, duration, rounds)


def ratios(rates: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Seconds of a charge by one process beside those of a bare commit.

    Several processes wait for each other, which a busy machine changes many times over.
    """
    charge, bare = (1 / rates[f"{call}, 1"]["per_second"] for call in ("charge", "bare commit"))
    return [ratio("SQLite charge, one process", charge, bare, "bare SQLite commit", "limit")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="the best of them counts")
    parser.add_argument("--folder", type=Path, help="on the disk to measure; a temporary one")
    parser.add_argument("--postgres", help="URL of a server")
    parser.add_argument("--no-postgres", action="store_true", help="SQLite only")
    parser.add_argument("--quick", action="store_true", help="one round of one second each")
    options = parser.parse_args()
    duration, rounds = (1.0, 1) if options.quick else (options.seconds, options.rounds)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        fsync = bare_fsync(folder)
        url = str(folder / "budget.db")
        ours = measure_ledger("SQLite", url, folder, [*CALLS], duration, rounds)
        found: dict[str, Any] = {"SQLite": ours}
        print_verdict(found["SQLite"]["rates"], fsync)
        lengths = (1_000, 10_000) if options.quick else (1_000, 100_000)
        found["readers"] = measure_readers(folder, lengths)
        if not options.no_postgres:
            found["PostgreSQL"] = measure_postgres(folder, options.postgres, duration, rounds)
    save("ledger", {**found, "fsync": fsync}, ratios(ours["rates"]))


if __name__ == "__main__":
    main()
