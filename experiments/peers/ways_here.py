"""Ours and scikit-learn's ways: they share the environment of this package."""

import math
import warnings
from typing import Any

import numpy as np

Table = dict[str, np.ndarray]


def _fitted(model: Any, *arguments: Any) -> Any:
    """Fit with a seed: a simulation on public rows, whose warning is not needed here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*arguments)


def _epsilon(epsilon: Any) -> float:
    return math.inf if epsilon is None else float(epsilon)


# ---------------------------------------------------------------- subspaces


def pca(table: Table, seed: int, rank: int, epsilon: Any, delta: float = 1e-6) -> Table:
    from veilspan import PCA

    model = PCA(rank, epsilon=_epsilon(epsilon), delta=delta, random_state=seed)
    return {"components": _fitted(model, table["rows"]).components_}


def robust_pca(table: Table, seed: int, rank: int, epsilon: Any, delta: float = 1e-6) -> Table:
    from veilspan import RobustPCA

    model = RobustPCA(rank, epsilon=_epsilon(epsilon), delta=delta, random_state=seed)
    return {"components": _fitted(model, table["rows"]).components_}


def tracker(table: Table, seed: int, rank: int, epsilon: Any = None) -> Table:
    """One pass in blocks; without epsilon the stream is not private."""
    from veilspan import SubspaceTracker

    rows = table["rows"]
    private = {} if epsilon is None else {"epsilon": epsilon, "block_size": max(1, len(rows) // 10)}
    model = SubspaceTracker(rank, random_state=seed, **private)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(0, len(rows), 1000):
            model.partial_fit(rows[start : start + 1000])
    return {"components": model.components_}


def leading_subspace(table: Table, seed: int, rank: int, epsilon: Any) -> Table:
    """The general minimiser, on the Grassmann manifold."""
    from veilspan import Budget, LeadingSubspace, minimize
    from veilspan.geometry import Grassmann

    loss = LeadingSubspace(Grassmann(table["rows"].shape[1], rank))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        budget = Budget(_epsilon(epsilon), 1e-6)
        found = minimize(loss, table["rows"], budget=budget, random_state=seed)
    return {"components": found.point.T}


def sklearn_pca(table: Table, seed: int, rank: int, solver: str = "auto") -> Table:
    from sklearn.decomposition import PCA

    model = PCA(rank, svd_solver=solver, random_state=seed)
    return {"components": model.fit(table["rows"]).components_}


def sklearn_incremental(table: Table, seed: int, rank: int, batch: int) -> Table:
    from sklearn.decomposition import IncrementalPCA

    model = IncrementalPCA(rank, batch_size=batch)
    return {"components": model.fit(table["rows"]).components_}


# ---------------------------------------------------------------- linear models


def logistic(table: Table, seed: int, epsilon: Any) -> Table:
    """The default solver and penalty, told that rows lie in the unit ball."""
    from veilspan import LogisticRegression

    model = LogisticRegression(
        row_norm=1.0, classes=[-1.0, 1.0], epsilon=_epsilon(epsilon), random_state=seed
    )
    return _line(_fitted(model, table["rows"], table["targets"]))


def linear(table: Table, seed: int, epsilon: Any) -> Table:
    from veilspan import LinearRegression

    model = LinearRegression(
        feature_range=(-1, 1), target_range=(-1, 1), epsilon=_epsilon(epsilon), random_state=seed
    )
    return _line(_fitted(model, table["rows"], table["targets"]))


def sklearn_logistic(table: Table, seed: int, C: float) -> Table:
    from sklearn.linear_model import LogisticRegression

    return _line(LogisticRegression(C=C, max_iter=1000).fit(table["rows"], table["targets"]))


def sklearn_linear(table: Table, seed: int) -> Table:
    from sklearn.linear_model import LinearRegression

    return _line(LinearRegression().fit(table["rows"], table["targets"]))


def _line(model: Any) -> Table:
    slope, constant = np.ravel(model.coef_), np.ravel(model.intercept_)[:1]
    return {"slope": slope, "constant": constant if len(constant) else np.zeros(1)}


# ---------------------------------------------------------------- the rest


def noise(table: Table, seed: int, deviation: float, kind: str) -> Table:
    """Noise on a grid, or the exact discrete Gaussian, from the secure source."""
    from veilspan.privacy.discrete import add_discrete_noise
    from veilspan.privacy.grid import add_noise, noise_scale
    from veilspan.privacy.noise import SecureNoise

    values = table["values"]
    scale = noise_scale(deviation, 1.0, len(values), largest=1e6)
    draw = add_noise if kind == "grid" else add_discrete_noise
    return {"noisy": draw(values, scale, SecureNoise())}


def frechet(table: Table, seed: int, epsilon: Any) -> Table:
    """The mean; its ball (eigenvalues 1e-3 to 1e3) is public."""
    from veilspan import Ball, FrechetMean
    from veilspan.geometry import SPD

    manifold = SPD(table["points"].shape[1])
    ball = None if epsilon is None else Ball.from_eigenvalues(manifold, 1e-3, 1e3)
    model = FrechetMean(manifold, epsilon=_epsilon(epsilon), ball=ball, random_state=seed)
    return {"mean": _fitted(model, table["points"]).mean_}


def ratings(table: Table, seed: int, epsilon: Any, cap: int) -> Table:
    """The default; one user with all of her ratings is protected, by add-remove."""
    from scipy import sparse

    from veilspan import MatrixCompletion

    rated = sparse.csr_array(
        (table["data"], table["indices"], table["indptr"]), shape=tuple(table["shape"])
    )
    model = MatrixCompletion(
        rating_range=tuple(table["rating_range"]), max_ratings_per_user=cap,
        epsilon=_epsilon(epsilon), neighbors="add-remove", random_state=seed,
    )  # fmt: skip
    predicted = _fitted(model, rated).predict(rated)
    return {"ratings": predicted.astype(np.float32)}
