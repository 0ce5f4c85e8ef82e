"""The catalogue: every estimator, and every setting that a release may hold, declared once.

The package's public names, the command line, saved releases, audits, the contract suites and the
tables of the documentation read these two tables. To add an estimator, write its file and its line
here.

A release on the disk names classes by the *ids* of this file, never by where their code lies, so
code may move and files stay readable. An id is a promise: it never changes and is never given to
another class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # what type checkers and editors see of the package's estimators
    from veilspan.estimators.completion.matrix_completion import (
        MatrixCompletion as MatrixCompletion,
    )
    from veilspan.estimators.linear.classification import LinearSVC as LinearSVC
    from veilspan.estimators.linear.classification import LogisticRegression as LogisticRegression
    from veilspan.estimators.linear.regression import ElasticNet as ElasticNet
    from veilspan.estimators.linear.regression import HuberRegressor as HuberRegressor
    from veilspan.estimators.linear.regression import Lasso as Lasso
    from veilspan.estimators.linear.regression import LinearRegression as LinearRegression
    from veilspan.estimators.linear.regression import Ridge as Ridge
    from veilspan.estimators.manifold.frechet_mean import FrechetMean as FrechetMean
    from veilspan.estimators.profile.profile import Profile as Profile
    from veilspan.estimators.stream.subspace_tracker import SubspaceTracker as SubspaceTracker
    from veilspan.estimators.subspace.pca import PCA as PCA
    from veilspan.estimators.subspace.robust_pca import RobustPCA as RobustPCA

_PACKAGE = "veilspan."


class Kind(NamedTuple):
    """What the package, the command line, audits and releases need to know of one estimator.

    Attributes
    ----------
    estimator : str
        Name of the class, and its id in releases.
    home : str
        Module of the package that defines it.
    command : str
        Its name on the command line.
    reads : {"rows", "points", "ratings", "labels", "numbers", "stream", "cells"}
        What its table is: rows; points of a manifold; ratings; rows with a label or a number; rows
        that come one block after another; cells of any kind, by a schema.
    small : mapping or callable
        Settings beside the budget with which audits and contract suites make it: few components,
        bounds that their rows use in full. A callable where they need imports.
    """

    estimator: str
    home: str
    command: str
    reads: str
    small: Mapping[str, Any] | Callable[[], dict[str, Any]] = MappingProxyType({})

    @property
    def needs_target(self) -> bool:
        """Whether a column is what the others predict."""
        return self.reads in ("labels", "numbers")

    @property
    def has_releases(self) -> bool:
        """Whether a fit is a release; a stream goes on learning and keeps a state instead."""
        return self.reads != "stream"

    def load_class(self) -> type:
        """Import the module that defines the class, and return the class."""
        found: type = getattr(import_module(_PACKAGE + self.home), self.estimator)
        return found

    def small_settings(self) -> dict[str, Any]:
        """Settings beside the budget with which audits and contract suites make it."""
        return dict(self.small() if callable(self.small) else self.small)

    def make_small(self, **budget: Any) -> Any:
        """An instance with small settings, as audits and contract suites use it."""
        settings = self.small_settings()
        relation = budget.get("neighbors")
        if "schema" in settings and relation is not None:  # both mean the same promise
            from dataclasses import replace  # late: half of what `import veilspan` would cost

            unit = replace(settings["schema"].unit, neighbors=relation)
            settings["schema"] = replace(settings["schema"], unit=unit)
        return self.load_class()(**settings, **budget)


def _small_mean() -> dict[str, Any]:
    from veilspan.geometry import SPD, Ball

    ball = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    return {"manifold": ball.manifold, "ball": ball}


def _small_profile() -> dict[str, Any]:
    from veilspan.tables.schema import Schema

    return {"schema": Schema.from_toml(_SMALL_TABLE), "bins": 4}


#: Columns of every kind that audits and contract suites fill with texts of their own.
_SMALL_TABLE = """
veilspan_schema = 1
name = "small"
[columns.number]
type = "number"
range = [-5, 5]
source = "made up"
[columns.kind]
type = "category"
categories = ["a", "b"]
other = true
source = "made up"
[columns.day]
type = "date"
range = [2020-01-01, 2020-12-31]
source = "made up"
[columns.flag]
type = "boolean"
true = ["yes"]
false = ["no"]
source = "made up"
"""
_LABELS = {"row_norm": 1.0, "classes": (0, 1)}
_NUMBERS = {"row_norm": 1.0, "target_range": (-1.0, 1.0)}

#: Estimators by the name of their class.
ESTIMATORS = {
    kind.estimator: kind
    for kind in (
        Kind("PCA", "estimators.subspace.pca", "pca", "rows", {"n_components": 1}),
        Kind(
            "RobustPCA", "estimators.subspace.robust_pca", "robust-pca", "rows", {"n_components": 1}
        ),
        Kind("FrechetMean", "estimators.manifold.frechet_mean", "frechet", "points", _small_mean),
        Kind(
            "MatrixCompletion",
            "estimators.completion.matrix_completion",
            "recommend",
            "ratings",
            {"rating_range": (1.0, 5.0), "max_ratings_per_user": 4},
        ),
        Kind(
            "SubspaceTracker",
            "estimators.stream.subspace_tracker",
            "tracker",
            "stream",
            {"n_components": 1, "block_size": 20},
        ),
        Kind(
            "LogisticRegression", "estimators.linear.classification", "logistic", "labels", _LABELS
        ),
        Kind("LinearSVC", "estimators.linear.classification", "svc", "labels", _LABELS),
        Kind("LinearRegression", "estimators.linear.regression", "linear", "numbers", _NUMBERS),
        Kind("Ridge", "estimators.linear.regression", "ridge", "numbers", _NUMBERS),
        Kind("Lasso", "estimators.linear.regression", "lasso", "numbers", _NUMBERS),
        Kind("ElasticNet", "estimators.linear.regression", "elastic-net", "numbers", _NUMBERS),
        Kind("HuberRegressor", "estimators.linear.regression", "huber", "numbers", _NUMBERS),
        Kind("Profile", "estimators.profile.profile", "profile", "cells", _small_profile),
    )
}
#: The same by their names on the command line.
COMMANDS = {kind.command: kind for kind in ESTIMATORS.values()}

#: Values that may be parameters of an estimator, by their ids in releases. All are settings:
#: building one reads no file and starts nothing.
PARTS = {
    "ball": "geometry.ball.Ball",
    "schema": "tables.schema.Schema",
    "manifold/euclidean": "geometry.euclidean.Euclidean",
    "manifold/grassmann": "geometry.grassmann.Grassmann",
    "manifold/lorentz": "geometry.lorentz.Lorentz",
    "manifold/poincare-ball": "geometry.poincare.PoincareBall",
    "manifold/product": "geometry.product.Product",
    "manifold/spd-affine-invariant": "geometry.spd_affine.SPDAffineInvariant",
    "manifold/spd-bures-wasserstein": "geometry.spd_bures.SPDBuresWasserstein",
    "manifold/spd-log-euclidean": "geometry.spd_log_euclidean.SPDLogEuclidean",
    "manifold/sphere": "geometry.sphere.Sphere",
    "manifold/stiefel": "geometry.stiefel.Stiefel",
    "features/layout": "queries.linear.table_layout.TableLayout",
    "features/learned": "queries.linear.learned_features.LearnedFeatures",
    "features/line": "queries.linear.table_features.TableLine",
    "features/residual": "queries.linear.residual_features.ResidualFeatures",
    "features/table": "queries.linear.table_features.TableFeatures",
    "loss/biweight": "losses.nonconvex.Biweight",
    "loss/class-weighted": "losses.class_weights.ClassWeighted",
    "loss/huber": "losses.linear.Huber",
    "loss/logistic": "losses.linear.Logistic",
    "loss/multiclass-hinge": "losses.linear.MulticlassHinge",
    "loss/multinomial": "losses.linear.Multinomial",
    "loss/quantile": "losses.linear.Quantile",
    "loss/smoothed-hinge": "losses.linear.SmoothedHinge",
    "loss/squared": "losses.linear.Squared",
    "penalty/box": "losses.penalties.Box",
    "penalty/elastic-net": "losses.penalties.ElasticNet",
    "penalty/group": "losses.penalties.Group",
    "penalty/l1": "losses.penalties.L1",
    "penalty/l1-ball": "losses.penalties.L1Ball",
    "penalty/l2": "losses.penalties.L2",
    "penalty/l2-ball": "losses.penalties.L2Ball",
    "penalty/none": "losses.penalties.NoPenalty",
    "penalty/simplex": "losses.penalties.Simplex",
    "solver/als-completion": "solvers.completion.als.ALSCompletion",
    "solver/auto-completion": "solvers.completion.auto.AutoCompletion",
    "solver/covariance-completion": "solvers.completion.covariance.CovarianceCompletion",
    "solver/frank-wolfe-completion": "solvers.completion.frank_wolfe.FrankWolfeCompletion",
    "solver/ranking-completion": "solvers.completion.ranking.RankingCompletion",
    "solver/svd-completion": "solvers.completion.svd.SVDCompletion",
    "solver/accelerated-mirror": "solvers.linear.mirror_descent.AcceleratedMirror",
    "solver/auto-linear": "solvers.linear.auto.AutoLinear",
    "solver/residual-cap": "solvers.linear.asked.residual_cap.ResidualCap",
    "solver/candidate": "solvers.linear.selection.Candidate",
    "solver/frank-wolfe": "solvers.linear.frank_wolfe.FrankWolfe",
    "solver/gradient-descent": "solvers.linear.gradient_descent.GradientDescent",
    "solver/newton": "solvers.linear.newton.PrivateNewton",
    "solver/objective-perturbation": "solvers.linear.objective_perturbation.ObjectivePerturbation",
    "solver/private-selection": "solvers.linear.selection.PrivateSelection",
    "solver/stochastic-gradient": "solvers.linear.gradient_descent.StochasticGradient",
    "solver/sufficient-statistics": "solvers.linear.sufficient_statistics.SufficientStatistics",
    "solver/svrg": "solvers.linear.svrg.SVRG",
    "solver/svrg-plus": "solvers.linear.svrg.SVRGPlus",
    "solver/calibrated-descent": "solvers.manifold.calibrated_descent.CalibratedDescent",
    "solver/rgd": "solvers.manifold.rgd.RGD",
    "solver/rsgd": "solvers.manifold.rgd.RSGD",
    "solver/rsvrg": "solvers.manifold.rsvrg.RSVRG",
    "solver/geodesic-gradient": "solvers.subspace.geodesic_gradient.GeodesicGradientDescent",
    "solver/reaper": "solvers.subspace.reaper.ReaperDescent",
    "solver/recursive-spherical": "solvers.subspace.recursive_spherical.RecursiveSpherical",
    "solver/stream-release": "solvers.stream.block_release.StreamRelease",
    "steps/constant": "solvers.steps.ConstantSteps",
    "steps/decreasing": "solvers.steps.DecreasingSteps",
    "steps/falling": "solvers.steps.FallingSteps",
    "steps/geometric": "solvers.steps.GeometricSteps",
    "steps/paper": "solvers.steps.PaperSteps",
    "steps/restarted": "solvers.steps.RestartedSteps",
    "steps/secant": "solvers.manifold.secant_steps.SecantSteps",
}


def stable_name(kind: type) -> str:
    """What a class is called where a digest or a file has to know it again in a later version.

    Of the catalogue's classes the path that they had when such names were first written, or else
    their id: where their code lies now does not matter. Of any other class its module and name.
    """
    path = f"{kind.__module__}.{kind.__qualname__}"
    return _stable_names().get(path.removeprefix(_PACKAGE), path)


@cache
def _stable_names() -> dict[str, str]:
    from veilspan._earlier_names import EARLIER_HOMES, EARLIER_NAMES, EARLIER_OTHERS

    before = {part: path for path, part in EARLIER_NAMES.items()}
    names = {home: _PACKAGE + before.get(part, part) for part, home in PARTS.items()}
    for name, kind in ESTIMATORS.items():
        names[f"{kind.home}.{name}"] = f"{_PACKAGE}{EARLIER_HOMES.get(name, 'estimator')}.{name}"
    return names | {now: _PACKAGE + then for now, then in EARLIER_OTHERS.items()}


def __getattr__(name: str) -> Any:
    if name in ESTIMATORS:
        return ESTIMATORS[name].load_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
