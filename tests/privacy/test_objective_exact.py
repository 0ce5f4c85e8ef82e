"""Exact divergences in two dimensions: rows at angles, several scores; a table of Huber rows."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, softmax

from veilspan.curator.objective_door import objective_event
from veilspan.losses.linear import Huber, Multinomial, Quantile, SmoothedHinge
from veilspan.privacy.events import with_noise
from veilspan.privacy.objective import loss_bounds
from veilspan.privacy.slope_layers import Layers

QUADRATURE = 2e-3  # relative error of a sum over the grids below: halving their step moves less


def tail_delta(bound, epsilon, step=1e-3, reach=9.0):
    """E (1 - e^(epsilon - L))_+ from the survival function: a sum that is never too small."""
    x = np.arange(epsilon, epsilon + reach, step)
    tail = bound.survival(x)
    return float(np.exp(epsilon - x) @ tail) * step + math.exp(-reach) * float(tail[-1])


def plane(reach, points=221):
    axis = np.linspace(-reach, reach, points)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1), (axis[1] - axis[0]) ** 2


def log_gaussian(tilt, std):
    return -np.sum(tilt**2, axis=-1) / (2 * std**2) - 2 * math.log(std * math.sqrt(2 * math.pi))


def divergence(log_p, log_q, epsilon, volume):
    lost = -np.expm1(np.minimum(epsilon + log_q - log_p, 0.0))
    return float(np.sum(np.exp(log_p) * lost) * volume)


def density_of_one_score(theta, x, y, loss, event, std):
    """Log density of the minimum at each theta of the plane: the change of variables."""
    tilt = -event.lam * theta
    hessian = np.broadcast_to(event.lam * np.eye(2), (*theta.shape, 2)).copy()
    for row, target in zip(np.asarray(x).reshape(-1, 2), y):
        scores = theta @ row
        cap = event.clip / np.linalg.norm(row)
        raw = loss.slope(scores, np.full(scores.shape, target))
        bend = np.where(np.abs(raw) < cap, loss.curvature(scores, np.full(scores.shape, target)), 0)
        tilt = tilt - np.clip(raw, -cap, cap)[..., None] * row
        hessian += bend[..., None, None] * np.outer(row, row)
    return log_gaussian(tilt, std) + np.log(np.linalg.det(hessian))


@pytest.mark.parametrize(
    ("loss", "lam", "z"),
    [
        (Huber(1.0), 2.0, 1.5),
        (Quantile(0.7, 0.5), 1.0, 2.0),
        (SmoothedHinge(1.0), 3.0, 1.2),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_removing_and_adding_hold_in_the_plane(loss, lam, z):
    event = with_noise(objective_event(loss, lam=lam), z)
    ahead, back = loss_bounds(event, "add-remove")
    theta, volume = plane((6 * event.std + 3) / lam)
    others = [[0.6, 0.8], [-1.0, 0.0], [0.3, -0.2]]
    targets = [1.0, -1.0, 1.0]
    without = density_of_one_score(theta, others, targets, loss, event, event.std)
    for row, target in (([1.0, 0.0], 1.0), ([0.6, -0.8], -1.0), ([0.2, 0.4], 1.0)):
        table = [*others, row], [*targets, target]
        with_row = density_of_one_score(theta, *table, loss, event, event.std)
        for epsilon in (0.0, 0.3, 1.0):
            for p, q, bound in ((with_row, without, ahead), (without, with_row, back)):
                claimed = tail_delta(bound, epsilon)
                assert divergence(p, q, epsilon, volume) <= (1 + QUADRATURE) * claimed


def test_two_huber_rows_cost_nearly_what_the_layers_say():
    # Found by a search. The second row only shifts the tilt: the first alone makes the slope.
    lam, epsilon, a = 5.0, 1.0, 1 / 4.521
    theta = np.linspace(-15, 15, 20_001)

    def masses(targets):
        tilt = lam * theta + sum(np.clip(theta - y, -1.0, 1.0) for y in targets)
        low, high = np.append(-np.inf, tilt * a), np.append(tilt * a, np.inf)
        return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))

    p, q = masses([-4.61, 3.04]), masses([3.04])
    met = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
    claimed = float(Layers(a, 1 / lam, 2).delta(np.array([epsilon]))[0])
    assert 0.85 * claimed <= met <= claimed


def density_of_three_scores(z, rows, lam, std):
    """Log density of the minimum for p = 1 and three classes, across the scores' common shift.

    Slopes sum to zero, so the tilt along (1, 1, 1) is the same on all tables: two coordinates are
    left. ``rows`` are (x, class, how many).
    """
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    theta = z @ basis
    tilt = -lam * z
    hessian = np.broadcast_to(lam * np.eye(2), (*z.shape, 2)).copy()
    for x, own, number in rows:
        likely = softmax(x * theta, axis=-1)
        tilt = tilt - number * x * ((likely - np.eye(3)[own]) @ basis.T)
        spread = np.einsum("ai,...i,bi->...ab", basis, likely, basis)
        mean = likely @ basis.T
        hessian += number * x * x * (spread - mean[..., :, None] * mean[..., None, :])
    return log_gaussian(tilt, std) + np.log(np.linalg.det(hessian))


def as_if_one_score(event):
    """Twin: the noise of a slope of length 1; that of several scores is up to sqrt(2) long."""
    return event.std / event.clip


def shipped(event):
    return event.std


# Exchanged rows of a line of three classes cannot both be steepest: no twin is due there.
@pytest.mark.parametrize(
    ("std_of", "neighbors", "caught"),
    [
        (shipped, "add-remove", False),
        (shipped, "replace-one", False),
        (as_if_one_score, "add-remove", True),
    ],
)
def test_several_scores_against_exact_divergences(std_of, neighbors, caught):
    # Many rows of class 0 make any other class steep: a slope of nearly sqrt(2).
    event = with_noise(objective_event(Multinomial(3), lam=10.0), 0.7)
    assert event.clip == pytest.approx(math.sqrt(2))
    std, found = std_of(event), False
    theta, volume = plane(4.5, 301)
    crowd = [(1.0, 0, 600.0)]
    tables = [crowd, [*crowd, (1.0, 1, 1.0)], [*crowd, (-1.0, 0, 1.0)], [*crowd, (1.0, 2, 1.0)]]
    logs = [density_of_three_scores(theta, rows, event.lam, std) for rows in tables]
    assert all(abs(np.exp(log).sum() * volume - 1) < 1e-3 for log in logs)
    ahead, back = loss_bounds(event, neighbors)
    if neighbors == "add-remove":
        pairs = [(log, logs[0], ahead) for log in logs[1:]]
        pairs += [(logs[0], log, back) for log in logs[1:]]
    else:
        pairs = [(p, q, ahead) for p in logs[1:] for q in logs[1:] if p is not q]
    for epsilon in (0.0, 1.0, 3.0, 6.0):
        for p, q, bound in pairs:
            exact = divergence(p, q, epsilon, volume)
            found |= exact > (1 + QUADRATURE) * tail_delta(bound, epsilon, 5e-3, 14.0)
    assert found == caught
