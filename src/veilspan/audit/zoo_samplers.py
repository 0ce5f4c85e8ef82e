r"""Samplers of tangent Gaussians as printed in a paper, whose densities are wrong, and exact ones.

Each is ``sampler(w, normals)``: a linear map A_w of standard normals to a tangent vector at w. It
is a Gaussian with covariance A A^T in coordinates that are orthonormal for the metric, and exact if
and only if A A^T = I. The least eigenvalue v of A A^T says what a release with it is worth: along
that direction noise that claims mu gives mu / sqrt(v). All of it is computed, nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veilspan.geometry import SPD, PoincareBall
from veilspan.geometry.base import Manifold

Sampler = Callable[[np.ndarray, np.ndarray], np.ndarray]

BURES = SPD(2, metric="bures-wasserstein")
LOG_EUCLIDEAN = SPD(2, metric="log-euclidean")
BALL = PoincareBall(2)
SMALL_MATRIX = np.diag([0.02, 0.05])
PLAIN_MATRIX = np.diag([1.0, 2.0])
FAR_POINT = np.array([0.6, 0.3])


def exact_bures(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Repaired: Z L^T + L Z^T with L L^T = W."""
    return BURES.from_coordinates(w, normals)


def printed_bures(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Broken: scale 4 and kernel (l_r + l_s) / 2; it must be scale 2 and the kernel's root."""
    values, p = np.linalg.eigh(w)
    kernel = (values[:, None] + values[None, :]) / 2
    return np.asarray(p @ (kernel * (p.T @ (4 * _symmetric(normals)) @ p)) @ p.T)


def exact_log_euclidean(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Repaired: kernel (l_r - l_s) / (log l_r - log l_s)."""
    return LOG_EUCLIDEAN.from_coordinates(w, normals)


def printed_log_euclidean(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Broken: kernel (l_r - l_s) / (exp l_r - exp l_s), that of another function."""
    values, p = np.linalg.eigh(w)
    gaps, grown = values[:, None] - values, np.exp(values)[:, None] - np.exp(values)
    same = gaps == 0
    kernel = np.where(same, np.exp(-values)[:, None], gaps / np.where(same, 1.0, grown))
    return np.asarray(p @ (kernel * (p.T @ _symmetric(normals) @ p)) @ p.T)


def exact_poincare(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Repaired: (1 - |w|^2) / 2 times normals."""
    return BALL.from_coordinates(w, normals)


def printed_poincare(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Broken: (1 - |w|^2) / 4 times normals, half of the noise that the metric asks for."""
    return np.asarray((1 - w @ w) / 4 * normals)


def _symmetric(z: np.ndarray) -> np.ndarray:
    return np.asarray((z + z.T) / 2)


def weakest_variance(sampler: Sampler, manifold: Manifold, w: np.ndarray) -> tuple[float, float]:
    """Least and largest eigenvalue of A A^T, by one-hot normals; both 1 for an exact sampler."""
    count = int(np.prod(manifold.coordinate_shape))
    one_hot = np.eye(count).reshape(count, *manifold.coordinate_shape)

    def images(draw: Sampler) -> np.ndarray:
        rows = [manifold.to_coordinates(w, draw(w, normals)).reshape(-1) for normals in one_hot]
        return np.stack(rows, axis=1)

    # Coordinates may outnumber dimensions: look inside the tangent space only.
    directions, sizes, _ = np.linalg.svd(images(manifold.from_coordinates))
    inside = directions[:, : int(np.sum(sizes > 1e-9))]
    values = np.linalg.svd(inside.T @ images(sampler), compute_uv=False) ** 2
    return float(values.min()), float(values.max())


def sampler_findings(sampler: Sampler, manifold: Manifold, w: np.ndarray) -> tuple[str, ...]:
    """Whether noise falls short of the metric's in some direction: exact, no false alarms."""
    least, largest = weakest_variance(sampler, manifold, w)
    findings = []
    if least < 1 - 1e-9:
        findings.append(
            f"the weakest direction has {least:.3g} of the variance: mu is {least**-0.5:.3g} times "
            "what is claimed."
        )
    if largest > 1 + 1e-9:
        findings.append(f"the strongest direction has {largest:.3g} of the variance.")
    return tuple(findings)
