"""Which solver wins as the catalogue grows, and what ``"auto"`` chooses.

    python experiments/recommend/crossover.py [--data DIR] [--quick] [--seeds N] [--out DIR]

The noise of a covariance grows with the root of the number of items, and ratings per item fall.
With --data: the most rated 100 to 3,706 films of MovieLens-1M and 1,000 books of BookCrossing, add-
remove; without, generated ratings (few factors that explain much, and popular items). Writes
``crossover.csv`` and prints a table, the winner of each cell and how far the default is from it.
"""

import argparse
from functools import partial
from pathlib import Path

import data as sets
from fig2 import DEFAULT, ROOT, summary, write
from methods import OURS, ours

from veilspan.datasets.ratings import make_ratings

METHODS = [m for m in (DEFAULT, "item bias alone", "covariance", "als") if m in OURS]
GOAL = 0.01  # of the default's RMSE above the best solver's


def generated(n_users, n_items, seed):
    """Two tastes that hold a third of the variance, in a catalogue with popular items."""
    made = make_ratings(n_users, n_items, ratings_per_user=min(40, n_items / 2), random_state=seed)
    name = f"generated-{n_items}"
    return sets.Ratings(name, made.train, made.test, made.rating_range, 40)


def films(folder, n_items, seed):
    found = sets.movielens_1m(folder, seed, n_items)
    return sets.Ratings(
        f"movielens-1m-{found.shape[1]}", found.train, found.test, found.rating_range, found.cap
    )


def sources(options):
    if options.tiny:
        return [partial(generated, 600, 20)]
    if not options.data:
        sizes = (50, 400) if options.quick else (50, 100, 200, 400, 800)
        return [partial(generated, 10_000, n) for n in sizes]
    sizes = (100, 1000) if options.quick else (100, 200, 400, 1000, 3706)
    books = lambda seed: sets.bookcrossing(options.data, seed)  # noqa: E731
    return [*(partial(films, options.data, n) for n in sizes), books]


def measure(data, epsilons, seed):
    return [
        {
            "data": data.name, "users": data.shape[0], "items": data.shape[1], "method": method,
            "epsilon": epsilon, "true_epsilon": epsilon, "seed": seed,
            "rmse": round(ours(data, method, epsilon, seed), 5),
        }
        for epsilon in epsilons
        for method in METHODS
        if not (method == "covariance" and data.shape[1] > 2000)  # minutes of eigenvectors
    ]  # fmt: skip


def verdict(rows):
    cells = summary(rows)
    worst = []
    for name in dict.fromkeys(row["data"] for row in rows):
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
            found = {m: cells[name, m, epsilon][0] for m in METHODS if (name, m, epsilon) in cells}
            best = min(found, key=found.get)
            behind = found[DEFAULT] - found[best]
            worst.append((behind, f"{name} at {epsilon:g}"))
            texts = "  ".join(f"{m} {rmse:.4f}" for m, rmse in found.items())
            print(f"{name:20} epsilon {epsilon:4g}: {texts}  best: {best}")
    count = sum(behind <= GOAL for behind, _ in worst)
    behind, where = max(worst)
    print(
        f"verdict: the default is within {GOAL} of the best solver in {count} of {len(worst)} "
        f"cells; furthest behind {behind:.4f} ({where})"
    )
    als = [c for c in cells if c[1] == "als" and cells[c][0] < cells[c[0], DEFAULT, c[2]][0]]
    print(f"als is ahead of the default in {len(als)} of {len(worst)} cells")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with the files named in data.py")
    parser.add_argument("--quick", action="store_true", help="one seed, two sizes")
    parser.add_argument("--tiny", action="store_true", help="600 generated users, for tests")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "experiments" / "results" / "recommend")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    epsilons = (1.0,) if options.tiny else (1.0, 5.0, 20.0)
    rows = []
    for make in sources(options):
        for seed in range(1 if options.quick or options.tiny else options.seeds):
            data = make(seed=seed)
            print(sets.describe(data), flush=True) if seed == 0 else None
            rows += measure(data, epsilons, seed)
            write(rows, options.out / "crossover.csv")
    verdict(rows)


if __name__ == "__main__":
    main()
