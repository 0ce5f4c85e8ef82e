"""The methods of the recommendation figures: each takes a data set and gives a held-out RMSE."""

import time
import warnings

import numpy as np

from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.solvers.completion.auto import AutoCompletion
from veilspan.solvers.completion.by_name import SOLVERS

from ..environments import PeerUnavailable
from ..values import number
from . import cleansed, peers, printed
from .data import pairs

DELTA = 1e-6
DEFAULT = "default (auto)"
#: ours, by the label in the figures; a solver that this version lacks is left out
SOLVER_OF = {
    DEFAULT: AutoCompletion(),
    "item bias alone": AutoCompletion(first_share=1.0),
    "covariance": "covariance",
    "frank-wolfe, corrected": "frank-wolfe",
    "svd, corrected": "svd",
    "als": "als",
}
OURS = tuple(k for k, s in SOLVER_OF.items() if not isinstance(s, str) or s in SOLVERS)
FRANK_WOLFE, SVD = "frank-wolfe as printed", "svd as printed"
GROWING = "frank-wolfe as printed, growing noise"
PRINTED = (FRANK_WOLFE, GROWING, SVD)
CLEANSED = "svd after cleansing (2009)"  # McSherry & Mironov
TWIN = "default without noise"
USER_MEAN = "user mean"


def relation(data):
    """Synthetic ratings by the paper's own relation, the others by the usual one."""
    return "replace-one" if data.name == "synthetic" else "add-remove"


def ours(data, solver, epsilon, seed, components=None):
    """RMSE of a solver of the library; all of a user's ratings serve her own predictions."""
    model = MatrixCompletion(
        SOLVER_OF.get(solver, solver) if isinstance(solver, str) else solver,
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
    common["growth"] = float(name == GROWING)
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


def plan(epsilons, quick):
    """Every method with its epsilon: label, nominal epsilon and the function of data and seed."""
    yield USER_MEAN, np.inf, lambda data, seed: user_mean(data)
    yield TWIN, np.inf, lambda data, seed: ours(data, DEFAULT, np.inf, seed)
    yield "plain ALS, not private", np.inf, lambda data, seed: peers.plain_als(data)
    for e in epsilons:
        for name in OURS:
            yield name, e, lambda data, seed, n=name, e=e: ours(data, n, e, seed)
        for name in PRINTED:
            yield name, e, lambda data, seed, n=name, e=e: as_printed(data, n, e, seed, quick)
        yield (
            CLEANSED,
            e,
            lambda data, seed, e=e: cleansed.best(data, e, DELTA, relation(data), seed),
        )


def true_epsilon(method, epsilon, neighbors):
    """What a method truly has: the nominal epsilon for ours, exact accounting for print."""
    if method not in PRINTED:
        return epsilon
    kind = "svd" if method == SVD else "frank-wolfe"
    return printed.true_epsilon(epsilon, DELTA, neighbors, kind)


def row_of(data, label, method, epsilon, seed, call):
    """Measure one method on one split: a record."""
    start = time.process_time()
    rmse = call(data, seed)
    true = true_epsilon(method, epsilon, relation(data))
    return {
        "data": label, "users": data.shape[0], "items": data.shape[1],
        "relation": relation(data), "method": method, "epsilon": epsilon,
        "true_epsilon": float(f"{true:.4g}"), "seed": seed,
        "rmse": round(rmse, 5), "cpu": round(time.process_time() - start, 2),
    }  # fmt: skip


def measure(job, label, load, methods, seed):
    """Records of all methods on one split; those of an interrupted run are not done again.

    ``load`` is called only if a record is missing.
    """
    held = []

    def data():
        if not held:
            held.append(load(seed))
        return held[0]

    rows = []
    for method, epsilon, call in job.track(list(methods), f"{label}, seed {seed}"):
        key = [label, seed, method, epsilon]
        row = job.cell(
            key, lambda m=method, e=epsilon, c=call: row_of(data(), label, m, e, seed, c)
        )
        rows.append(row | {k: number(row[k]) for k in ("epsilon", "true_epsilon")})
    return rows


def measure_peers(job, label, load):
    """Records of other libraries on the first split, and why some are missing."""
    methods = [(f"{name}, not private", np.inf, lambda data, seed, n=name: peers.surprise(data, n))
               for name in peers.NAMES]  # fmt: skip
    try:
        return measure(job, label, load, methods, 0), []
    except PeerUnavailable as error:
        job.say(str(error))
        return [], [f"scikit-surprise is missing for {label}: {error}"]


def summary(rows):
    """(data, method, epsilon) to mean, standard deviation, true epsilon."""
    cells = {}
    for row in rows:
        cells.setdefault((row["data"], row["method"], row["epsilon"]), []).append(row)
    return {
        key: (
            float(np.mean([r["rmse"] for r in cell])),
            float(np.std([r["rmse"] for r in cell], ddof=1)) if len(cell) > 1 else 0.0,
            cell[0]["true_epsilon"],
        )
        for key, cell in cells.items()
    }
