"""What the benchmarks share: timing side by side, tables, results as JSON, progress."""

import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from veilspan._files import write_whole

HERE = Path(__file__).resolve().parent
#: ``benchmarks/run`` sends results of its shortened runs elsewhere
RESULTS = Path(os.environ.get("VEILSPAN_BENCHMARK_RESULTS") or HERE / "results")
_WIDTH = 110


def say(text: str) -> None:
    """Print one line of progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def best_times(
    calls: Mapping[str, Callable[[], Any]], repeats: int, shortest: float = 0.002
) -> dict[str, float]:
    """Smallest CPU seconds per call, in turns, so that a busy moment hits everybody alike.

    Calls shorter than ``shortest`` seconds are made several times per measurement.
    """
    counts = {name: _calls_for(call, shortest) for name, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(counts[name]):
                call()
            best[name] = min(best[name], (time.process_time() - start) / counts[name])
    return best


def _calls_for(call: Callable[[], Any], shortest: float) -> int:
    call()  # lazy imports, caches
    start = time.process_time()
    call()
    return max(1, int(shortest / max(time.process_time() - start, 1e-7)))


def show(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[str] = ()
) -> None:
    """Print a table of numbers; its first column, and those named in ``words``, are text."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(
            name, justify="left" if i == 0 or name in words else "right", overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH, highlight=False)
    console.print(table)
    console.print()


def note(text: str) -> None:
    """Print a line of prose under a table."""
    width = None if sys.stdout.isatty() else _WIDTH
    Console(width=width, highlight=False).print(text, markup=False)


def seconds(value: float) -> str:
    """Human-readable time; ``never`` if there is no end to it."""
    if math.isinf(value):
        return "never"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def met(value: float, target: float) -> str:
    """Say whether a target, an upper limit, was met."""
    return "met" if value <= target else "MISSED"


def ratio(
    case: str,
    ours: float,
    other: float | None,
    other_name: str,
    kind: str,
    target: float | None = None,
) -> dict[str, Any] | None:
    """One comparison for ``save``: our seconds over those of a peer, or over a physical limit.

    ``kind`` is "peer" or "limit"; ``target`` the largest ratio that we want. ``None`` where the
    other side gave no answer.
    """
    if kind not in ("peer", "limit"):
        raise ValueError(f"kind is peer or limit, not {kind!r}.")
    if other is None or not (math.isfinite(ours) and math.isfinite(other) and other > 0):
        return None
    return {
        "case": case, "ours": float(ours), "other": float(other), "other_name": other_name,
        "kind": kind, "ratio": float(ours / other), "target": target,
    }  # fmt: skip


def save(name: str, results: Any, ratios: Iterable[dict[str, Any] | None] = ()) -> None:
    """Write the numbers to ``<name>.json``, whole or not at all; ``ratios`` as ``ratio`` makes."""
    packages = ("veilspan", "numpy", "scipy", "scikit-learn", "dp-accounting", "randomgen")
    record = {
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in packages},
        "ratios": [one for one in ratios if one is not None],
        "results": results,
    }
    text = json.dumps(record, indent=1) + "\n"
    write_whole(RESULTS / f"{name}.json", lambda stream: stream.write(text.encode()))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except ImportError:  # run from the source tree
        return None
