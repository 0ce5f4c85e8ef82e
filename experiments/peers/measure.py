"""Tasks, ways to do them, and their measurement, each in a process that does only that."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from veilspan.catalogue import ESTIMATORS

from ..environments import ONE_THREAD, PeerUnavailable, peer_environ, peer_python
from . import work

OURS = "veilspan"
HERE = (OURS, "scikit-learn")  # no environment of their own
#: environment of each other library, by the name of its package
ENVIRONMENTS = {
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy<2.4"],
    "opendp": ["opendp[scikit-learn]==0.16.0"],
    "geomstats": ["geomstats==2.8.0", "numpy==2.3.5"],
    "pymanopt": ["pymanopt==2.2.1", "numpy==2.3.5", "scipy==1.17.1"],
    "pyriemann": ["pyriemann==0.12"],
    "scikit-surprise": ["scikit-surprise==1.1.5", "numpy"],
    "implicit": ["implicit==0.7.3"],
}
#: what takes long to import, for all of ours and scikit-learn's
PRELOADED = ["scipy.sparse", "scipy.stats", "sklearn.decomposition", "sklearn.linear_model",
             *(f"veilspan.{kind.home}" for kind in ESTIMATORS.values())]  # fmt: skip
FOLDER_OF = {"scikit-surprise": "surprise"}  # the other experiments call it so


@dataclass(frozen=True, eq=False)
class Table:
    """What a way is given, and what only its score may see."""

    given: dict[str, np.ndarray]
    truth: Any


@dataclass(frozen=True)
class Metric:
    """A name, and whether lower or higher is better."""

    name: str
    lower: bool = True

    def best(self, values: Sequence[float]) -> int:
        """Index of the best of some numbers; those that are none count last."""
        worst = np.inf if self.lower else -np.inf
        known = [worst if np.isnan(value) else value for value in values]
        return int(np.argmin(known) if self.lower else np.argmax(known))


@dataclass(frozen=True)
class Way:
    """A library's way to do a task: a function of ``ways_*.py`` with options to choose from."""

    library: str
    what: str
    question: str
    choices: tuple[dict[str, Any], ...] = ({},)
    guarantee: str = "none"
    granted: str = "defaults"
    audit: str = ""  # key of the audit that speaks of it

    @property
    def private(self) -> bool:
        return self.guarantee != "none"


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, ways and scores: ``score(answer, table)`` gives one number for each metric."""

    name: str
    metrics: tuple[Metric, ...]
    tables: Callable[[], list[Table]]
    warm: Callable[[], Table]
    ways: tuple[Way, ...]
    score: Callable[[dict[str, np.ndarray], Table], Sequence[float]]
    repeats: int = 1
    limit: int = 0  # CPU seconds of one fit, the same for all libraries; 0: none


@dataclass
class Found:
    """What a way did: for each choice of options the scores and CPU seconds of its fits."""

    version: str = ""
    scores: list[list[list[float]]] = field(default_factory=list)
    cpu: list[list[float]] = field(default_factory=list)
    memory: list[float | None] = field(default_factory=list)
    tried: int = 0
    failure: str = ""


class Workers:
    """One waiting process for each environment, started when first asked."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self._running.values():
            process.stdin.close()
            process.wait()

    def lines(self, way: Way, settings: dict[str, Any]) -> list[dict[str, Any]]:
        """What a fork prints; what it finished before its limit, if it reached that."""
        process = self._process(way.library)
        asked = {"question": way.question, "settings": {**settings, "package": way.library}}
        with suppress(BrokenPipeError):  # it has ended: nothing will be read below
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
        lines = []
        while text := process.stdout.readline():
            line = json.loads(text)
            if "ended" not in line:
                lines.append(line)
                continue
            stopped_by_limit = settings["limit"] and line["ended"] < 0
            if line["ended"] and not stopped_by_limit:
                lines.append({"error": f"the process ended with code {line['ended']}"})
            return lines
        del self._running[_home(way.library)]  # the next question starts another
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()
        raise PeerUnavailable(f"the process of {way.library} ended.")

    def _process(self, library: str) -> "subprocess.Popen[str]":
        home = _home(library)
        if home not in self._running:
            command = [_python(library), str(Path(__file__).with_name("work.py"))]
            command += PRELOADED if home == "here" else []
            environ = {**os.environ, **ONE_THREAD} if home == "here" else peer_environ()
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._running[home] = subprocess.Popen(command, env=environ, **pipes)
        return self._running[home]


def _home(library: str) -> str:
    return "here" if library in HERE else library


def _python(library: str) -> str:
    if library in HERE:
        return sys.executable
    return str(peer_python(FOLDER_OF.get(library, library), ENVIRONMENTS[library]))


def run_way(
    task: Task, way: Way, workers: Workers | None, *, warm: dict[str, Any] | None = None
) -> Found:
    """Measure one way on all tables of a task; without workers inside this process, for tests.

    What a library answers is a result, errors and silence too; that it cannot be run here is none,
    and raises ``PeerUnavailable``.
    """
    tables = task.tables()
    found = Found(tried=len(tables))
    found.scores, found.cpu = [[] for _ in way.choices], [[] for _ in way.choices]
    found.memory = [None for _ in way.choices]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "warm.npz", **task.warm().given)
        for number, table in enumerate(tables):
            np.savez(folder / f"table{number}.npz", **table.given)
        settings = {
            "folder": str(folder), "tables": len(tables), "choices": list(way.choices),
            "warm": [warm] if warm else list(way.choices), "repeats": task.repeats,
            "limit": task.limit,
        }  # fmt: skip
        lines = workers.lines(way, settings) if workers else _inside(way, {**settings, "limit": 0})
        for line in lines:
            if "version" in line:
                found.version = line["version"]
            elif "error" in line:
                found.failure = line["error"]
            else:
                answer = work.read(folder / line["answer"])
                scored = task.score(answer, tables[line["table"]])
                found.scores[line["choice"]].append([float(value) for value in scored])
                found.cpu[line["choice"]].append(line["cpu"])
                if line["table"] == 0:
                    found.memory[line["choice"]] = line["memory"]
    if not found.failure and len(found.cpu[-1]) < len(tables):
        found.failure = f"no answer in {task.limit} CPU s"
    return found


def _inside(way: Way, settings: dict[str, Any]) -> list[dict[str, Any]]:
    from importlib import import_module
    from importlib.metadata import version

    module, name = way.question.split(".")
    call = getattr(import_module(f"{__package__}.{module}"), name)
    settings = {**settings, "folder": Path(settings["folder"])}
    return [{"version": version(way.library)}, *work.fits(call, **settings)]


def not_run(task: Task, way: Way, why: str) -> list[dict[str, Any]]:
    """Rows of a way that could not be run here."""
    nothing: list[list[Any]] = [[] for _ in way.choices]
    found = Found("", nothing, nothing, [None for _ in way.choices], len(task.tables()), why)
    return rows_of(task, way, found)


def rows_of(task: Task, way: Way, found: Found) -> list[dict[str, Any]]:
    """Rows of the table: one for each metric, each with the choice that is best by it."""
    return [_row(task, way, found, k) for k in range(len(task.metrics))]


def _row(task: Task, way: Way, found: Found, k: int) -> dict[str, Any]:
    metric = task.metrics[k]
    medians = [np.median([s[k] for s in scores]) if scores else np.nan for scores in found.scores]
    best = _best(metric, medians, found.cpu)
    scores = [s[k] for s in found.scores[best]]
    done = bool(scores)
    return {
        "task": task.name, "library": way.library, "version": found.version, "what": way.what,
        "metric": metric.name, "better": "lower" if metric.lower else "higher",
        "quality": float(f"{medians[best]:.6g}") if done else None,
        "deviation": float(f"{np.std(scores):.3g}") if done else None,
        "cpu_seconds": float(f"{np.median(found.cpu[best]):.4g}") if done else None,
        "memory_mb": _rounded(found.memory[best]) if done else None,
        "finished": f"{len(scores)} of {found.tried}", "failure": found.failure,
        "guarantee": way.guarantee, "audit": way.audit, "granted": way.granted,
        "chosen": _words(way.choices[best]) if done and len(way.choices) > 1 else "",
    }  # fmt: skip


def _best(metric: Metric, medians: list[float], cpu: list[list[float]]) -> int:
    """Index of the most accurate choice; of those that are equally accurate, the fastest."""
    top = medians[metric.best(medians)]
    if np.isnan(top):
        return 0
    close = max(1e-6 * abs(top), 1e-8)  # rounding
    equal = [k for k, value in enumerate(medians) if abs(value - top) <= close]
    return min(equal, key=lambda k: np.median(cpu[k]))


def _rounded(memory: float | None) -> float | None:
    return None if memory is None else round(memory, 1)


def _words(options: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in options.items())
