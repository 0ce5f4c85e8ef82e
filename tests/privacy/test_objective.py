"""The accountant of objective perturbation, against exact divergences in one and two dimensions.

Everything is deterministic. Factors beside 1 (1.002, 1.003, 0.99) are what sums over grids may err
by: halving their steps moves less.
"""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import expit, ndtr

from veilspan import Budget, GaussianEvent, calibrate_noise, delta_spent, epsilon_spent
from veilspan.privacy.events import ObjectiveEvent, event_from_dict, event_to_dict
from veilspan.privacy.neighbors import RELATIONS
from veilspan.privacy.objective import (
    Lines,
    curvature_corners,
    least_epsilon,
    loss_bounds,
    renyi_objective,
)
from veilspan.privacy.plan import event_lines
from veilspan.privacy.renyi import epsilon_renyi

SMOOTHNESS = {"logistic": 0.25, "one-sided": 2.0, "two-sided": 1.0, "softmax": 0.5}
ONE_SCORE = ("logistic", "one-sided", "two-sided")


def event(shape="logistic", lam=1.0, clip=1.0, z=2.0, **more):
    if shape == "softmax":
        more.setdefault("classes", 3)
    return ObjectiveEvent(
        name="objective",
        lam=lam,
        clip=clip,
        smoothness=SMOOTHNESS[shape],
        shape=shape,
        noise_multiplier=z,
        **more,
    )


def bounded_delta(bound, epsilon, step=0.004):
    """E (1 - e^(epsilon - L))_+ from the survival function; a sum that is never too small."""
    x = np.arange(epsilon, epsilon + 20, step)
    return float(np.exp(epsilon - x) @ bound.survival(x)) * step


def slope_and_curvature(shape, score, cap):
    """A loss of each shape, by the row times its sign: logistic, smoothed hinge, Huber."""
    if shape == "logistic":
        t = expit(-score)
        h = t * (1 - t)
    elif shape == "one-sided":
        t = np.clip((1 - score) * 2, 0, 1)
        h = np.where((score > 0.5) & (score < 1), 2.0, 0.0)
    else:
        t, h = -score, np.ones_like(score)
    return np.clip(t, -cap, cap), np.where(np.abs(t) < cap, h, 0.0)


def log_density(theta, rows, e):
    """Density of the minimum at each theta, by the change of variables, written out."""
    p = theta.shape[-1]
    tilt = -e.lam * theta
    hessian = np.broadcast_to(e.lam * np.eye(p), (*theta.shape, p)).copy()
    for row in np.asarray(rows, dtype=float).reshape(-1, p):
        t, h = slope_and_curvature(e.shape, theta @ row, e.clip / np.linalg.norm(row))
        tilt = tilt + t[..., None] * row
        hessian += h[..., None, None] * np.outer(row, row)
    gaussian = -np.sum(tilt**2, axis=-1) / (2 * e.std**2)
    scale = p * math.log(e.std * math.sqrt(2 * math.pi))
    return gaussian - scale + np.linalg.slogdet(hessian)[1]


def divergence(log_p, log_q, epsilon, volume):
    lost = -np.expm1(np.minimum(epsilon + log_q - log_p, 0.0))
    return float(np.sum(np.exp(log_p) * lost) * volume)


def cell_masses(e, rows, points=20001):
    """Exact probabilities of the minimum's cells on a line: the tilt decreases along it."""
    reach = (9 * e.std + 8) / e.lam
    theta = np.linspace(-reach, reach, points)
    tilt = -e.lam * theta
    for row in rows:
        t, _ = slope_and_curvature(e.shape, theta * row, e.clip / abs(row))
        tilt = tilt + t * row
    assert np.all(np.diff(tilt) < 0)
    below = np.concatenate([[0.0], ndtr(-tilt / e.std), [1.0]])
    return np.diff(below)


def cells_divergence(p, q, epsilon):
    """Hockey-stick divergence of the cells: at most that of the minimum, nearly equal to it."""
    return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0)))


@pytest.mark.parametrize("shape", ONE_SCORE)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_bounds_hold_against_exact_divergences_in_one_dimension(shape, neighbors):
    ratios = []
    settings = [(0.3, 1.0, 2.0), (1.0, 1.0, 1.0), (3.0, 0.3, 4.0), (10.0, 1.0, 0.6)]
    for (lam, clip, z), others in product(settings, ([], [0.5, -1.0, 1.0, 1.0])):
        e = event(shape, lam, clip, z)
        without = cell_masses(e, others)
        tables = [cell_masses(e, [*others, x]) for x in (1.0, -1.0, 0.6)]
        ahead, back = loss_bounds(e, neighbors)
        if neighbors == "add-remove":
            pairs = [(one, without, ahead) for one in tables]
            pairs += [(without, one, back) for one in tables]
        else:
            pairs = [(one, two, ahead) for one in tables for two in tables]
        for epsilon in (-0.5, 0.0, 0.3, 1.0, 3.0):
            bound = {id(b): bounded_delta(b, epsilon) for b in (ahead, back)}
            for p, q, b in pairs:
                exact = cells_divergence(p, q, epsilon)
                if exact > 1e-9:
                    ratios.append(bound[id(b)] / exact)
    assert min(ratios) >= 1.0, "an exact divergence exceeds the bound"
    # Two exchanged rows cannot both be steepest at one theta of a line: no tightness is due there.
    if neighbors == "add-remove":
        assert min(ratios) <= 1.1, "nowhere within ten percent: the bound wastes noise"


@pytest.mark.parametrize("shape", ONE_SCORE)
def test_replace_one_holds_for_rows_at_any_angle(shape):
    e = event(shape, lam=0.7, z=1.2)
    reach = (5.5 * e.std + 3) / e.lam
    axis = np.linspace(-reach, reach, 181)
    theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    volume = (axis[1] - axis[0]) ** 2
    one = log_density(theta, [[1.0, 0.0], [0.0, 1.0]], e)
    (bound, _) = loss_bounds(e, "replace-one")
    for angle in (0.3, 1.0, 1.57, 2.0, 2.6, math.pi):
        two = log_density(theta, [[math.cos(angle), math.sin(angle)], [0.0, 1.0]], e)
        for epsilon in (0.0, 0.5, 1.5):
            for p, q in ((one, two), (two, one)):
                assert divergence(p, q, epsilon, volume) <= 1.002 * bounded_delta(bound, epsilon)


def loss_at_angle(correlation, a, logs, t, two_sided, normals):
    """The bound of the proof before the worst angle is taken, for given normals."""
    u = normals[0] * a
    v = (correlation * normals[0] + math.sqrt(1 - correlation**2) * normals[1]) * a
    largest = np.full(u.shape, -np.inf)
    for (s, log), r in product(zip(t, logs), (-1.0, 1.0) if two_sided else (0.0, 1.0)):
        size = (s * s + r * r + 2 * correlation * s * r) * a * a / 2
        largest = np.maximum(largest, s * u + r * v + size + log)
    return largest


@pytest.mark.parametrize("shape", ONE_SCORE)
def test_the_worst_angle_is_the_one_of_the_proof(shape):
    # Two-dimensional quadrature of E (1 - e^(epsilon - L))_+ at every angle.
    axis = np.linspace(-7, 7, 281)
    normals = np.meshgrid(axis, axis, indexing="ij")
    weights = np.exp(-(normals[0] ** 2 + normals[1] ** 2) / 2)
    weights /= weights.sum()
    for z, lam in ((0.7, 0.5), (3.0, 2.0)):
        e = event(shape, lam=lam, z=z)
        t, logs = curvature_corners(e)
        t, logs = (np.array([-1.0, 1.0]), logs[:2]) if shape == "two-sided" else (t[::4], logs[::4])
        (bound, _) = loss_bounds(e, "replace-one")
        for correlation in (-1.0, -0.7, -0.3, 0.0, 0.5, 0.9, 1.0):
            loss = loss_at_angle(correlation, 1 / z, logs, t, shape == "two-sided", normals)
            for epsilon in (-0.4, 0.0, 0.4, 1.2):
                value = np.sum(weights * -np.expm1(np.minimum(epsilon - loss, 0.0)))
                assert value <= 1.003 * bounded_delta(bound, epsilon)


def test_the_published_figures():
    budget = Budget(1.0, 1e-6)
    (gaussian,) = calibrate_noise(budget, [GaussianEvent("g")])
    (ours,) = calibrate_noise(budget, [event()], neighbors="add-remove")
    assert gaussian.noise_multiplier == pytest.approx(4.2247, abs=5e-5)
    assert gaussian.noise_multiplier <= ours.noise_multiplier <= 4.228
    # Redberg, Koskela & Wang 2023, for any smooth generalised linear model:
    # delta = 2 delta_Gauss(epsilon + log(1 - beta/lam)). Our bound for such losses is below.
    generic = ObjectiveEvent(name="o", lam=1.0, clip=1.0, smoothness=0.25, shape="two-sided")
    (flat,) = calibrate_noise(budget, [generic], neighbors="add-remove")
    published = next(
        z
        for z in np.arange(4.0, 8.0, 0.01)
        if 2 * delta_spent([GaussianEvent("g", z)], 1 + math.log(0.75)) <= 1e-6
    )
    assert published == pytest.approx(5.992, abs=0.01)  # the step of the search
    assert flat.noise_multiplier < 0.79 * published
    # No proof from these constants can go below 4.678: Theorem 4 of the note.
    assert flat.noise_multiplier == pytest.approx(4.679, abs=2e-3)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("shape", list(SMOOTHNESS))
def test_distribution_agrees_with_quadrature_and_renyi_is_above(shape, neighbors):
    e = event(shape, lam=20.0, z=3.0)
    bounds = loss_bounds(e, neighbors)
    for epsilon in (0.5, 1.5):
        upper = max(bounded_delta(b, epsilon, 5e-4) for b in bounds)
        assert 0.99 * upper <= delta_spent([e], epsilon, neighbors=neighbors) <= 1.003 * upper
    epsilon = epsilon_spent([e], 1e-6, neighbors=neighbors)
    assert epsilon <= epsilon_renyi([e], 1e-6, neighbors=neighbors) <= 1.2 * epsilon


@pytest.mark.parametrize("shape", list(SMOOTHNESS))
def test_moments_against_quadrature(shape):
    e = event(shape, lam=2.0, z=1.5)
    x = np.arange(0.0, 30.0, 0.002)
    tails = [bound.survival(x) for bound in loss_bounds(e, "add-remove")]
    for order in (1.5, 4.0):
        beta = order - 1
        # What is counted as infinite has no moment; it is below 1e-18, so it is left out here.
        moments = [
            1 + beta * float(np.exp(beta * x) @ np.where(tail > 1e-15, tail, 0.0)) * 0.002
            for tail in tails
        ]
        (value,) = renyi_objective(e, [order], "add-remove")
        expected = math.log(max(moments)) / beta
        # A union bound on moments is above the moment of a union bound on tails.
        assert value >= 0.99 * expected
        assert shape == "softmax" or value <= 1.001 * expected
        (exchanged,) = renyi_objective(e, [order], "replace-one")
        assert exchanged > value


def test_lines_against_simulation():
    lines = Lines((0.0, 0.3, 1.0, 2.0), (0.2, 0.4, 0.1, -2.0))
    u = np.linspace(-12, 12, 400_001)
    weights = np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
    loss = np.max([m * u + c for m, c in zip(lines.slopes, lines.heights)], axis=0)
    for order in (0.5, 2.0):
        expected = math.log(float(weights @ np.exp(order * loss)))
        assert lines.log_moment(order) == pytest.approx(expected, abs=1e-7)
    at = np.array([0.1, 0.5, 2.0])
    expected = [float(weights[loss >= x].sum()) for x in at]
    # The mass of a cell is 6e-5 times a density of at most 0.4.
    np.testing.assert_allclose(lines.survival(at), expected, rtol=0, atol=2.4e-5)


@pytest.mark.parametrize("lam", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("clip", [0.3, 0.8, 1.0])
def test_the_polygon_lies_above_the_curvature_and_close_to_it(lam, clip):
    t, k = curvature_corners(event(lam=lam, clip=clip))
    fine = np.linspace(0, 1, 5001)
    exact = np.log1p(fine * clip * (1 - fine * clip) / lam)
    gap = np.interp(fine, t, k) - exact
    assert gap.min() >= 0
    assert gap.max() < (0.05 if lam < 0.1 else 1e-3)


def test_an_objective_costs_more_than_its_gaussian_and_less_with_more_noise():
    for shape, neighbors in product(SMOOTHNESS, RELATIONS):
        costs = [
            epsilon_spent([event(shape, 20.0, z=z)], 1e-6, neighbors=neighbors) for z in (2, 4)
        ]
        plain = epsilon_spent([GaussianEvent("g", 2.0)], 1e-6)
        assert costs[0] > costs[1]
        assert costs[0] >= plain * (1 - 1e-6)


def test_composition_with_other_events_is_joint():
    parts = [event(lam=5.0, z=5.0), GaussianEvent("output", 20.0)]
    joint = epsilon_spent(parts, 1e-6, neighbors="add-remove")
    alone = [epsilon_spent([part], 1e-6, neighbors="add-remove") for part in parts]
    mu = math.sqrt(1 / 25 + 1 / 400)
    assert epsilon_spent([GaussianEvent("g", 1 / mu)], 1e-6) <= joint < sum(alone)
    assert joint == pytest.approx(epsilon_spent([GaussianEvent("g", 1 / mu)], 1e-6), rel=1e-3)


def test_too_small_lam_is_refused_with_the_one_that_works():
    with pytest.raises(ValueError, match="at least") as refusal:
        calibrate_noise(Budget(0.1, 1e-6), [event(lam=0.3)], neighbors="add-remove")
    needed = float(str(refusal.value).split()[-1].rstrip("."))
    assert "no amount of noise" not in str(refusal.value)  # that would be more than is proved
    (fitted,) = calibrate_noise(
        Budget(0.1, 1e-6), [event(lam=needed * 1.01)], neighbors="add-remove"
    )
    assert epsilon_spent([fitted], 1e-6, neighbors="add-remove") <= 0.1
    assert least_epsilon(fitted) < 0.1


def test_events_survive_json_and_say_what_they_are():
    e = event("softmax", classes=4, row_length=0.5)
    assert event_from_dict(event_to_dict(e)) == e
    assert "objective perturbation" in event_lines((e,))[0]
    assert "lam 1" in event_lines((e,))[0]
    assert e.std == 2.0
    assert epsilon_spent([event(z=0.0)], 1e-6) == math.inf


@pytest.mark.parametrize(
    "wrong",
    [{"lam": 0.0}, {"clip": math.inf}, {"row_length": 1.5}, {"classes": 3}, {"shape": "round"}],
)
def test_wrong_events_are_refused(wrong):
    fields = {"name": "o", "lam": 1.0, "clip": 1.0, "smoothness": 1.0, "shape": "one-sided"}
    with pytest.raises(ValueError, match=r"."):
        ObjectiveEvent(**{**fields, **wrong})


def test_two_sided_lemma_of_the_proof():
    # y phi(y) / (Phi(y) - 1/2) decreases: what the worst angle of two-sided slopes rests on.
    y = np.linspace(1e-3, 8, 4000)
    ratio = y * np.exp(-y * y / 2) / (ndtr(y) - 0.5)
    assert np.all(np.diff(ratio) < 0)
