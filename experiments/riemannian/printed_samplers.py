r"""Samplers of tangent Gaussians with the formulas of the paper as printed.

Each is ``sampler(w, normals)``: a linear map A_w of standard normals to a tangent vector at w. It
is a Gaussian with covariance A A^T in coordinates that are orthonormal for the metric, and exact if
and only if A A^T = I. ``find_variance_range`` computes how far it is from that; nothing is drawn.
The zoo of broken mechanisms (``tests/audit/zoo``) keeps the wrong ones beside exact ones.
"""

from collections.abc import Callable

import numpy as np

from veilspan.geometry.base import Manifold

Sampler = Callable[[np.ndarray, np.ndarray], np.ndarray]


def printed_affine(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 3, the one that is right: W^(1/2) S W^(1/2)."""
    values, p = np.linalg.eigh(w)
    root = (p * np.sqrt(values)) @ p.T
    return root @ _symmetric(normals) @ root


def printed_bures(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 4, transport of appendix A.1: scale 4 and kernel (l_r + l_s) / 2.

    It must be scale 2 and the kernel's root.
    """
    values, p = np.linalg.eigh(w)
    kernel = (values[:, None] + values[None, :]) / 2
    return np.asarray(p @ (kernel * (p.T @ (4 * _symmetric(normals)) @ p)) @ p.T)


def printed_bures_rooted(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 4, kernel of section 4.1: scale 4 and the root that is right."""
    values, p = np.linalg.eigh(w)
    kernel = np.sqrt((values[:, None] + values[None, :]) / 2)
    return np.asarray(p @ (kernel * (p.T @ (4 * _symmetric(normals)) @ p)) @ p.T)


def printed_log_euclidean(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 5: kernel (l_r - l_s) / (exp l_r - exp l_s), that of another function."""
    values, p = np.linalg.eigh(w)
    gaps, grown = values[:, None] - values, np.exp(values)[:, None] - np.exp(values)
    same = gaps == 0
    kernel = np.where(same, np.exp(-values)[:, None], gaps / np.where(same, 1.0, grown))
    return np.asarray(p @ (kernel * (p.T @ _symmetric(normals) @ p)) @ p.T)


def printed_poincare(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 6: (1 - |w|^2) / 4 times normals, half of the noise that the metric asks for."""
    return np.asarray((1 - w @ w) / 4 * normals)


def printed_lorentz(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 7 with the transport of appendix A.1, which has a minus where a plus is right."""
    u = np.concatenate([[0.0], normals])
    apex = np.eye(len(w))[0]
    return u - (w[1:] @ normals) / (1 + w[0]) * (apex + w)


def printed_sphere(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Algorithm 8 with the transport of appendix A.1, which divides by |v| instead of |v|^2.

    Our coordinates on the sphere are all of R^m; the paper's are the last m - 1 of them.
    """
    pole = np.eye(len(w))[0]
    u = np.concatenate([[0.0], normals[1:]])
    gap = w - pole
    across = gap - (pole @ gap) * pole
    v = np.arccos(w[0]) * across / np.linalg.norm(across)
    length = np.linalg.norm(v)
    turn = (np.cos(length) - 1) * v * (v @ u) - np.sin(length) * pole * (v @ u)
    return u + turn / length


def _symmetric(z: np.ndarray) -> np.ndarray:
    return np.asarray((z + z.T) / 2)


def find_variance_range(sampler: Sampler, manifold: Manifold, w: np.ndarray) -> tuple[float, float]:
    """Return the least and largest eigenvalue of A A^T, by one-hot normals: 1, 1 if exact."""
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
