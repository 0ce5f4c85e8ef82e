"""Every linear model with public bounds, and tables for it."""

import math

import numpy as np

from veilspan import catalogue
from veilspan.estimators.linear.classification import LinearSVC, LogisticRegression
from veilspan.estimators.linear.regression import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LinearRegressor,
    Ridge,
)
from veilspan.losses.penalties import L2Ball
from veilspan.solvers.linear.gradient_descent import GradientDescent, StochasticGradient

LOW, HIGH = np.array([-1.0, -2.0, 0.8, -10.0]), np.array([1.0, 8.0, 1.2, 10.0])
WIDTH = len(LOW)
CONSTANT = 0.3  # default size of the constant column over the bound on a row's length
#: What scaled rows are divided by, column by column.
DIVISOR = (HIGH - LOW) / 2 * math.sqrt(WIDTH * (1 + CONSTANT**2))
TARGETS = (-20.0, 30.0)
# Few steps: most tests do not ask for accuracy.
QUICK = GradientDescent(steps=6)
SAMPLED = StochasticGradient(epochs=2, batch_rate=0.4)

PUBLIC = {"feature_range": (LOW, HIGH), "solver": QUICK}
REGRESSION = {**PUBLIC, "target_range": TARGETS}
THREE = {"classes": [0, 1, 2]}

# name: (class, parameters); names with "three" want three labels. All of the catalogue are here by
# themselves; what follows are further settings.
MODELS = {
    **{
        name: (kind.load_class(), REGRESSION if kind.reads == "numbers" else PUBLIC)
        for name, kind in catalogue.ESTIMATORS.items()
        if kind.needs_target
    },
    "LogisticRegression": (LogisticRegression, {**PUBLIC, "classes": [0, 1]}),
    "LogisticRegression, labels from y": (LogisticRegression, PUBLIC),
    "LogisticRegression, three": (LogisticRegression, {**PUBLIC, **THREE}),
    "LogisticRegression, weighted three": (
        LogisticRegression,
        {**PUBLIC, **THREE, "class_weight": {0: 5.0, 2: 0.5}},
    ),
    "LogisticRegression, row norm": (LogisticRegression, {"row_norm": 3.0, "solver": QUICK}),
    "LogisticRegression, sampled": (LogisticRegression, {**PUBLIC, "solver": SAMPLED}),
    "LogisticRegression, no intercept": (LogisticRegression, {**PUBLIC, "fit_intercept": False}),
    "LogisticRegression, in a ball": (LogisticRegression, {**PUBLIC, "penalty": L2Ball(3.0)}),
    "LogisticRegression, private bounds": (
        LogisticRegression,
        {"bounds": "private", "classes": [0, 1], "solver": QUICK},
    ),
    "LogisticRegression, selection": (
        LogisticRegression,
        {**PUBLIC, "selection": [QUICK, GradientDescent(steps=3, clip=0.5)]},
    ),
    "LinearSVC": (LinearSVC, PUBLIC),
    "LinearSVC, weighted": (
        LinearSVC,
        {**PUBLIC, "classes": [0, 1], "class_weight": {1: 3.0}, "clip": 0.5},
    ),
    "LinearRegression": (LinearRegression, REGRESSION),
    "LinearRegression, exact noise": (
        LinearRegression,
        {**REGRESSION, "noise": "exact", "solver": GradientDescent(steps=4)},
    ),
    "LinearRegression, private bounds": (
        LinearRegression,
        {"bounds": "private", "row_norm": 1.5, "target_range": TARGETS, "solver": QUICK},
    ),
    "LinearRegression, nothing known": (LinearRegression, {"solver": QUICK}),
    "HuberRegressor, private targets": (HuberRegressor, PUBLIC),
    "Ridge": (Ridge, {**REGRESSION, "alpha": 1.0, "expected_rows": 60}),
    "Lasso": (Lasso, {**REGRESSION, "expected_rows": 60}),
    "ElasticNet": (ElasticNet, {**REGRESSION, "alpha": 0.01}),
    "HuberRegressor": (HuberRegressor, REGRESSION),
}


def make(name, **changes):
    kind, parameters = MODELS[name]
    return kind(**{**parameters, **changes})


def is_regression(name):
    return issubclass(MODELS[name][0], LinearRegressor)


def scaled(x, constant=CONSTANT):
    """Rows inside the unit ball, without their constant column, by the formula of the guide."""
    return (x - (LOW + HIGH) / 2) / ((HIGH - LOW) / 2) / math.sqrt(WIDTH * (1 + constant**2))


def scaled_at_zero(x):
    """Rows inside the unit ball as a model without an intercept takes them."""
    return x / np.maximum(-LOW, HIGH) / math.sqrt(WIDTH)


def table(n=60, seed=0):
    """Rows inside their ranges and scores that depend on them."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(LOW, HIGH, (n, WIDTH))
    return x, scaled(x) @ [4.0, -2.0, 1.0, 0.0] + 0.2 + rng.normal(size=n) / 4


def targets(name, scores):
    """Targets of the right kind for a model."""
    if is_regression(name):
        return 6.0 * scores + 3.0  # within TARGETS
    cuts = [-0.5, 0.7] if "three" in name else [0.1]
    return np.digitize(scores, cuts)


def data_for(name, n=60, seed=0):
    x, scores = table(n, seed)
    return x, targets(name, scores)
