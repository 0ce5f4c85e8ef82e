"""Utpala, Han, Jawanpuria & Mishra (2023) as printed, beside what is true. Deterministic.

Samplers of tangent noise are compared in tests/geometry/test_samplers.py.
"""

import math

import numpy as np
import pytest
from scipy import integrate, linalg

from veilspan import (
    RSVRG,
    Budget,
    GaussianEvent,
    LeadingSubspace,
    SampledGaussianEvent,
    epsilon_spent,
    minimize,
)
from veilspan.curator.clipping import clip_weights
from veilspan.features.covariance import covariance_descriptors
from veilspan.geometry import SPD, Lorentz, PoincareBall, Sphere
from veilspan.privacy.gdp import epsilon_of, mu_of, total_mu


def true_epsilon(noise_share, claimed=1.0, delta=1e-6):
    """Epsilon where only a share of the calibrated standard deviation is added."""
    return epsilon_of(mu_of(claimed, delta) / noise_share, delta)


def test_what_too_little_tangent_noise_costs():
    """Algorithms 6, 5 and 4 (kernel of A.1, at 0.01 I): claimed 1 at delta 1e-6."""
    assert true_epsilon(1.0) == pytest.approx(1, rel=1e-6)
    assert true_epsilon(0.5) == pytest.approx(2.12, abs=0.01)
    assert true_epsilon(math.exp(-1)) == pytest.approx(2.98, abs=0.01)
    assert true_epsilon(0.2) == pytest.approx(5.93, abs=0.01)  # sqrt(4 * 0.01), see below


def test_bures_noise_of_algorithm_4_with_the_kernel_of_a_1():
    """Appendix A.1: K_rs = (lam_r + lam_s) / (delta_r + delta_s), no root, and 4 C o A.

    The energy is 4 lam at lam I, below 1 if lam < 1/4.
    """
    metric = SPD(2, "bures-wasserstein")
    for lam in (0.01, 0.25, 1.0):
        w = lam * np.eye(2)
        symmetric = [np.diag([1.0, 0]), np.diag([0, 1.0]), np.array([[0, 1], [1, 0]]) / np.sqrt(2)]
        printed = [4 * lam * s for s in symmetric]  # 4 C o A through K_rs = (lam + lam) / 2
        assert np.allclose([metric.norm(w, u) ** 2 for u in printed], 4 * lam)
        exact = [2 * math.sqrt(lam) * s for s in symmetric]
        assert np.allclose([metric.norm(w, u) for u in exact], 1)


def test_bures_noise_of_algorithm_4_with_its_own_kernel():
    """Section 4.1: K_rs = sqrt((lam_r + lam_s) / 2), and 4 C o A: twice the standard deviation."""
    metric = SPD(2, "bures-wasserstein")
    for lam in (0.01, 1.0, 10.0):
        printed = 4 * math.sqrt(lam) * np.diag([1.0, 0])  # K_rs = sqrt((lam + lam) / 2)
        assert metric.norm(lam * np.eye(2), printed) == pytest.approx(2)
    assert true_epsilon(2.0) == pytest.approx(0.475, abs=0.001)


def test_the_printed_lyapunov_equation_forgets_the_point():
    """Section 4.1: L U + U L = U has the solution I / 2 for every W; L W + W L = U is meant."""
    u, w = np.array([[1.0, 0.3], [0.3, -2.0]]), np.diag([0.5, 3.0])
    printed = np.eye(2) / 2
    assert np.allclose(printed @ u + u @ printed, u)
    meant = linalg.solve_continuous_lyapunov(w, u)
    assert np.allclose(meant @ w + w @ meant, u)
    metric = SPD(2, "bures-wasserstein")
    assert np.sum(meant * u) / 2 == pytest.approx(float(metric.inner(w, u, u)))
    assert np.sum(printed * u) / 2 != pytest.approx(float(metric.inner(w, u, u)), rel=0.1)


def transported_basis(w):
    """Parallel transport of e_2, ..., e_m from e_1 to w on the sphere."""
    m = Sphere(len(w))
    start = np.eye(len(w))[0]
    return np.array([m.transport(start, w, e) for e in np.eye(len(w))[1:]])


@pytest.mark.parametrize(("first", "epsilon"), [(0.5, 2.1), (0.1, 13.7)])
def test_the_printed_basis_of_the_sphere_is_not_orthonormal(first, epsilon):
    """Section 4.3: "the implicit basis being used by Algorithm 8" is e_i - w_{i+1} w."""
    rest = np.array([0.6, -0.3, 0.2])
    w = np.array([first, *(rest / np.linalg.norm(rest) * math.sqrt(1 - first**2))])
    printed = np.array([np.eye(4)[i + 1] - w[i + 1] * w for i in range(3)])
    assert np.allclose(printed @ w, 0)  # tangent
    values = np.linalg.eigvalsh(printed.T @ printed)  # of the noise it makes, in space
    assert np.allclose(values, [0, first**2, 1, 1])
    assert true_epsilon(first) == pytest.approx(epsilon, rel=0.02)
    exact = transported_basis(w)
    assert np.allclose(exact @ exact.T, np.eye(3))
    closed = [np.eye(4)[i + 1] - w[i + 1] / (1 + first) * (np.eye(4)[0] + w) for i in range(3)]
    assert np.allclose(exact, closed)


def test_the_printed_basis_of_the_hyperboloid_is_not_tangent():
    """Section 4.2, of Algorithm 7: e_i - w_{i+1} / (1 + w_1) (e_i + w)."""
    w = np.array([math.sqrt(1 + 0.6**2 + 0.3**2), 0.6, 0.3])
    form = np.diag([-1.0, 1, 1])
    for i in range(2):
        bar = np.eye(3)[i + 1]
        printed = bar - w[i + 1] / (1 + w[0]) * (np.eye(3)[i] + w)
        meant = bar + w[i + 1] / (1 + w[0]) * (np.eye(3)[0] + w)
        assert abs(printed @ form @ w) > 0.1
        assert meant @ form @ w == pytest.approx(0, abs=1e-12)
        assert meant @ form @ meant == pytest.approx(1)


def test_claim_5_gets_worse_with_n():
    """Claim 5: sigma^2 >= c_1 m S log(1/delta) C^2 / (n^2 epsilon^2), with c_1 = C = 1, m S = n.

    Claimed 0.5 at delta 1e-6, all of the noise on the sampled part.
    """

    def true(n):
        std = math.sqrt(n * math.log(1e6)) / (n * 0.5)
        step = SampledGaussianEvent("step", 1 / n, std, n)
        return epsilon_spent([step], 1e-6, neighbors="add-remove")

    assert true(10_704) > 770
    assert true(1_000) < true(10_704)


def test_the_printed_bures_metric_contradicts_its_value_at_the_identity():
    """Section 4.1: at I the Lyapunov solution is U / 2: Tr(L U) = Tr(UU) / 2, not Tr(UU) / 4."""
    u = np.array([[1.0, 0.3], [0.3, -2.0]])
    solution = u / 2
    assert np.allclose(solution @ np.eye(2) + np.eye(2) @ solution, u)
    printed, half = np.sum(solution * u), np.sum(solution * u) / 2
    assert printed == pytest.approx(np.sum(u * u) / 2)
    assert half == pytest.approx(np.sum(u * u) / 4)
    assert half == pytest.approx(float(SPD(2, "bures-wasserstein").inner(np.eye(2), u, u)))


def test_the_printed_poincare_metric_is_not_hyperbolic():
    """Section 4.2: 4 <u, v> / (1 - |w|^2), without the square: a ball of finite size.

    And at the origin it is 4 <u, v>, not <u, v>: three statements that contradict each other.
    """
    radius = np.tanh(3.0)  # at distance 6 from the origin
    printed = integrate.quad(lambda t: 2 / math.sqrt(1 - t * t), 0, radius)[0]
    assert printed < math.pi  # 2 arcsin(radius)
    ball = PoincareBall(2)
    assert float(ball.dist(np.zeros(2), np.array([radius, 0]))) == pytest.approx(6, rel=1e-6)
    assert float(ball.inner(np.zeros(2), np.eye(2)[0], np.eye(2)[0])) == pytest.approx(4)


def test_the_printed_clip_does_not_shorten():
    """Section 5.1: clip_tau(v) = min(|v| / tau, 1) v. Long vectors stay, short ones shrink."""
    lengths, tau = np.array([0.1, 1.0, 50.0]), 1.0
    printed = np.minimum(lengths / tau, 1) * lengths
    assert printed.max() == 50  # "it ensures that the norm of v is at most tau"
    assert printed[0] == pytest.approx(0.01)
    ours = clip_weights(lengths, tau) * lengths
    assert np.allclose(ours, [0.1, 1, 1])
    # Noise for rows of length 1, claimed epsilon 1, one row of length 50.
    assert true_epsilon(1 / printed.max()) > 100
    assert true_epsilon(1 / ours.max()) == pytest.approx(1, rel=1e-6)


def test_the_lorentz_transport_has_a_plus():
    """Appendix A.1: u - <w, u> / (1 - <w_0, w>) (w_0 + w), products of Lorentz."""
    m = Lorentz(3)
    x, y = m.random_point(np.random.default_rng(0), 2)
    u = m.random_tangent(x, 1.0, np.random.default_rng(1))

    def product(a, b):
        return float(np.sum(a * b) - 2 * a[0] * b[0])

    part = product(y, u) / (1 - product(x, y)) * (x + y)
    assert abs(product(u - part, y)) > 1e-3  # not tangent at y
    assert product(u + part, y) == pytest.approx(0, abs=1e-9)
    assert product(u + part, u + part) == pytest.approx(product(u, u))
    assert np.allclose(m.transport(x, y, u), u + part)


def test_the_sphere_transport_divides_by_the_square():
    """Appendix A.1: (I + (cos|v| - 1) v v^T / |v| - sin|v| w v^T / |v|) u."""
    m = Sphere(3)
    x, v = np.eye(3)[0], np.array([0, 0.7, 0])
    u = np.array([0, 0.5, -1.0])
    y = m.exp(x, v)
    length = np.linalg.norm(v)

    def transported(power):
        turn = (math.cos(length) - 1) * np.outer(v, v) / length**power
        return u + turn @ u - math.sin(length) * x * (v @ u) / length

    assert abs(transported(1) @ y) > 1e-2  # as printed: not tangent, not of the same length
    assert np.linalg.norm(transported(1)) != pytest.approx(np.linalg.norm(u), rel=1e-2)
    assert transported(2) @ y == pytest.approx(0, abs=1e-12)
    assert np.allclose(m.transport(x, y, u), transported(2))


@pytest.mark.parametrize("d", [1, 2])
def test_the_constant_of_lemma_1(d):
    """Lemma 1, statement 1: C = (2 pi sigma^2)^(1/2), the factor of the density in Definition 2.

    It is (2 pi sigma^2)^(-d/2). The integral, which appendix B.1 calls C, is what is printed on a
    line, and another on a plane.
    """
    sigma = 0.7
    area = (2 * math.pi) ** (d - 1)  # of directions: both signs of a line, the angles of a plane

    def shell(r):
        return (2 if d == 1 else r * area) * math.exp(-(r**2) / (2 * sigma**2))

    mass = integrate.quad(shell, 0, 20)[0]
    assert (2 * math.pi * sigma**2) ** (-d / 2) * mass == pytest.approx(1)
    printed = (2 * math.pi * sigma**2) ** 0.5
    assert printed * mass != pytest.approx(1, rel=0.5)
    assert (mass == pytest.approx(printed, rel=0.1)) == (d == 1)


def moment_of_one_row_in_n(n, multiplier, order):
    """log E_Q (P/Q)^(order + 1) for P = (1 - q) N(0) + q N(1), Q = N(0), q = 1/n: what a step of
    one row costs on a table whose other rows agree. A lower bound on the worst case."""
    power = order + 1

    def integrand(x):
        ratio = np.logaddexp(math.log1p(-1 / n), (x - 0.5) / multiplier**2 - math.log(n))
        return power * ratio - x**2 / (2 * multiplier**2)

    x = np.linspace(-12 * multiplier, power + 12 * multiplier, 400_001)
    values = integrand(x)
    top = values.max()
    total = np.trapezoid(np.exp(values - top), x) / (multiplier * math.sqrt(2 * math.pi))
    return top + math.log(total)


# Fig. 2 of the paper: n = 1e5, C_1 = 0.01, sigma = 0.05, alpha = 1/2.
ROWS, STEP_CLIP, INNER_STD = 100_000, 0.01, 0.05 / math.sqrt(2)


def claim_4(order):
    return 28 * order * (order + 1) * STEP_CLIP**2 / (ROWS**2 * INNER_STD**2)


def test_claim_4_is_stated_for_no_order_that_is_used():
    """Claim 4: lambda <= 2/3 sigma_2^2 log(n (lambda + 1) (1 + sigma_2^2 / 16 C_1^2)).

    It has a unit; with the gradients of Fig. 2 it is below 1.
    """
    relative = INNER_STD**2 / (16 * STEP_CLIP**2)

    def largest(scale):
        orders = np.geomspace(1e-6, 1e4, 4001)
        bound = 2 / 3 * INNER_STD**2 / scale * np.log(ROWS * (orders + 1) * (1 + relative))
        allowed = orders[orders <= bound]
        return allowed[-1] if len(allowed) else 0.0

    assert largest(1.0) < 1
    assert largest(1e-6) > 1000  # the same gradients in other units


@pytest.mark.parametrize("order", [40, 60])
def test_claim_4_is_false_beyond_its_orders(order):
    """Claim 4: 28 lambda (lambda + 1) C_1^2 / (n^2 sigma_2^2). By far not, beyond its orders."""
    multiplier = INNER_STD / (4 * STEP_CLIP)
    assert moment_of_one_row_in_n(ROWS, multiplier, order) > 1e6 * claim_4(order)
    assert moment_of_one_row_in_n(ROWS, multiplier, 1) < claim_4(1)


def test_unlike_clips_bias_the_control_variate():
    """Eq. (2): E_i clip_C1(g_i) is subtracted, and the mean of clip_C0(g_i) is added."""
    gradients = np.array([0.0, 0.0, 1.0])

    def clipped(bound):
        return np.clip(gradients, -bound, bound)

    bias = clipped(1.0).mean() - clipped(0.1).mean()  # at w = anchor, v should be the mean
    assert bias == pytest.approx(0.3)
    # ours: the difference of the gradients is clipped; it is zero at the anchor for every clip
    assert np.all(np.clip(gradients - gradients, -0.1, 0.1) == 0)


def test_noise_once_an_epoch_is_charged_once():
    """Eq. (3): m S charges of the full gradient; S here, sqrt(m) less mu at the same noise."""
    inner, epochs = 100, 5
    one = GaussianEvent("anchor", 10.0).mu
    assert total_mu([one] * inner * epochs) == pytest.approx(
        math.sqrt(inner) * total_mu([one] * epochs)
    )
    assert epsilon_of(total_mu([one] * inner * epochs), 1e-6) > 10 * epsilon_of(
        total_mu([one] * epochs), 1e-6
    )
    rows = np.random.default_rng(0).standard_normal((200, 3))
    fit = minimize(
        LeadingSubspace(Sphere(3), row_norm=3.0),
        rows,
        budget=Budget(math.inf, 1e-6),  # the same schedule, without a search for noise
        solver=RSVRG(epochs=2, inner_steps=7, step=0.1),
    )
    counts = {event.name: event.count for event in fit.plan.events}
    assert counts["anchor"] == 2
    assert sorted(counts.values()) == [2, 14]


def test_the_improvement_is_not_1_6():
    """Section 6.2: 0.47 instead of 0.64, "leading to a 1.6x improvement in privacy guarantee"."""
    standard, chosen = 0.64, 0.47
    assert standard / chosen == pytest.approx(1.36, abs=0.01)
    assert (standard + 0.005) / (chosen - 0.005) < 1.4  # whatever was rounded off


def test_the_printed_derivative_kernel_sees_a_flat_image():
    """Appendix C.1: [1 0 -1; 2 0 -2; 6 0 -12] / 4 adds up to -3/2, a Sobel kernel to nothing."""
    printed = np.array([[1, 0, -1], [2, 0, -2], [6, 0, -12]]) / 4
    assert printed.sum() == pytest.approx(-1.5)
    descriptor = covariance_descriptors(np.full((1, 8, 8), 0.5), ridge=1e-3)[0]
    assert np.allclose(descriptor[3:, 3:], 1e-3 * np.eye(6))  # derivatives: nothing but the ridge


def test_theorem_8_needs_less_than_one_epoch():
    """Theorem 8, appendix B.4.3: S of the order n^(-1/3) is in the noise; S = 1 has n^(-5/3)."""

    def epochs(n, product=2.0):  # L tau zeta^(1/2) = 2, mu_0 = 1/10, nu = 1/2
        return math.ceil(6 + 18 / (n - 3)) * product * 0.1 / (0.5 * n ** (1 / 3))

    assert epochs(21) > 1 > epochs(22)
    assert epochs(10_000) < 0.14

    def noise_term(n, s):  # [n^(-2/3) + 1/n] S / n: the n-dependence of the term before (18)
        return (n ** (-2 / 3) + 1 / n) * s / n

    far, near = 10**9, 10**6
    fall = noise_term(far, 1) / noise_term(near, 1)
    assert math.log10(fall) / 3 == pytest.approx(-5 / 3, abs=0.01)
    fall = noise_term(far, epochs(far)) / noise_term(near, epochs(near))
    assert math.log10(fall) / 3 == pytest.approx(-2, abs=0.01)
