"""Tasks on means of matrices and on ratings."""

from typing import Any

import numpy as np
from scipy import sparse

from .measure import OURS, Metric, Table, Task, Way
from .tasks_subspace import EPSILON

DISTANCE = Metric("distance to the mean")
RMSE, RECALL = Metric("held-out RMSE"), Metric("recall at 10", lower=False)
LIKED, SHOWN = 4.0, 10
USER_LEVEL = "(1, 1e-6)-DP, add-remove a user"

# ---------------------------------------------------------------- Frechet means


def spd(count: int, size: int, seed: int) -> Table:
    """Positive definite matrices, with their mean to the last digits."""
    from veilspan.datasets import make_spd
    from veilspan.geometry import SPD

    points, manifold = make_spd(count, size, spread=0.3, random_state=seed).points, SPD(size)
    mean = points.mean(axis=0)
    for _ in range(60):
        mean = manifold.exp(mean, 0.8 * manifold.log(mean, points).mean(axis=0))
    return Table({"points": points}, mean)


def distance(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
    """Affine-invariant distance to the true mean."""
    from veilspan.geometry import SPD

    return (max(float(SPD(len(table.truth)).dist(table.truth, answer["mean"])), 1e-16),)


def frechet(job: Any) -> Task:
    count, size = job.pick((50, 3), (300, 5), (1000, 11))
    steps = tuple({"method": m, "tolerance": 1e-14} for m in ("default", "adaptive"))
    optimisers = tuple({"method": m} for m in ("ConjugateGradient", "SteepestDescent"))
    ways = (
        Way(OURS, "FrechetMean, epsilon = inf", "ways_here.frechet", ({"epsilon": None},)),
        Way(OURS, "FrechetMean", "ways_here.frechet", ({"epsilon": EPSILON},),
            "(1, 1e-6)-DP, replace-one", "eigenvalues within 1e-3 to 1e3 are public",
            "ours FrechetMean"),
        Way("pyriemann", "mean_riemann", "ways_manifold.pyriemann_mean",
            ({"tolerance": 1e-10},), granted="tolerance 1e-10"),
        Way("geomstats", "FrechetMean", "ways_manifold.geomstats_mean", steps,
            granted="best of 2 methods; tolerance 1e-14, 200 steps"),
        Way("pymanopt", "SymmetricPositiveDefinite", "ways_manifold.pymanopt_mean", optimisers,
            granted="best of 2 optimisers; gradient by hand, in batches"),
    )  # fmt: skip
    return Task(
        f"Fréchet mean of {count:,} matrices, SPD({size})", (DISTANCE,),
        lambda: [spd(count, size, seed) for seed in range(job.pick(1, 1, 2))],
        lambda: spd(50, size, 99), ways, distance, repeats=job.pick(1, 2, 3), limit=60,
    )  # fmt: skip


# ---------------------------------------------------------------- ratings


def of_ratings(train: Any, test: Any, rating_range: tuple[float, float]) -> Table:
    train = sparse.csr_array(train)
    given = {"data": train.data.astype(np.float64), "indices": train.indices,
             "indptr": train.indptr, "shape": np.array(train.shape),
             "rating_range": np.array(rating_range, dtype=float)}  # fmt: skip
    return Table(given, sparse.csr_array(test))


def generated(users: int, items: int, each: float, seed: int) -> Table:
    from veilspan.datasets import make_ratings

    data = make_ratings(users, items, ratings_per_user=each, random_state=seed)
    return of_ratings(data.train, data.test, data.rating_range)


def movielens(folder: Any, seed: int) -> Table:
    """MovieLens-1M, its 400 most rated films (a public list), a tenth of the ratings held out."""
    from ..recommend.data import split

    with np.load(folder / "movielens-1m" / "ml1m.npz") as file:
        triples = [file[name] for name in ("user", "item", "rating")]
    data = split("movielens-1m", *triples, (1.0, 5.0), cap=80, most_items=400, seed=seed,
                 held_out=0.1)  # fmt: skip
    return of_ratings(data.train, data.test, (1.0, 5.0))


def rated_well(answer: dict[str, np.ndarray], table: Table) -> tuple[float, float]:
    """RMSE of held-out ratings; share of held-out liked items among ten unseen ones shown."""
    from veilspan.metrics.ranking import recall_at_k

    test = table.truth
    users = np.repeat(np.arange(test.shape[0]), np.diff(test.indptr))
    low, high = table.given["rating_range"]
    gap = np.clip(answer["ratings"][users, test.indices], low, high) - test.data
    liked = test.data >= LIKED
    likes = sparse.csr_array((test.data[liked], (users[liked], test.indices[liked])), test.shape)
    seen = sparse.csr_array((table.given["data"], table.given["indices"], table.given["indptr"]),
                            shape=test.shape)  # fmt: skip
    ranked = answer.get("scores", answer["ratings"])
    return float(np.sqrt(np.mean(gap**2))), recall_at_k(ranked, likes, SHOWN, seen=seen)


def rating_ways(cap: int) -> tuple[Way, ...]:
    svd = tuple({"factors": f, "penalty": p, "epochs": e}
                for f, p, e in ((100, 0.02, 20), (20, 0.05, 40), (50, 0.1, 40)))  # fmt: skip
    als = tuple({"factors": f, "penalty": p, "alpha": a, "liked": LIKED}
                for f, p, a in ((100, 0.01, 1.0), (20, 0.1, 10.0), (10, 1.0, 5.0)))  # fmt: skip
    return (
        Way(OURS, "MatrixCompletion", "ways_here.ratings", ({"epsilon": EPSILON, "cap": cap},),
            USER_LEVEL, audit="ours MatrixCompletion"),
        Way(OURS, "MatrixCompletion, epsilon = inf", "ways_here.ratings",
            ({"epsilon": None, "cap": cap},)),
        Way("scikit-surprise", "SVD", "ways_ratings.surprise_svd", svd,
            granted="best of its defaults and 2 more, by the held-out ratings"),
        Way("implicit", "AlternatingLeastSquares", "ways_ratings.implicit_als", als,
            granted="best of its defaults and 2 more, by the held-out ratings; learns likes only"),
    )  # fmt: skip


def ratings(job: Any) -> list[Task]:
    def task(name: str, tables: Any, cap: int) -> Task:
        return Task(f"ratings, {name}", (RMSE, RECALL), tables, lambda: generated(60, 30, 10, 99),
                    rating_ways(cap), rated_well, limit=120)  # fmt: skip

    users, items, each = job.pick((200, 20, 8), (5000, 100, 30), (20_000, 200, 40))
    found = [task(f"generated, {users:,} users x {items} items",
                  lambda: [generated(users, items, each, 0)], min(80, items))]  # fmt: skip
    if job.data is not None and (job.data / "movielens-1m" / "ml1m.npz").is_file():
        found.append(task("MovieLens-1M, 400 films", lambda: [movielens(job.data, 0)], 80))
    return found


def tasks(job: Any) -> list[Task]:
    """All tasks of this module."""
    return [frechet(job), *ratings(job)]
