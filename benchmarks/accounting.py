"""What accounting costs: calibrations, and the time to import the package.

    python benchmarks/accounting.py [--quick]

A Poisson-sampled schedule (2000 steps, rate 0.01, delta 1e-5) is calibrated by the library and, in
the same run, by dp_accounting's own search with its PLD accountant to the same accuracy (1e-4
relative), told the answer within a factor of 2. Targets: an exact Gaussian calibration under 1 ms;
a subsampled one within twice the time of the accountant evaluations it needs; ``import veilspan``
under 0.3 CPU seconds.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dp_accounting
from dp_accounting.pld import PLDAccountant
from threadpoolctl import threadpool_limits

import veilspan.privacy.calibration as calibration
from _report import best_times, met, note, ratio, save, say, seconds, show
from veilspan import Budget, GaussianEvent, SampledGaussianEvent, calibrate_noise
from veilspan.privacy import accounting, gdp
from veilspan.privacy.accounting import CERTIFY

STEPS, RATE, DELTA = 2000, 0.01, 1e-5
RELATIONS = {
    "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
}
SOURCES = Path(__file__).resolve().parents[1] / "src"


@dataclass
class Search:
    """One calibration."""

    noise: float
    cpu: float
    evaluations: list[float]  # CPU seconds of each call to the accountant
    certifying: int = 0  # how many of them on the fine grid


def exact_gaussian() -> dict[str, float]:
    """CPU seconds of calibrations that need no numerical accountant."""
    budget = Budget(1.0, 1e-6)
    one = [GaussianEvent("release")]
    many = [GaussianEvent(f"release {i}", 1.0, count=i + 1) for i in range(20)]
    return best_times(
        {
            "one release": lambda: afresh(budget, one),
            "20 kinds of releases": lambda: afresh(budget, many),
            "20 kinds, by shares": lambda: afresh(budget, many, weights=range(1, 21)),
            "dp_accounting, one release": lambda: dp_accounting.get_sigma_gaussian(1.0, 1e-6),
        },
        repeats=15,
    )


def afresh(*args: Any, **kwargs: Any) -> tuple:
    """Calibrate without what the library remembers of earlier calls: a first call is measured."""
    for remembered in (calibration._calibrate, accounting._epsilon, gdp.mu_of):
        remembered.cache_clear()
    return calibrate_noise(*args, **kwargs)


@contextmanager
def counted(owner: Any, name: str) -> Iterator[list[tuple[float, tuple]]]:
    """Replace a function by one that keeps its CPU seconds and arguments, for a while."""
    original = getattr(owner, name)
    calls: list[tuple[float, tuple]] = []

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = original(*args, **kwargs)
        calls.append((time.process_time() - start, args))
        return result

    setattr(owner, name, wrapper)
    try:
        yield calls
    finally:
        setattr(owner, name, original)


def ours(epsilon: float, relation: str) -> Search:
    """The library's calibration of the schedule."""
    step = SampledGaussianEvent("step", RATE, count=STEPS)
    with counted(calibration, "_epsilon") as calls:
        start = time.process_time()
        (event,) = afresh(Budget(epsilon, DELTA), [step], neighbors=relation)
        cpu = time.process_time() - start
    fine = sum(args[-1] == CERTIFY for _, args in calls)
    return Search(event.noise_multiplier, cpu, [time for time, _ in calls], fine)


def theirs(epsilon: float, relation: str, near: float) -> Search:
    """The calibration of dp_accounting, by its own root finder.

    It is told where to look, within a factor of 2 around ``near``: its default bracket starts at
    noise so small that one evaluation takes seconds.
    """

    def make_event(noise: float) -> dp_accounting.DpEvent:
        one = dp_accounting.PoissonSampledDpEvent(RATE, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(one, STEPS)

    with counted(PLDAccountant, "get_epsilon") as calls:
        start = time.process_time()
        noise = dp_accounting.calibrate_dp_mechanism(
            lambda: PLDAccountant(RELATIONS[relation]),
            make_event,
            epsilon,
            DELTA,
            dp_accounting.ExplicitBracketInterval(near / 2, near * 2),
            tol=1e-4 * near,
        )
        cpu = time.process_time() - start
    return Search(noise, cpu, [time for time, _ in calls])


def best(search: Callable[[], Search], repeats: int) -> Search:
    """The quickest of a few identical searches."""
    return min((search() for _ in range(repeats)), key=lambda found: found.cpu)


def subsampled(repeats: int, epsilons: tuple[float, ...]) -> list[dict[str, Any]]:
    """Both calibrations, by relation and epsilon."""
    found = []
    for relation in RELATIONS:
        for epsilon in epsilons:
            say(f"subsampled, {relation}, epsilon = {epsilon:g} ...")
            mine = best(lambda e=epsilon, r=relation: ours(e, r), repeats)
            peer = best(lambda e=epsilon, r=relation, z=mine.noise: theirs(e, r, z), 1)
            found.append({"neighbors": relation, "epsilon": epsilon, "ours": mine, "peer": peer})
    return found


def print_subsampled(found: list[dict[str, Any]]) -> float:
    """One row per calibration; return the worst overhead."""
    rows, overheads = [], []
    for case in found:
        mine, peer = case["ours"], case["peer"]
        overheads.append(mine.cpu / math.fsum(mine.evaluations))
        rows.append(
            [
                f"{case['neighbors']}, {case['epsilon']:g}",
                f"{mine.noise:.5f}",
                seconds(mine.cpu),
                f"{len(mine.evaluations) - mine.certifying} + {mine.certifying}",
                f"{overheads[-1]:.3f}",
                f"{mine.cpu / mine.evaluations[-1]:.1f}",
                f"{peer.noise:.5f}",
                seconds(peer.cpu),
                str(len(peer.evaluations)),
                f"{peer.cpu / mine.cpu:.1f}",
                f"{1e4 * (mine.noise / peer.noise - 1):+.2f}",
            ]
        )
    columns = ["neighbours, epsilon", "noise", "CPU", "evals", "/ evals", "/ last"]
    columns += ["dp_acc. noise", "CPU", "evals", "/ ours", "gap, 1e-4"]
    show(f"Calibration of {STEPS} steps at rate {RATE}, delta {DELTA:g}", columns, rows)
    note("evals: accountant evaluations, coarse (to search) + fine (to certify).")
    note("/ evals: CPU of the calibration over that of its evaluations alone.")
    note(
        "/ last: CPU of the calibration over that of the one evaluation that certifies its result."
    )
    note("gap: how far our noise lies above theirs, in units of the accuracy asked of both.")
    return max(overheads)


def start_up(code: str, environ: dict[str, str], repeats: int) -> float:
    """Smallest CPU seconds of a fresh interpreter that runs ``code``."""
    command = [sys.executable, "-c", code]
    smallest = math.inf
    for _ in range(repeats + 1):  # the first run compiles what it imports
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        smallest = min(smallest, used)
    return smallest


def start_ups(repeats: int) -> dict[str, float]:
    """CPU seconds of fresh interpreters, with compiled modules as after any first use."""
    help_page = "import sys; sys.argv = ['veilspan', '--help']; from veilspan.cli import main; "
    codes = {
        "python, nothing": "pass",
        "import veilspan": "import veilspan",
        "veilspan --help": help_page + "main()",
        "import sklearn.base": "import sklearn.base",
        "from veilspan import PCA": "from veilspan import PCA",
    }
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONPYCACHEPREFIX": cache}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        return {name: start_up(code, environ, repeats) for name, code in codes.items()}


def ratios(
    gaussian: dict[str, float], sampled: list[dict[str, Any]], starts: dict[str, float]
) -> list[dict[str, Any] | None]:
    """Calibrations beside dp_accounting's, and beside the evaluations they cannot do without."""
    peer = "dp_accounting"
    theirs = gaussian["dp_accounting, one release"]
    found = [ratio("exact Gaussian", gaussian["one release"], theirs, peer, "peer")]
    for case in sampled:
        mine, other = case["ours"], case["peer"]
        words = f"subsampled, {case['neighbors']}, epsilon {case['epsilon']:g}"
        needed = math.fsum(mine.evaluations)
        found.append(ratio(words, mine.cpu, other.cpu, peer, "peer"))
        found.append(ratio(words, mine.cpu, needed, "its evaluations", "limit", 2.0))
    start, other = starts["import veilspan"], starts["import sklearn.base"]
    found.append(ratio("import veilspan", start, other, "import sklearn.base", "peer"))
    found.append(ratio("import veilspan", start, starts["python, nothing"], "python", "limit"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one epsilon, fewer repeats")
    quick = parser.parse_args().quick
    repeats = 1 if quick else 3
    with threadpool_limits(1):
        gaussian = exact_gaussian()
        show(
            "Exact Gaussian calibration",
            ["", "CPU"],
            [[name, seconds(time)] for name, time in gaussian.items()],
        )
        sampled = subsampled(repeats, (1.0,) if quick else (0.1, 1.0, 8.0))
    overhead = print_subsampled(sampled)
    note("")
    say("fresh interpreters ...")
    starts = start_ups(3 * repeats)
    show("Start-up", ["", "CPU"], [[name, seconds(time)] for name, time in starts.items()])
    one, start = gaussian["one release"], starts["import veilspan"]
    note(f"Target: exact calibration under 1 ms: {seconds(one)}, {met(one, 1e-3)}.")
    note(f"Target: subsampled within 2 x its evaluations: {overhead:.3f}, {met(overhead, 2)}.")
    note(f"Target: import under 0.3 CPU seconds: {seconds(start)}, {met(start, 0.3)}.")
    plain = [{k: vars(v) if isinstance(v, Search) else v for k, v in c.items()} for c in sampled]
    results = {"gaussian": gaussian, "subsampled": plain, "start_up": starts}
    save("accounting", results, ratios(gaussian, sampled, starts))


if __name__ == "__main__":
    main()
