"""Run one way of one library and measure every fit; run inside that library's environment.

    python work.py [MODULE ...]

imports modules and reads questions, lines of JSON with a way and its settings. A way is a function
``way(table, seed, **options)`` of a module in this folder: arrays in, arrays out. Each question is
answered by a fork of its own, with one line for each fit, written as soon as it is done: a fit that
exceeds its limit of CPU seconds ends the fork, and what was finished before is not lost.
"""

import ctypes
import importlib
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

SHORT = 0.01  # CPU seconds of a fit that is timed several times over
Way = Callable[..., dict[str, Any]]


def fits(
    way: Way,
    folder: Path,
    tables: int,
    choices: list[dict[str, Any]],
    *,
    warm: list[dict[str, Any]],
    repeats: int,
    limit: int,
) -> Iterator[dict[str, Any]]:
    """Fit every table by every choice of options: least CPU seconds, memory, name of the answer.

    A small table is fitted first, so that neither imports nor compilers are measured.
    """
    for options in warm:
        way(read(folder / "warm.npz"), 0, **options)
    for number in range(tables):
        table = read(folder / f"table{number}.npz")
        for choice, options in enumerate(choices):
            base = peak_megabytes(reset=True)
            allow(limit)
            start = time.process_time()
            answer = way(table, number, **options)
            spent, memory = [time.process_time() - start], peak_megabytes() - base
            calls = 1 if spent[0] > SHORT else 10 if spent[0] > SHORT / 10 else 100  # coarse clocks
            for _ in range(repeats if calls > 1 else repeats - 1):
                allow(limit)
                start = time.process_time()
                for _ in range(calls):
                    way(table, number, **options)
                spent.append((time.process_time() - start) / calls)
            if calls > 1:
                spent = spent[1:]
            name = f"answer{number}-{choice}.npz"
            np.savez(folder / name, **answer)
            yield {"table": number, "choice": choice, "cpu": min(spent), "memory": memory,
                   "answer": name}  # fmt: skip


def read(file: Path) -> dict[str, np.ndarray]:
    """All arrays of a file."""
    with np.load(file) as arrays:
        return {name: arrays[name] for name in arrays.files}


def allow(seconds: int) -> None:
    """End this process once it has used so many CPU seconds more; 0 sets no limit."""
    if seconds:
        used = int(time.process_time()) + 1
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, hard))


def peak_megabytes(*, reset: bool = False) -> float:
    """Largest resident size so far; on Linux since the last reset."""
    status = Path("/proc/self/status")
    try:
        if reset:
            ctypes.CDLL(None).malloc_trim(0)  # what earlier fits freed must not serve this one
            Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets the high-water mark
        text = status.read_text()
        return int(text.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, AttributeError):
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def answer(question: str, settings: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    """Tell the version, every fit, and the error of any kind that ended them."""
    try:
        module, name = question.split(".")
        way = getattr(importlib.import_module(module), name)
        tell({"version": version(settings.pop("package"))})
        settings["folder"] = Path(settings["folder"])
        for fit in fits(way, **settings):
            tell(fit)
    except Exception as error:  # it is a row of the table
        tell({"error": f"{type(error).__name__}: {error}"})


def serve(names: list[str]) -> None:
    """Import modules once, then answer every question in a fresh fork that does only that."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints itself goes to standard error
    warnings.simplefilter("ignore")
    for name in names:
        importlib.import_module(name)

    def tell(line: dict[str, Any]) -> None:
        lines.write(json.dumps(line) + "\n")
        lines.flush()

    for asked in sys.stdin:
        child = os.fork()
        if child == 0:
            answer(**json.loads(asked), tell=tell)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        tell({"ended": code})


if __name__ == "__main__":
    serve(sys.argv[1:])
