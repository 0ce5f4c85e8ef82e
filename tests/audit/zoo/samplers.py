r"""Exact samplers of tangent Gaussians, twins of those that a paper misprints, and their audit.

The printed ones are in ``experiments/riemannian/printed_samplers.py``, which says what a sampler
is: a linear map A of standard normals, exact if and only if A A^T = I. The least eigenvalue v of
A A^T says what a release with it is worth: along that direction noise that claims mu gives
mu / sqrt(v). All of it is computed, nothing is drawn.
"""

from __future__ import annotations

import numpy as np

from experiments.riemannian.printed_samplers import Sampler, find_variance_range
from veilspan.geometry import SPD, PoincareBall
from veilspan.geometry.base import Manifold

BURES = SPD(2, metric="bures-wasserstein")
LOG_EUCLIDEAN = SPD(2, metric="log-euclidean")
BALL = PoincareBall(2)
SMALL_MATRIX = np.diag([0.02, 0.05])
PLAIN_MATRIX = np.diag([1.0, 2.0])
FAR_POINT = np.array([0.6, 0.3])


def exact_bures(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Repaired: Z L^T + L Z^T with L L^T = W."""
    return BURES.from_coordinates(w, normals)


def exact_log_euclidean(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Repaired: kernel (l_r - l_s) / (log l_r - log l_s)."""
    return LOG_EUCLIDEAN.from_coordinates(w, normals)


def exact_poincare(w: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Repaired: (1 - |w|^2) / 2 times normals."""
    return BALL.from_coordinates(w, normals)


def sampler_findings(sampler: Sampler, manifold: Manifold, w: np.ndarray) -> tuple[str, ...]:
    """Say whether noise falls short of the metric's in some direction: exact, no false alarms."""
    least, largest = find_variance_range(sampler, manifold, w)
    findings = []
    if least < 1 - 1e-9:
        findings.append(
            f"the weakest direction has {least:.3g} of the variance: mu is {least**-0.5:.3g} times "
            "what is claimed."
        )
    if largest > 1 + 1e-9:
        findings.append(f"the strongest direction has {largest:.3g} of the variance.")
    return tuple(findings)
