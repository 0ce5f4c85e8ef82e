"""`check_manifold` on other people's manifolds, good and broken."""

import numpy as np
import pytest

from veilspan.geometry import (
    Grassmann,
    Manifold,
    ManifoldCheckError,
    Sphere,
    Stiefel,
    check_manifold,
)


class PositiveLine(Manifold):
    """Positive numbers with the metric u v / x^2: the smallest complete example."""

    transport_kind = "parallel"

    def __init__(self):
        super().__init__((1,), dim=1)

    def _inner(self, x, u, v):
        return (u * v / x**2)[..., 0]

    def _exp(self, x, u):
        return x * np.exp(u / x)

    def _log(self, x, y):
        return x * np.log(y / x)

    def _project(self, x, v):
        return v + 0 * x

    def _transport(self, x, y, u):
        return u * (y / x)

    def _egrad2rgrad(self, x, g):
        return x**2 * g

    def _from_coordinates(self, x, c):
        return x * c

    def _to_coordinates(self, x, u):
        return u / x

    def _random_point(self, rng, size):
        return np.exp(rng.standard_normal((*size, 1)))

    def _contains(self, x, atol):
        return x[..., 0] > 0


def test_a_manifold_of_ones_own():
    report = check_manifold(PositiveLine())
    assert not report.failed
    assert not report.skipped
    assert "ok    log undoes exp" in repr(report)
    assert "PositiveLine()" in repr(report)


def test_refusals_are_reported():
    report = check_manifold(Stiefel(4, 2))
    assert "skip  dist is symmetric" in repr(report)
    assert {r.skipped for r in report.skipped} == {"no 'log'", "no 'dist'"}


def failures(manifold):
    with pytest.raises(ManifoldCheckError) as caught:
        check_manifold(manifold)
    assert isinstance(caught.value, AssertionError)
    assert "should be 0" in str(caught.value)
    return {r.name for r in caught.value.report.failed}


def broken(base, **methods):
    return type("Broken", (base,), methods)


def test_wrong_log():
    bad = broken(PositiveLine, _log=lambda self, x, y: y - x)()
    assert {"log undoes exp", "exp undoes log"} <= failures(bad)


def test_wrong_gradient():
    bad = broken(PositiveLine, _egrad2rgrad=lambda self, x, g: x * g)()
    assert failures(bad) == {"egrad2rgrad agrees with a finite difference"}


def test_transport_that_is_not_what_it_says():
    project = {"_transport": lambda self, x, y, u: self._project(y, u)}
    bad = broken(Sphere, **project)(4)
    assert "transport keeps inner products" in failures(bad)
    good = broken(Sphere, transport_kind="non-expansive", **project)(4)
    assert not check_manifold(good).failed


def test_identity_is_no_transport_on_positive_matrices():
    from veilspan.geometry import SPDAffineInvariant

    bad = broken(
        SPDAffineInvariant,
        transport_kind="non-expansive",
        _transport=lambda self, x, y, u: u + 0 * x + 0 * y,
    )(3)
    assert failures(bad) == {"transport lengthens nothing"}


def test_retraction_of_a_lower_order_than_declared():
    def qr(self, x, u):
        q, r = np.linalg.qr(x + u)
        return q * np.sign(np.einsum("...ii->...i", r))[..., None, :]

    bad = broken(Stiefel, _retract=qr)(5, 3)
    assert failures(bad) == {"retract has its declared order"}
    good = broken(Stiefel, _retract=qr, retraction_order=1)(5, 3)
    assert not check_manifold(good).failed


def test_wrong_dimension():
    bad = Grassmann(5, 2)
    bad.dim = 7
    assert "dim is the rank of the tangent space" in failures(bad)


def test_batches_that_do_not_broadcast():
    def only_one(self, x, u):
        return Sphere._exp(self, x.reshape(-1, self.n)[0], u)

    assert "batch = loop: exp" in failures(broken(Sphere, _exp=only_one)(4))


def test_nan_is_a_failure():
    bad = broken(Sphere, _norm=lambda self, x, u: self._inner(x, u, u) * np.nan)(3)
    assert "norm is the root of inner" in failures(bad)


def test_coordinates_that_are_not_adjoint():
    bad = broken(Stiefel, _to_coordinates=lambda self, x, u: u.copy())(5, 2, metric="canonical")
    assert {"coordinates: adjoint identity", "coordinates: to is isometric"} <= failures(bad)
