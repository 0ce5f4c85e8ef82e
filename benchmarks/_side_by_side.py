"""This checkout beside another commit: the same suites in turns, several times each.

A ratio of one run says little on a shared machine, and a stored one says less. So both commits are
measured here, alternating run by run, each with its own scripts and sources. What is compared is
the median of a ratio over the repetitions; its spread is the range over them.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from _compare import Key, keyed

ROOT = Path(__file__).resolve().parents[1]
#: A median that grew beyond this is a regression, if the ranges of both sides do not overlap.
WORSE_BESIDE = 1.2

Ratios = list[dict[str, Any]]


@dataclass(frozen=True)
class Change:
    """One ratio on both commits, over all repetitions."""

    key: Key
    before: tuple[float, ...]
    now: tuple[float, ...]

    @property
    def times(self) -> float:
        """Median now over median before."""
        return median(self.now) / median(self.before)

    @property
    def slower(self) -> bool:
        """Whether it grew by more than ``WORSE_BESIDE``, and by more than its spread."""
        return self.times > WORSE_BESIDE and min(self.now) > max(self.before)

    def row(self) -> list[str]:
        """Cells of the table."""
        suite, case, kind, other = self.key
        word = "SLOWER" if self.slower else "noisy" if self.times > WORSE_BESIDE else ""
        beside = f"{other} ({kind})"
        return [suite, case, beside, _span(self.before), _span(self.now), f"{self.times:.2f}", word]


def _span(values: tuple[float, ...]) -> str:
    return f"{median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The tree of a commit in a folder of its own, which shares the environments of peers."""
    with tempfile.TemporaryDirectory(prefix="veilspan-beside-") as name:
        folder = Path(name)
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit], stdout=subprocess.PIPE, check=True
        )
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        shared = ROOT / ".venvs"
        shared.mkdir(exist_ok=True)
        (folder / ".venvs").symlink_to(shared)
        yield folder


def environ_of(root: Path) -> dict[str, str]:
    """The caller's variables, with the sources of one checkout on the path."""
    return {**os.environ, "PYTHONPATH": str(root / "src")}


def alternate(
    repeats: int, now: Callable[[], Ratios | None], before: Callable[[], Ratios | None]
) -> tuple[list[Ratios], list[Ratios]] | None:
    """Both sides' ratios, one list a repetition; ``None`` if a run failed.

    Who goes first changes with every repetition, so that a drift of the machine favours nobody.
    """
    found: dict[str, list[Ratios]] = {"now": [], "before": []}
    sides = [("now", now), ("before", before)]
    for number in range(repeats):
        for name, measure in sides if number % 2 else reversed(sides):
            ratios = measure()
            if ratios is None:
                return None
            found[name].append(ratios)
    return found["now"], found["before"]


def changes(suite: str, now: list[Ratios], before: list[Ratios]) -> list[Change]:
    """Every ratio that both sides measured in every repetition."""
    mine, theirs = (_collected(suite, runs) for runs in (now, before))
    return [Change(key, theirs[key], mine[key]) for key in mine if key in theirs]


def _collected(suite: str, runs: list[Ratios]) -> dict[Key, tuple[float, ...]]:
    tables = [dict(keyed({suite: ratios})) for ratios in runs]
    shared = [key for key in tables[0] if all(key in table for table in tables)]
    return {key: tuple(table[key] for table in tables) for key in shared}


def medians(runs: list[Ratios]) -> Ratios:
    """One list of ratios with the medians of several: what a baseline keeps."""
    collected = _collected("", runs)
    first = {key: one for one in runs[0] for key, _ in keyed({"": [one]}) if key in collected}
    return [
        {**one, "ratio": median(collected[key]), "least": min(collected[key]),
         "most": max(collected[key])}
        for key, one in first.items()
    ]  # fmt: skip
