"""How often the error bars of curves hold: fits of one table with fresh noise.

    python -m experiments.tables.bars [--data DIR] [--seeds 6]

Every fit has other noise on the same rows, so the mean over seeds stands for what a fit without
noise would show. Printed is the share of points of a table's curves whose band of two deviations
holds that mean, over all curves and the least of them: 95 % if bars were exact. With ``--data``
adult is fitted as well (income at epsilon 0.5, hours at 1); without it generated tables alone.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np

from veilspan import LinearRegression, LogisticRegression

from . import sets

DELTA = 1e-6
#: Task, epsilon, rows; those of files apart.
GENERATED = (("additive truth", 1.0, 10_000), ("additive truth, numbers", 1.0, 10_000))
FILED = (("adult", 0.5, 36_000), ("adult -> hours", 1.0, 36_000))


def curves_of(name, folder, epsilon, rows, seeds):
    """The curves of one table, a fit for each seed of the noise."""
    task = sets.make_task(name, folder, "fresh", 0, rows)
    kind = LogisticRegression if task.is_classes else LinearRegression
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seeds make simulations
        return [
            kind(schema=task.schema, epsilon=epsilon, delta=DELTA, random_state=seed)
            .fit(task.train)
            .shapes_
            for seed in seeds
        ]


def covered(fits):
    """Share of points inside two deviations of the mean over fits, for each curve."""
    shares, count = {}, len(fits)
    for name in fits[0]:
        scores = np.array([each[name].scores[:, 0] for each in fits])
        told = np.array([each[name].errors[:, 0] for each in fits])
        # The mean of all fits moves with each of them.
        away = np.abs(scores - scores.mean(axis=0)) * np.sqrt(count / (count - 1))
        shares[name] = float(np.mean(away <= 2 * told))
    return shares


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, help="folder with adult/adult.parquet")
    parser.add_argument("--seeds", type=int, default=6, help="fits of each table, at least 2")
    parser.add_argument("--rows", type=int, help="fewer rows than usual")
    said = parser.parse_args()
    for name, epsilon, rows in (*GENERATED, *(FILED if said.data else ())):
        seeds = range(100, 100 + max(2, said.seeds))
        shares = covered(curves_of(name, said.data, epsilon, said.rows or rows, seeds))
        worst = min(shares, key=shares.get)
        print(
            f"{name}, epsilon {epsilon:g}: {np.mean(list(shares.values())):.3f} of all points, "
            f"least {shares[worst]:.3f} ({worst})"
        )


if __name__ == "__main__":
    main()
