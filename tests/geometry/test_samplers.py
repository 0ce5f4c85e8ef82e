"""The tangent Gaussians are exact, and the formulas as printed in the paper are not.

Utpala, Han, Jawanpuria, Mishra: Improved Differentially Private Riemannian Optimization, 2023.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from geometry.cases import FAMILIES, SMALL, rng
from geometry.definitions import DEFINITIONS, orthonormal_basis
from veilspan.geometry import SPD, Lorentz, ManifoldCheckError, PoincareBall, Sphere, check_manifold
from veilspan.geometry.lorentz import Lorentz as LorentzClass
from veilspan.geometry.poincare import PoincareBall as BallClass
from veilspan.geometry.spd_bures import SPDBuresWasserstein
from veilspan.geometry.spd_log_euclidean import SPDLogEuclidean

everywhere = pytest.mark.parametrize("m", SMALL.values(), ids=SMALL.keys())


def covariance(name, m, w):
    """Exact covariance of the sampler, in a basis from the definitions."""
    inner, _ = DEFINITIONS[name]
    basis = orthonormal_basis(name, w)
    k = int(np.prod(m.coordinate_shape))
    images = m.from_coordinates(w, np.eye(k).reshape(k, *m.coordinate_shape))
    a = np.array([[inner(w, b, image) for image in images] for b in basis]).reshape(-1, k)
    return a @ a.T


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(deadline=None, max_examples=8, derandomize=True)
@given(n=st.integers(2, 4), p=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_covariance_is_the_identity_of_the_defined_metric(name, n, p, seed):
    m = FAMILIES[name](n, min(n, p))
    cov = covariance(name, m, m.random_point(rng(seed)))
    assert len(cov) == m.dim
    np.testing.assert_allclose(cov, np.eye(m.dim), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_inner_is_the_defined_metric(name):
    m = SMALL[name]
    x = m.random_point(rng(5))
    u, v = m.random_tangent(x, 1.0, rng(6), size=2)
    assert m.inner(x, u, v) == pytest.approx(DEFINITIONS[name][0](x, u, v), rel=1e-11, abs=1e-11)


@everywhere
def test_squared_norms_are_chi_square(m):
    # False alarm rate 1e-6 for each manifold; the seed is fixed.
    x = m.random_point(rng(1))
    draws = m.random_tangent(x, 0.7, rng(2), size=4000)
    squares = m.norm(x, draws) ** 2 / 0.49
    assert stats.kstest(squares, stats.chi2(m.dim).cdf).pvalue > 1e-6
    # and the test has power: a standard deviation 10 % too small is seen
    assert stats.kstest(0.81 * squares, stats.chi2(m.dim).cdf).pvalue < 1e-6


@everywhere
def test_draws_have_the_asked_shape_and_repeat(m):
    x = m.random_point(rng(), 3)
    assert m.random_tangent(x, 1.0, rng()).shape == x.shape
    assert m.random_tangent(x, 1.0, rng(), size=2).shape == (2, *x.shape)
    assert m.random_tangent(x[0], 1.0, rng(), size=(2, 5)).shape == (2, 5, *m.point_shape)
    first, again = (m.random_tangent(x, 2.0, rng(9), size=2) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, 2 * m.random_tangent(x, 1.0, rng(9), size=2), rtol=1e-13)
    assert not np.any(m.random_tangent(x, 0.0, rng()))
    assert not np.array_equal(first[0], first[1])


@pytest.mark.parametrize("sigma", [-1.0, np.inf, np.nan])
def test_sigma_must_make_sense(sigma):
    with pytest.raises(ValueError, match="sigma must be finite and not negative"):
        Sphere(3).random_tangent([1.0, 0.0, 0.0], sigma, rng())


# ------------------------------------------------------------------ as printed, and caught


class BuresScaleFour(SPDBuresWasserstein):
    """Algorithm 4: scale 4 where 2 is right."""

    def _from_coordinates(self, x, c):
        return 2 * super()._from_coordinates(x, c)


class BuresWithoutRoot(SPDBuresWasserstein):
    """Appendix A.1: the kernel (lam_r + lam_s) / 2 without its square root."""

    def _from_coordinates(self, x, c):
        lam, p = np.linalg.eigh(x)
        kernel = (lam[..., :, None] + lam[..., None, :]) / 2
        s = c + np.swapaxes(c, -1, -2)
        pt = np.swapaxes(p, -1, -2)
        return p @ (kernel * (pt @ s @ p)) @ pt


class LogKernelAsPrinted(SPDLogEuclidean):
    """Kernel (x - y) / (e^x - e^y) of the eigenvalues."""

    def _from_coordinates(self, x, c):
        lam, p = np.linalg.eigh(x)
        dx = lam[..., :, None] - lam[..., None, :]
        de = np.exp(lam)[..., :, None] - np.exp(lam)[..., None, :]
        same = dx == 0
        kernel = np.where(same, np.exp(-lam)[..., None], dx / np.where(same, 1, de))
        s = (c + np.swapaxes(c, -1, -2)) / 2
        return p @ (kernel * s) @ np.swapaxes(p, -1, -2)


class BallQuarter(BallClass):
    """Algorithm 6: a/4 where a/2 is right: half the standard deviation."""

    def _from_coordinates(self, x, c):
        return super()._from_coordinates(x, c) / 2


class LorentzMinus(LorentzClass):
    """Appendix A.1: minus in the transport from the apex."""

    def _from_coordinates(self, x, c):
        apex = np.eye(self.n)[0]
        u = np.concatenate([np.zeros((*c.shape[:-1], 1)), c], axis=-1)
        wu = np.sum(x * u, axis=-1, keepdims=True) - 2 * x[..., :1] * u[..., :1]
        return u - wu / (1 + x[..., :1]) * (apex + x)


class LorentzProjection(LorentzClass):
    """Projection of an ambient Gaussian, exact on the sphere, not here."""

    def __init__(self, n):
        super().__init__(n)
        self.coordinate_shape = (n,)

    def _from_coordinates(self, x, c):
        return self._project(x, c)


BROKEN = [
    BuresScaleFour(3), BuresWithoutRoot(3), LogKernelAsPrinted(3), BallQuarter(3),
    LorentzMinus(4), LorentzProjection(4),
]  # fmt: skip


@pytest.mark.parametrize("m", BROKEN, ids=lambda m: type(m).__name__)
def test_the_check_catches_printed_samplers(m):
    with pytest.raises(ManifoldCheckError) as caught:
        check_manifold(m)
    failed = {r.name for r in caught.value.report.failed}
    assert "Gaussian: one-hot normals give A A^T = I" in failed


def test_how_far_off_the_printed_samplers_are():
    """Noise energy E|xi|^2 / (d sigma^2), which should be 1: below 1 breaks privacy."""

    def energy(name, m, w):
        return np.trace(covariance(name, m, w)) / m.dim

    eye = np.eye(3)
    for metric, name in (("bures-wasserstein", "spd-bures"), ("log-euclidean", "spd-log")):
        assert energy(name, SPD(3, metric), 0.1 * eye) == pytest.approx(1)
    assert energy("spd-bures", BuresScaleFour(3), eye) == pytest.approx(4)
    assert energy("spd-bures", BuresWithoutRoot(3), 0.1 * eye) == pytest.approx(0.1)
    assert energy("spd-log", LogKernelAsPrinted(3), eye) == pytest.approx(np.exp(-2))
    assert energy("spd-log", LogKernelAsPrinted(3), 10 * eye) < 1e-10
    assert energy("poincare", BallQuarter(3), np.full(3, 0.2)) == pytest.approx(0.25)
    assert energy("poincare", PoincareBall(3), np.full(3, 0.2)) == pytest.approx(1)


def test_projection_on_the_hyperboloid_has_the_stated_excess():
    tail = np.array([2.0, 0.0, 0.0])
    w = np.concatenate([[np.sqrt(1 + tail @ tail)], tail])
    lam = np.linalg.eigvalsh(covariance("lorentz", LorentzProjection(4), w))
    np.testing.assert_allclose(lam, [1, 1, 1 + 2 * tail @ tail], rtol=0, atol=1e-10)
    np.testing.assert_allclose(covariance("lorentz", Lorentz(4), w), np.eye(3), rtol=0, atol=1e-12)
