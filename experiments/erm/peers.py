"""diffprivlib's logistic regression on the same scaled rows, in an environment of its own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PACKAGES = ["diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy<2.4"]
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C: the best by the test rows is shown
LARGEST = 20_000_000  # numbers in a dense table that it is asked to fit


def diffprivlib(data, epsilons, seed, record):
    """Rows of the CSV, one for each epsilon and C; none where it cannot run."""
    sys.path.insert(0, str(BENCHMARKS))
    from _peers import PeerUnavailable, peer_environ, peer_python

    if np.prod(data.rows.shape) > LARGEST:
        print(f"  diffprivlib left out: {data.split.name} is too large", file=sys.stderr)
        return []
    try:
        python = peer_python("diffprivlib", PACKAGES)
    except PeerUnavailable as error:
        print(f"  diffprivlib left out: {error}", file=sys.stderr)
        return []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        rows = data.rows.toarray() if sparse.issparse(data.rows) else data.rows
        np.savez(file, rows=rows, signs=data.signs)
        settings = {"file": str(file), "epsilons": epsilons, "strengths": STRENGTHS, "seed": seed}
        script = BENCHMARKS / "_peers.py"
        command = [str(python), str(script), "diffprivlib-logistic", json.dumps(settings)]
        done = subprocess.run(command, env=peer_environ(), stdout=subprocess.PIPE, check=True)
    return [
        record(
            data,
            f"diffprivlib C={fit['C']:g}",
            fit["epsilon"],
            seed,
            np.array(fit["theta"]),
            fit["cpu"],
        )
        for fit in json.loads(done.stdout)
    ]
