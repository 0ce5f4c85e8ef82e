"""Noise that drowns is said: every kind of the catalogue warns of it, and of nothing else.

On rows without structure and a tiny epsilon each fit warns in the user's words; on structured rows
with a large one none does. What is warned of is public or released: never a row.
"""

import warnings

import numpy as np
import pytest

from veilspan import LoudNoiseWarning
from veilspan.catalogue import ESTIMATORS
from veilspan.datasets import make_histories, make_ratings, make_spd, make_ward
from veilspan.geometry import SPD, Ball

SMALL, LARGE = 300, 20_000
TINY, BIG = 0.02, 8.0
BALL = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
SETTINGS = {
    "FrechetMean": {"manifold": SPD(2), "ball": BALL},
    "MatrixCompletion": {"rating_range": (1.0, 5.0)},
    "SubspaceTracker": {"n_components": 1, "row_norm": 5.0},
    "Profile": {},
}
#: Ways of the same estimators that have releases of their own.
WAYS = [
    *((name, {}) for name in ESTIMATORS),
    ("PCA", {"row_norm": 30.0, "center": "origin"}),
    ("RobustPCA", {"solver": "ggd", "center": "origin"}),
    ("MatrixCompletion", {"solver": "covariance"}),
    ("MatrixCompletion", {"solver": "als"}),
    ("MatrixCompletion", {"task": "rank", "rating_range": None}),
    ("LogisticRegression", {"solver": "objective"}),
    ("LogisticRegression", {"solver": "sgd"}),
    ("LinearRegression", {"solver": "statistics"}),
]


def fit(name, more, epsilon, n, structured, seed):
    """One fit of a kind, to rows with a structure or without."""
    kind, rng = ESTIMATORS[name], np.random.default_rng(seed)
    settings = {"epsilon": epsilon, "random_state": seed, **SETTINGS.get(name, {}), **more}
    rows = rng.standard_normal((n, 6))
    if structured:
        rows[:, 0] *= 9.0
    if kind.reads in ("rows", "stream"):
        settings.setdefault("n_components", 1)
    if kind.reads == "stream":
        settings["block_size"] = n // 2
    if kind.reads == "cells":
        ward = make_ward(n, random_state=seed)
        return kind.load_class()(schema=ward.schema, allow_weak=True, **settings).fit(ward.columns)
    if settings.get("task") == "rank":
        rows = make_histories(n, 40, random_state=seed).train
    elif kind.reads == "ratings":
        each = {"bias": 0.8, "taste": 0.8} if structured else {"bias": 0.0, "taste": 0.0}
        rows = make_ratings(n, 20, random_state=seed, **each).train
    elif kind.reads == "points":
        rows = make_spd(n, 2, random_state=seed).points
    model = kind.load_class()(allow_weak=True, **settings)
    if not kind.needs_target:
        return model.fit(rows)
    score = rows @ np.ones(6) / 10 if structured else rng.standard_normal(n)
    model.set_params(feature_range=(-30.0, 30.0))
    if kind.reads == "labels":
        return model.fit(rows, (score > 0).astype(int))
    return model.set_params(target_range=(-1.0, 1.0)).fit(rows, np.clip(score, -1, 1))


def loud(*asked):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit(*asked)
    return [str(w.message) for w in said if issubclass(w.category, LoudNoiseWarning)]


@pytest.mark.parametrize(("name", "more"), WAYS, ids=lambda value: str(value))
def test_noise_that_drowns_is_said(name, more):
    for seed in range(3):
        said = loud(name, more, TINY, SMALL, False, seed)
        assert said, f"{name} says nothing of noise"
        assert all("noise" in text for text in said)


@pytest.mark.parametrize(("name", "more"), WAYS, ids=lambda value: str(value))
def test_structure_at_a_large_epsilon_is_not_warned_of(name, more):
    assert loud(name, more, BIG, LARGE, True, 0) == []


def test_without_noise_nothing_is_said():
    for name in ("PCA", "RobustPCA", "FrechetMean", "LogisticRegression", "MatrixCompletion"):
        assert loud(name, {}, np.inf, SMALL, False, 0) == []
