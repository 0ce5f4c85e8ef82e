"""Cells of the linear models: every model with every solver that fits it."""

from dataclasses import replace

from audit.replay_cell import (
    budget_for,
    estimator_cell,
    labels,
    numbers,
    sparse_copies,
    three_labels,
)
from veilspan import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    Ridge,
)
from veilspan.losses.nonconvex import Biweight
from veilspan.losses.penalties import L1Ball
from veilspan.solvers.linear.asked.residual_cap import ResidualCap
from veilspan.solvers.linear.flat_walk import FlatWalk
from veilspan.solvers.linear.frank_wolfe import FrankWolfe
from veilspan.solvers.linear.gradient_descent import GradientDescent, StochasticGradient
from veilspan.solvers.linear.mirror_descent import AcceleratedMirror
from veilspan.solvers.linear.newton import PrivateNewton
from veilspan.solvers.linear.svrg import SVRG, SVRGPlus

LINEAR_SOLVERS = {
    "auto": "auto",
    "gd": GradientDescent(steps=3),
    "sgd": StochasticGradient(epochs=1, batch_rate=0.4),
    "svrg": SVRG(1, 2, 0.4, anchor_share=0.5),
    "svrg++": SVRGPlus(1, 2, 0.4, anchor_share=0.5),
    "accmd": AcceleratedMirror(3),
    "frank-wolfe": FrankWolfe(3),
    "objective": "objective",
    "statistics": "statistics",
    "newton": PrivateNewton(steps=3),
}
RANGE = {"feature_range": (-1, 1), "expected_rows": 60}
CLASSES = {**RANGE, "classes": [0, 1]}
TARGETS = {**RANGE, "target_range": (-1, 1)}
LINEAR_MODELS = [
    (LogisticRegression, CLASSES, labels, ""),
    (LogisticRegression, {**CLASSES, "penalty": L1Ball(2.0)}, labels, "in a ball"),
    (LogisticRegression, {**RANGE, "classes": [0, 1, 2]}, three_labels, "three labels"),
    (LinearSVC, CLASSES, labels, ""),
    (LinearSVC, {**RANGE, "classes": [0, 1, 2]}, three_labels, "three labels"),
    (LinearRegression, TARGETS, numbers, ""),
    (Ridge, {**TARGETS, "alpha": 1.0}, numbers, ""),
    (Lasso, TARGETS, numbers, ""),
    (ElasticNet, {**TARGETS, "alpha": 0.01}, numbers, ""),
    (HuberRegressor, TARGETS, numbers, ""),
]
#: Models of curves: every kind of features, and "auto" for every kind of target. With a smaller
#: epsilon so few rows would be fitted by lines.
CURVES = {"features": "auto", "epsilon": 100.0}
TABLE_MODELS = [
    *((LogisticRegression, {**CLASSES, **CURVES, "features": kind}, labels, f"features {kind}")
      for kind in ("auto", "bins", "waves", "fourier")),
    (LogisticRegression, {**RANGE, "classes": [0, 1, 2], **CURVES}, three_labels,
     "curves of three labels"),
    (LinearSVC, {**CLASSES, **CURVES}, labels, "curves"),
    (LinearRegression, {**TARGETS, **CURVES}, numbers, "curves"),
    (HuberRegressor, {**TARGETS, **CURVES}, numbers, "curves"),
]  # fmt: skip


def linear_cells(refused=False):
    """Cells of models and solvers that fit; or, if asked for, those that do not."""
    for kind, parameters, cell_pairs, setting in LINEAR_MODELS:
        for solver, made in LINEAR_SOLVERS.items():
            cell = estimator_cell(
                kind, solver, {**parameters, "solver": made, **budget_for(solver)}, cell_pairs,
                setting=setting,
            )  # fmt: skip
            if ((kind.__name__, solver, setting) in MISFITS) == refused:
                yield cell
    if not refused:
        private = {**CLASSES, "bounds": "private", "solver": LINEAR_SOLVERS["gd"]}
        private.pop("feature_range")
        yield estimator_cell(LogisticRegression, "gd", private, labels, setting="private bounds")
        for kind, parameters, cell_pairs, setting in TABLE_MODELS:
            parameters = {**parameters, "solver": LINEAR_SOLVERS["gd"]}
            yield estimator_cell(kind, "gd", parameters, cell_pairs, setting=setting)
        unknown = {"expected_rows": 60, "solver": "auto"}
        yield estimator_cell(LinearRegression, "auto", unknown, numbers, setting="nothing known")
        for solver in ("gd", "newton"):
            capped = replace(LINEAR_SOLVERS[solver], cap=ResidualCap())
            yield estimator_cell(
                LinearRegression, solver, {**TARGETS, "solver": capped}, numbers, setting="capped"
            )
        for solver in ("gd", "sgd"):
            bent = {**TARGETS, "loss": Biweight(0.5), "solver": LINEAR_SOLVERS[solver]}
            yield estimator_cell(HuberRegressor, solver, bent, numbers, setting="biweight loss")
        walk = {**TARGETS, "solver": FlatWalk()}
        yield estimator_cell(LinearRegression, "walk", walk, numbers)
        for solver in ("gd", "objective"):
            rare = {**CLASSES, "class_weight": "balanced", "threshold": "f1"}
            yield estimator_cell(
                LogisticRegression, solver, {**rare, "solver": LINEAR_SOLVERS[solver]}, labels,
                setting="rare classes",
            )  # fmt: skip
            yield estimator_cell(
                LogisticRegression, solver, {**CLASSES, "solver": LINEAR_SOLVERS[solver]},
                sparse_copies(labels), setting="sparse",
            )  # fmt: skip


#: What a solver refuses, and why: (model, solver, setting). All others must run.
MISFITS = {
    *((kind.__name__, "frank-wolfe", setting)
      for kind, _, _, setting in LINEAR_MODELS if setting != "in a ball"),
    *((kind.__name__, "statistics", setting)
      for kind, _, rows, setting in LINEAR_MODELS if rows is not numbers or kind is HuberRegressor),
    ("LogisticRegression", "objective", "in a ball"),
    ("LinearSVC", "objective", "three labels"),
    ("Lasso", "objective", ""),
    ("ElasticNet", "objective", ""),
}  # fmt: skip
