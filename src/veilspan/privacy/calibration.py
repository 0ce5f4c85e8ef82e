"""``calibrate_noise``: the least noise with which planned events stay within a budget.

Full-batch Gaussian events have a closed form. Anything else is found by root finding on the
numerical accountant, always ending on the side that keeps the promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from veilspan.privacy.accounting import (
    CERTIFY,
    MOST_OBJECTIVE_EPSILON,
    SEARCH,
    _epsilon,
    check_numeric_delta,
    epsilon_spent,
    fits_budget,
    gaussian_mu,
    gaussian_only,
)
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import (
    Event,
    GaussianEvent,
    ObjectiveEvent,
    SampledGaussianEvent,
    merge,
    scale_noise,
    with_noise,
)
from veilspan.privacy.neighbors import RELATIONS, Neighbors, check_neighbors

ACCURACY = 1e-4  # relative, on the noise, from the safe side
#: Of epsilon, left over where the cost is a number of the numerical accountant: for the rounding of
#: logarithms here and of Fourier transforms on another machine. Full batches have that of
#: ``Budget.mu``. So a plan need not forgive any rounding.
MARGIN = 1e-9
MOST_NOISE = 1e12  # as a multiplier: more of it no longer changes what is computed
#: Of epsilon: what determinants may cost by themselves (see ``objective``). At 1 nothing would be
#: left for the noise. Nothing but the smallest lam that is accepted depends on it.
REACHABLE = 0.95
#: Log epsilon over log noise at the start of the search, between -1 (much noise) and -2 (little).
#: A wrong one costs an evaluation or two: the slope is measured from the second step on.
FIRST_SLOPE = -1.2
#: Beside events whose noise is fixed: most rounds of the search for the factor (each brings it
#: several digits nearer); how near, relative to epsilon, what is spent must come from below; the
#: slope before two rounds have told; and most noise over that of the first round.
MOST_ROUNDS, CLOSE, SLOPE_BESIDE, MOST_FACTOR = 12, 1e-3, -0.78, 1e6


def calibrate_noise(
    budget: Budget,
    events: Iterable[Event],
    *,
    neighbors: Neighbors = "replace-one",
    weights: Sequence[float] | None = None,
) -> tuple[Event, ...]:
    """Smallest noise with which all events together stay within the budget.

    Parameters
    ----------
    budget : Budget
        What may be spent. At ``epsilon=inf`` every noise multiplier becomes 0.
    events : sequence of events
        What is going to happen. Without ``weights`` their noise multipliers are *relative*: all
        are scaled by one common factor.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    weights : sequence of float, optional
        Shares of the budget, one per event, that need not sum to one. An event with share w gets
        the multiplier it would need alone, divided by sqrt(w); a common factor near 1 then settles
        the joint cost (exactly 1 for full-batch events, whose mu^2 add up).

    Returns
    -------
    tuple of events
        The same events with their noise multipliers set: at most 1e-4 (relative) above the
        smallest that keep the promise, never below.

    Examples
    --------
    >>> from veilspan import Budget, GaussianEvent
    >>> mean, moment = calibrate_noise(
    ...     Budget(1.0, 1e-6), [GaussianEvent("mean"), GaussianEvent("moment")], weights=[1, 3]
    ... )
    >>> round(mean.noise_multiplier, 3), round(moment.noise_multiplier, 3)
    (8.449, 4.878)
    """
    if neighbors not in RELATIONS:
        check_neighbors(neighbors)
    return _calibrate(
        budget,
        tuple(events),
        neighbors,
        None if weights is None else tuple(map(float, weights)),
    )


class Later(Protocol):
    """A full-batch question that comes after others, and the share of mu^2 that it takes."""

    event: str
    share: float


def calibrate_beside(
    budget: Budget,
    fixed: tuple[Event, ...],
    events: tuple[Event, ...],
    *,
    neighbors: Neighbors,
    share: float = 1.0,
    later: Sequence[Later] = (),
) -> tuple[tuple[Event, ...], tuple[GaussianEvent, ...]] | None:
    """Noise of events beside others of the same fit; None if none is found.

    One factor multiplies the noise of ``events``. If all releases are Gaussian it is exact, since
    their mu^2 add up. Else all are accounted together, and the factor is searched for until they
    fit: the costly calibration of ``events`` is done once.

    Parameters
    ----------
    budget : Budget
        Of all of them together, with privacy.
    fixed : tuple of events
        What is asked before, with its noise.
    events : tuple of events
        With the noise of a budget that is the ``share`` of this one.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    share : float
        Of mu^2, what ``fixed`` leaves: where the search begins.
    later : sequence
        Full-batch questions that come after. They take a percent or less of mu^2, so that the
        factor is near 1.

    Returns
    -------
    tuple of events, tuple of events
        ``events`` with their noise, and the later ones with theirs.
    """
    asked: tuple[GaussianEvent, ...] = ()
    left = share
    for one in later:
        asked = (*asked, GaussianEvent(one.event, 1.0 / (budget.mu * math.sqrt(one.share))))
        left -= one.share
    fixed = (*fixed, *asked)
    if not fixed:
        return events, asked
    factor, slope = math.sqrt(share / left), SLOPE_BESIDE
    if set(map(type, (*fixed, *events))) <= {GaussianEvent}:
        scaled = scale_noise(events, factor)
        if fits_budget((*fixed, *scaled), budget, neighbors):
            return scaled, asked
    last: tuple[float, float] | None = None
    for _ in range(MOST_ROUNDS):
        scaled = scale_noise(events, factor)
        spent = epsilon_spent((*fixed, *scaled), budget.delta, neighbors=neighbors)
        if budget.epsilon * (1 - CLOSE) < spent <= budget.epsilon or spent == 0:
            return scaled, asked
        point = math.log(factor), math.log(spent)
        if last is not None and point[0] != last[0]:
            slope = min(max((point[1] - last[1]) / (point[0] - last[0]), -2.0), -0.2)
        last = point
        factor *= (budget.epsilon * (1 - CLOSE / 2) / spent) ** (1 / slope)
        if not 1 / MOST_FACTOR < factor < MOST_FACTOR:
            return None
    return None


@lru_cache(maxsize=128)  # pure: the same question has the same answer
def _calibrate(
    budget: Budget,
    chosen: tuple[Event, ...],
    neighbors: Neighbors,
    weights: tuple[float, ...] | None,
) -> tuple[Event, ...]:
    if not chosen:
        raise ValueError("there is nothing to calibrate: give at least one event.")
    if not budget.is_private:
        return tuple(with_noise(event, 0.0) for event in chosen)
    if weights is not None:
        chosen = _weigh(budget, chosen, neighbors, weights)
    elif any(event.noise_multiplier == 0 for event in chosen):
        raise ValueError(
            "relative noise multipliers must be positive; leave them at 1 for equal noise."
        )
    factor = _common_factor(budget, chosen, neighbors)
    return scale_noise(chosen, factor)


def _weigh(
    budget: Budget, events: tuple[Event, ...], neighbors: Neighbors, weights: Sequence[float]
) -> tuple[Event, ...]:
    """Give each event the noise that it would need alone, divided by the root of its share."""
    if len(weights) != len(events):
        raise ValueError(f"{len(events)} events need {len(events)} weights; got {len(weights)}.")
    if not all(weight > 0 and math.isfinite(weight) for weight in weights):
        raise ValueError("weights must be positive and finite.")
    total = math.fsum(weights)
    alone = [
        event.noise_multiplier * _common_factor(budget, (event,), neighbors)
        for event in (with_noise(event, _first_noise(event)) for event in events)
    ]
    return tuple(
        with_noise(event, noise * math.sqrt(total / weight))
        for event, noise, weight in zip(events, alone, weights)
    )


def _first_noise(event: Event) -> float:
    """A multiplier to begin the search at; the factor that is found makes up for any other."""
    if isinstance(event, SampledGaussianEvent):
        return max(0.5, 1e3 * event.sampling_rate)
    return 1.0


def _common_factor(budget: Budget, events: tuple[Event, ...], neighbors: Neighbors) -> float:
    """Smallest factor on all multipliers that keeps the budget (to ``ACCURACY``, safe side)."""
    if gaussian_only(events):
        return gaussian_mu(events) / budget.mu
    check_numeric_delta(budget.delta)
    tilted = any(isinstance(event, ObjectiveEvent) for event in events)
    if tilted and budget.epsilon > MOST_OBJECTIVE_EPSILON:
        raise ValueError(
            f"epsilon must be at most {MOST_OBJECTIVE_EPSILON:g} for objective perturbation, or "
            f"inf for no privacy at all; got {budget.epsilon:g}."
        )
    _check_reachable(budget, events)
    loudest = max(event.noise_multiplier for event in events)

    def epsilon_at(cell: float) -> Callable[[float], float]:
        def log_epsilon(log_factor: float) -> float:
            if log_factor > math.log(MOST_NOISE / loudest):
                raise _NoNoiseFoundError
            factor = math.exp(log_factor)
            scaled = merge(scale_noise(events, factor))
            return math.log(max(_epsilon(scaled, budget.delta, neighbors, cell), 1e-12))

        return log_epsilon

    target = math.log(budget.epsilon * (1 - MARGIN))
    guess = _central_limit_guess(budget, events, neighbors)
    try:
        rough, slope = _solve_decreasing(
            epsilon_at(SEARCH), target, guess, FIRST_SLOPE, tolerance=1e-3
        )
        fine, _ = _solve_decreasing(epsilon_at(CERTIFY), target, rough, slope, tolerance=ACCURACY)
    except _NoNoiseFoundError:
        raise ValueError(
            f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for releases "
            "that are accounted numerically (samples of the rows, objective perturbation): no "
            "noise was found that keeps it. Use full batches, or a larger epsilon."
        ) from None
    return math.exp(fine)


class _NoNoiseFoundError(Exception):
    """Epsilon stays above its target: it is below what cells of the privacy loss resolve."""


def _check_reachable(budget: Budget, events: tuple[Event, ...]) -> None:
    """Refuse tilted objectives whose determinants alone may cost the budget.

    Below that epsilon the bounds promise nothing, or a delta that falls like 1/noise only: it would
    take noise of the order 1/delta. It is a limit of what we prove, and of what would be useful.
    """
    from veilspan.privacy.objective import least_epsilon, least_lam

    tilted = [event for event in events if isinstance(event, ObjectiveEvent)]
    least = math.fsum(event.count * least_epsilon(event) for event in tilted)
    if least > REACHABLE * budget.epsilon:
        share = REACHABLE * budget.epsilon / math.fsum(event.count for event in tilted)
        needed = max(least_lam(event, share) for event in tilted)
        raise ValueError(
            f"lam is too small for epsilon = {budget.epsilon:g}: the curvature of one row may cost "
            f"that much by itself, and no useful noise is known to make up for it. "
            f"It must be at least {needed:.4g}."
        )


def _central_limit_guess(budget: Budget, events: tuple[Event, ...], neighbors: Neighbors) -> float:
    """Log factor by the central limit theorem of subsampling: a start, never a guarantee.

    T steps at rate q and multiplier z behave like mu-GDP with mu^2 = T q^2 (e^(1/z^2) - 1) (Bu,
    Dong, Long & Su 2020), about four times that under replace-one.
    """
    from scipy.optimize import brentq

    pairs = 4.0 if neighbors == "replace-one" else 1.0

    def log_mu(log_factor: float) -> float:
        factor = math.exp(log_factor)
        total = (gaussian_mu(events) / factor) ** 2
        for event in events:
            if isinstance(event, SampledGaussianEvent):
                inverse = min((event.noise_multiplier * factor) ** -2, 600.0)
                total += pairs * event.count * event.sampling_rate**2 * math.expm1(inverse)
            elif isinstance(event, ObjectiveEvent):
                total += pairs * event.count * (event.noise_multiplier * factor) ** -2
        return math.log(total) / 2

    target = math.log(budget.mu)
    return float(brentq(lambda x: log_mu(x) - target, -30.0, 60.0, xtol=1e-6))


def _solve_decreasing(
    function: Callable[[float], float],
    target: float,
    start: float,
    slope: float,
    *,
    tolerance: float,
) -> tuple[float, float]:
    """Point x with function(x) <= target, at most ``tolerance`` right of the root; and the slope.

    Secant steps aimed just inside the safe side; privacy curves are close to a power law, so two
    or three evaluations suffice. A bracket is kept, so that a bad step falls back to bisection.
    """
    x, low, high = start, -math.inf, math.inf
    previous: tuple[float, float] | None = None
    for _ in range(100):
        value = function(x)
        if previous is not None and x != previous[0]:
            measured = (value - previous[1]) / (x - previous[0])
            # Log epsilon falls by between 1 and 2 for a unit of log noise, more steeply where
            # epsilon is tiny. Anything else is a difference of two points too close for rounded
            # numbers: keep the slope that we have.
            slope = measured if -20 < measured < -0.2 else slope
        previous = (x, value)
        low, high = (x, high) if value > target else (low, min(high, x))
        # In units of x: stop within 0.7 of the tolerance, and aim at half of that below, so that
        # a step that is off by as much either way still ends on the safe side.
        if value <= target and target - value <= 0.7 * tolerance * abs(slope):
            return x, slope
        if high - low <= 0.5 * tolerance:
            return high, slope
        x += (target - 0.35 * tolerance * abs(slope) - value) / slope
        if not low < x < high:
            x = (
                (low + high) / 2
                if math.isfinite(low + high)
                else previous[0] + (1.0 if value > target else -1.0)
            )
    raise _NoNoiseFoundError
