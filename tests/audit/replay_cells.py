"""The table of the replay matrix: every estimator with every solver that it takes.

A cell says how to fit and on which kind of neighbours. Steps are few and, where rows are sampled,
epsilon is small: what a replay compares does not depend on how well a method learns, and a small
epsilon is the quickest to calibrate.
"""

import numpy as np

from audit.replay_cell import (
    BOTH,
    ITEMS,
    WIDTH,
    Cell,
    budget_for,
    estimator_cell,
    gappy_tables,
    longer_tables,
    numbers,
    ratings,
    sparse_copies,
    tables,
    wide_tables,
)
from audit.replay_linear import linear_cells
from veilspan import (
    PCA,
    RGD,
    RSGD,
    RSVRG,
    Ball,
    Budget,
    CalibratedDescent,
    FrechetLoss,
    FrechetMean,
    LeadingSubspace,
    MatrixCompletion,
    PrivateSearch,
    Ridge,
    RobustPCA,
    SubspaceTracker,
    catalogue,
    minimize,
)
from veilspan.audit import neighbors as pairs
from veilspan.audit.cell_tables import cell_pairs
from veilspan.audit.replay import collect_release
from veilspan.geometry import SPD, Euclidean, Grassmann, Lorentz, PoincareBall, Sphere
from veilspan.solvers.completion.als import ALSCompletion
from veilspan.solvers.completion.auto import AutoCompletion
from veilspan.solvers.completion.frank_wolfe import FrankWolfeCompletion
from veilspan.solvers.completion.ranking import RankingCompletion
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent
from veilspan.solvers.subspace.reaper import ReaperDescent

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
CENTRES = {
    "private centre": "private", "public centre": np.full(WIDTH, 0.3), "pairs": "pairs",
    "origin": "origin",
}  # fmt: skip


def subspace_cells():
    for setting, more in {
        "": {},
        "exact noise": {"noise": "exact"},
        "private scale": {"scale": "private"},
        "public bound": {"row_norm": 1.0},
        "a share": {"n_components": 0.7, "row_norm": 1.0, "center": "origin"},
        "private centre": {"center": "private", "row_norm": 1.0},
        "public centre": {"center": CENTRES["public centre"]},
        "public centre and bound": {"center": CENTRES["public centre"], "row_norm": 1.0},
    }.items():
        yield estimator_cell(PCA, "", {"n_components": 2, **more}, tables, setting=setting)
    yield estimator_cell(PCA, "", {"n_components": 2}, wide_tables, 16, setting="stretched")
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
    for kind, solver in ((PCA, ""), (RobustPCA, "auto")):
        yield estimator_cell(
            kind, solver, {"n_components": 2}, sparse_copies(tables), setting="sparse"
        )


def tracked(arguments, relation):
    """A private stream, with all that it publishes after every part."""
    (stream,) = arguments
    tracker = SubspaceTracker(
        2, epsilon=5.0, block_size=20 if len(stream) >= 40 else 2, neighbors=relation,
        random_state=0,
    )  # fmt: skip
    return [
        collect_release(tracker.partial_fit(part))
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
    budget = Budget(delta=1e-6, **budget_for(solver))

    def fit(arguments, relation):
        found = minimize(
            loss, *arguments, budget=budget, solver=made, neighbors=relation, random_state=0,
            **settings,
        )  # fmt: skip
        return found.point, found.trace, found.stopped, found.plan.to_dict()

    return Cell(
        "minimize", solver, fit, cell_pairs, lambda relation: None, setting=setting, budget=budget
    )


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


TASTES = RankingCompletion(popularity_share=0.2, width=4)
RANKINGS = {
    "default": {"rating_range": (1, 5)},
    "tastes": {"rating_range": (1, 5), "solver": TASTES},
    "no ratings": {"solver": TASTES},
    "falls back": {"solver": RankingCompletion(popularity_share=0.2)},
}


def completion_cells():
    for solver, made in COMPLETION_SOLVERS.items():
        parameters = {"rating_range": (1, 5), "max_ratings_per_user": 4, "solver": made}
        yield estimator_cell(MatrixCompletion, solver, parameters, ratings, width=ITEMS)
    for setting, parameters in RANKINGS.items():
        given = {"task": "rank", **parameters}
        yield estimator_cell(
            MatrixCompletion, "ranking", given, ratings, width=ITEMS, setting=setting
        )
    # So much that factors are found, and users asked what these gain them on hidden ratings.
    bold = {"rating_range": (1, 5), "epsilon": 300.0, "solver": AutoCompletion(factor_share=1.0)}
    yield estimator_cell(MatrixCompletion, "auto", bold, ratings, width=ITEMS, setting="factors")


# ---------------------------------------------------------------- profiles


def profile_cells():
    kind = catalogue.ESTIMATORS["Profile"]
    together = {"crosstabs": [("kind", "flag")], "means_by": [("number", "kind")]}
    for setting, more in {
        "": {},
        "together": together,
        "counts alone": {"most_numbers": 0},
    }.items():

        def make(relation, more=more):
            return kind.make_small(neighbors=relation, random_state=0).set_params(**more)

        yield Cell(
            "Profile", "",
            lambda arguments, relation, make=make: make(relation).fit(*arguments),
            lambda relation, make=make: cell_pairs(make(relation).schema, relation),
            lambda relation, make=make: make(relation).plan(40),
            setting=setting,
        )  # fmt: skip


def search_cells():
    """A search by both of its methods, on the solver of the fewest answers.

    The random one asks of all its trials and pays for the best: what the tape holds together is no
    measure of it, so that the budget is held by each trial's own noise and ``SearchEvent``'s proof;
    the output here says nothing of a budget. The joint one pays for all that the tape holds.
    """
    for method in ("random", "joint"):

        def make(relation, method=method):
            model = Ridge(
                row_norm=1.5, target_range=(-1, 1), neighbors=relation, expected_rows=40,
                solver="statistics",
            )  # fmt: skip
            grid = {"alpha": [0.1, 10.0]}
            return PrivateSearch(model, grid, epsilon=2.0, method=method, random_state=0)

        def fit(arguments, relation, make=make):
            found = make(relation).fit(*arguments)
            best = found.best_estimator_
            return {"coef": best.coef_, "intercept": best.intercept_, **found.best_params_}

        def plan(relation, make=make):
            return make(relation).plan(40, WIDTH)

        yield Cell("PrivateSearch", method, fit, numbers, plan)


def catalogue_cells(present):
    """Whatever of the catalogue reads plain rows and has no cell of its own yet."""
    for name, kind in catalogue.ESTIMATORS.items():
        if kind.reads == "rows" and name not in present:
            yield estimator_cell(kind.load_class(), "", kind.small_settings(), tables)


CELLS = [
    *subspace_cells(),
    *catalogue_cells({cell.owner for cell in subspace_cells()}),
    Cell(
        "SubspaceTracker", "", tracked, gappy_tables, tracked_plan, relations=("replace-one",),
        budget=Budget(5.0, 1e-6),
    ),
    *mean_cells(),
    *minimum_cells(),
    *completion_cells(),
    *profile_cells(),
    *linear_cells(),
    *search_cells(),
]  # fmt: skip
