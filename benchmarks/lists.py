"""Private lists: the fit beside one sparse product of its items, a list for one user, and rivals.

    python benchmarks/lists.py [--data DIR] [--quick]

The table has the shape of MovieLens-1M (6,040 users x 3,706 items, a million ratings): those
ratings where ``--data`` has them, else generated histories. The fit is the whole of
``MatrixCompletion(task="rank")``, secure noise included, beside SciPy's ``A.T @ A`` of the items
whose tastes it asks for; EASE without privacy is one product of all items and one inverse; noisy
popularity is the same fit without tastes. A list is timed for a median user, over and over.
"""

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from _report import best_times, met, note, ratio, save, say, seconds, show
from veilspan import MatrixCompletion
from veilspan.datasets import make_histories
from veilspan.solvers.completion.list_weights import autoencoder
from veilspan.solvers.completion.ranking import RankingCompletion

MOST_TIME = 3.0  # of a fit, in sparse products of its items
MOST_LIST = 0.002  # seconds of a list for one user
RANGE = (1.0, 5.0)


def ratings(data: Path | None, quick: bool) -> tuple[str, sparse.csr_array]:
    """The table and what to call it."""
    path = None if data is None else data / "movielens-1m" / "ml1m.npz"
    if path is None or not path.is_file():
        users, items, each = (1500, 1000, 60) if quick else (6040, 3706, 165)
        return "generated", make_histories(users, items, 8, items_per_user=each, test_share=0).train
    with np.load(path) as file:
        user, item = (np.unique(file[name], return_inverse=True)[1] for name in ("user", "item"))
        table = sparse.csr_array((file["rating"].astype(np.float64), (user, item)))
    table.sum_duplicates()
    return "MovieLens-1M", table


def fit(table: sparse.csr_array, epsilon: float, **settings: Any) -> Any:
    return MatrixCompletion(task="rank", rating_range=RANGE, epsilon=epsilon, **settings).fit(table)


def ease(table: sparse.csr_array) -> np.ndarray:
    """EASE of all items without privacy."""
    has = table.copy()
    has.data = np.ones_like(has.data)
    return autoencoder((has.T @ has).toarray(), 1.0)


def median_user(table: sparse.csr_array) -> dict[int, float]:
    counts = np.diff(table.indptr)
    row = table[[int(np.argsort(counts)[len(counts) // 2])]]
    return dict(zip(row.indices.tolist(), row.data.tolist()))


def measure(table: sparse.csr_array, epsilon: float, repeats: int) -> dict[str, Any]:
    """Seconds of fits, of the product of the items that they used, and of one list."""
    model = fit(table, epsilon)
    top, history = table[:, np.sort(model.top_items_)], median_user(table)
    phone = model.local_predictor()
    popular = RankingCompletion(popularity_share=1.0)
    say(f"epsilon {epsilon:g}: {len(model.top_items_)} items with tastes")
    times = best_times(
        {
            "fit": lambda: fit(table, epsilon),
            "product": lambda: top.T @ top,
            "popularity": lambda: fit(table, epsilon, solver=popular),
            "list": lambda: phone.recommend(history, k=20),
        },
        repeats,
    )
    return {"epsilon": epsilon, "items": len(model.top_items_), "history": len(history), **times}


def report(rows: list[dict[str, Any]], plain: float, name: str) -> None:
    show(
        f"Fits of lists, {name}",
        ["epsilon", "items", "fit", "A.T @ A of them", "fit / product", "popularity alone", "list"],
        [
            (
                f"{r['epsilon']:g}", f"{r['items']:,}", seconds(r["fit"]), seconds(r["product"]),
                f"{r['fit'] / r['product']:.2f}", seconds(r["popularity"]), seconds(r["list"]),
            )
            for r in rows
        ],
    )  # fmt: skip
    note(f"EASE of all items without privacy: {seconds(plain)}")
    worst = max(r["fit"] / r["product"] for r in rows)
    note(f"a fit is at most {worst:.2f} products; at most {MOST_TIME:g}: {met(worst, MOST_TIME)}")
    longest = max(r["list"] for r in rows)
    words = f"a list of 20 for a user of {rows[0]['history']} items takes {seconds(longest)}"
    note(f"{words}; at most {seconds(MOST_LIST)}: {met(longest, MOST_LIST)}")


def ratios(rows: list[dict[str, Any]], plain: float) -> list[dict[str, Any] | None]:
    found = []
    for r in rows:
        case = f"fit at {r['epsilon']:g}"
        found += [
            ratio(case, r["fit"], r["product"], "SciPy A.T @ A", "limit", MOST_TIME),
            ratio(case, r["fit"], plain, "EASE, no privacy", "peer"),
            ratio(f"list at {r['epsilon']:g}", r["list"], MOST_LIST, "2 ms", "limit", 1.0),
        ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a quarter of the users, one repeat")
    options = parser.parse_args()
    repeats = 1 if options.quick else options.repeats
    epsilons = (1.0,) if options.quick else (0.5, 1.0, 3.0, 5.0)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("error")
        name, table = ratings(options.data, options.quick)
        rows = [measure(table, epsilon, repeats) for epsilon in epsilons]
        say("EASE without privacy")
        plain = best_times({"ease": lambda: ease(table)}, 1)["ease"]
    report(rows, plain, name)
    save("lists", {"table": name, "rows": rows, "ease": plain}, ratios(rows, plain))


if __name__ == "__main__":
    main()
