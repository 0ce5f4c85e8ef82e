"""The methods of the recommendation figures: each takes a data set and gives a held-out RMSE."""

import time
import warnings
from dataclasses import replace

import numpy as np

from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.solvers.completion.auto import AutoCompletion
from veilspan.solvers.completion.by_name import SOLVERS

from ..environments import PeerUnavailable
from ..values import number
from . import peers, printed
from .data import pairs
from .printed import DELTA, relation

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
PAPER_PLAIN = "frank-wolfe without privacy"
TWIN = "default without noise"
USER_MEAN = "user mean"


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


def as_printed(data, name, epsilon, seed, setting):
    """Held-out RMSE of a printed algorithm with one setting of `choices.py`."""
    deviation = (data.rating_range[1] - data.rating_range[0]) / 4
    bound = deviation * np.sqrt(min(data.cap, data.shape[1]))
    common = {"epsilon": epsilon, "delta": DELTA, "seed": seed, "bound": bound}
    if name == SVD:
        return printed.svd(data, rank=setting["rank"], **common)
    # A ball of 1 holds a rank-one part with all of the variance.
    nuclear = setting["ball"] * deviation * np.sqrt(data.shape[0] * data.shape[1])
    return printed.frank_wolfe(
        data, rounds=setting["rounds"], nuclear_norm=nuclear, growth=float(name == GROWING),
        lead=printed.leading_alone, **common,
    )  # fmt: skip


def plain_frank_wolfe(data, rounds, balls):
    """Held-out RMSE of the paper's method without privacy: users' and items' averages taken off.

    The best of several balls by the held-out ratings.
    """
    user, item = pairs(data.train)
    means = np.bincount(user, data.train.data, data.shape[0])
    means /= np.maximum(np.diff(data.train.indptr), 1)
    rest = data.train.data - (0 if data.name == "synthetic" else means[user])
    bias = np.bincount(item, rest, data.shape[1])
    bias /= np.maximum(np.bincount(item, minlength=data.shape[1]), 1)
    low, high = data.rating_range
    shifted = replace(
        data, train=printed.with_data(data.train, data.train.data - bias[item]),
        test=printed.with_data(data.test, data.test.data - bias[data.test.indices]),
        rating_range=(2 * low - high, 2 * high - low), cap=data.shape[1],
    )  # fmt: skip
    nuclear = (high - low) / 4 * np.sqrt(data.shape[0] * data.shape[1])
    return min(
        printed.frank_wolfe(
            shifted, epsilon=np.inf, delta=DELTA, seed=0, bound=np.inf, rounds=rounds,
            nuclear_norm=ball * nuclear, lead=printed.leading_alone,
        ) for ball in balls
    )  # fmt: skip


def user_mean(data):
    """Every user's own mean; without ratings the middle of the range."""
    counts = np.diff(data.train.indptr)
    sums = np.bincount(pairs(data.train)[0], data.train.data, minlength=data.shape[0])
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.mean(data.rating_range))
    return data.rmse(means[pairs(data.test)[0]])


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
