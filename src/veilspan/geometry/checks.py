"""``check_manifold``: whether a manifold, ours or a user's, keeps the contract of its base class.

Every property is a residual that should be 0; :class:`ManifoldReport` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from veilspan.geometry._linalg import FloatArray
from veilspan.geometry.base import Manifold
from veilspan.geometry.errors import UnavailableOperationError
from veilspan.geometry.report import CheckResult, ManifoldCheckError, ManifoldReport

#: Step of the central differences: their error is of order h^2 = 1e-10 by truncation and
#: 2^-53 / h = 1e-11 by rounding, both well below the tolerance sqrt(tol) that they get.
_STEP = 1e-5
#: What rounding may leave of a difference of two points of size 1.
_ROUNDING = 1e-13
#: Norm below which a random tangent vector counts as 0, as it does on manifolds of dimension 0.
_NO_DIRECTION = 1e-10
#: Eigenvalues below this share of the largest one count as 0 when the rank is found.
_RANK = 1e-10


def check_manifold(
    manifold: Manifold,
    rng: np.random.Generator | None = None,
    *,
    step: float = 0.1,
    batch: int = 3,
    tol: float = 1e-8,
) -> ManifoldReport:
    """Test whether the operations of a manifold fit together.

    Everything is a residual that should be 0. The Gaussian sampler is not tested by statistics: it
    is a linear map A of normals, so one-hot normals reveal A, and A A^T = I in a basis that is
    orthonormal for `inner` is necessary and sufficient. Use a small instance: the cost grows
    with the cube of the dimension.

    Parameters
    ----------
    manifold : Manifold
        The manifold to test.
    rng : numpy.random.Generator, optional
        Source of the points and vectors; a fixed seed when left out.
    step : float
        Length of the tangent vectors that are followed.
    batch : int
        How many points are tried.
    tol : float
        Largest residual that passes. Finite differences get the square root of it.

    Returns
    -------
    ManifoldReport
        What was tested and what was skipped, with the reason.

    Raises
    ------
    ManifoldCheckError
        When a property does not hold.

    Examples
    --------
    >>> from veilspan.geometry import Sphere, check_manifold
    >>> report = check_manifold(Sphere(4))
    >>> report.failed
    ()
    """
    case = _Case(manifold, np.random.default_rng(0) if rng is None else rng, step, batch)
    results = []
    for name, residual in _properties(case):
        tolerance = tol**0.5 if "finite difference" in name or "order" in name else tol
        try:
            results.append(CheckResult(name, _worst(residual()), tolerance))
        except UnavailableOperationError as error:
            results.append(CheckResult(name, np.nan, tolerance, f"no '{error.operation}'"))
        except Exception as error:  # someone else's code: any failure is a finding
            results.append(CheckResult(name, np.inf, tolerance, error=repr(error)))
    report = ManifoldReport(repr(manifold), tuple(results))
    if report.failed:
        raise ManifoldCheckError(report)
    return report


class _Case:
    """Points and vectors to try, and the comparisons in which a residual is measured."""

    def __init__(self, m: Manifold, rng: np.random.Generator, step: float, batch: int) -> None:
        self.m, self.rng = m, rng
        self.x = m.random_point(rng, batch)
        self.u, self.v = self._direction(step), self._direction(step)
        self.y = m.retract(self.x, self._direction(step))

    def _direction(self, length: float) -> FloatArray:
        u = self.m.project(self.x, self.rng.standard_normal(self.x.shape))
        norm = self.m.norm(self.x, u)
        # On a manifold of dimension 0 every vector is 0: there is no direction to scale.
        return u * self._wide(length / np.where(norm < _NO_DIRECTION, 1, norm))

    def _wide(self, s: FloatArray) -> FloatArray:
        return np.asarray(s).reshape(np.shape(s) + (1,) * len(self.m.point_shape))

    def gap(self, x: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        """Length of u - v in the metric at x: how far two tangent vectors are apart."""
        return self.m.norm(x, u - v)


Residual = Callable[[], FloatArray | int]


def _properties(case: _Case) -> Iterator[tuple[str, Residual]]:
    yield from _membership(case)
    yield from _geodesics(case)
    yield from _transports(case)
    yield from _sampler(case)
    yield from _batches(case)


def _membership(c: _Case) -> Iterator[tuple[str, Residual]]:
    m, x, u, y = c.m, c.x, c.u, c.y
    ambient = c.rng.standard_normal(x.shape)

    def tangent_residual(at: FloatArray, v: FloatArray) -> FloatArray:
        return m._size(v - m.project(at, v))

    yield "random_point is on the manifold", lambda: ~m.contains(x)
    yield "retract stays on the manifold", lambda: ~m.contains(m.retract(x, u))
    yield "exp stays on the manifold", lambda: ~m.contains(m.exp(x, u))
    yield "project is idempotent", lambda: tangent_residual(x, m.project(x, ambient))
    yield "log is tangent", lambda: tangent_residual(x, m.log(x, y))
    yield "transport is tangent", lambda: tangent_residual(y, m.transport(x, y, u))
    yield "norm is the root of inner", lambda: m.norm(x, u) ** 2 - m.inner(x, u, u)
    yield "inner is symmetric", lambda: m.inner(x, u, c.v) - m.inner(x, c.v, u)
    yield "egrad2rgrad is tangent", lambda: tangent_residual(x, m.egrad2rgrad(x, ambient))

    yield "egrad2rgrad agrees with a finite difference", lambda: _gradient_gap(c)


def _geodesics(c: _Case) -> Iterator[tuple[str, Residual]]:
    m, x, u, y = c.m, c.x, c.u, c.y
    yield "log undoes exp", lambda: c.gap(x, m.log(x, m.exp(x, u)), u)
    yield "exp undoes log", lambda: m.separation(m.exp(x, m.log(x, y)), y)
    yield "dist is the norm of log", lambda: m.dist(x, y) - m.norm(x, m.log(x, y))
    yield "dist is symmetric", lambda: m.dist(x, y) - m.dist(y, x)
    yield "dist to itself", lambda: m.dist(x, x)
    yield "exp goes as far as its vector", lambda: m.dist(x, m.exp(x, u)) - m.norm(x, u)

    def speed() -> FloatArray:
        h, end = _STEP, m.exp(x, u)
        velocity = (m.exp(x, (1 + h) * u) - m.exp(x, (1 - h) * u)) / (2 * h)
        return m.norm(end, m.project(end, velocity)) - m.norm(x, u)

    yield "exp keeps its speed, by a finite difference", speed

    def order() -> FloatArray:
        # |retract(tu) - exp(tu)| = O(t^(order+1)): halving t must gain that factor. Terms of higher
        # order are allowed half as much again; an order too low would miss by a factor of 2.
        coarse, fine = (m.separation(m.retract(x, t * u), m.exp(x, t * u)) for t in (1.0, 0.5))
        bound = coarse / 2 ** (m.retraction_order + 1)
        return np.maximum(fine - 1.5 * bound - _ROUNDING, 0) / np.maximum(coarse, _ROUNDING)

    yield "retract has its declared order", order


def _transports(c: _Case) -> Iterator[tuple[str, Residual]]:
    m, x, u, v, y = c.m, c.x, c.u, c.v, c.y
    kind = m.transport_kind

    def carry(a: FloatArray) -> FloatArray:
        return m.transport(x, y, a)

    yield "transport is linear", lambda: c.gap(y, carry(u - 2 * v), carry(u) - 2 * carry(v))
    yield "transport to the same point", lambda: c.gap(x, m.transport(x, x, u), u)
    if kind == "non-expansive":
        yield "transport lengthens nothing", lambda: np.maximum(_stretch(c).max(initial=1) - 1, 0)
    else:
        yield "transport keeps inner products", lambda: _stretch(c) - 1
    if kind == "parallel":
        yield (
            "transport of log(x, y) is -log(y, x)",
            lambda: c.gap(y, carry(m.log(x, y)), -m.log(y, x)),
        )


def _sampler(c: _Case) -> Iterator[tuple[str, Residual]]:
    m, x = c.m, c.x[0]
    tangent, k = c.u[0], int(np.prod(m.coordinate_shape))
    coordinates = c.rng.standard_normal(m.coordinate_shape)

    def covariance() -> FloatArray:
        basis = _orthonormal_basis(m, x)
        images = np.array([m.random_tangent(x, 1.0, _OneHot(i)) for i in range(k)])
        a = m.inner(x, basis[:, None], images[None])
        off_tangent = m._size(images - m.project(x, images)).max()
        return np.maximum(np.abs(a @ a.T - np.eye(len(basis))), off_tangent)

    def adjoint() -> FloatArray:
        left = m.inner(x, m.from_coordinates(x, coordinates), tangent)
        return left - np.vdot(coordinates, m.to_coordinates(x, tangent))

    yield "dim is the rank of the tangent space", lambda: len(_orthonormal_basis(m, x)) - m.dim
    yield "Gaussian: one-hot normals give A A^T = I", covariance
    yield "coordinates: adjoint identity", adjoint
    yield (
        "coordinates: from undoes to",
        lambda: c.gap(c.x, m.from_coordinates(c.x, m.to_coordinates(c.x, c.u)), c.u),
    )
    yield (
        "coordinates: to is isometric",
        lambda: m.norm(x, tangent) - np.linalg.norm(m.to_coordinates(x, tangent)),
    )


def _batches(c: _Case) -> Iterator[tuple[str, Residual]]:
    m, x, y, u, v = c.m, c.x, c.y, c.u, c.v
    coords = c.rng.standard_normal((len(x), *m.coordinate_shape))
    calls: dict[str, tuple[FloatArray, ...]] = {
        "inner": (x, u, v),
        "norm": (x, u),
        "dist": (x, y),
        "exp": (x, u),
        "log": (x, y),
        "retract": (x, u),
        "project": (x, u),
        "transport": (x, y, u),
        "egrad2rgrad": (x, u),
        "from_coordinates": (x, coords),
        "to_coordinates": (x, u),
    }
    for name, args in calls.items():
        yield f"batch = loop: {name}", partial(_batch_gap, m, name, args)


def _batch_gap(m: Manifold, name: str, args: tuple[FloatArray, ...]) -> FloatArray:
    """Compare a batch, and one base point against a batch, with a Python loop over the rows."""
    call = getattr(m, name)
    together = call(*args) - np.array([call(*row) for row in zip(*args)])
    shared = call(args[0][0], *args[1:]) - np.array(
        [call(args[0][0], *row) for row in zip(*args[1:])]
    )
    return np.maximum(np.abs(together).max(), np.abs(shared).max())


class _OneHot(np.random.Generator):
    """Stands in for a Generator: of its next normals, number i is 1 and the others are 0."""

    def __init__(self, i: int) -> None:
        super().__init__(np.random.PCG64(0))
        self._left = i

    def standard_normal(self, size: Any = None, *_: Any, **__: Any) -> Any:
        out = np.zeros(() if size is None else size)
        if 0 <= self._left < out.size:
            out.flat[self._left] = 1.0
        self._left -= out.size
        return out


def _stretch(c: _Case) -> FloatArray:
    """Squared singular values of the transport, in metric-orthonormal bases."""
    m, x, y = c.m, c.x[0], c.y[0]
    images = m.transport(x, y, _orthonormal_basis(m, x))
    return np.linalg.eigvalsh(m.inner(y, images[:, None], images[None]))


def _orthonormal_basis(m: Manifold, x: FloatArray) -> FloatArray:
    """Metric-orthonormal basis of the tangent space at x, from `project` and `inner` alone."""
    n = int(np.prod(m.point_shape))
    span = m.project(x, np.eye(n).reshape((n, *m.point_shape)))
    gram = m.inner(x, span[:, None], span[None])
    lam, p = np.linalg.eigh((gram + gram.T) / 2)
    # The projected ambient basis spans the tangent space and no more: what it has beyond the
    # dimension are eigenvalues of the size of rounding, well apart from the others.
    keep = lam > max(_RANK * lam[-1], _RANK**2)
    return np.tensordot((p[:, keep] / np.sqrt(lam[keep])).T, span, 1)


def _gradient_gap(c: _Case) -> FloatArray:
    """Slope of a function along u against <its Riemannian gradient, u>.

    The squared separation from a point is smooth on every manifold, quotients included; its
    Euclidean gradient comes from differences in the ambient space.
    """
    m, x, u, h = c.m, c.x[0], c.u[0], _STEP
    z = m.random_point(c.rng)

    def difference(forward: FloatArray, backward: FloatArray) -> FloatArray:
        return (m.separation(forward, z) ** 2 - m.separation(backward, z) ** 2) / (2 * h)

    shifts = h * np.eye(x.size).reshape((x.size, *x.shape))
    egrad = difference(x + shifts, x - shifts).reshape(x.shape)
    slope = difference(m.retract(x, h * u), m.retract(x, -h * u))
    return m.inner(x, m.egrad2rgrad(x, egrad), u) - slope


def _worst(residual: FloatArray | int) -> float:
    worst = float(np.max(np.abs(np.asarray(residual, dtype=np.float64)), initial=0.0))
    return np.inf if np.isnan(worst) else worst
