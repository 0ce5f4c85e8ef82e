"""Time other libraries: ``python peer_times.py tasks.json arrays.npz times.json``.

Runs in the oracle environment. A task is [key, case, sizes, operation, names of its arrays,
batch]; times are seconds per call.
"""

import json
import signal
import sys
from pathlib import Path

import numpy as np
import peers
from pymanopt import manifolds as pm
from timing import interleaved

TOO_LONG = 20  # seconds for one task of one library


def pymanopt_batch(case, sizes, k):
    """pymanopt fixes the batch in the manifold; its sphere stacks points as columns."""
    manifold = {
        "spd-affine": lambda: pm.SymmetricPositiveDefinite(*sizes, k=k),
        "stiefel": lambda: pm.Stiefel(*sizes, k=k),
        "grassmann": lambda: pm.Grassmann(*sizes, k=k),
        "poincare": lambda: pm.PoincareBall(*sizes, k=k),
        "sphere": lambda: pm.Oblique(*sizes, k),
    }[case]()
    functions = peers.of_pymanopt(manifold)
    return {**functions, "transport": manifold.transport} if case == "stiefel" else functions


def prepared(library, case, sizes, operation, args, batch):
    """Return a function of no arguments, or None where the library has no such operation."""
    build = peers.PEERS[case].get(library)
    if build is None or (library == "geomstats" and case == "grassmann" and batch):
        return None  # a thousand 500 x 500 projectors do not fit
    functions = build(*sizes)
    if operation not in functions:
        return None
    if library == "pymanopt" and batch:
        functions = pymanopt_batch(case, sizes, batch)
        shape = (sizes[0], sizes[0]) if case.startswith("spd") else tuple(sizes)
        args = [np.array(np.broadcast_to(a, (batch, *shape))) for a in args]
        if case == "sphere":
            args = [np.ascontiguousarray(a.T) for a in args]
    f = functions[operation]
    return lambda: f(*args)


class Late(Exception):
    pass


def ring(*_):
    raise Late


def main(tasks_file, arrays_file, times_file):
    times = {}
    signal.signal(signal.SIGALRM, ring)
    with np.load(arrays_file) as arrays:
        for key, case, sizes, operation, names, batch in json.loads(Path(tasks_file).read_text()):
            for library in ("geomstats", "pymanopt", "pyriemann"):
                signal.alarm(TOO_LONG)
                try:
                    args = [arrays[name] for name in names]
                    f = prepared(library, case, sizes, operation, args, batch)
                    if f is not None:
                        times[f"{key}|{library}"] = interleaved({"f": f})["f"]
                except Late:
                    times[f"{key}|{library}"] = None
                except Exception as error:
                    print(f"{key} {library}: {type(error).__name__}: {error}", file=sys.stderr)
                finally:
                    signal.alarm(0)
    Path(times_file).write_text(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
