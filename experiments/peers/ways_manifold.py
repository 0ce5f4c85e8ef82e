"""Ways of geomstats, pyRiemann and pymanopt; each runs in the environment of its library."""

from typing import Any

import numpy as np

Table = dict[str, np.ndarray]


def pyriemann_mean(table: Table, seed: int, tolerance: float) -> Table:
    try:
        from pyriemann.geometry.mean import mean_riemann
    except ImportError:  # before 0.12
        from pyriemann.utils.mean import mean_riemann
    return {"mean": mean_riemann(table["points"], tol=tolerance, maxiter=100)}


def geomstats_mean(table: Table, seed: int, method: str, tolerance: float) -> Table:
    from geomstats.geometry.spd_matrices import SPDMatrices
    from geomstats.learning.frechet_mean import FrechetMean

    space = SPDMatrices(table["points"].shape[1])  # affine-invariant by default
    model = FrechetMean(space, method=method).set(epsilon=tolerance, max_iter=200)
    return {"mean": model.fit(table["points"]).estimate_}


def pymanopt_mean(table: Table, seed: int, method: str) -> Table:
    """Minimise the mean squared distance; cost and gradient are written by hand, in batches."""
    import pymanopt
    from pymanopt import optimizers

    points = table["points"]
    manifold = pymanopt.manifolds.SymmetricPositiveDefinite(points.shape[1])

    def spectra(x: np.ndarray) -> Any:
        lower = np.linalg.cholesky(x)
        inverse = np.linalg.inv(lower)
        values, vectors = np.linalg.eigh(inverse @ points @ inverse.T)
        return lower, np.log(values), vectors

    @pymanopt.function.numpy(manifold)
    def cost(x: np.ndarray) -> float:
        return float((spectra(x)[1] ** 2).sum(axis=1).mean() / 2)

    @pymanopt.function.numpy(manifold)
    def gradient(x: np.ndarray) -> np.ndarray:
        lower, logs, vectors = spectra(x)
        mean = np.einsum("kij,kj,klj->il", vectors, logs, vectors) / len(points)
        return -lower @ mean @ lower.T

    problem = pymanopt.Problem(manifold, cost, riemannian_gradient=gradient)
    optimizer = getattr(optimizers, method)(
        min_gradient_norm=1e-10, min_step_size=1e-14, max_iterations=100, verbosity=0
    )
    return {"mean": optimizer.run(problem, initial_point=points.mean(axis=0)).point}


def pymanopt_subspace(table: Table, seed: int, rank: int, method: str) -> Table:
    """Maximise tr(W^T A W) over the Grassmann manifold, A formed once, derivatives by hand."""
    import pymanopt
    from pymanopt import optimizers

    rows = table["rows"]
    moment = rows.T @ rows / len(rows)
    manifold = pymanopt.manifolds.Grassmann(rows.shape[1], rank)

    @pymanopt.function.numpy(manifold)
    def cost(w: np.ndarray) -> float:
        return float(-np.sum(w * (moment @ w)) / 2)

    @pymanopt.function.numpy(manifold)
    def gradient(w: np.ndarray) -> np.ndarray:
        return -moment @ w

    @pymanopt.function.numpy(manifold)
    def hessian(w: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return -moment @ direction

    problem = pymanopt.Problem(
        manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )
    optimizer = getattr(optimizers, method)(
        min_gradient_norm=1e-9, min_step_size=1e-14, max_iterations=500, verbosity=0
    )
    start = np.linalg.qr(np.random.default_rng(seed).standard_normal((rows.shape[1], rank)))[0]
    return {"components": optimizer.run(problem, initial_point=start).point.T}
