"""Stored runs of ``benchmarks/run``: what got slower since the last one.

Only ratios are compared, never seconds: both sides of a ratio were measured in one run on one
machine, so that a busy hour changes them little. A run is one JSON file:

    {"schema": 1, "scale": "quick", "stamp": ..., "suites": {name: [ratio, ...]}, ...}

with ratios as ``_report.ratio`` makes them.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veilspan._files import write_whole

SCHEMA = 1
WORSE = 1.5  # times the last ratio
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Regression:
    """A ratio that grew."""

    suite: str
    case: str
    other_name: str
    before: float
    now: float

    def __str__(self) -> str:
        times = self.now / self.before
        return (
            f"{self.suite}: {self.case}, beside {self.other_name}: {self.before:.3g} before, "
            f"{self.now:.3g} now ({times:.2f} times)"
        )


@dataclass(frozen=True)
class Comparison:
    """What a run says beside the ones before it."""

    regressions: list[Regression] = field(default_factory=list)
    compared: int = 0
    new: int = 0  # ratios that no stored run has
    gone: int = 0  # ratios of stored runs that this one has not, in the suites that it ran


def compare(
    suites: dict[str, list[dict[str, Any]]], before: dict[Key, float], worse: float = WORSE
) -> Comparison:
    """Look up every ratio of a run among the stored ones."""
    now = dict(keyed(suites))
    shared = [key for key in now if key in before]
    found = [
        Regression(key[0], key[1], key[3], before[key], now[key])
        for key in shared
        if now[key] > worse * before[key]
    ]
    gone = sum(key[0] in suites and key not in now for key in before)
    return Comparison(found, len(shared), len(now) - len(shared), gone)


def keyed(suites: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[Key, float]]:
    """Every ratio with what tells it from the others."""
    for suite, ratios in suites.items():
        for one in ratios:
            yield (suite, one["case"], one["kind"], one["other_name"]), float(one["ratio"])


def better(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The smaller of two measurements of each ratio of a suite: disturbances only add time."""
    best: dict[Any, dict[str, Any]] = {}
    for one in [*first, *second]:
        key = one["case"], one["kind"], one["other_name"]
        if key not in best or one["ratio"] < best[key]["ratio"]:
            best[key] = one
    return list(best.values())


def last_ratios(files: Iterable[Path], scale: str) -> tuple[dict[Key, float], list[str]]:
    """Ratios of the last run of this scale that had each suite; and which files are unreadable.

    ``files`` come newest first. A run of some suites only does not hide older ones of the others.
    """
    found: dict[Key, float] = {}
    seen: set[str] = set()
    broken = []
    for path in files:
        if not path.exists():
            continue
        record = read_run(path)
        if record is None:
            broken.append(path.name)
        elif record["scale"] == scale:
            fresh = {name: r for name, r in record["suites"].items() if name not in seen}
            found.update(keyed(fresh))
            seen |= set(fresh)
    return found, broken


def read_run(path: Path) -> dict[str, Any] | None:
    """A stored run, or ``None`` if the file is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA or not isinstance(record["scale"], str):
            return None
        dict(keyed(record["suites"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return record


def merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """A run, with the suites that it has not taken from an older one of the same scale."""
    if old is None or old["scale"] != new["scale"]:
        return new
    return {**new, "suites": {**old["suites"], **new["suites"]}}


def stored_runs(folder: Path) -> list[Path]:
    """Files of earlier runs, newest first: their names are stamps of UTC."""
    return sorted(folder.glob("[0-9]*.json"), reverse=True)


def store(record: dict[str, Any], *paths: Path) -> None:
    """Write a run to each path, whole or not at all."""
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    for path in paths:
        write_whole(path, lambda stream: stream.write(text.encode()))
