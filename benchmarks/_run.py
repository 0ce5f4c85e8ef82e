"""All speed suites, one table: how far we are from the best peer and from the physical limit.

    benchmarks/run [--quick] [SUITE ...] [--no-peers] [--data DIR] [--update-baseline] [--list]
    benchmarks/run --against COMMIT [--repeats 5] [the same]

Every suite runs in a process of its own with one BLAS thread. A ratio is our time over that of a
peer, or over a limit measured in the same process. The run is stored in
``benchmarks/results/history/`` and compared with the last stored run of the same scale, or with
``benchmarks/baseline.json`` where there is none. A suite with a ratio more than 1.5 times the last
one is measured once more, and the better measurement counts.

With ``--against`` another commit is measured beside this checkout, in turns, and the medians are
compared (see ``_side_by_side.py``); ``--update-baseline`` then stores *its* medians.

Exit code: 0, or 1 if a suite failed, or 3 if a ratio got worse by more than 1.5 times
(``--against``: by more than 1.2 times and beyond its spread).
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from _compare import (
    SCHEMA,
    WORSE,
    Comparison,
    better,
    compare,
    last_ratios,
    merged,
    read_run,
    store,
    stored_runs,
)
from _limits import measure as measure_limits
from _report import HERE, note, say, show
from _side_by_side import WORSE_BESIDE, alternate, changes, checkout, environ_of, medians

HISTORY = HERE / "results" / "history"
BASELINE = HERE / "baseline.json"
REGRESSED, FAILED = 3, 1
MOST_ROWS = 12  # of one suite in the table
_THREADS = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")


@dataclass(frozen=True)
class Suite:
    """A script, which of the shared options it takes, and whose it is.

    With ``--against`` each commit brings its own script, unless it is ``shared``: then this
    checkout's runs on both sources, whatever the other commit measures by itself.
    """

    name: str
    script: str
    options: tuple[str, ...] = ()
    peers: bool = False
    data: bool = False
    shared: bool = False

    def command(
        self, *, quick: bool, peers: bool, data: Path | None, folder: Path = HERE
    ) -> list[str]:
        words = [sys.executable, str(folder / self.script), *self.options]
        words += ["--quick"] if quick else []
        words += ["--no-peers"] if self.peers and not peers else []
        words += ["--data", str(data)] if self.data and data is not None else []
        return words


SUITES = (
    Suite("noise", "noise.py"),
    Suite("accounting", "accounting.py"),
    Suite("curator", "curator.py"),
    Suite("tables", "tables.py"),
    Suite("pca", "pca.py", peers=True),
    Suite("defaults", "defaults.py", shared=True),
    Suite("robust_pca", "robust_pca.py", ("--only", "speed"), peers=True),
    Suite("frechet", "frechet.py", peers=True),
    Suite("tracking", "tracking.py", ("--only", "speed")),
    Suite("private_stream", "private_stream.py"),
    Suite("recommend", "recommend.py"),
    Suite("lists", "lists.py", data=True),
    Suite("linear_models", "linear_models.py", peers=True, data=True),
    Suite("ledger", "ledger.py", ("--no-postgres",)),
    Suite("geometry", "geometry/run.py", peers=True),
)


# ---------------------------------------------------------------- running


def measure(
    suite: Suite, options: argparse.Namespace, root: Path = HERE.parent
) -> list[dict[str, Any]] | None:
    """Ratios of a suite, or ``None`` if it failed; its own tables go to standard error."""
    command = suite.command(
        quick=options.quick, peers=not options.no_peers, data=options.data,
        folder=HERE if suite.shared else root / HERE.name,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        environ = {**environ_of(root), "VEILSPAN_BENCHMARK_RESULTS": folder}
        environ |= {f"{name}_NUM_THREADS": "1" for name in _THREADS}
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, errors="replace", check=False
        )
        if options.verbose or done.returncode != 0:
            say(done.stdout + done.stderr)
        if done.returncode != 0:
            return None
        try:
            return json.loads((Path(folder) / f"{suite.name}.json").read_text())["ratios"]
        except (OSError, ValueError, KeyError):
            return None


def run_suites(chosen: list[Suite], options: argparse.Namespace) -> dict[str, Any]:
    """Ratios by suite, ``None`` for those that failed; after Ctrl-C those that were done."""
    found: dict[str, Any] = {}
    for number, suite in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {suite.name} ...")
        start = time.monotonic()
        try:
            found[suite.name] = measure(suite, options)
        except KeyboardInterrupt:
            say("interrupted: what was measured so far is kept.")
            break
        outcome = "FAILED" if found[suite.name] is None else f"{len(found[suite.name])} ratios"
        say(f"[{number}/{len(chosen)}] {suite.name}: {outcome}, {time.monotonic() - start:.0f} s")
    return found


def measure_again(
    suites: dict[str, Any], found: Comparison, options: argparse.Namespace
) -> dict[str, Any]:
    """The same, with the better of two measurements where a suite seemed to get slower."""
    by_name = {suite.name: suite for suite in SUITES}
    for name in sorted({one.suite for one in found.regressions}):
        say(f"{name} seems slower than before: measured once more ...")
        again = measure(by_name[name], options)
        suites = {**suites, name: better(suites[name], again or [])}
    return suites


# ---------------------------------------------------------------- the table


def rows_of(suite: str, ratios: list[dict[str, Any]]) -> list[list[str]]:
    """One row per case, the worst ones first if there are too many."""
    cases = {one["case"]: [r for r in ratios if r["case"] == one["case"]] for one in ratios}
    rows = [(badness(ones), [suite, case, *cells(ones)]) for case, ones in cases.items()]
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda row: -row[0])
    shown = [row for _, row in rows[:MOST_ROWS]]
    left = len(rows) - len(shown)
    return [*shown, [suite, f"... and {left} cases that do better", *[""] * 5]] if left else shown


def badness(ones: list[dict[str, Any]]) -> float:
    """The largest ratio to the best peer, in targets where there are some."""
    best = nearest(ones, "peer") or nearest(ones, "limit")
    return best["ratio"] / (best["target"] or 1.0)


def nearest(ones: list[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """The quickest peer, or the limit that binds: the largest ratio, or the smallest."""
    of_kind = [one for one in ones if one["kind"] == kind]
    if not of_kind:
        return None
    chosen = max if kind == "peer" else min
    return chosen(of_kind, key=lambda one: one["ratio"])


def cells(ones: list[dict[str, Any]]) -> list[str]:
    found = []
    for kind in ("peer", "limit"):
        one = nearest(ones, kind)
        found += ["-", "-"] if one is None else [f"{one['ratio']:.3g}", one["other_name"]]
    with_target = [one for one in ones if one["target"] is not None]
    if not with_target:
        return [*found, ""]
    worst = max(with_target, key=lambda one: one["ratio"] / one["target"])
    word = "met" if worst["ratio"] <= worst["target"] else "MISSED"
    return [*found, f"{worst['target']:g} {word}"]


def print_run(suites: dict[str, Any], limits: dict[str, float]) -> None:
    rows = [row for name, ratios in suites.items() if ratios for row in rows_of(name, ratios)]
    columns = ["suite", "case", "/ peer", "best peer", "/ limit", "limit", "target"]
    words = ("case", "best peer", "limit", "target")
    show("Our time over that of the best peer, and over the physical limit", columns, rows, words)
    rates = ", ".join(f"{name} {limits[name] / 1e9:.1f} Gflop/s" for name in ("dgemm", "sgemm"))
    bandwidth = max(limits["copy"], limits["triad"]) / 1e9
    note(f"This machine, one thread: {rates}; memory {bandwidth:.1f} GB/s.")


def print_comparison(found: Comparison, broken: list[str]) -> None:
    for name in broken:
        note(f"{name} is no stored run: not compared with.")
    if not found.compared:
        note("No stored run of this scale to compare with.")
        return
    gone = f", {found.gone} not measured this time" if found.gone else ""
    note(f"Compared with the last stored run: {found.compared} ratios, {found.new} new{gone}.")
    for one in found.regressions:
        note(f"SLOWER: {one}")
    if not found.regressions:
        note(f"None is more than {WORSE:g} times what it was.")


# ---------------------------------------------------------------- beside another commit


def run_against(chosen: list[Suite], options: argparse.Namespace) -> int:
    """Measure both commits in turns, a table for each suite, and return the exit code."""
    compared, slower, failed = 0, 0, []
    scale = "quick" if options.quick else "full"
    limits = measure_limits().as_dict() if options.update_baseline else {}
    with checkout(options.against) as other:
        for number, suite in enumerate(chosen, 1):
            say(f"[{number}/{len(chosen)}] {suite.name}, {options.repeats} times each ...")
            found = alternate(
                options.repeats,
                lambda suite=suite: measure(suite, options),
                lambda suite=suite: measure(suite, options, other),
            )
            if found is None:
                failed.append(suite.name)
                continue
            both = sorted(changes(suite.name, *found), key=lambda one: -one.times)
            compared, slower = compared + len(both), slower + sum(one.slower for one in both)
            columns = ["suite", "case", "beside", "before", "now", "times", ""]
            title = f"{suite.name}: ratios beside those of {options.against}, median (range)"
            show(title, columns, [one.row() for one in both], columns[1:3])
            if options.update_baseline:
                update_baseline(run_record(scale, {suite.name: medians(found[1])}, limits))
    note(f"{compared} ratios, {slower} slower by more than {WORSE_BESIDE:g} times and "
         "beyond their spread.")  # fmt: skip
    if failed:
        note(f"Without an answer, see above: {', '.join(failed)}.")
    return REGRESSED if slower else FAILED if failed else 0


# ---------------------------------------------------------------- all of it


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    lines = __doc__.split("\n")
    parser = argparse.ArgumentParser(prog="benchmarks/run", description=lines[0], epilog=lines[-2])
    names = [suite.name for suite in SUITES]
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, smaller tables")
    parser.add_argument("--no-peers", action="store_true", help="make no other environments")
    parser.add_argument("--data", type=Path, help="folder with real tables (a9a/a9a.gz)")
    parser.add_argument("--verbose", action="store_true", help="also the tables of each suite")
    parser.add_argument("--list", action="store_true", help="only list the suites")
    parser.add_argument(
        "--update-baseline",
        action="store_true",
        help="write its suites to benchmarks/baseline.json",
    )
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit too, in turns")
    parser.add_argument("--repeats", type=int, default=5, help="with --against: times (5)")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error("--repeats must be at least 1.")
    unknown = [name for name in options.suites if name not in names]
    if unknown:
        parser.error(f"no suite is called {', '.join(unknown)}; there are {', '.join(names)}.")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    chosen = [s for s in SUITES if not options.suites or s.name in options.suites]
    if options.list:
        print("\n".join(f"{suite.name:14} {suite.script}" for suite in chosen))
        return 0
    if options.against is not None:
        return run_against(chosen, options)
    # Real rows change the ratios of the suites that use them, so they are another scale.
    scale = ("quick" if options.quick else "full") + ("" if options.data is None else " with data")
    before, broken = last_ratios([*stored_runs(HISTORY), BASELINE], scale)
    suites = run_suites(chosen, options)
    done = {name: ratios for name, ratios in suites.items() if ratios is not None}
    found = compare(done, before)
    if found.regressions:
        done = measure_again(done, found, options)
        found = compare(done, before)
    limits = measure_limits().as_dict()
    if done:
        print_run(done, limits)
        print_comparison(found, broken)
        keep(scale, done, limits, update=options.update_baseline)
    failed = [suite.name for suite in chosen if suite.name not in done]
    if failed:
        note(f"Without an answer, see above: {', '.join(failed)}.")
    return REGRESSED if found.regressions else FAILED if failed else 0


def run_record(scale: str, suites: dict[str, Any], limits: dict[str, float]) -> dict[str, Any]:
    """A run as it is stored."""
    return {
        "schema": SCHEMA, "scale": scale, "stamp": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "machine": platform.machine(), "python": platform.python_version(), "limits": limits,
        "suites": suites,
    }  # fmt: skip


def keep(scale: str, suites: dict[str, Any], limits: dict[str, float], *, update: bool) -> None:
    """Store the run with its stamp, as the latest, and as the baseline if asked."""
    record = run_record(scale, suites, limits)
    path = HISTORY / f"{record['stamp']}.json"
    store(record, path, HISTORY / "latest.json")
    note(f"Stored as {path.relative_to(HERE.parent)}.")
    if update:
        update_baseline(record)


def update_baseline(record: dict[str, Any]) -> None:
    """Write the suites of a run to the baseline."""
    store(merged(read_run(BASELINE), record), BASELINE)
    note(f"{BASELINE.relative_to(HERE.parent)} now has the suites of this run.")


if __name__ == "__main__":
    sys.exit(main())
