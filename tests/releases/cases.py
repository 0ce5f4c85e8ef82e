"""Every estimator that can be saved, fitted once, what it says of rows, and how to forge it."""

import hashlib
import json
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest

import veilspan
from veilspan import RGD, RSVRG, Ball
from veilspan.datasets import make_haystack, make_ratings, make_spd, make_ward
from veilspan.geometry import SPD, Euclidean, PoincareBall, Product, Sphere
from veilspan.losses.penalties import L1Ball
from veilspan.releases import load
from veilspan.releases.documents import arrays_name, digest_of
from veilspan.solvers.completion.ranking import RankingCompletion
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.objective_perturbation import ObjectivePerturbation
from veilspan.solvers.subspace.reaper import ReaperDescent

# A number of rows that no attribute has as a dimension.
N = 223
RNG = np.random.default_rng(0)
ROWS = make_haystack(N, 5, 2, noise=0.1).rows
TABLE = RNG.uniform(-1, 1, (N, 5))
TARGETS = TABLE @ [2.0, -1.0, 0.5, 0.0, 0.0] + 0.1 * RNG.standard_normal(N)
LABELS = np.where(TARGETS > 0, "yes", "no")
THREE = np.digitize(TARGETS, [-0.5, 0.5])
MATRICES = make_spd(N, 2).points
RATINGS = make_ratings(N, 8, ratings_per_user=5).train
ON_BOTH = np.hstack([ROWS[:, :3] / np.linalg.norm(ROWS[:, :3], axis=1)[:, None], ROWS[:, 3:]])
BOTH = Product(Sphere(3), Euclidean(2))
WARD = make_ward(N)
LINEAR = {"feature_range": (-1.0, 1.0)}
REGRESSION = {**LINEAR, "target_range": (-3.0, 3.0)}
SHORT = GradientDescent(steps=5)

# name: (class, parameters, arguments of fit)
CASES = {
    "PCA": ("PCA", {"n_components": 2}, (ROWS,)),
    "PCA, public centre": ("PCA", {"center": np.full(5, 0.1), "row_norm": 2.0}, (ROWS,)),
    "PCA, add-remove": ("PCA", {"n_components": 1, "neighbors": "add-remove"}, (ROWS,)),
    "PCA, no privacy": ("PCA", {"n_components": 2, "epsilon": np.inf}, (ROWS,)),
    "RobustPCA": ("RobustPCA", {"n_components": 2}, (ROWS,)),
    "RobustPCA, reaper": ("RobustPCA", {"n_components": 2, "solver": ReaperDescent(steps=3)},
                          (ROWS,)),
    "FrechetMean": (
        "FrechetMean",
        {"manifold": SPD(2), "ball": Ball.from_eigenvalues(SPD(2), 0.1, 10.0), "epsilon": 20.0},
        (MATRICES,),
    ),
    "FrechetMean, log-Euclidean": (
        "FrechetMean",
        {"manifold": SPD(2, metric="log-euclidean"),
         "ball": Ball.from_eigenvalues(SPD(2, metric="log-euclidean"), 0.1, 10.0),
         "solver": RGD(steps=3)},
        (MATRICES,),
    ),
    "FrechetMean, hyperbolic": (
        "FrechetMean",
        {"manifold": PoincareBall(5), "ball": Ball.from_norm(PoincareBall(5), 0.9),
         "solver": RSVRG(epochs=2, inner_steps=2)},
        (ROWS / 2,),
    ),
    "FrechetMean, product": (
        "FrechetMean", {"manifold": BOTH, "epsilon": np.inf}, (ON_BOTH,)
    ),
    "MatrixCompletion": ("MatrixCompletion", {"rating_range": (1.0, 5.0)}, (RATINGS,)),
    "MatrixCompletion, factors": (
        "MatrixCompletion",
        {"solver": "covariance", "rating_range": (1, 5), "n_components": 2, "epsilon": 50.0},
        (RATINGS,),
    ),
    "MatrixCompletion, lists": (
        "MatrixCompletion",
        {"task": "rank", "solver": RankingCompletion(0.3, width=4), "epsilon": 50.0},
        (RATINGS,),
    ),
    "LogisticRegression": (
        "LogisticRegression", {**LINEAR, "classes": ["no", "yes"]}, (TABLE, LABELS)
    ),
    "LogisticRegression, three": (
        "LogisticRegression", {**LINEAR, "classes": (0, 1, 2), "solver": SHORT}, (TABLE, THREE)
    ),
    "LogisticRegression, ball": (
        "LogisticRegression",
        {**LINEAR, "penalty": L1Ball(3.0), "solver": SHORT,
         "class_weight": {"no": 1.0, "yes": 2.0}},
        (TABLE, LABELS),
    ),
    "LogisticRegression, selection": (
        "LogisticRegression", {**LINEAR, "selection": [SHORT, "objective"]}, (TABLE, LABELS)
    ),
    "LinearSVC": ("LinearSVC", {**LINEAR, "solver": ObjectivePerturbation()}, (TABLE, LABELS)),
    "LinearRegression": ("LinearRegression", {**REGRESSION}, (TABLE, TARGETS)),
    "LinearRegression, ranges": (
        "LinearRegression",
        {"target_range": np.array([-3.0, 3.0]), "bounds": "private", "epsilon": 10.0},
        (TABLE, TARGETS),
    ),
    "Ridge": ("Ridge", {**REGRESSION, "alpha": 1.0}, (TABLE, TARGETS)),
    "Lasso": ("Lasso", {**REGRESSION}, (TABLE, TARGETS)),
    "ElasticNet": ("ElasticNet", {**REGRESSION}, (TABLE, TARGETS)),
    "HuberRegressor": ("HuberRegressor", {**REGRESSION}, (TABLE, TARGETS)),
    "LogisticRegression, curves": (
        "LogisticRegression", {"schema": WARD.schema, "epsilon": 20.0}, (WARD.columns,)
    ),
    "Profile": (
        "Profile",
        {"schema": WARD.schema, "crosstabs": [("sex", "ward")], "means_by": [("age", "ward")]},
        (WARD.columns,),
    ),
}  # fmt: skip


@cache
def fitted(name):
    """The estimator of a case; fitted once."""
    kind, parameters, data = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(veilspan, kind)(**parameters).fit(*data)


def answers(estimator, name):
    """All that an estimator says of the rows of its case."""
    if hasattr(estimator, "to_dict"):  # a profile speaks of its table, not of rows
        return {"summary": estimator.summary(), "numbers": estimator.to_dict()}
    rows = CASES[name][2][0]
    methods = ("transform", "predict", "decision_function", "predict_proba", "score_samples")
    return {m: getattr(estimator, m)(rows) for m in methods if hasattr(estimator, m)}


def kept_answers(estimator, name):
    """What samples keep of them: the first four of each, and other things as a text."""
    found = {}
    for what, value in answers(estimator, name).items():
        if isinstance(value, np.ndarray) or hasattr(value, "toarray"):
            found[what] = (value.toarray() if hasattr(value, "toarray") else value)[:4]
        else:
            found[what] = np.array(json.dumps(value, default=str, sort_keys=True))
    return found


def rewrite(folder, change, *, mend=False):
    """Change the document; ``mend`` recomputes its digest, as a careful forger would."""
    path = folder / "release.json"
    document = json.loads(path.read_text())
    change(document)
    if mend:
        document["digest"] = digest_of(document)
    path.write_text(json.dumps(document))


def arrays_file(folder):
    """The one file of arrays in a folder."""
    (path,) = folder.glob("arrays*.npz")
    return path


def replace_arrays(folder, packed):
    """Other bytes for the arrays, with all names and digests mended."""
    arrays_file(folder).unlink()
    digest = hashlib.sha256(packed).hexdigest()
    (folder / arrays_name(digest)).write_bytes(packed)
    rewrite(folder, lambda d: d.update(files={arrays_name(digest): digest}), mend=True)


def refuses(path, match=None):
    """Load must raise a ValueError (not a system's error) within a few megabytes."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=match):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    finally:
        tracemalloc.stop()
