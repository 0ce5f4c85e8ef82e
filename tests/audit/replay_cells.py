"""The table of the replay matrix: every estimator with every solver that it takes.

A cell says how to fit and on which kind of neighbours. Steps are few and, where rows are sampled,
epsilon is small: what a replay compares does not depend on how well a method learns, and a small
epsilon is the quickest to calibrate.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from veilspan import (
    PCA,
    RGD,
    RSGD,
    RSVRG,
    Ball,
    Budget,
    CalibratedDescent,
    ElasticNet,
    FrechetLoss,
    FrechetMean,
    HuberRegressor,
    Lasso,
    LeadingSubspace,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MatrixCompletion,
    Ridge,
    RobustPCA,
    SubspaceTracker,
    minimize,
)
from veilspan.audit import neighbors as pairs
from veilspan.geometry import SPD, Euclidean, Grassmann, Lorentz, PoincareBall, Sphere
from veilspan.problems.penalties import L1Ball
from veilspan.solvers.completion_als import ALSCompletion
from veilspan.solvers.completion_frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.geodesic_gradient import GeodesicGradientDescent
from veilspan.solvers.linear_frank_wolfe import FrankWolfe
from veilspan.solvers.linear_gd import GradientDescent, StochasticGradient
from veilspan.solvers.linear_mirror import AcceleratedMirror
from veilspan.solvers.linear_newton import PrivateNewton
from veilspan.solvers.linear_svrg import SVRG, SVRGPlus
from veilspan.solvers.reaper import ReaperDescent

BOTH = ("replace-one", "add-remove")
WIDTH, ITEMS = 4, 6
SLOW = {"auto", "newton", "calibrated", "objective"}


@dataclass(frozen=True)
class Cell:
    """One estimator with one solver.

    ``fit(arguments, relation)`` returns what a fit gives out; ``pairs(relation)`` the neighbours;
    ``plan(relation)`` what is asked of 40 rows, or None where there is no dry run.
    """

    owner: str
    solver: str
    fit: Callable
    pairs: Callable
    plan: Callable
    relations: tuple = BOTH
    setting: str = ""

    @property
    def pairs_dealt(self):
        """How many pairs it replays: fewer where a fit is slow; five touch every size."""
        return 5 if self.solver in SLOW else 7

    @property
    def name(self):
        """Owner, solver and setting, as the test's id."""
        return ", ".join(part for part in (self.owner, self.solver, self.setting) if part)


def estimator_cell(kind, solver, parameters, cell_pairs, width=WIDTH, **extra):
    """A cell of a class with ``fit`` and ``plan``."""

    def make(relation):
        return kind(**parameters, neighbors=relation, random_state=0)

    def fit(arguments, relation):
        return make(relation).fit(*arguments)

    def plan(relation):
        return make(relation).plan(40, width)

    return Cell(kind.__name__, solver, fit, cell_pairs, plan, **extra)


def tables(relation):
    return pairs.table_pairs(WIDTH, relation)


def longer_tables(relation):
    return pairs.table_pairs(WIDTH, relation, sizes=(4, 5, 40, 300))


def gappy_tables(relation):
    return pairs.table_pairs(WIDTH, relation, gaps=True)


def ratings(relation):
    return pairs.rating_pairs(ITEMS, relation)


def labels(relation):
    return pairs.labelled_pairs(WIDTH, relation)


def three_labels(relation):
    return pairs.labelled_pairs(WIDTH, relation, targets=(0, 1, 2), sizes=(5, 40, 300))


def numbers(relation):
    return pairs.labelled_pairs(
        WIDTH, relation, targets=(-1.0, 0.5, 1.0), extreme_targets=(-1e9, 1.0, 1e9)
    )


# ---------------------------------------------------------------- subspaces

GGD = {"steps": 3, "halvings": 1}
SUBSPACE_SOLVERS = {
    "auto": "auto",
    "rspca": "rspca",
    "ggd": GeodesicGradientDescent(**GGD),
    "sggd": GeodesicGradientDescent(**GGD, sampling_rate=0.3),
    "reaper-gd": ReaperDescent(steps=3),
    "reaper-sgd": ReaperDescent(steps=3, sampling_rate=0.3),
    "reaper-md": ReaperDescent(geometry="mirror", steps=3),
    "reaper-smd": ReaperDescent(geometry="mirror", steps=3, sampling_rate=0.3),
}
SAMPLED = {"sggd", "reaper-sgd", "reaper-smd", "sgd", "svrg", "svrg++", "rsgd", "rsvrg"}


def budget_for(solver):
    return {"epsilon": 0.1 if solver in SAMPLED else 1.0}


CENTRES = {"private centre": "private", "public centre": np.full(WIDTH, 0.3), "pairs": "pairs"}


def subspace_cells():
    for setting, more in {
        "": {},
        "exact noise": {"noise": "exact"},
        "private centre": {"center": "private"},
        "public centre": {"center": CENTRES["public centre"]},
    }.items():
        yield estimator_cell(PCA, "", {"n_components": 2, **more}, tables, setting=setting)
    for solver, made in SUBSPACE_SOLVERS.items():
        yield estimator_cell(
            RobustPCA, solver, {"n_components": 2, "solver": made, **budget_for(solver)}, tables
        )
    for setting, center in CENTRES.items():
        only = setting == "pairs"
        yield estimator_cell(
            RobustPCA, "auto", {"n_components": 1, "center": center},
            longer_tables if only else tables, setting=setting,
            relations=("replace-one",) if only else BOTH,
        )  # fmt: skip
    yield estimator_cell(RobustPCA, "auto", {"epsilon": 20.0}, tables, setting="rank unknown")


def tracked(arguments, relation):
    """A private stream, with all that it publishes after every part."""
    from veilspan.audit.replay import released

    (stream,) = arguments
    tracker = SubspaceTracker(
        2, epsilon=5.0, block_size=20 if len(stream) >= 40 else 2, neighbors=relation,
        random_state=0,
    )  # fmt: skip
    return [
        released(tracker.partial_fit(part))
        for part in np.array_split(stream, min(len(stream), 6))
        if len(part)
    ]


def tracked_plan(relation):
    return SubspaceTracker(2, epsilon=5.0, block_size=20, neighbors=relation).plan(WIDTH)


# ---------------------------------------------------------------- curved spaces

MANIFOLD_SOLVERS = {
    "calibrated": CalibratedDescent(rounds=2, opened_rounds=1),
    "rgd": RGD(steps=2, step=0.7, average=True),
    "rsgd": RSGD(steps=2, step=0.7, batch_rate=0.3),
    "rsvrg": RSVRG(1, 2, 0.3, step=0.7, anchor_share=0.5, output="random"),
}
BALLS = {
    "euclidean": Ball.from_norm(Euclidean(3), 2.0),
    "sphere": Ball(Sphere(3), np.eye(3)[0], 1.2),
    "spd": Ball.from_eigenvalues(SPD(2), 0.1, 10.0),
    "spd-bures": Ball.from_eigenvalues(SPD(2, metric="bures-wasserstein"), 0.1, 10.0),
    "spd-log": Ball.from_eigenvalues(SPD(2, metric="log-euclidean"), 0.1, 10.0),
    "poincare": Ball.from_norm(PoincareBall(3), 0.9),
    "lorentz": Ball(Lorentz(3), np.array([1.0, 0.0, 0.0]), 1.5),
}
# The other metrics differ in nothing that a solver could notice.
ALL_SOLVERS = ("spd", "poincare", "sphere")
LOSSES = {
    "leading on the sphere": (LeadingSubspace(Sphere(WIDTH)), np.full(WIDTH, 0.5)),
    "leading on Grassmann": (LeadingSubspace(Grassmann(WIDTH, 2)), np.eye(WIDTH)[:, :2]),
}


def mean_cells():
    for place, ball in BALLS.items():
        for solver, made in MANIFOLD_SOLVERS.items():
            if solver != "calibrated" and place not in ALL_SOLVERS:
                continue
            parameters = {"manifold": ball.manifold, "ball": ball, "solver": made}
            yield estimator_cell(
                FrechetMean, solver, {**parameters, **budget_for(solver)},
                lambda relation, ball=ball: pairs.point_pairs(ball, relation),
                width=ball.center.size, setting=place,
            )  # fmt: skip


def minimum_cell(loss, solver, made, cell_pairs, setting, **settings):
    def fit(arguments, relation):
        found = minimize(
            loss, *arguments, budget=Budget(delta=1e-6, **budget_for(solver)), solver=made,
            neighbors=relation, random_state=0, **settings,
        )  # fmt: skip
        return found.point, found.trace, found.stopped, found.plan.to_dict()

    return Cell("minimize", solver, fit, cell_pairs, lambda relation: None, setting=setting)


def minimum_cells():
    for setting, (loss, start) in LOSSES.items():
        for solver, made in MANIFOLD_SOLVERS.items():
            yield minimum_cell(loss, solver, made, tables, setting, start=start)
    ball = BALLS["spd"]
    yield minimum_cell(
        FrechetLoss(ball.manifold), "calibrated", MANIFOLD_SOLVERS["calibrated"],
        lambda relation: pairs.point_pairs(ball, relation), "distances", clip=1.0,
    )  # fmt: skip


# ---------------------------------------------------------------- ratings

COMPLETION_SOLVERS = {
    "auto": "auto",
    "covariance": "covariance",
    "frank-wolfe": FrankWolfeCompletion(),
    "svd": "svd",
    "als": ALSCompletion(),
}


def completion_cells():
    for solver, made in COMPLETION_SOLVERS.items():
        parameters = {"rating_range": (1, 5), "max_ratings_per_user": 4, "solver": made}
        yield estimator_cell(MatrixCompletion, solver, parameters, ratings, width=ITEMS)


# ---------------------------------------------------------------- linear models

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
    (LinearRegression, TARGETS, numbers, ""),
    (Ridge, {**TARGETS, "alpha": 1.0}, numbers, ""),
    (Lasso, TARGETS, numbers, ""),
    (ElasticNet, {**TARGETS, "alpha": 0.01}, numbers, ""),
    (HuberRegressor, TARGETS, numbers, ""),
]


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


#: What a solver refuses, and why: (model, solver, setting). All others must run.
MISFITS = {
    *((kind.__name__, "frank-wolfe", setting)
      for kind, _, _, setting in LINEAR_MODELS if setting != "in a ball"),
    *((kind.__name__, "statistics", setting)
      for kind, _, rows, setting in LINEAR_MODELS if rows is not numbers or kind is HuberRegressor),
    ("LogisticRegression", "objective", "in a ball"),
    ("Lasso", "objective", ""),
    ("ElasticNet", "objective", ""),
}  # fmt: skip

CELLS = [
    *subspace_cells(),
    Cell(
        "SubspaceTracker", "", tracked, gappy_tables, tracked_plan, relations=("replace-one",)
    ),
    *mean_cells(),
    *minimum_cells(),
    *completion_cells(),
    *linear_cells(),
]  # fmt: skip
