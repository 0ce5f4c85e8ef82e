"""Tasks on subspaces: private PCA, with outliers, streams, and the Grassmann manifold."""

from typing import Any

import numpy as np

from .measure import OURS, Metric, Table, Task, Way

EPSILON, DELTA = 1.0, 1e-6
APPROXIMATE = "(1, 1e-6)-DP, replace-one"
PURE = "1-DP, replace-one"
ANGLE = Metric("subspace error")
MISSED = Metric("energy missed")
NO_MEAN = "told that rows are centred and bounded by 1"
EITHER = "defaults; accuracy is judged by the better of PCA and RobustPCA, by the truth"


def error(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
    """|P - P'|_F / sqrt(2 r): 0 for the true subspace, 1 for one at right angles to it."""
    found, truth = answer["components"], table.truth
    gap = np.linalg.norm(truth.T @ truth - found.T @ found)
    return (float(gap / np.sqrt(2 * len(truth))),)


def missed(answer: dict[str, np.ndarray], table: Table) -> tuple[float]:
    """1 - (energy of the rows in the subspace) / (the most that any can hold)."""
    held = np.linalg.norm(table.given["rows"] @ np.linalg.qr(answer["components"].T)[0]) ** 2
    return (max(float(1 - held / table.truth), 1e-16),)


def haystack(n: int, d: int, rank: int, seed: int, **more: Any) -> Table:
    from veilspan.datasets import make_haystack

    data = make_haystack(n, d, rank, random_state=seed, **more)
    return Table({"rows": data.rows}, data.subspace)


def ours(
    name: str, what: str, rank: int, epsilon: float | None, audit: str = "",
    granted: str = "defaults",
) -> Way:  # fmt: skip
    guarantee = "none" if epsilon is None else APPROXIMATE
    return Way(OURS, what, f"ways_here.{name}", ({"rank": rank, "epsilon": epsilon},), guarantee,
               granted, audit)  # fmt: skip


def plain_pca(rank: int) -> Way:
    solvers = tuple({"rank": rank, "solver": s} for s in ("covariance_eigh", "full"))
    return Way("scikit-learn", "PCA", "ways_here.sklearn_pca", solvers,
               granted="best of 2 solvers, then the faster")  # fmt: skip


def private_ways(rank: int) -> tuple[Way, ...]:
    options = ({"rank": rank, "epsilon": EPSILON},)
    return (
        Way("diffprivlib", "models.PCA", "ways_private.diffprivlib_pca", options, PURE, NO_MEAN,
            "diffprivlib PCA"),
        Way("opendp", "make_private_pca", "ways_private.opendp_pca", options, PURE, NO_MEAN,
            "opendp PCA"),
    )  # fmt: skip


def private_pca(job: Any, width: int, **more: Any) -> Task:
    """Rows near a plane among scattered ones; ``more`` makes the others worse than scattered."""
    n, seeds = job.pick(200, 2000, 2000), range(job.pick(1, 5, 10))
    rank, kind = 2, "outliers along a line" if more else "scattered outliers"
    straight = ours("pca", "PCA", rank, EPSILON, "ours PCA", EITHER)
    robust = ours("robust_pca", "RobustPCA", rank, EPSILON, "ours RobustPCA", EITHER)
    # Without privacy too both are shown: what scikit-learn does is PCA, not the robust kind.
    plain = (
        ours("pca", "PCA, epsilon = inf", rank, None),
        ours("robust_pca", "RobustPCA, epsilon = inf", rank, None),
    )
    ways = (straight, robust, *private_ways(rank), *plain, plain_pca(rank))
    return Task(
        f"private PCA, {width} columns, {kind}", (ANGLE,),
        lambda: [haystack(n, width, rank, seed, noise=0.05, **more) for seed in seeds],
        lambda: haystack(60, 3, rank, 99), ways, error, limit=10,
    )  # fmt: skip


def stream(job: Any) -> Task:
    """All at once against one pass in blocks."""
    n, d, rank = job.pick((500, 10, 3), (10_000, 50, 5), (50_000, 100, 5))
    batches = tuple({"rank": rank, "batch": b} for b in (2 * d, 1000))
    ways = (
        ours("pca", "PCA, epsilon = inf", rank, None),
        Way(OURS, "SubspaceTracker", "ways_here.tracker", ({"rank": rank},)),
        ours("tracker", "SubspaceTracker, ten blocks", rank, EPSILON, "ours SubspaceTracker"),
        ours("pca", "PCA", rank, EPSILON, "ours PCA"),
        plain_pca(rank),
        Way("scikit-learn", "IncrementalPCA", "ways_here.sklearn_incremental", batches,
            granted="best of 2 batch sizes"),
    )  # fmt: skip
    return Task(
        f"subspace of {n:,} noisy rows, {d} columns", (ANGLE,),
        lambda: [haystack(n, d, rank, s, inlier_share=1.0, noise=0.3) for s in range(2)],
        lambda: haystack(2000, d, rank, 99, inlier_share=1.0, noise=0.3), ways, error, repeats=3,
    )  # fmt: skip


def centred(n: int, d: int, rank: int, seed: int) -> Table:
    """Centred rows in the unit ball, so that all libraries look for the same subspace."""
    rows = haystack(n, d, rank, seed, inlier_share=0.5, noise=0.2).given["rows"]
    rows = rows - rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1).max()
    return Table({"rows": rows}, float(np.linalg.eigvalsh(rows.T @ rows)[-rank:].sum()))


def grassmann(job: Any) -> Task:
    """The span of the leading eigenvectors, by optimisation on a manifold and directly."""
    n, d, rank = job.pick((300, 8, 2), (2000, 50, 3), (5000, 100, 5))
    methods = tuple({"rank": rank, "method": m} for m in ("TrustRegions", "ConjugateGradient"))
    ways = (
        ours("leading_subspace", "minimize on Grassmann, epsilon = inf", rank, None),
        ours("pca", "PCA, epsilon = inf", rank, None),
        ours("leading_subspace", "minimize on Grassmann", rank, EPSILON, "ours minimize"),
        ours("pca", "PCA", rank, EPSILON, "ours PCA"),
        Way("pymanopt", "Grassmann", "ways_manifold.pymanopt_subspace", methods,
            granted="best of 2 optimisers; moment formed once, derivatives by hand"),
        plain_pca(rank),
    )  # fmt: skip
    return Task(
        f"leading subspace on Grassmann({d}, {rank})", (MISSED,),
        lambda: [centred(n, d, rank, seed) for seed in range(2)],
        lambda: centred(200, d, rank, 99), ways, missed, repeats=job.pick(1, 1, 3), limit=60,
    )  # fmt: skip


def tasks(job: Any) -> list[Task]:
    """All tasks of this module."""
    line = {"outliers": "line", "inlier_share": 0.6}
    return [private_pca(job, 4), private_pca(job, 20), private_pca(job, 4, **line),
            stream(job), grassmann(job)]  # fmt: skip
