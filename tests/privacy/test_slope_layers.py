"""The layers of a slope, against exact divergences of the worst losses that there are."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import ndtr
from scipy.stats import norm

from veilspan import Budget, calibrate_noise, epsilon_spent
from veilspan.privacy import accounting, objective, slope_layers
from veilspan.privacy.events import ObjectiveEvent
from veilspan.privacy.loss_variables import Lines
from veilspan.privacy.slope_layers import Layers, atoms_of_profile, gaussian_delta

# (lam, beta), and the noise at epsilon 1, delta 1e-6 and clip 1: of the bound with one tail, of the
# layers, and of Redberg, Koskela & Wang (2023).
FIGURES = [
    ((1.0, 0.25), 5.342, 4.679, 5.992),
    ((5.0, 1.0), 5.093, 4.521, 5.525),
    ((20.0, 1.0), 4.425, 4.366, 4.585),
]


def event(lam, beta, shape, z=1.0):
    return ObjectiveEvent(
        name="o", lam=lam, clip=1.0, smoothness=beta, shape=shape, noise_multiplier=z
    )


def tail_delta(bound, epsilon, step=1e-3, reach=9.0):
    """E (1 - e^(epsilon - L))_+ from the survival function: a sum that is never too small."""
    x = np.arange(epsilon, epsilon + reach, step)
    tail = bound.survival(x)
    return float(np.exp(epsilon - x) @ tail) * step + math.exp(-reach) * float(tail[-1])


# --- exact divergences of given slopes -------------------------------------------------------
# On a line, without other rows, a loss l has the minimum theta = -s u / lam, and its slope there
# is any t(u) that does not increase and falls no faster than beta / lam. `slopes` are values of t
# at `knots`, straight between them and constant beyond. Without the row u ~ N(0, 1); with it
# u - t(u) ~ N(0, 1). Sums over cells are never above the divergence.


def normal_cells(ends):
    """Probabilities between ends, with small relative errors in both tails."""
    low, high = np.append(-np.inf, ends), np.append(ends, np.inf)
    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def masses_with(knots, slopes, grid):
    return normal_cells(grid - np.interp(grid, knots, slopes))


def cells(knots):
    return np.unique(np.concatenate([np.linspace(-10, 10, 4001), knots]))


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def exact(knots, slopes, epsilon):
    """Divergences of removing and of adding the row."""
    grid = cells(knots)
    one, none = masses_with(knots, slopes, grid), normal_cells(grid)
    return hockey_stick(one, none, epsilon), hockey_stick(none, one, epsilon)


def worst_bound_removal(a, rate, epsilon, layers=400):
    """The slope of the lower bound: each layer falls at full rate where it costs most."""
    top = -math.expm1(-math.log1p(rate))
    gap = epsilon - math.log1p(rate)
    r = np.geomspace(1e-6, 1, 200_001) * top
    v = np.sqrt(2 * (gap - np.log1p(-r)) / (r * (2 - r)))
    middle = a * (1 - (np.arange(layers) + 0.5) / layers)
    middle = middle[middle > 0.1 * a]  # the lowest fall far out, where there is nothing
    at = np.interp(middle, r * v, v)
    half = a / layers / rate / 2
    assert np.all(np.diff(at) >= 2 * half * (1 - 1e-6)), "outside of the range of the theorem"
    knots = np.stack([at - half, at + half], axis=1).ravel()
    slopes = np.stack([middle + a / layers / 2, middle - a / layers / 2], axis=1).ravel()
    return knots, slopes


def ramp(a, rate, start, low):
    return np.array([start, start + (a - low) / rate]), np.array([a, low])


@pytest.mark.parametrize(
    ("a", "rate", "epsilon"),
    [(0.2137, 0.25, 1.0), (0.2212, 0.2, 1.0), (0.3, 1.0, 1.0), (0.5, 1.0, 1.3), (0.1, 0.1, 0.5)],
)
@pytest.mark.parametrize("sides", [1, 2])
def test_some_loss_costs_what_the_layers_say(a, rate, epsilon, sides):
    claimed = tail_delta(Layers(a, rate, sides), epsilon)
    met, _ = exact(*worst_bound_removal(a, rate, epsilon), epsilon)
    assert 0.96 * claimed <= met <= claimed


@pytest.mark.parametrize(("a", "rate", "epsilon"), [(0.229, 0.06, 1.0), (0.5, 1.0, 1.0)])
def test_adding_a_row_with_both_signs_costs_two_gaussian_tails(a, rate, epsilon):
    # The slope turns round within the middle, where it does not matter.
    assert a / rate <= epsilon / a - a / 2
    _, met = exact(*ramp(a, rate, -a / rate, -a), epsilon)
    claimed = 2 * float(gaussian_delta(a, np.array([epsilon]))[0])
    assert met == pytest.approx(claimed, rel=1e-3)
    assert met <= tail_delta(
        objective.loss_bounds(event(1 / rate, 1.0, "two-sided", 1 / a), "add-remove")[1], epsilon
    )


# --- the bounds hold --------------------------------------------------------------------------


@st.composite
def falling(draw, a, rate, low):
    """Slopes from at most a down to at least ``low``, at rates between 0 and ``rate``."""
    starts = draw(st.lists(st.floats(-6, 6), min_size=1, max_size=4))
    first = draw(st.sampled_from([a, a, a / 2, 0.0]))
    knots, slopes, at, slope = [-9.0], [first], -9.0, first
    for start in sorted(starts):
        fall = min(draw(st.sampled_from([0.1, 0.5, 1.0, 2.0])) * a, slope - low)
        begin = max(at, start)
        knots += [begin, begin + fall / (rate * draw(st.sampled_from([1.0, 1.0, 0.5])))]
        slopes += [slope, slope - fall]
        at, slope = knots[-1], slopes[-1]
    return np.array(knots), np.array(slopes)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
@pytest.mark.parametrize("shape", ["one-sided", "two-sided"])
def test_no_slope_costs_more_than_the_bound(shape, data):
    lam = 10 ** data.draw(st.floats(-1, 2))
    beta = 10 ** data.draw(st.floats(-1, 1))
    a = 10 ** data.draw(st.floats(-1.3, 0.5))
    epsilon = data.draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 1.0, 2.0]))
    low = -a if shape == "two-sided" else 0.0
    one = data.draw(falling(a, beta / lam, low))
    two = data.draw(falling(a, beta / lam, low))
    e = event(lam, beta, shape, 1 / a)
    removed, added = exact(*one, epsilon)
    ahead, back = objective.loss_bounds(e, "add-remove")
    # Cells give a lower bound of the divergence and the bound's sum an upper one, so that only the
    # rounding of cells near the middle, 4000 times 2^-54, is tolerated.
    assert removed <= tail_delta(ahead, epsilon) + 1e-12
    assert added <= tail_delta(back, epsilon) + 1e-12
    grid = np.unique(np.concatenate([cells(one[0]), two[0]]))
    exchanged = hockey_stick(masses_with(*one, grid), masses_with(*two, grid), epsilon)
    bound = objective.loss_bounds(e, "replace-one")[0]
    assert exchanged <= tail_delta(bound, epsilon, step=5e-3) + 1e-12


def worst_on_a_grid(a, rate, epsilon, sides, steps=40):
    """Largest divergence over all slopes that fall by 0 or a / steps from each cell to the next."""
    step = a / steps / rate
    slopes = a - a / steps * np.arange(steps * sides + 1)
    share = np.linspace(0, 1, max(4, int(step / 0.02)) + 1)[:, None]
    c = math.exp(epsilon)

    def gain(u, first, last):
        x = u + step * share
        with_row = np.diff(ndtr(x - first - (last - first) * share), axis=0)
        return np.maximum(with_row - c * np.diff(ndtr(x), axis=0), 0.0).sum(axis=0)

    value = np.zeros(len(slopes))
    for u in np.arange(-8, 8 + a, step)[::-1]:
        stay = value + gain(u, slopes, slopes)
        fall = value[1:] + gain(u, slopes[:-1], slopes[1:])
        value = np.maximum(stay, np.append(fall, 0.0))
    return float(value.max())


@pytest.mark.parametrize(
    ("a", "rate", "epsilon", "least"),
    [
        (0.25, 0.25, 1.0, 0.98),
        (0.6, 0.25, 1.0, 0.98),
        (0.5, 1.0, 0.9, 0.95),
        (1.0, 2.0, 1.5, 0.95),
        (2.0, 1.0, 1.0, 0.95),
        (0.132, 0.253, 0.05, 0.79),  # below k
    ],
)
def test_the_worst_slope_of_all_on_a_grid(a, rate, epsilon, least):
    for sides in (1, 2):
        met = worst_on_a_grid(a, rate, epsilon, sides)
        assert least <= met / tail_delta(Layers(a, rate, sides), epsilon) <= 1


def one_half_only(a, rate, epsilon):
    """Twin: the sign changes at u = 0, where the bound is smallest and not largest."""
    k, u = math.log1p(rate), np.linspace(0, 12, 24001)
    loss = k + np.maximum(0.0, -a * u + a * a / 2)
    weights = norm.pdf(u) * (u[1] - u[0])
    return 2 * float(weights @ np.maximum(-np.expm1(epsilon - loss), 0.0))


def without_curvature(a, rate, epsilon):
    """Twin: the maximum over v is not taken; a Gaussian release remains."""
    return float(gaussian_delta(a, np.array([epsilon]))[0])


def top_layer_only(a, rate, epsilon):
    """Twin: rate and length as they are, but half of the layers."""
    return tail_delta(Layers(a, rate), epsilon) - tail_delta(Layers(a / 2, rate), epsilon) * 2


def honest(a, rate, epsilon):
    return tail_delta(Layers(a, rate, 2), epsilon)


@pytest.mark.parametrize(
    ("claim", "caught"),
    [(honest, False), (one_half_only, True), (without_curvature, True), (top_layer_only, True)],
)
def test_exact_divergences_catch_bounds_that_are_too_small(claim, caught):
    settings_ = [(0.2137, 0.25, 1.0), (0.3, 1.0, 1.0), (0.5, 0.3, 0.3), (1.0, 0.2, 2.0)]
    found = False
    for a, rate, epsilon in settings_:
        slopes = [(np.array([-9.0, 9.0]), np.full(2, a)), ramp(a, rate, 0.0, -a)]
        if epsilon >= math.log1p(rate) + 0.1 and a < 0.4:
            slopes.append(worst_bound_removal(a, rate, epsilon))
        exacts = [exact(*slope, epsilon)[0] for slope in slopes]
        found |= max(exacts) > claim(a, rate, epsilon)
    assert found == caught


def test_two_gaussian_tails_are_due_when_a_row_is_added():
    # Twin: the add direction with one tail, as for slopes of one sign.
    a, rate, epsilon = 0.229, 0.1, 1.0
    _, met = exact(*ramp(a, rate, -a / rate, -a), epsilon)
    one_tail = Lines((0.0, a), (0.0, a * a / 2))
    assert met > 1.5 * tail_delta(one_tail, epsilon)


# --- the numbers ------------------------------------------------------------------------------


def noise_for(bound_of):
    """Least noise by bisection, for a bound by a = 1 / noise."""
    low, high = 3.0, 9.0
    for _ in range(30):
        z = (low + high) / 2
        low, high = (low, z) if tail_delta(bound_of(1 / z), 1.0) <= 1e-6 else (z, high)
    return high


@pytest.mark.parametrize(("constants", "one_tail", "layers", "published"), FIGURES)
def test_noise_at_epsilon_one(constants, one_tail, layers, published):
    lam, beta = constants
    k = math.log1p(beta / lam)
    assert noise_for(lambda a: Lines((0.0, a), (k, a * a / 2 + k))) == pytest.approx(
        one_tail, abs=5e-3
    )
    (found,) = calibrate_noise(
        Budget(1.0, 1e-6), [event(lam, beta, "two-sided")], neighbors="add-remove"
    )
    assert found.noise_multiplier == pytest.approx(layers, abs=2e-3)
    assert found.noise_multiplier < one_tail < published


def layer_cost(o, rate, epsilon):
    """M(o) as it is defined, by a search."""

    def gain(v):
        return ((1 + rate) * norm.pdf(v - o) - math.exp(epsilon) * norm.pdf(v)) / rate

    edge = epsilon / o + o / 2
    least = max(edge - math.log1p(rate) / o, -1.0)
    best = minimize_scalar(
        lambda v: -gain(v), bounds=(least, edge), method="bounded", options={"xatol": 1e-12}
    )
    return max(gain(edge), gain(best.x), 0.0)


@pytest.mark.parametrize(
    ("a", "rate", "epsilon"),
    [(0.21, 0.25, 1.0), (0.4, 0.25, 1.0), (0.5, 1.0, 0.9)],
)
def test_the_quadrature_is_above_the_integral_and_close_to_it(a, rate, epsilon):
    layers = Layers(a, rate)
    value, _ = quad(layer_cost, 1e-6, a, args=(rate, epsilon), epsabs=1e-16, epsrel=1e-8, limit=400)
    claimed = float(layers.delta(np.array([epsilon]))[0])
    coarse = float(gaussian_delta(a, np.array([epsilon - math.log1p(rate)]))[0])
    if epsilon > math.log1p(rate):
        value = min(value, coarse)
    assert value <= claimed <= (1.01 if value < 1e-3 else 1.04) * value


def test_atoms_lie_on_or_above_any_convex_curve():
    # A curve with a dent: chords of its hull are due, and every mass is one.
    x = np.linspace(0.0, 3.0, 61)
    d = np.asarray(gaussian_delta(0.7, x))
    dented = d.copy()
    dented[20:24] *= 1.05
    values, tails = atoms_of_profile(x, dented)
    masses = tails[:-1] - tails[1:]
    assert masses.min() >= 0
    assert tails[0] == pytest.approx(1.0, abs=1e-12)
    for epsilon in np.linspace(0, 3, 200):
        found = masses @ np.maximum(-np.expm1(epsilon - values), 0.0) + tails[-1]
        assert found >= float(gaussian_delta(0.7, np.array([epsilon]))[0]) * (1 - 1e-12)


@pytest.mark.parametrize("shape", ["one-sided", "two-sided"])
def test_recorded_events_cost_no_more_than_before(shape, monkeypatch):
    def before(e, a):
        k, sides = objective.least_epsilon(e), 2 if e.shape == "two-sided" else 1
        if sides == 2:
            return Lines((a,), (a * a / 2 + k,), sides=2)
        return Lines((0.0, a), (k, a * a / 2 + k))

    rng = np.random.default_rng(0)
    events = [
        event(10 ** rng.uniform(-1, 4), 10 ** rng.uniform(-1, 1), shape, 10 ** rng.uniform(-0.7, 2))
        for _ in range(7)
    ]

    def forget():
        objective.loss_masses.cache_clear()
        for kept in vars(accounting).values():
            if hasattr(kept, "cache_clear"):
                kept.cache_clear()

    def costs():
        forget()
        return np.array(
            [
                epsilon_spent([e], delta, neighbors="add-remove")
                for e in events
                for delta in (1e-2, 1e-6)
            ]
        )

    now = costs()
    monkeypatch.setattr(objective, "_bound_removal", before)
    old = costs()
    monkeypatch.undo()
    forget()
    assert np.all(now <= old * (1 + 1e-6))
    assert np.any(now < 0.8 * old)


# Where epsilon < k the first layers begin with a difference of equal numbers.
STEEP = [
    (725239.561, 2.43758e-5, 3.13648),
    (612746.0, 3.72461e-4, 0.976259),
    (438389.0, 0.0185152, 1.11834),
    (195.143, 5.47e-5, 2.05261),
    (266552.0, 1.983e-4, 0.57767),
    (0.5381, 9.634e-4, 0.0753),
]


def steep_slope_delta(rate, length, epsilon):
    """P'(A) - e^epsilon P(A), by 40 digits, of a slope that falls from a to 0 around u = 0.

    A is the interval in which it falls: a lower bound of delta for one explicit loss.
    """
    with mpmath.workdps(40):
        half = mpmath.mpf(length) / rate / 2
        inside = mpmath.ncdf(half) - mpmath.ncdf(-half)
        moved = mpmath.ncdf(half) - mpmath.ncdf(-half - length)
        return float(moved - mpmath.exp(epsilon) * inside)


@pytest.mark.parametrize(("rate", "length", "epsilon"), STEEP)
def test_steep_slopes_below_k_are_paid_for_in_full(rate, length, epsilon):
    exact = steep_slope_delta(rate, length, epsilon)
    layers = Layers(length, rate)
    values, tails = atoms_of_profile(*profile_of(layers))
    atoms = -np.diff(tails) @ np.maximum(-np.expm1(epsilon - values), 0.0) + tails[-1]
    assert layers.delta(np.array([epsilon]))[0] >= exact
    assert atoms >= exact
    spent = accounting.delta_spent(
        [event(1.0, rate, "one-sided", 1 / length)], epsilon, neighbors="add-remove"
    )
    assert spent >= exact


@pytest.mark.parametrize("seed", range(3))
def test_random_steep_slopes_are_paid_for_in_full(seed):
    rng = np.random.default_rng(seed)
    for _ in range(40):
        rate, length = 10 ** rng.uniform(-2, 6), 10 ** rng.uniform(-5, -1)
        epsilons = np.sort(rng.uniform(0, 0.95 * math.log1p(rate), 5))
        claimed = Layers(length, rate).delta(epsilons)
        exact = [steep_slope_delta(rate, length, epsilon) for epsilon in epsilons]
        assert (claimed >= exact).all()


def profile_of(layers):
    """The points that the accountant takes of a profile, finer below k."""
    k = math.log1p(layers.rate)
    reach = 9.3 * layers.length + layers.length**2 / 2
    epsilon = np.concatenate([np.linspace(0, k, 400, endpoint=False), k + np.linspace(0, reach)])
    return epsilon, layers.delta(epsilon)


def test_closed_forms_do_not_cancel():
    """Against 60 digits, lengths and rates over many powers of ten."""
    rng = np.random.default_rng(4)
    with mpmath.workdps(60):
        for _ in range(200):
            a, rate = 10 ** rng.uniform(-6, 1), 10 ** rng.uniform(-6, 6)
            epsilon = max(0.0, (rng.uniform(-3, 9) + a / 2) * a)
            at, of = mpmath.mpf(epsilon), mpmath.mpf(a)
            exact = mpmath.ncdf(-at / of + of / 2) - mpmath.exp(at) * mpmath.ncdf(-at / of - of / 2)
            found = float(gaussian_delta(a, np.array([epsilon]))[0])
            assert abs(mpmath.mpf(found) / exact - 1) < 1e-12
            epsilon = math.log1p(rate) * rng.uniform(0, 0.999)
            k, at = mpmath.log(1 + mpmath.mpf(rate)), mpmath.mpf(epsilon)
            q = min(of, mpmath.sqrt(2 * (k - at)))
            lost = mpmath.exp(at) * q / mpmath.sqrt(2 * mpmath.pi)
            exact = ((1 + mpmath.mpf(rate)) * (mpmath.ncdf(q) - mpmath.mpf(1) / 2) - lost) / rate
            found = float(slope_layers._centre(a, rate, np.array([epsilon]))[0])
            assert abs(mpmath.mpf(found) / exact - 1) < 1e-12
