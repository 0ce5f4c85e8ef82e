r"""What a list of events costs.

Full-batch Gaussian events are summed exactly (``gdp``). As soon as one event is Poisson-sampled or
the minimum of a tilted objective (``objective``), all of them are composed as privacy loss
distributions by ``dp_accounting``, jointly; epsilons of parts are never added. A search
(``random_search``) has a bound of its own; beside other events it is added by Rényi orders.

The worst pair for a Poisson-sampled Gaussian
---------------------------------------------
Contributions are vectors u with |u| <= C; write C = 1 and q for the rate, y ~ N(0, s^2 I).

*add-remove.* The pair (1-q) N(0, s^2) + q N(1, s^2) and N(0, s^2), in both orders, dominates (Zhu,
Dong & Wang 2022, Theorem 11).

*replace-one.* The pair is P = (1-q) N(0) + q N(u), Q = (1-q) N(0) + q N(v). With
a = exp((u.y - |u|^2/2)/s^2) and b = exp((v.y - |v|^2/2)/s^2), y ~ N(0, s^2 I), its hockey-stick
divergence at e^epsilon = c is

    H_c(P, Q) = E h(a, b),   h(a, b) = [ (1-q)(1-c) + q a - c q b ]_+ .

(i) h is convex and E[a] = 1 is a martingale in the length of u: lengthening u by an independent
Gaussian increment keeps E[a' | a, b] = a, so by Jensen E h does not decrease; the same for v.
(ii) h has mixed derivative h_ab = -c q^2 times a non-negative measure, so by Price's theorem E h
does not increase with the correlation of u.y and v.y. Hence the maximum is at |u| = |v| = 1 and
correlation -1, that is v = -u: the one-dimensional pair (1-q) N(0) + q N(+-1), which is what
``dp_accounting`` calls REPLACE_ONE. The argument holds for every c > 0, in any dimension, and
dominating pairs compose adaptively (Zhu et al., Theorem 10).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from veilspan.privacy import gdp
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import (
    Event,
    GaussianEvent,
    ObjectiveEvent,
    SampledGaussianEvent,
    SearchEvent,
    merge,
)
from veilspan.privacy.neighbors import Neighbors, check_neighbors

if TYPE_CHECKING:
    import numpy as np

# Width of a cell of the discretised privacy loss. Rounding is pessimistic at any width. 1e-4 is
# within 1e-3 (relative) of the limit unless one step loses less than a cell (about 2 q / z): at
# q = 1e-5 and a million steps epsilon comes out up to seven times too large, never too small.
# A plan is searched for at the coarse width, with a tenth of the cells, and certified at the other.
CERTIFY, SEARCH = 1e-4, 1e-3
TINY = 0.2  # noise multiplier of a sampled event below which cells grow with its loss
CELLS_A_LOSS = 1000  # of a sampled event below TINY: rounding costs a permille of its loss
CELLS = 200_000  # at most, for the losses of one tilted objective
GAUSSIAN_CELLS = 2_000_000  # at most, for those of all full batches together
#: Losses matter up to so many standard deviations above their mean: a normal has less than 1e-18
#: beyond, a thousandth of what the numerical accountant cuts off anyway.
TAIL = 9
#: The numerical accountant cuts 1e-15 off a tail and adds it to delta, and its Fourier transforms
#: round by about as much: a smaller delta is not resolved.
LEAST_NUMERIC_DELTA = 1e-12
#: Cells grow with the loss of a tilted objective, and e^cell has to be a number. (Samples are
#: counted as full batches long before.)
MOST_OBJECTIVE_EPSILON = 1e7
#: Widest cell: e^500 is a float64, and so is its product with any probability.
WIDEST = 500.0


def epsilon_spent(
    events: Iterable[Event], delta: float, *, neighbors: Neighbors = "replace-one"
) -> float:
    """Smallest epsilon at ``delta`` that all events together guarantee.

    Parameters
    ----------
    events : iterable of events
        What happened, in any order.
    delta : float
        Strictly between 0 and 1.
    neighbors : {"replace-one", "add-remove"}
        The relation under which the noise multipliers were formed.

    Examples
    --------
    >>> from veilspan import GaussianEvent, SampledGaussianEvent
    >>> round(epsilon_spent([GaussianEvent("mean", 5.0, count=4)], 1e-6), 3)
    1.766
    >>> sgd = SampledGaussianEvent("step", 0.01, noise_multiplier=2.0, count=2000)
    >>> round(epsilon_spent([sgd], 1e-6, neighbors="add-remove"), 2)
    1.03
    """
    return _epsilon(merge(events), delta, check_neighbors(neighbors), CERTIFY)


@lru_cache(maxsize=512)  # pure, and a plan is made anew for every part of a fit
def fits_budget(events: tuple[Event, ...], budget: Budget, neighbors: Neighbors) -> bool:
    """Tell whether events together cost no more than a budget: what every plan has to pass.

    There is no tolerance here. ``gdp.delta_of`` is rounded up and the numerical accountant's losses
    are too; it is :func:`veilspan.calibrate_noise` that leaves a margin (1e-9 of mu, or of epsilon)
    for the rounding of noise multipliers, of their squares' sum, and of another machine.

    Sampled events are first counted as if all rows took part, which bounds them from above
    (:func:`_fit` says why) and is often enough for a budget that is large on purpose.
    """
    if not budget.is_private:
        return True
    # Full batches alone are exact (no noise is an infinite mu), and the others only add to them.
    if gdp.delta_of(gaussian_mu(events), budget.epsilon) > budget.delta:
        return False
    if gaussian_only(events):
        return True
    joined = merge(events)
    if any(event.noise_multiplier == 0 for event in joined):
        return False
    # Exchanging a row moves a sum by up to twice its norm, to which sampled multipliers refer.
    distance = 2.0 if neighbors == "replace-one" else 1.0
    whole = [_as_full_batch(event, distance) for event in joined]
    if all(whole) and gdp.delta_of(gaussian_mu(filter(None, whole)), budget.epsilon) <= (
        budget.delta
    ):
        return True
    return _epsilon(joined, budget.delta, neighbors, CERTIFY) <= budget.epsilon


def _as_full_batch(event: Event, distance: float) -> GaussianEvent | None:
    """Return a release of all rows that costs at least as much; None for a tilted objective."""
    if isinstance(event, SampledGaussianEvent):
        return GaussianEvent(event.name, event.noise_multiplier / distance, event.count)
    return event if isinstance(event, GaussianEvent) else None


def _fit(
    joined: Sequence[Event], neighbors: Neighbors, cell: float
) -> tuple[tuple[Event, ...], float]:
    """Events and cell width for which the distribution of the privacy loss fits into memory.

    A sampled event with multiplier z has losses of the order 1/(2 z^2). Where that is large (z
    below ``TINY``), cells grow with it: a thousandth of it, which costs a permille of an epsilon in
    the hundreds or more. Beyond that, steps are counted as if all rows took part; sampling never
    hurts (a hockey-stick divergence is jointly convex), so this is an upper bound too.
    """
    from veilspan.privacy.objective import loss_scale  # needs NumPy

    distance = 2.0 if neighbors == "replace-one" else 1.0
    mu = gaussian_mu(joined)
    if not gaussian_only(joined) and math.isfinite(mu):
        cell = max(cell, (mu * mu / 2 + TAIL * mu) / GAUSSIAN_CELLS)
    kept: list[Event] = []
    for event in joined:
        if isinstance(event, ObjectiveEvent) and event.noise_multiplier > 0:
            cell = max(cell, loss_scale(event, neighbors) / CELLS)
        tiny = isinstance(event, SampledGaussianEvent) and 0 < event.noise_multiplier < TINY
        loss = 1 / (2 * event.noise_multiplier**2) if tiny else 0.0
        if loss > CELLS_A_LOSS * WIDEST:  # its cells would have to be wider than the widest
            event = _as_full_batch(event, distance) or event
            loss = 0.0
        kept.append(event)
        cell = max(cell, loss / CELLS_A_LOSS)
    return tuple(kept), min(cell, WIDEST)


def delta_spent(
    events: Iterable[Event], epsilon: float, *, neighbors: Neighbors = "replace-one"
) -> float:
    """Smallest delta at ``epsilon`` that all events together guarantee; 1 if one has no noise."""
    return profile_of(tuple(events), neighbors)(epsilon)


@lru_cache(maxsize=64)  # pure; a search asks for the same profile at many points
def profile_of(events: tuple[Event, ...], neighbors: Neighbors) -> Callable[[float], float]:
    """The function delta(epsilon) of all events together; 1 everywhere if one has no noise."""
    joined, cell = _fit(merge(events), check_neighbors(neighbors), CERTIFY)
    if gaussian_only(joined):
        mu = gaussian_mu(joined)
        return lambda epsilon: gdp.delta_of(mu, epsilon)
    if any(event.noise_multiplier == 0 for event in joined):
        return lambda epsilon: 1.0
    if has_search(joined):
        return _search_profile(joined, neighbors)
    loss = _loss_distribution(joined, neighbors, cell)
    return lambda epsilon: float(loss.get_delta_for_epsilon(epsilon))


def privacy_curve(
    events: Iterable[Event],
    epsilons: Sequence[float] | np.ndarray | None = None,
    *,
    neighbors: Neighbors = "replace-one",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve delta(epsilon) as two arrays, for a plot or a table.

    Without ``epsilons``, 101 points from 0 to the epsilon that is reached at delta = 1e-9.
    """
    import numpy as np

    joined, _ = _fit(merge(events), check_neighbors(neighbors), CERTIFY)
    if any(event.noise_multiplier == 0 for event in joined):
        raise ValueError(
            "an event without noise has no privacy curve (delta is 1 at every epsilon): calibrate "
            "the noise first."
        )
    if epsilons is None:
        epsilons = np.linspace(0, max(_epsilon(joined, 1e-9, neighbors, SEARCH), 1e-6), 101)
    grid = np.asarray(epsilons, dtype=float)
    if gaussian_only(joined):
        mu = gaussian_mu(joined)
        return grid, np.array([gdp.delta_of(mu, epsilon) for epsilon in grid])
    profile = profile_of(joined, neighbors)
    return grid, np.array([profile(epsilon) for epsilon in grid])


def gaussian_only(events: Iterable[Event]) -> bool:
    """Tell whether all events are full-batch Gaussian, so that the exact composition applies."""
    return all(isinstance(event, GaussianEvent) for event in events)


def has_search(events: Iterable[Event]) -> bool:
    """Tell whether the best of a random number of trials is among the events."""
    return any(isinstance(event, SearchEvent) for event in events)


def gaussian_mu(events: Iterable[Event]) -> float:
    """Joint mu of the full-batch Gaussian events among ``events``."""
    return gdp.total_mu([event.mu for event in events if isinstance(event, GaussianEvent)])


@lru_cache(maxsize=512)  # pure: the same events cost the same
def _epsilon(joined: tuple[Event, ...], delta: float, neighbors: Neighbors, cell: float) -> float:
    joined, cell = _fit(joined, neighbors, cell)
    if gaussian_only(joined):
        return gdp.epsilon_of(gaussian_mu(joined), delta)
    if has_search(joined):
        return _search_epsilon(joined, delta, neighbors)
    check_numeric_delta(delta)
    if any(event.noise_multiplier == 0 for event in joined):
        return math.inf
    return float(_loss_distribution(joined, neighbors, cell).get_epsilon_for_delta(delta))


def _search_epsilon(joined: Sequence[Event], delta: float, neighbors: Neighbors) -> float:
    """Epsilon of a search: alone by its profile, beside others by Rényi orders."""
    from veilspan.privacy.random_search import search_epsilon
    from veilspan.privacy.renyi import epsilon_renyi

    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta}.")
    only = joined[0]
    if len(joined) == 1 and only.count == 1 and isinstance(only, SearchEvent):
        return search_epsilon(only, delta, neighbors)
    return epsilon_renyi(joined, delta, neighbors=neighbors)


def _search_profile(joined: Sequence[Event], neighbors: Neighbors) -> Callable[[float], float]:
    """The same for delta at an epsilon."""
    from veilspan.privacy.random_search import search_delta
    from veilspan.privacy.renyi import delta_renyi

    only = joined[0]
    if len(joined) == 1 and only.count == 1 and isinstance(only, SearchEvent):
        search = only
        return lambda epsilon: search_delta(search, epsilon, neighbors)
    return lambda epsilon: delta_renyi(joined, epsilon, neighbors=neighbors)


def check_numeric_delta(delta: float) -> None:
    """Refuse a delta that the numerical accountant does not resolve."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1; got {delta}.")
    if delta < LEAST_NUMERIC_DELTA:
        raise ValueError(
            f"delta must be at least {LEAST_NUMERIC_DELTA:g} for releases over samples of the rows "
            f"and for objective perturbation, which are accounted numerically; got {delta:g}. Full "
            "batches have no such limit."
        )


@lru_cache(maxsize=8)  # pure; a search asks for epsilon and delta of the same few trials
def _loss_distribution(joined: tuple[Event, ...], neighbors: Neighbors, cell: float) -> Any:
    """Compose all events into one privacy loss distribution, every loss rounded up to its cell."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld import privacy_loss_distribution as pld

    from veilspan.privacy.objective import loss_masses

    relation = {
        "add-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace-one": NeighboringRelation.REPLACE_ONE,
    }[neighbors]
    total = pld.identity(value_discretization_interval=cell)
    mu = gaussian_mu(joined)
    if mu > 0:
        # The multiplier already holds the sensitivity under the relation: means 0 and 1.
        total = total.compose(
            pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=cell)
        )
    for event in joined:
        if isinstance(event, SampledGaussianEvent):
            one = pld.from_gaussian_mechanism(
                event.noise_multiplier,
                sampling_prob=event.sampling_rate,
                value_discretization_interval=cell,
                neighboring_relation=relation,
            )
            total = total.compose(one.self_compose(event.count))
        elif isinstance(event, ObjectiveEvent):
            one = pld.PrivacyLossDistribution(
                *(
                    pld_pmf.DensePLDPmf(cell, 0, masses, infinite, pessimistic_estimate=True)
                    for masses, infinite in loss_masses(event, neighbors, cell)
                )
            )
            for _ in range(event.count):
                total = total.compose(one)
    return total
