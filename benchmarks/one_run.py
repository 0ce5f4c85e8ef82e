"""What a one-run audit sees of PCA at epsilon 8: ``python benchmarks/one_run.py`` (about a minute).

Fits to small tables with canaries among the rows, with all of the noise, 0.6 and a half of it; the
bound on epsilon and how many of the seeds were flagged, as text or, with ``--json``, as a record.
"""

import argparse
import json
import os
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from veilspan import PCA
from veilspan.audit import audit_one_run
from veilspan.curator.curator import Curator

CASES = (
    ("replace-one", 50, 700),
    ("replace-one", 50, 1225),
    ("replace-one", 30, 435),
    ("add-remove", 100, 1000),
    ("add-remove", 50, 250),
)
FACTORS = (1.0, 0.6, 0.5)
HONEST = Curator._add_noise


def noise_times(factor):
    def noisy(self, exact, scale):
        return HONEST(self, exact, replace(scale, std=factor * scale.std))

    return noisy


def measured(neighbors, columns, canaries, factor, seeds):
    table = 0.1 * np.random.default_rng(9).standard_normal((9, columns))
    Curator._add_noise = noise_times(factor)
    try:
        model = PCA(1, epsilon=8.0, neighbors=neighbors)
        return [audit_one_run(model, table, n_canaries=canaries, seed=s) for s in range(seeds)]
    finally:
        Curator._add_noise = HONEST


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    for neighbors, columns, canaries in CASES:
        for factor in FACTORS:
            reports = measured(neighbors, columns, canaries, factor, asked.seeds)
            rows.append(
                {
                    "neighbors": neighbors,
                    "columns": columns,
                    "canaries": canaries,
                    "noise": factor,
                    "median bound": round(float(np.median([r.lower_bound for r in reports])), 2),
                    "flagged": sum(not r.ok for r in reports),
                    "seeds": asked.seeds,
                }
            )
            if not asked.json:
                last = rows[-1]
                print(
                    f"{neighbors:<12} {columns:4d} columns {canaries:5d} canaries, "
                    f"noise x {factor:g}: "
                    f"median bound {last['median bound']:5.2f}, "
                    f"flagged {last['flagged']} of {asked.seeds}",
                    flush=True,
                )
    if asked.json:
        print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
