r"""Stability statistics of robust subspace recovery (Maunu, Yu & Lerman; Lerman et al. 2015).

Every function takes rows, a mask of the inliers and orthonormal rows of the true subspace
:math:`L_\star` of dimension r. All sums are divided by the number N of *all* rows: the printed text
divides permeance by N and alignment by the number of outliers, which cannot be compared.
**Not private, and no statement about privacy.**
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Bounds(NamedTuple):
    """Proven bounds of a statistic that is an optimum of a nonconvex problem.

    ``lower`` and ``upper`` are equal where the optimum is computed exactly. A stability is proven
    if ``lower > 0``, refuted if ``upper < 0``, and open otherwise.
    """

    lower: float
    upper: float


def permeance(rows: np.ndarray, is_inlier: np.ndarray, subspace: np.ndarray) -> float:
    r"""How well inliers fill the subspace: :math:`\lambda_r(\frac1N \sum_{in} x x^\top / \|x\|)`.

    For inliers off the subspace, their projections to it are used.
    """
    inside, _, n = _split(rows, is_inlier, subspace)
    return float(np.linalg.eigvalsh(_pull(inside) / n)[0])


def alignment(
    rows: np.ndarray,
    is_inlier: np.ndarray,
    subspace: np.ndarray,
    *,
    n_tries: int = 200,
    random_state: int = 0,
) -> Bounds:
    r"""How hard outliers can pull: the largest gradient that they can have at any subspace.

    .. math:: \mathcal A = \max_V \sigma_1\Big(\frac1N \sum_{out}
              \frac{Q_V x x^\top V}{\|Q_V x\|}\Big) \le \frac{\sqrt{n_{out}}}{N} \|X_{out}\|_2.

    The bound holds because the gradient is :math:`Y^\top (X V)` with rows of Y of length at most 1.
    The lower bound is the largest value that a random search finds, polished by ``n_tries`` random
    moves with shrinking steps.
    """
    _, outliers, n = _split(rows, is_inlier, subspace)
    if len(outliers) == 0:
        return Bounds(0.0, 0.0)
    upper = np.sqrt(len(outliers)) * np.linalg.norm(outliers, 2) / n
    rng = np.random.default_rng(random_state)
    best, value = _best_start(rng, outliers, subspace, n_tries)
    for k in range(n_tries):
        # From 0.6 down by a factor of 2^8. A worse schedule finds a smaller value, and any value
        # that is found is a lower bound.
        step = 0.6 * 0.5 ** (8 * k / n_tries)
        moved = _orthonormal(best + step * rng.standard_normal(best.shape) / np.sqrt(best.size))
        if (new := _gradient_size(outliers, moved)) > value:
            best, value = moved, new
    return Bounds(value / n, max(float(upper), value / n))


def ggd_stability(
    rows: np.ndarray,
    is_inlier: np.ndarray,
    subspace: np.ndarray,
    gamma: float,
    *,
    n_tries: int = 200,
    random_state: int = 0,
) -> Bounds:
    r"""Positive if geodesic gradient descent converges: :math:`S_\gamma = \gamma P - A`.

    P is the `permeance` and A the `alignment`. The ball of starts is :math:`d_r^2 < 1 - \gamma`,
    that is, angles below arccos(gamma). (As printed, with radius gamma, a larger gamma would give
    a larger ball *and* an easier condition; the source has cos(gamma) in place of gamma.)
    """
    _check_gamma(gamma)
    pull = gamma * permeance(rows, is_inlier, subspace)
    against = alignment(rows, is_inlier, subspace, n_tries=n_tries, random_state=random_state)
    return Bounds(pull - against.upper, pull - against.lower)


def pca_stability(
    rows: np.ndarray,
    is_inlier: np.ndarray,
    subspace: np.ndarray,
    gamma: float,
    *,
    as_printed: bool = False,
) -> float:
    r"""Positive if plain PCA starts inside the ball :math:`d_r^2 < 1 - \gamma` around the subspace.

    .. math:: S^{PCA}_\gamma = \frac1N \big(\sin(2 \arccos\gamma)\, \lambda_r(X_{in}^\top X_{in})
              - \|X_{out}\|_2^2\big), \qquad \gamma \ge 1/\sqrt2.

    Proof: let e be the largest eigenvalue of :math:`E = X_{out}^\top X_{out}`. E - (e/2) I has
    norm e/2 and moves no eigenvector differently, so the sin 2-theta theorem (Davis & Kahan 1970)
    bounds :math:`\sin 2\theta_1 \le e / \lambda_r`; along t E for t from 0 to 1 the eigengap stays
    open, so the angle stays on the branch below 45 degrees. The printed statistic has
    :math:`2 \sin(\arccos\gamma)`, larger by the factor :math:`1/\gamma`, and promises too much:
    with one inlier direction of weight 1 and outliers of weight 0.95 at an angle, PCA can be 0.63
    away, not the 0.5 that it allows. For exact inliers: noise of theirs is not counted.
    """
    _check_gamma(gamma)
    if gamma < np.sqrt(0.5) and not as_printed:
        raise ValueError(f"gamma must be at least 0.7072 (angles up to 45 degrees); got {gamma}.")
    inside, outliers, n = _split(rows, is_inlier, subspace)
    smallest = np.linalg.eigvalsh(inside.T @ inside)[0]
    largest = np.linalg.norm(outliers, 2) ** 2 if len(outliers) else 0.0
    angle = np.arccos(gamma)
    factor = 2 * np.sin(angle) if as_printed else np.sin(2 * angle)
    return float((factor * smallest - largest) / n)


def reaper_permeance(
    rows: np.ndarray, is_inlier: np.ndarray, subspace: np.ndarray, *, n_starts: int = 20
) -> Bounds:
    r""":math:`\inf_u \frac1N \sum_{in} |u^\top x|` over unit vectors u of the subspace.

    Exact for r <= 2: between directions orthogonal to a row the sum is a positive sinusoid, hence
    concave, so the minimum is orthogonal to some row. For r > 2 the lower bound is `permeance`, as
    :math:`|u^\top x| \ge (u^\top x)^2 / \|x\|`, and the upper one the least value found by
    reweighting from ``n_starts`` directions.
    """
    inside, _, n = _split(rows, is_inlier, subspace)
    r = inside.shape[1]
    if r == 1:
        value = float(np.abs(inside).sum() / n)
        return Bounds(value, value)
    if r == 2:
        value = _least_in_plane(inside) / n
        return Bounds(value, value)
    starts = np.random.default_rng(0).standard_normal((n_starts, r))
    upper = min(_reweight(inside, u) for u in starts) / n
    return Bounds(min(permeance(rows, is_inlier, subspace), upper), upper)


def reaper_alignment(rows: np.ndarray, is_inlier: np.ndarray, subspace: np.ndarray) -> float:
    r"""Alignment of REAPER: :math:`\frac1N \|X_{out}\|_2 \, \|Y\|_2`.

    The rows of Y are those of :math:`X_{out} Q_\star`, scaled to length 1.
    """
    _, outliers, n = _split(rows, is_inlier, subspace)
    if len(outliers) == 0:
        return 0.0
    rest = _unit(outliers - outliers @ subspace.T @ subspace)
    return float(np.linalg.norm(outliers, 2) * np.linalg.norm(rest, 2) / n)


def reaper_stability(rows: np.ndarray, is_inlier: np.ndarray, subspace: np.ndarray) -> Bounds:
    r""":math:`S_{REAP} = \mathcal P_{REAP} / (4 \sqrt r) - \mathcal A_{REAP}`.

    Positive: REAPER recovers the subspace of exact inliers exactly (Lerman et al. 2015, theorem
    2.1). Sufficient, far from necessary.
    """
    inliers = reaper_permeance(rows, is_inlier, subspace)
    against = reaper_alignment(rows, is_inlier, subspace)
    scale = 4 * np.sqrt(len(subspace))
    return Bounds(*(float(value / scale - against) for value in inliers))


def _split(
    rows: np.ndarray, is_inlier: np.ndarray, subspace: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Coordinates of the inliers in the subspace, the outliers, and the number of rows."""
    rows, is_inlier = np.asarray(rows, dtype=float), np.asarray(is_inlier)
    if (
        rows.ndim != 2
        or len(rows) == 0
        or is_inlier.dtype != bool
        or is_inlier.shape != rows.shape[:1]
    ):
        raise ValueError(
            f"expected rows of shape (n, d) and one boolean per row; got shapes {rows.shape} and "
            f"{is_inlier.shape} of {is_inlier.dtype}."
        )
    if np.ndim(subspace) != 2 or subspace.shape[1] != rows.shape[1]:
        raise ValueError(
            f"the subspace must have {rows.shape[1]} columns; got {np.shape(subspace)}."
        )
    if not np.allclose(subspace @ subspace.T, np.eye(len(subspace)), atol=1e-6):
        raise ValueError(
            "the rows of the subspace are not orthonormal; numpy.linalg.qr(x.T)[0].T makes them so."
        )
    return rows[is_inlier] @ subspace.T, rows[~is_inlier], len(rows)


def _check_gamma(gamma: float) -> None:
    if not 0 < gamma < 1:
        raise ValueError(f"gamma must lie strictly between 0 and 1; got {gamma}.")


def _unit(x: np.ndarray) -> np.ndarray:
    """Rows of length 1; rows that are zero but for rounding become zero."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.divide(x, norms, out=np.zeros_like(x), where=norms > 1e-14)


def _pull(x: np.ndarray) -> np.ndarray:
    return _unit(x).T @ x


def _orthonormal(x: np.ndarray) -> np.ndarray:
    return np.linalg.qr(x.T)[0].T


def _gradient_size(x: np.ndarray, components: np.ndarray) -> float:
    inner = x @ components.T
    return float(np.linalg.norm(_unit(x - inner @ components).T @ inner, 2))


def _best_start(
    rng: np.random.Generator, x: np.ndarray, subspace: np.ndarray, n_tries: int
) -> tuple[np.ndarray, float]:
    shape = subspace.shape
    starts = [subspace, *(_orthonormal(rng.standard_normal(shape)) for _ in range(n_tries))]
    # Directions of the outliers themselves: a tight bundle pulls hardest at a small angle to it.
    main = np.linalg.svd(x, full_matrices=False)[2][:1]
    for angle in (0.1, 0.3, 0.6, 1.0):
        mixed = _orthonormal(rng.standard_normal(shape))
        mixed[0] = main[0] + np.tan(angle) * mixed[0]
        starts.append(_orthonormal(mixed))
    sizes = [_gradient_size(x, start) for start in starts]
    best = int(np.argmax(sizes))
    return starts[best], sizes[best]


def _least_in_plane(x: np.ndarray) -> float:
    """Minimum over unit vectors u of sum |u . x| for rows in the plane, in n log n.

    Turn every row into the upper half plane and sort by angle. For u orthogonal to row k the rows
    before it lie on one side and the rows after it on the other.
    """
    x = x[np.any(x != 0, axis=1)]
    if len(x) == 0:
        return 0.0
    x = np.where((x[:, 1] < 0) | ((x[:, 1] == 0) & (x[:, 0] < 0)), -1.0, 1.0)[:, None] * x
    x = x[np.argsort(np.arctan2(x[:, 1], x[:, 0]))]
    before = np.cumsum(x, axis=0)
    signed = x.sum(axis=0) - 2 * before
    normal = _unit(np.column_stack([-x[:, 1], x[:, 0]]))
    return float(np.abs(np.einsum("ij,ij->i", signed, normal)).min())


def _reweight(x: np.ndarray, u: np.ndarray, n_iter: int = 50) -> float:
    """Local minimum of sum |u . x| on the sphere, by the least eigenvector of x x^T / |u . x|."""
    best = np.inf
    for _ in range(n_iter):
        sizes = np.abs(x @ (u / np.linalg.norm(u)))
        best = min(best, float(sizes.sum()))
        weights = 1 / np.maximum(sizes, 1e-12)
        u = np.linalg.eigh((x * weights[:, None]).T @ x)[1][:, 0]
    return best
