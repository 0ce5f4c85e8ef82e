"""Write files of this version, which later ones must read: ``python make_samples.py FOLDER``.

Run once for a version, with ``tests`` on the path; the folder is then kept as it is, for good:
``PYTHONPATH=tests python tests/releases/make_samples.py tests/releases/samples/0.1.0``.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

from releases.cases import CASES, RATINGS, ROWS, fitted, kept_answers
from veilspan import MatrixCompletion, SubspaceTracker, releases


def write_samples(place):
    """A release of every case with what it answers, and the states that are no releases."""
    cases = {}
    for name in CASES:
        folder = re.sub("[^a-z0-9]+", "-", name.lower())
        model = fitted(name)
        releases.save(model, place / folder)
        np.savez_compressed(place / folder / "expected.npz", **kept_answers(model, name))
        cases[folder] = name
    (place / "cases.json").write_text(json.dumps(cases, indent=1))
    SubspaceTracker(2).partial_fit(ROWS).save(place / "tracker.npz")
    SubspaceTracker(2, epsilon=1.0).partial_fit(ROWS).save(place / "private-tracker.npz")
    model = MatrixCompletion(rating_range=(1.0, 5.0), epsilon=50.0).fit(RATINGS)
    model.local_predictor().save(place / "local-predictor.npz")


if __name__ == "__main__":
    write_samples(Path(sys.argv[1]))
