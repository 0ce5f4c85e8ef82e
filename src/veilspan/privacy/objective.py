r"""What objective perturbation costs: bounds on its privacy loss, as distributions.

Released is the minimiser theta of sum_i l_i(<x_i, theta>) + lam/2 |theta|^2 + <b, theta> with
b ~ N(0, s^2 I). ``docs/explanation/objective_perturbation.md`` proves that the privacy loss between
neighbours is at most a function L of standard normals that are independent of everything before. So

    delta(epsilon) <= E (1 - e^(epsilon - L))_+      for every real epsilon,

and such bounds add up over adaptive steps like independent losses. With a = clip / s, u, v ~ N(0,1)
independent, k(t) = log(1 + h(t)/lam), h the largest curvature of a row whose gradient has length t
(``ObjectiveEvent.shape``), and t, t' in [0, clip]:

=========== ============================================ =======================================
relation    slopes of one sign                           slopes of both signs
=========== ============================================ =======================================
add         max(0, a u + a^2/2)                          a |u| + a^2/2
remove      logistic: max_t [t u/s + t^2/(2 s^2) + k(t)] the layers of ``slope_layers``, at most
            else: the layers of ``slope_layers``         k + max(0, a u + a^2/2) as well
replace-one max_{t,t'} [(t+t') u/s + (t+t')^2/(2 s^2)    2 a |u| + 2 a^2 + k
            + k(t)], and where the rows point apart
            max(0, sqrt(2) a u + a^2) + a |v| + a^2/2
            + max k
=========== ============================================ =======================================

For several scores a union bound over the vertices of the slopes stands in. Each L but the layers is
a maximum of finitely many straight lines in u: k is concave in t and is replaced by the polygon of
its tangents, on each edge of which the rest, convex in t, is largest at an end. Distributions are
held as survival functions P(L >= x) on a grid, which rounds losses up.

Which of these are met, and which may be improved, is said in the page: both add bounds and the
layers are, in stated ranges, for one release at one epsilon (the layers for epsilon > k, by a loss
that depends on it; the logistic bounds in the limit). Under composition nothing is shown to be met.
Replace-one and several scores are upper bounds only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from veilspan.privacy.events import ObjectiveEvent
from veilspan.privacy.loss_variables import AnyOf, Apart, Larger, Lines, LossBound
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.slope_layers import Layers

TANGENTS = 64  # of k(t): less than 1e-4 above it at lam = 1
LOST = 1e-18  # probability of losses beyond the grid, which are counted as infinite
MOST_CELLS = 400_000  # the grid grows no further; ``accounting`` makes cells that need half of it
STEEPEST = 1e6  # rate above which layers would lose digits; k is above 13 there
LITTLE = 0.01  # k / a below which curvature costs so little that the simpler bound serves as well


def loss_bounds(event: ObjectiveEvent, neighbors: Neighbors) -> tuple[LossBound, LossBound]:
    """Bounds for (with the row, without it) and (without, with); twice the same if exchanged."""
    a = 1 / event.noise_multiplier
    replace = neighbors == "replace-one"
    if event.shape == "softmax":
        floor, others = least_epsilon(event), event.classes - 1
        if replace:
            return (AnyOf(event.classes**2 - 1, 2 * a, floor),) * 2
        return AnyOf(others, a, floor), AnyOf(others, a, 0.0)
    if event.shape == "two-sided":
        if replace:
            return (Lines((2 * a,), (2 * a * a + least_epsilon(event),), sides=2),) * 2
        return _bound_removal(event, a), Lines((a,), (a * a / 2,), sides=2)
    t, k_of_t = curvature_corners(event)
    if replace:
        both, twice = np.concatenate([t, t + 1]) * a, np.concatenate([k_of_t, k_of_t])
        floor = float(k_of_t.max())
        aside = Lines((0.0, math.sqrt(2) * a), (floor, a * a + floor))
        return (Larger(_lines(both, twice), Apart(aside, a)),) * 2
    ahead = _lines(t * a, k_of_t) if event.shape == "logistic" else _bound_removal(event, a)
    return ahead, Lines((0.0, a), (0.0, a * a / 2))


def _bound_removal(event: ObjectiveEvent, a: float) -> LossBound:
    """Bound the remove direction where the curvature has the same bound at every slope.

    The layers are the better bound. They are left out where the simpler one is as good, and where
    float64 would not carry them.
    """
    rate = event.smoothness * event.row_length**2 / event.lam
    k = math.log1p(rate)
    if k < LITTLE * a or rate > STEEPEST:
        return Lines((0.0, a), (k, a * a / 2 + k))
    return Layers(a, rate, 2 if event.shape == "two-sided" else 1)


def _lines(lengths: np.ndarray, logs: np.ndarray) -> Lines:
    """One line of privacy loss for each corner: a shift by a length, plus a log determinant."""
    return Lines(tuple(lengths.tolist()), tuple((lengths**2 / 2 + logs).tolist()))


def curvature_corners(event: ObjectiveEvent) -> tuple[np.ndarray, np.ndarray]:
    """Corners (t_j, k_j) of a polygon above k(t), slopes of one sign, t in units of the clip."""
    if event.shape != "logistic":
        return np.array([0.0, 1.0]), np.full(2, least_epsilon(event))
    # h(t) = t - t^2 / (4 smoothness) is concave and log increasing and concave: so is k.
    # Tangents stand closer at the ends, where k bends most if lam is small.
    spread = (1 - np.cos(np.linspace(0.0, math.pi, TANGENTS))) / 2
    t = spread * min(event.clip, 4 * event.smoothness)
    h = np.maximum(t - t * t / (4 * event.smoothness), 0.0)
    k = np.log1p(h / event.lam)
    slope = (1 - t / (2 * event.smoothness)) / (event.lam + h)
    offset = k - slope * t
    meet = np.clip(np.diff(offset) / -np.diff(slope), t[:-1], t[1:])
    above = np.maximum(offset[:-1] + slope[:-1] * meet, offset[1:] + slope[1:] * meet)
    corners = np.concatenate([t[:1], meet, t[-1:]]) / event.clip
    return corners, np.concatenate([k[:1], above, k[-1:]]) + 1e-13  # of rounding


def least_epsilon(event: ObjectiveEvent) -> float:
    """Largest k(t): what the determinant of one row can cost, whatever the noise.

    The bounds of replace-one, of several scores and of the logistic loss cannot certify less. The
    mechanism may do better: below k its delta falls like 1/s, too slowly to be of use.
    """
    h = event.smoothness
    if event.shape == "logistic":
        steepest = min(event.clip, 2 * h)
        return math.log1p((steepest - steepest**2 / (4 * h)) / event.lam)
    if event.shape == "softmax":
        # k - 1 eigenvalues of weight (diag q - q q^T), whose trace is at most weight (1 - 1/k):
        # the sum of their logarithms is largest when they are equal.
        k = event.classes
        return (k - 1) * math.log1p(2 * h * event.row_length**2 / (k * event.lam))
    return math.log1p(h * event.row_length**2 / event.lam)


def least_lam(event: ObjectiveEvent, epsilon: float) -> float:
    """Smallest lam at which :func:`least_epsilon` is at most ``epsilon``."""
    if event.shape == "softmax":
        k = event.classes
        return 2 * event.smoothness * event.row_length**2 / (k * _expm1(epsilon / (k - 1)))
    return event.lam * math.expm1(least_epsilon(event)) / _expm1(epsilon)


def _expm1(x: float) -> float:
    """e^x - 1; from x = 700 on that of 700, beyond which it is no float64."""
    return math.expm1(min(x, 700.0))


@lru_cache(maxsize=64)  # pure: the same event costs the same
def loss_masses(
    event: ObjectiveEvent, neighbors: Neighbors, cell: float
) -> tuple[tuple[np.ndarray, float], ...]:
    """Masses of L at 0, cell, 2 cell, ... (losses rounded up) and at infinity, by direction."""
    ahead, back = loss_bounds(event, neighbors)
    masses = _masses(ahead, cell)
    return masses, masses if back is ahead else _masses(back, cell)


def _masses(bound: LossBound, cell: float) -> tuple[np.ndarray, float]:
    # The grid grows until hardly anything is left beyond it; what is left counts as infinite.
    cells = 64
    while cells < MOST_CELLS and bound.survival(np.array([cells * cell]))[0] > LOST:
        cells *= 2
    tail = bound.survival(np.arange(cells + 1) * cell)
    tail[0] = 1.0  # losses are never negative
    tail = tail[: int(np.searchsorted(-tail, -LOST)) + 1]
    return np.concatenate([[0.0], tail[:-1] - tail[1:]]), float(tail[-1])


def loss_scale(event: ObjectiveEvent, neighbors: Neighbors) -> float:
    """Size of the largest losses that matter, for the width of cells."""
    reach = (2 if neighbors == "replace-one" else 1) / event.noise_multiplier
    # As far as ``accounting.TAIL``, nine standard deviations beyond the mean.
    return reach**2 / 2 + 9 * reach + least_epsilon(event)


def renyi_objective(
    event: ObjectiveEvent, orders: Sequence[float], neighbors: Neighbors
) -> np.ndarray:
    """Rényi divergences of one release: at most log E e^((a-1) L) / (a-1) in both directions."""
    bounds = set(loss_bounds(event, neighbors))
    return np.array([max(b.log_moment(a - 1) for b in bounds) / (a - 1) for a in orders])
