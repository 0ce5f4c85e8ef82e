r"""The second door: the minimum of a randomly tilted objective, charged, instead of a noisy sum.

Minimised is J(theta) = sum_i l_i(<x_i, theta>) + lam/2 |theta|^2 + <b, theta>, b ~ N(0, s^2 I). The
theorem, its proof and the proof that what is computed is covered by it are in
``docs/explanation/objective_perturbation.md``. What this file has to keep to:

1. Rows are shortened to ``row_length`` and slopes kept to the interval of the event's shape, here.
2. What leaves is T(theta~) + N(0, s_o^2 I) on a grid. T folds the outside of a ball of radius R
   back inside; it is 1-Lipschitz and 0 beyond 2 R. T(theta~) is within tau / lam of T(theta*),
   theta* being the true minimum: either |grad J(theta~)| <= tau, or both are 0. Given theta*, which
   determines b on each table, the two tables' T(theta~) are within 2 tau / lam: a Gaussian release
   that is charged as well. (What the law of the noise rests on is in the same page.)
3. tau is public. It covers the float64 error of a gradient anywhere within 2.1 R, five times. The
   minimisation ends when the computed gradient and its error certify tau, or certify
   |theta*| >= 2 R, where T is 0 whatever theta* is. ``curator.tilted_objective`` says why one of
   both happens after finitely many steps, and what rounding leaves open of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.rows import Block
from veilspan.curator.silence import Silence
from veilspan.curator.tape import CURRENT_TAPE, Question, fingerprint
from veilspan.curator.tilted_objective import TiltedObjective, minimise
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.events import Event, GaussianEvent, LossShape, ObjectiveEvent, with_count
from veilspan.privacy.grid import COARSEST, MAX_ROWS, UNIT_ROUNDOFF, NoiseScale, noise_scale

if TYPE_CHECKING:
    from veilspan.curator.curator import Curator

TILT_BITS = 40  # the grid of b is 2^-40 of its std
SAFETY = 5.0  # tau over the rounding error of a gradient; 4 are enough for the proof
BLOCK_ROWS = 1024  # few, because the rounding error of a sum grows with them
GROUP = 256  # blocks added up before they join the total, as in ``memory``
REACH = 2.1  # times R: how far out the error of a gradient is bounded, a little beyond 2 R


class RowLoss(Protocol):
    """What the door needs of a loss: see ``losses.linear``."""

    @property
    def name(self) -> str:
        """Name of the loss, for records and messages."""

    @property
    def n_outputs(self) -> int:
        """Number of scores per row: 1, or one for each class."""

    @property
    def margin(self) -> bool:
        """Whether targets are classes (signs, or class numbers) and not real numbers."""

    @property
    def slope_bound(self) -> float:
        """Largest size of the derivative in the scores; infinite if there is no bound."""

    @property
    def smoothness(self) -> float:
        """Largest second derivative in the score; infinite at a corner."""

    def slope(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Derivative of each row's loss in its scores, of the scores' shape."""

    def curvature(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Second derivative of each row's loss in its one score."""


def objective_event(
    loss: RowLoss, *, lam: float, clip: float | None = None, name: str = "objective"
) -> ObjectiveEvent:
    """Event of the minimum of a loss, with what is known of its shape.

    Slopes are capped at clip / |x|, which leaves a loss of one score convex. Capping the vector of
    several slopes does not; there rows are shortened instead, to clip / slope_bound.
    """
    if not math.isfinite(loss.smoothness):
        raise ValueError(
            f"objective perturbation needs a smooth loss; {loss.name} is not. Use another solver."
        )
    bound = min(loss.slope_bound, math.inf if clip is None else float(clip))
    if not math.isfinite(bound):
        raise ValueError(f"the slope of the {loss.name} loss has no bound: give a clip.")
    if loss.n_outputs > 1:
        if loss.name not in ("multinomial", "weighted multinomial"):
            raise ValueError(
                "objective perturbation of several scores needs the multinomial loss, for which it "
                'is proven; use solver="newton", say.'
            )
        length = bound / loss.slope_bound
        return ObjectiveEvent(
            name=name,
            lam=float(lam),
            clip=bound,
            smoothness=loss.smoothness,
            shape="softmax",
            classes=loss.n_outputs,
            row_length=length,
        )
    event = ObjectiveEvent(
        name=name, lam=float(lam), clip=bound, smoothness=loss.smoothness, shape=_shape(loss)
    )
    check_shape(loss, event)
    return event


def _shape(loss: RowLoss) -> LossShape:
    if not loss.margin:
        return "two-sided"
    return "logistic" if loss.name in ("logistic", "weighted logistic") else "one-sided"


def check_shape(loss: RowLoss, event: ObjectiveEvent) -> None:
    """Refuse a loss of one score that does not keep to its shape, on a grid of public scores."""
    scores = np.linspace(-30.0, 30.0, 6001)
    step = scores[1] - scores[0]
    for target in (-1.0, 1.0) if loss.margin else (-1.0, 0.0, 1.0):
        slopes = loss.slope(scores, np.full(len(scores), target))
        steepness = np.diff(slopes) / step
        allowed = np.full(len(steepness), event.smoothness)
        if event.shape == "logistic":
            t = np.abs(slopes)
            h = t - t * t / (4 * event.smoothness)
            # The bound changes by at most smoothness * step from one score to the next.
            allowed = np.maximum(h[1:], h[:-1]) + event.smoothness * step
        wrong_sign = event.shape != "two-sided" and np.any(slopes * target > 1e-12)
        if wrong_sign or np.any(steepness < -1e-9) or np.any(steepness > allowed + 1e-9):
            raise ValueError(f"the {loss.name} loss does not behave like a {event.shape} loss.")


def fold(theta: np.ndarray, radius: float) -> np.ndarray:
    """Theta inside the ball, reflected at its surface outside, 0 beyond twice the radius.

    Along a ray the length r becomes min(r, 2 R - r), or 0: slope at most 1 in size, and across rays
    vectors only shrink. So the map is 1-Lipschitz.
    """
    length = float(np.linalg.norm(theta))
    if length <= radius:
        return theta
    return theta * (max(0.0, 2 * radius - length) / length)


@dataclass(frozen=True)
class Tolerance:
    """Public bounds on rounding: a gradient at theta is off by at most fixed + growing |theta|.

    ``curvature`` bounds the second derivatives of the objective, K in ``curator.tilted_objective``.
    """

    fixed: float
    growing: float
    tilt: float
    radius: float
    curvature: float

    @property
    def tau(self) -> float:
        """Length of the gradient that a minimum is certified to."""
        return SAFETY * self.error(REACH * self.radius) + self.tilt

    def certifiable(self, lam: float) -> bool:
        """Whether rounding is so small beside lam that every minimisation ends.

        Otherwise the distance that output noise has to cover, 2 tau / lam, would be R / 25 or more:
        nothing of use is lost.
        """
        return self.error(REACH * self.radius) + self.tilt <= lam * self.radius / 50

    def error(self, length: float) -> float:
        """Rounding error of a computed gradient at a theta of this length."""
        return self.fixed + self.growing * length


def tolerance_of(
    event: ObjectiveEvent, rows: int, n_features: int, radius: float, extra_terms: int = 0
) -> Tolerance:
    r"""Rounding bounds from public numbers: rows at most n, p columns, k scores (u = 2^-53).

    A score is off by (p + 8) u |theta|; a slope by that times the smoothness, and by a few
    roundings of its own; adding n of them, a block of b at a time in groups of m, by
    (b + m + n/(b m)) u n clip (Higham 2002, eq. 4.4), and ``extra_terms`` more where sums of parts
    come together. The tilt is rounded to its grid.
    """
    coordinates = n_features * event.classes
    tilt = event.std * math.sqrt(coordinates)
    added = BLOCK_ROWS + GROUP + math.ceil(rows / (BLOCK_ROWS * GROUP)) + extra_terms
    own = (40 + event.classes) * (event.clip + event.smoothness)
    fixed = rows * (added * event.clip + own) + 4 * 40 * tilt
    growing = rows * event.smoothness * (n_features + 8) + 4 * event.lam
    if event.std == 0:
        growing = 0.0  # nothing to prove, and no theta too long
    curvature = event.lam + rows * event.smoothness * event.row_length**2
    return Tolerance(
        UNIT_ROUNDOFF * fixed, UNIT_ROUNDOFF * growing, 2.0**-TILT_BITS * tilt, radius, curvature
    )


def check_certifiable(event: ObjectiveEvent, bounds: Tolerance) -> None:
    """Refuse a lam that float64 cannot tell from rounding, by public numbers."""
    if event.std > 0 and not bounds.certifiable(event.lam):
        least = 50 * (bounds.error(REACH * bounds.radius) + bounds.tilt) / bounds.radius
        raise ValueError(
            f"lam = {event.lam:.3g} is too small for so many rows and columns: what float64 rounds "
            f"away could not be told from it. Choose at least {1.01 * least:.2g}."
        )


def minimum(
    curator: Curator, loss: RowLoss, event: str, output: str, radius: float
) -> tuple[np.ndarray, float, Event]:
    """Minimum of the tilted objective, its output noise and its event: charged, then computed."""
    if not (radius > 0 and math.isfinite(radius)):
        raise ValueError(f"radius must be positive and finite; got {radius}.")
    charged = curator._meter.charge(event + curator._suffix)
    paid = curator._meter.charge(output + curator._suffix)
    if not (isinstance(charged, ObjectiveEvent) and isinstance(paid, GaussianEvent)):
        raise PrivacyError(f"{event!r} and {output!r} are not the events of a tilted objective.")
    if (charged.noise_multiplier > 0) != (paid.noise_multiplier > 0):
        raise PrivacyError(
            "the tilt and the output must both carry noise, or neither: calibrate the two events "
            "together."
        )
    _check_event(loss, charged)
    rows, extra = (
        curator.plan.n_rows or MAX_ROWS,
        curator._rows.extra_terms[curator.plan.neighbors],
    )
    bounds = tolerance_of(charged, rows, curator.n_features, radius, extra)
    check_certifiable(charged, bounds)
    size = curator.n_features * loss.n_outputs
    # Both tables' minima, and what rounds when each is folded: its length and one product.
    distance = 2 * bounds.tau / charged.lam + 4 * (size + 8) * UNIT_ROUNDOFF * radius
    if paid.noise_multiplier > 0:
        # More noise than rounding needs, never below 2^-22 of the radius: room for a fine grid.
        distance = max(distance, math.ldexp(radius, -22) / paid.noise_multiplier)
    scale = noise_scale(
        paid.noise_multiplier, distance, size, largest=2 * radius, least_bits=COARSEST + 1
    )
    # All that may fail for a public reason stands above.
    with Silence(not curator._source.secure), threads_for(curator.n_features):
        theta = _tilted_minimum(curator, loss, charged, bounds)
        exact = (fold(theta, radius) if charged.std else theta).ravel()
        tape = CURRENT_TAPE.get()
        if tape is None:
            given = curator._add_noise(exact, scale)
        else:
            noise = (paid.name, paid.noise_multiplier, 1.0)
            question = Question("minimum", noise, radius, distance, scale.std, exact.size, "")
            given = tape.exchange(question, exact, lambda: curator._add_noise(exact, scale))
    return given.reshape(theta.shape), scale.std, with_count(charged, 1)


def _check_event(loss: RowLoss, charged: ObjectiveEvent) -> None:
    """The planned event must be that of this loss."""
    of_loss = objective_event(loss, lam=charged.lam, clip=charged.clip)
    for what in ("clip", "smoothness", "shape", "classes", "row_length"):
        if getattr(of_loss, what) != getattr(charged, what):
            raise PrivacyError(f"the plan was made for a loss of another {what}.")


def _tilted_minimum(
    curator: Curator, loss: RowLoss, event: ObjectiveEvent, bounds: Tolerance
) -> np.ndarray:
    """theta~; on a tape, the recorded one and the tilt that this table would have needed."""

    def total(part: Callable[[Block], np.ndarray]) -> np.ndarray:
        return np.asarray(curator._rows.total(part, BLOCK_ROWS, GROUP))

    objective = TiltedObjective(total, loss, event, curator.n_features)
    tape = CURRENT_TAPE.get()
    if tape is None:
        return minimise(objective, _draw_tilt(curator, event, objective.shape), bounds)
    sensitivity = event.clip * (2 if curator.plan.neighbors == "replace-one" else 1)
    question = Question(
        f"minimum of {loss.name}",
        (event.name, event.noise_multiplier, 1.0),
        event.clip,
        sensitivity + bounds.tau,
        event.std,
        math.prod(objective.shape),
        fingerprint((repr(loss), repr(event), bounds.radius)),
    )
    drawn = _draw_tilt(curator, event, objective.shape)

    def tilt_for(given: np.ndarray) -> np.ndarray:
        # On the first table the tilt is known; on its neighbour it is what makes `given` minimal.
        return drawn if tape.source is None else -objective.row_gradient(given)

    given = tape.exchange_at(question, lambda: minimise(objective, drawn, bounds), tilt_for)
    if tape.source is None:
        return given
    return minimise(objective, -objective.row_gradient(given), bounds)


def _draw_tilt(curator: Curator, event: ObjectiveEvent, shape: tuple[int, ...]) -> np.ndarray:
    """B on a grid of 2^-40 of its std; the grid's share of tau is in ``Tolerance.tilt``."""
    if event.std == 0:
        return np.zeros(shape)
    step = math.ldexp(1.0, math.floor(math.log2(event.std)) - TILT_BITS)
    return curator._add_noise(np.zeros(shape), NoiseScale(event.std, step, event.clip))
