"""The methods of the recommendation figures: each takes a data set and gives a held-out RMSE."""

import time
import warnings

import numpy as np
import peers
import printed
from data import pairs

from veilspan.estimators.recommend import MatrixCompletion
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.solvers.completion_rule import AutoCompletion
from veilspan.solvers.completion_table import SOLVERS

DELTA = 1e-6
#: ours, by the label in the figures; a solver that this version lacks is left out
SOLVER_OF = {
    "default (auto)": AutoCompletion(),
    "item bias alone": AutoCompletion(first_share=1.0),
    "covariance": "covariance",
    "frank-wolfe, corrected": "frank-wolfe",
    "svd, corrected": "svd",
    "als": "als",
}
OURS = tuple(k for k, s in SOLVER_OF.items() if not isinstance(s, str) or s in SOLVERS)
PRINTED = ("frank-wolfe as printed", "svd as printed")
TWIN = "default without noise"


def relation(data):
    """Synthetic ratings by the paper's own relation, the others by the usual one."""
    return "replace-one" if data.name == "synthetic" else "add-remove"


def ours(data, name, epsilon, seed, components=None):
    """RMSE of a solver of the library; all of a user's ratings serve her own predictions."""
    model = MatrixCompletion(
        SOLVER_OF[name],
        rating_range=data.rating_range,
        max_ratings_per_user=data.cap,
        n_components=components and min(components, data.shape[1]),
        center="middle" if data.name == "synthetic" else "user",
        epsilon=epsilon,
        delta=DELTA,
        neighbors=relation(data),
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)  # a simulation, on public data
        model.fit(data.train)
    return data.rmse_of_blocks(model.predict)


def as_printed(data, name, epsilon, seed, quick=False):
    """Best RMSE over a small grid, chosen by looking at the held-out ratings, as the paper does."""
    deviation = (data.rating_range[1] - data.rating_range[0]) / 4
    full = deviation * np.sqrt(min(data.cap, data.shape[1]))
    common = {"epsilon": epsilon, "delta": DELTA, "seed": seed}
    if name.startswith("svd"):
        ranks = (1,) if data.name == "synthetic" or quick else (1, 4)
        return min(printed.svd(data, bound=full, rank=r, **common) for r in ranks)
    # The nuclear norm of a rank-one part that holds a tenth (synthetic: all) of the variance.
    nuclear = deviation * np.sqrt(data.shape[0] * data.shape[1])
    scales = (1.0,) if data.name == "synthetic" else (0.15, 0.5)
    grid = [(t, k) for t in (2, 5) for k in scales][: 1 if quick else None]
    return min(
        printed.frank_wolfe(data, bound=full, rounds=t, nuclear_norm=k * nuclear, **common)
        for t, k in grid
    )


def user_mean(data):
    """Every user's own mean; without ratings the middle of the range."""
    counts = np.diff(data.train.indptr)
    sums = np.bincount(pairs(data.train)[0], data.train.data, minlength=data.shape[0])
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.mean(data.rating_range))
    return data.rmse(means[pairs(data.test)[0]])


def without_privacy(data, seed, with_peers):
    """Methods that know no epsilon: label to RMSE."""
    found = {
        "user mean": user_mean(data),
        TWIN: ours(data, "default (auto)", np.inf, seed),
        "plain ALS, not private": peers.plain_als(data),
    }
    if with_peers and data.name != "synthetic":
        for name in peers.NAMES:
            rmse = peers.surprise(data, name)
            found |= {} if rmse is None else {f"{name}, not private": rmse}
    return found


def measure(data, epsilons, seed, *, quick=False, with_peers=False):
    """All methods on one split: one record each."""
    rows = []

    def record(method, epsilon, true, call):
        start = time.process_time()
        rmse = call()
        rows.append(
            {
                "data": data.name, "users": data.shape[0], "items": data.shape[1],
                "relation": relation(data), "method": method, "epsilon": epsilon,
                "true_epsilon": float(f"{true:.4g}"), "seed": seed,
                "rmse": round(rmse, 5), "cpu": round(time.process_time() - start, 2),
            }
        )  # fmt: skip

    for name, rmse in without_privacy(data, seed, with_peers).items():
        record(name, np.inf, np.inf, lambda rmse=rmse: rmse)
    for epsilon in epsilons:
        for name in OURS:
            record(name, epsilon, epsilon, lambda n=name, e=epsilon: ours(data, n, e, seed))
        for name in PRINTED:
            kind = "svd" if name.startswith("svd") else "frank-wolfe"
            true = printed.true_epsilon(epsilon, DELTA, relation(data), kind)
            record(
                name, epsilon, true, lambda n=name, e=epsilon: as_printed(data, n, e, seed, quick)
            )
    return rows
