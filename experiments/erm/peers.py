"""diffprivlib's logistic regression on the same scaled rows, in an environment of its own."""

import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from ..environments import ask

NAME = "diffprivlib"
PACKAGES = ["diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy<2.4"]
SCRIPT = Path(__file__).with_name("diffprivlib_logistic.py")
STRENGTHS = (0.01, 0.1, 1.0, 10.0)  # C: the best by the test rows is shown
LARGEST = 20_000_000  # numbers in a dense table that it is asked to fit


def logistic_fits(rows, signs, epsilons, strengths, seed):
    """Coefficients and CPU seconds of each fit; raises ``PeerUnavailable`` where it cannot run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npz"
        np.savez(file, rows=rows.toarray() if sparse.issparse(rows) else rows, signs=signs)
        settings = {"file": str(file), "epsilons": list(epsilons), "strengths": list(strengths)}
        return ask(NAME, PACKAGES, SCRIPT, "logistic", {**settings, "seed": seed})


def diffprivlib(data, epsilons, seed, record):
    """Rows of the CSV, one for each epsilon and C; none for a table that is too large."""
    if np.prod(data.rows.shape) > LARGEST:
        return []
    fits = logistic_fits(data.rows, data.signs, epsilons, STRENGTHS, seed)
    return [
        record(data, f"diffprivlib C={fit['C']:g}", fit["epsilon"], seed,
               np.array(fit["theta"]), fit["cpu"])
        for fit in fits
    ]  # fmt: skip
