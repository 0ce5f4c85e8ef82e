"""The global step of private recommendations, and the whole fit of the default.

    python benchmarks/recommend.py [--users 500000] [--items 400] [--ratings 80] [--quick]

One covariance of all users' clipped rows, through the curator, noise included, beside scipy's
``A.T @ A`` of the same ratings; then the default's fit beside one such step and one
eigendecomposition; peak memory beside the input; growth with users and with items. Every target
prints whether it holds.

The step is exact in whole numbers, so its error is that of rounding rows towards zero, to the grid
of the proof, which makes all of them a little shorter; scipy's is that of adding float32 numbers.
"""

import argparse
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from _limits import Limits
from _limits import measure as measure_limits
from _report import met, note, ratio, save, say, seconds, show
from veilspan import Budget, GaussianEvent, Plan
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.privacy.noise import SecureNoise
from veilspan.queries.completion.rating_moments import RatingCovariance
from veilspan.queries.completion.rating_rows import RatingRule
from veilspan.solvers.completion.auto import AutoCompletion
from veilspan.solvers.spectral import leading_eigenvectors

MOST_TIME = 3.0  # of a fit, in steps plus one eigendecomposition
MOST_MEMORY = 1.5  # of a fit, in inputs, the input included
MEGABYTE = 1_000_000
RANGE = (-1.0, 1.0)
ROW_NORM = 0.25  # of the longest row: half of a row of typical deviations


def ratings(n_users: int, n_items: int, each: int) -> sparse.csr_array:
    """Rank-one ratings in [-1, 1], ``each`` a user at random."""
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, n_users).astype(np.float32)
    v = rng.uniform(-1, 1, n_items).astype(np.float32)
    item = np.empty((n_users, each), np.int32)
    for start in range(0, n_users, 5000):
        keys = rng.random((min(5000, n_users - start), n_items), dtype=np.float32)
        item[start : start + 5000] = np.sort(np.argpartition(keys, each - 1)[:, :each])
    starts = np.arange(0, n_users * each + 1, each, dtype=np.int32)
    values = (u[:, None] * v[item]).ravel()
    return sparse.csr_array((values, item.ravel(), starts), shape=(n_users, n_items))


def question(table: sparse.csr_array, each: int) -> tuple[Curator, RatingCovariance]:
    """A curator that may be asked for covariances, and the question."""
    plan = Plan(
        method="benchmark",
        budget=Budget(1e8, 1e-6),  # room for as many answers as are timed
        neighbors="replace-one",
        n_rows=table.shape[0],
        n_features=table.shape[1],
        events=(GaussianEvent("covariance", 5.0, count=10**9),),
    )
    rule = RatingRule(*RANGE, min(each, table.shape[1]), "middle")
    query = RatingCovariance(rule, ROW_NORM * math.sqrt(each))
    return Curator(Rows(table), plan, SecureNoise()), query


def step(table: sparse.csr_array, each: int) -> Callable[[], Any]:
    """One global step as a function."""
    curator, query = question(table, each)
    return lambda: curator.answer(query, event="covariance")


def fit(table: sparse.csr_array, each: int, solver: Any = None) -> Callable[[], Any]:
    """The default's fit as a function."""
    model = MatrixCompletion(
        solver or AutoCompletion(),
        rating_range=RANGE,
        max_ratings_per_user=each,
        center="middle",
        epsilon=1,
    )
    return lambda: model.fit(table)


def cpu(call: Callable[[], Any], repeats: int) -> float:
    """Smallest CPU seconds of some calls."""
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def extra_memory(call: Callable[[], Any]) -> int:
    """Bytes that a call holds at its peak beyond what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def clipped(table: sparse.csr_array, each: int) -> sparse.csr_array:
    """Rows scaled to the norm that the step clips to, so that both sides sum the same."""
    lengths = np.sqrt((table.data.astype(np.float64) ** 2).reshape(-1, each).sum(axis=1))
    scale = np.minimum(1, ROW_NORM * math.sqrt(each) / lengths)
    values = table.data * np.repeat(scale, each).astype(np.float32)
    return sparse.csr_array((values, table.indices, table.indptr), shape=table.shape)


def size(table: sparse.csr_array) -> int:
    return int(table.data.nbytes + table.indices.nbytes + table.indptr.nbytes)


def in_float64(table: sparse.csr_array) -> np.ndarray:
    """The sum in float64, block by block."""
    exact = np.zeros((table.shape[1], table.shape[1]))
    for start in range(0, table.shape[0], 4096):
        block = table[start : start + 4096].astype(np.float64).toarray()
        exact += block.T @ block
    return exact


def relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    """Largest error of an entry, in mean diagonal entries."""
    return float(np.abs(found - exact).max() / np.diag(exact).mean())


def shape_error(found: np.ndarray, exact: np.ndarray) -> float:
    """The same after the best common factor: eigenvectors do not feel one."""
    return relative_error(found * ((found * exact).sum() / (found**2).sum()), exact)


def without_noise(table: sparse.csr_array, each: int) -> np.ndarray:
    """What the step sums before noise."""
    _, query = question(table, each)
    total = np.zeros((table.shape[1], table.shape[1]))
    for block in Rows(table).blocks(4096):
        ready = query.prepare(block, None)
        total += query.weighted_sum(ready, np.ones(len(query.norms(ready, None))), None)
    return total


def one_step(table: sparse.csr_array, each: int, repeats: int) -> dict[str, Any]:
    """Both sides of the global step; scipy's product is slow and made once, traced and timed."""
    say("scipy's product and the global step")
    same, ask = clipped(table, each), step(table, each)
    found: list[Any] = []
    start = time.process_time()
    memory = extra_memory(lambda: found.append(same.T @ same))
    plain = time.process_time() - start
    exact, theirs, own = in_float64(same), found[0].toarray(), without_noise(table, each)
    return {
        "scipy A.T @ A": {
            "cpu": plain,
            "memory": memory,
            "error": relative_error(theirs, exact),
            "shape": shape_error(theirs, exact),
        },
        "ours": {
            "cpu": cpu(ask, repeats),
            "memory": extra_memory(ask),
            "error": relative_error(own, exact),
            "shape": shape_error(own, exact),
        },
    }


def whole_fit(table: sparse.csr_array, each: int, one: float, repeats: int) -> dict[str, float]:
    """The default's fit, an eigendecomposition, and the fit's memory."""
    say("the whole fit")
    call = fit(table, each)
    matrix = np.random.default_rng(1).standard_normal((table.shape[1],) * 2)
    eigen = cpu(lambda: leading_eigenvectors(matrix + matrix.T, 24), repeats)
    whole = cpu(call, repeats)
    return {
        "cpu": whole,
        "eigen": eigen,
        "ratio": whole / (one + eigen),
        "input": size(table),
        "share": 1 + extra_memory(call) / size(table),
    }


def growth(tables: Iterable[sparse.csr_array], each: int, repeats: int) -> list[dict[str, float]]:
    """CPU seconds of a step and of a fit with a covariance by size."""
    rows = []
    for table in tables:
        users, items = table.shape
        say(f"{users:,} users x {items:,} items")
        one = cpu(step(table, each), repeats)
        # By name: the default would ask for no covariance of few users and many items.
        whole = cpu(fit(table, each, "covariance"), repeats)
        rows.append({"users": users, "items": items, "step": one, "fit": whole})
    return rows


def report(results: dict[str, Any]) -> None:
    """Print tables and which targets hold."""
    sides, fitted = results["step"], results["fit"]
    show(
        "One global step",
        ["", "CPU", "extra memory", "error / mean diagonal", "but for a factor"],
        [
            (
                name, seconds(r["cpu"]), f"{r['memory'] / MEGABYTE:.0f} MB",
                f"{r['error']:.1e}", f"{r['shape']:.1e}",
            )
            for name, r in sides.items()
        ],
    )  # fmt: skip
    faster = sides["scipy A.T @ A"]["cpu"] / sides["ours"]["cpu"]
    note(f"ours is {faster:.1f} times as fast as scipy")
    note(
        f"whole fit {seconds(fitted['cpu'])}: {fitted['ratio']:.2f} times one step plus one "
        f"eigendecomposition ({seconds(fitted['eigen'])}); at most {MOST_TIME:g}: "
        f"{met(fitted['ratio'], MOST_TIME)}"
    )
    note(
        f"peak memory {fitted['share']:.2f} inputs of {fitted['input'] / MEGABYTE:.0f} MB; at most "
        f"{MOST_MEMORY:g}: {met(fitted['share'], MOST_MEMORY)}"
    )
    show(
        "Growth",
        ["users", "items", "step", "fit", "fit per 100,000 users"],
        [
            (
                f"{r['users']:,}", f"{r['items']:,}", seconds(r["step"]), seconds(r["fit"]),
                seconds(r["fit"] * 1e5 / r["users"]),
            )
            for r in results["growth"]
        ],
    )  # fmt: skip
    by_users = [r for r in results["growth"] if r["items"] == results["items"]]
    few, many = by_users[0], by_users[-1]
    slope = math.log(many["fit"] / few["fit"]) / math.log(many["users"] / few["users"])
    note(f"time of a fit grows as users^{slope:.2f}; at most 1.1 (linear): {met(slope, 1.1)}")


def ratios(results: dict[str, Any], users: int, limits: Limits) -> list[dict[str, Any] | None]:
    """The step beside SciPy's and a dense product at full speed; the fit beside what it needs."""
    sides, fitted, items = results["step"], results["fit"], results["items"]
    case, own = f"one step, {users:,} x {items}", sides["ours"]["cpu"]
    needed = fitted["cpu"] / fitted["ratio"]
    words = "a step and an eigh"
    return [
        ratio(case, own, sides["scipy A.T @ A"]["cpu"], "SciPy A.T @ A", "peer"),
        ratio(case, own, limits.gram(users, items, single=True), "dense ssyrk", "limit"),
        ratio(f"fit, {users:,} x {items}", fitted["cpu"], needed, words, "limit", MOST_TIME),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--ratings", type=int, default=80)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="50,000 users, one repeat")
    options = parser.parse_args()
    users, repeats = (50_000, 1) if options.quick else (options.users, options.repeats)
    few = users // 10
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("error")
        say("making ratings")
        table = ratings(users, options.items, options.ratings)
        sides = one_step(table, options.ratings, repeats)
        fitted = whole_fit(table, options.ratings, sides["ours"]["cpu"], repeats)
        smaller = (ratings(few, items, options.ratings) for items in (100, options.items, 2000))
        grown = growth(chain(smaller, [table]), options.ratings, repeats)
    results = {"items": options.items, "step": sides, "fit": fitted, "growth": grown}
    report(results)
    save("recommend", results, ratios(results, users, measure_limits()))


if __name__ == "__main__":
    main()
