"""Where classes lay when files named them by module: 0.1.0.dev0 and dev1.

Saved releases of these versions, and requests that a ledger knows by a digest, name classes so.
They stay readable for ever. The tables are closed: what is added to the catalogue has an id from
its first day.
"""

from __future__ import annotations

#: module path in an old release: id in the catalogue
EARLIER_NAMES = {
    "geometry.ball.Ball": "ball",
    "geometry.euclidean.Euclidean": "manifold/euclidean",
    "geometry.grassmann.Grassmann": "manifold/grassmann",
    "geometry.lorentz.Lorentz": "manifold/lorentz",
    "geometry.poincare.PoincareBall": "manifold/poincare-ball",
    "geometry.product.Product": "manifold/product",
    "geometry.spd_affine.SPDAffineInvariant": "manifold/spd-affine-invariant",
    "geometry.spd_bures.SPDBuresWasserstein": "manifold/spd-bures-wasserstein",
    "geometry.spd_log_euclidean.SPDLogEuclidean": "manifold/spd-log-euclidean",
    "geometry.sphere.Sphere": "manifold/sphere",
    "geometry.stiefel.Stiefel": "manifold/stiefel",
    "problems.class_weights.ClassWeighted": "loss/class-weighted",
    "problems.linear_losses.Huber": "loss/huber",
    "problems.linear_losses.Logistic": "loss/logistic",
    "problems.linear_losses.Multinomial": "loss/multinomial",
    "problems.linear_losses.Quantile": "loss/quantile",
    "problems.linear_losses.SmoothedHinge": "loss/smoothed-hinge",
    "problems.linear_losses.Squared": "loss/squared",
    "problems.penalties.Box": "penalty/box",
    "problems.penalties.ElasticNet": "penalty/elastic-net",
    "problems.penalties.Group": "penalty/group",
    "problems.penalties.L1": "penalty/l1",
    "problems.penalties.L1Ball": "penalty/l1-ball",
    "problems.penalties.L2": "penalty/l2",
    "problems.penalties.L2Ball": "penalty/l2-ball",
    "problems.penalties.NoPenalty": "penalty/none",
    "problems.penalties.Simplex": "penalty/simplex",
    "solvers.calibrated.CalibratedDescent": "solver/calibrated-descent",
    "solvers.completion_als.ALSCompletion": "solver/als-completion",
    "solvers.completion_covariance.CovarianceCompletion": "solver/covariance-completion",
    "solvers.completion_frank_wolfe.FrankWolfeCompletion": "solver/frank-wolfe-completion",
    "solvers.completion_rule.AutoCompletion": "solver/auto-completion",
    "solvers.completion_svd.SVDCompletion": "solver/svd-completion",
    "solvers.geodesic_gradient.GeodesicGradientDescent": "solver/geodesic-gradient",
    "solvers.linear_frank_wolfe.FrankWolfe": "solver/frank-wolfe",
    "solvers.linear_gd.GradientDescent": "solver/gradient-descent",
    "solvers.linear_gd.StochasticGradient": "solver/stochastic-gradient",
    "solvers.linear_mirror.AcceleratedMirror": "solver/accelerated-mirror",
    "solvers.linear_newton.PrivateNewton": "solver/newton",
    "solvers.linear_objective.ObjectivePerturbation": "solver/objective-perturbation",
    "solvers.linear_rule.AutoLinear": "solver/auto-linear",
    "solvers.linear_selection.Candidate": "solver/candidate",
    "solvers.linear_selection.PrivateSelection": "solver/private-selection",
    "solvers.linear_statistics.SufficientStatistics": "solver/sufficient-statistics",
    "solvers.linear_svrg.SVRG": "solver/svrg",
    "solvers.linear_svrg.SVRGPlus": "solver/svrg-plus",
    "solvers.reaper.ReaperDescent": "solver/reaper",
    "solvers.recursive_spherical.RecursiveSpherical": "solver/recursive-spherical",
    "solvers.rgd.RGD": "solver/rgd",
    "solvers.rgd.RSGD": "solver/rsgd",
    "solvers.rsvrg.RSVRG": "solver/rsvrg",
    "solvers.schedules.ConstantSteps": "steps/constant",
    "solvers.schedules.DecreasingSteps": "steps/decreasing",
    "solvers.schedules.GeometricSteps": "steps/geometric",
    "solvers.schedules.PaperSteps": "steps/paper",
    "solvers.schedules.RestartedSteps": "steps/restarted",
    "solvers.secant.SecantSteps": "steps/secant",
    "solvers.stream_release.StreamRelease": "solver/stream-release",
}

#: where the module of an estimator was
EARLIER_HOMES = {
    "PCA": "estimators.pca",
    "RobustPCA": "estimators.robust_pca",
    "FrechetMean": "estimators.frechet",
    "MatrixCompletion": "estimators.recommend",
    "SubspaceTracker": "estimators.tracking",
    "LogisticRegression": "estimators.linear_classification",
    "LinearSVC": "estimators.linear_classification",
    "LinearRegression": "estimators.linear_regression",
    "Ridge": "estimators.linear_regression",
    "Lasso": "estimators.linear_regression",
    "ElasticNet": "estimators.linear_regression",
    "HuberRegressor": "estimators.linear_regression",
}

#: other classes whose names are part of a request's digest: module path now, module path then
EARLIER_OTHERS = {
    "estimators.manifold.minimize.ManifoldMinimizer": "estimators.minimize.ManifoldMinimizer",
    "losses.manifold.FrechetLoss": "problems.manifold_losses.FrechetLoss",
    "losses.manifold.LeadingSubspace": "problems.manifold_losses.LeadingSubspace",
    "losses.own.Loss": "problems.own_loss.Loss",
}

#: results that a ledger may have stored, which are in no catalogue: module then, module now
EARLIER_RESULTS = {
    ("solvers.manifold", "ManifoldResult"): "solvers.manifold.base",
    ("estimators.minimize", "Minimum"): "estimators.manifold.minimize",
}
