"""How often a reader changes files: from ``fit`` to the first noise, call after call.

    python benchmarks/file_switches.py

A switch is a call into another file of the package than that of the call before it: what somebody
who steps through a fit with a debugger sees. The second column leaves out what a reader takes in
without opening a file: properties, and checks of arguments (functions that only refuse). The last
column counts how often the whole fit runs the rule of ``solver="auto"``: once, for the plan and the
run together; 0 where "auto" is one solver whatever the table.
"""

import sys
import warnings
from functools import cached_property
from inspect import CO_GENERATOR, isclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import veilspan
from veilspan.datasets import make_ratings

ROOT = str(Path(veilspan.__file__).parent)
NOISE = ("add_noise", "add_discrete_noise")
CHECKS = ("check", "_check", "refuse", "__post_init__", "_in_range", "is_masked", "_holds_moments")


def make_fits():
    """First fits of a newcomer: default settings beside what has no default."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 5))
    y = (x[:, 0] > 0).astype(int)
    ratings = make_ratings(300, 20).train
    told = {"feature_range": (-3.0, 3.0), "classes": (0, 1)}
    return {
        "PCA": lambda: veilspan.PCA(2).fit(x),
        "RobustPCA": lambda: veilspan.RobustPCA(2).fit(x),
        "LogisticRegression": lambda: veilspan.LogisticRegression(**told).fit(x, y),
        "MatrixCompletion": lambda: veilspan.MatrixCompletion(rating_range=(1, 5)).fit(ratings),
    }


def trace_calls(fit):
    """Code objects of our functions in the order of their calls, up to the first noise."""
    calls = []

    def see(frame, event, arg):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(ROOT):
            return
        if calls and calls[-1].co_name in NOISE:
            return
        calls.append(code)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit()  # imports, caches
        sys.setprofile(see)
        try:
            fit()
        finally:
            sys.setprofile(None)
    assert calls[-1].co_name in NOISE
    return calls


def count_choices(fit):
    """How often the whole fit prepares by a rule of ``solver="auto"`` (a file ``auto.py``)."""
    found = []

    def see(frame, event, arg):
        code = frame.f_code
        if event == "call" and code.co_name == "prepare" and code.co_filename.startswith(ROOT):
            found.append(Path(code.co_filename).name)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.setprofile(see)
        try:
            fit()
        finally:
            sys.setprofile(None)
    return found.count("auto.py")


def count_switches(calls):
    """Changes of file between one call and the next."""
    return sum(one.co_filename != two.co_filename for one, two in pairwise(calls))


def find_properties():
    """Code of all properties of the package's classes."""
    found = set()
    for module in [m for name, m in sys.modules.items() if name.startswith("veilspan")]:
        for kind in filter(isclass, vars(module).values()):
            for value in vars(kind).values():
                if isinstance(value, property) and value.fget is not None:
                    found.add(getattr(value.fget, "__code__", None))
                elif isinstance(value, cached_property):
                    found.add(value.func.__code__)
    return found


def leave_out_the_obvious(calls):
    """Calls without properties, checks, and returns into generators."""
    properties, seen = find_properties(), set()
    kept = []
    for code in calls:
        again = code in seen and code.co_flags & CO_GENERATOR
        seen.add(code)
        if code not in properties and not code.co_name.startswith(CHECKS) and not again:
            kept.append(code)
    return kept


def main():
    print(f"{'estimator':<20} {'files':>5} {'switches':>9} {'to follow':>10} {'auto rule':>10}")
    for name, fit in make_fits().items():
        calls = trace_calls(fit)
        files = len({code.co_filename for code in calls})
        followed = count_switches(leave_out_the_obvious(calls))
        switches, chosen = count_switches(calls), count_choices(fit)
        print(f"{name:<20} {files:>5} {switches:>9} {followed:>10} {chosen:>10}")


if __name__ == "__main__":
    main()
