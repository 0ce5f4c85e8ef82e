r"""What a search costs, planned from public facts: its law, the budget of a trial, its events.

Two ways to choose among k candidates, at one total budget:

* *random*: the best of a random number of trials, each with a candidate drawn at random
  (:mod:`veilspan.privacy.random_search`). What a trial may spend falls slowly with k.
* *joint*: every candidate once, all of them and their scores composed. A trial has mu / sqrt(k).

Both are public numbers, so the plan may compare them: it takes the way with the larger
(mu of a trial) x (chance that a given candidate is tried), which is joint up to three candidates.

**The law of the number of trials** is geometric (eta = 1): among eta from -0.5 to 4, at the same
chance of being tried, for 3 to 30 candidates, epsilon 1 and 3 and chances from 0.6 to 0.9, no other
eta gave a trial more than 2 % more of mu, and it is the one that is drawn exactly by coins.
A given one of k candidates is tried with probability p if gamma = (1 - p) / (p (k - 1)), which
makes p (k - 1) / (1 - p) trials on average.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.events import Event, GaussianEvent, SearchEvent, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import MOST_EVENTS, Plan
from veilspan.privacy.random_search import mean_trials
from veilspan.solvers.linear.selection import suffix_of

ETA = 1.0
SEARCH = "search"
#: Rounds in which the noise of the trials is brought to the total; Gaussian trials need one.
MOST_ROUNDS = 8
#: A plan that spends this much of epsilon is near enough.
CLOSE = 0.98
#: There is always one trial: at this gamma a second one is rare, and no law has fewer.
MOST_GAMMA = 0.99

#: From a trial's budget to what each candidate's trial is.
Planner = Callable[[Budget], list[Any]]


@dataclass(frozen=True)
class Trial:
    """A candidate that is ready to be tried.

    Attributes
    ----------
    params : dict
        What it sets.
    model : estimator
        With these and the trial's budget.
    plan, prepared : Plan, Scored
        What a trial asks, its score included, and who asks.
    """

    params: dict[str, Any]
    model: Any
    plan: Plan
    prepared: Any


@dataclass(frozen=True)
class SearchPlan:
    """A planned search.

    Attributes
    ----------
    trials : tuple of Trial
        One for each candidate.
    plan : Plan
        Of the whole.
    gamma : float or None
        Of the law of the number of trials; None if every candidate is tried once.
    """

    trials: tuple[Trial, ...]
    plan: Plan
    gamma: float | None


def plan_search(
    prepare: Planner,
    candidates: int,
    budget: Budget,
    neighbors: Neighbors,
    method: str,
    tried: float,
    name: str,
) -> SearchPlan:
    """Choose the way, and find the largest budget of a trial with which the whole keeps its own.

    Parameters
    ----------
    prepare : callable
        All candidates' trials at a trial's budget.
    candidates : int
        Their number k.
    budget : Budget
        Of the whole search.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    method : {"auto", "random", "joint"}
        The way, or that it is to be chosen.
    tried : float
        Chance that a given candidate is tried.
    name : str
        What the plan calls the search.
    """
    gamma = None
    if candidates > 1 and method != "joint":
        gamma = min(MOST_GAMMA, (1 - tried) / (tried * (candidates - 1)))
        tried = _chance_of(gamma, candidates)
    if method == "auto" and gamma is not None and _joint_pays(budget, gamma, candidates, tried):
        gamma = None
    mu = _first_mu(budget, gamma, candidates, neighbors)
    part = Budget.of_mu(mu, budget.delta) if budget.is_private else budget
    trials = _scale(prepare(part), gamma, budget, neighbors) if budget.is_private else prepare(part)
    events = _events(trials, gamma)
    first = trials[0].plan
    decisions = _describe(len(trials), gamma, tried, part, budget)
    plan = replace(
        first, method=name, budget=budget, events=events, adaptive=False, decisions=decisions
    )
    return SearchPlan(tuple(trials), plan, gamma)


def _scale(
    trials: list[Trial], gamma: float | None, budget: Budget, neighbors: Neighbors
) -> list[Trial]:
    """The trials with all their noise times one factor, by which the whole just keeps its budget.

    Gaussian trials do so at once. The logarithm of epsilon falls about as that of the noise rises,
    more slowly where a tilted objective's curvature has its part.
    """
    factor, slope, before, good = 1.0, -1.0, None, None
    for _ in range(MOST_ROUNDS):
        scaled = [_with_noise(trial, factor) for trial in trials] if factor != 1 else trials
        spent = epsilon_spent(_events(scaled, gamma), budget.delta, neighbors=neighbors)
        if spent <= budget.epsilon:
            good = scaled
            if spent >= CLOSE * budget.epsilon:
                break
        elif good is not None:
            break
        now = math.log(factor), math.log(max(spent, LEAST_EPSILON))
        if before is not None and now[0] != before[0]:
            slope = min(max((now[1] - before[1]) / (now[0] - before[0]), -2.0), -0.2)
        aim = math.log(budget.epsilon * (1 + CLOSE) / 2)
        before, factor = now, math.exp(now[0] + (aim - now[1]) / slope)
    if good is None:
        raise ValueError(
            f"no noise was found with which a search of these candidates keeps epsilon = "
            f"{budget.epsilon:g}: use fewer candidates, another solver, or a larger epsilon."
        )
    return good


def _with_noise(trial: Trial, factor: float) -> Trial:
    events = tuple(with_noise(e, e.noise_multiplier * factor) for e in trial.plan.events)
    plan = replace(trial.plan, events=events)
    return replace(trial, plan=plan, prepared=trial.prepared.with_events(events))


def _chance_of(gamma: float, candidates: int) -> float:
    """Chance that a given one of k candidates is tried; above 1/k, since there is a first trial.

    It is missed by N trials with chance s^N, s = 1 - 1/k, and for N geometric from 1 on
    E s^N = gamma s / (1 - (1 - gamma) s).
    """
    missed = 1 - 1 / candidates
    return 1 - gamma * missed / (1 - (1 - gamma) * missed)


def _joint_pays(budget: Budget, gamma: float, candidates: int, tried: float) -> bool:
    """Whether trying every candidate once leaves a trial more, chances counted."""
    if not budget.is_private:
        return candidates <= 3
    random = _random_mu(budget, gamma, "replace-one")
    return budget.mu / math.sqrt(candidates) >= tried * random


def _first_mu(budget: Budget, gamma: float | None, candidates: int, neighbors: Neighbors) -> float:
    """Mu of a trial if all its events were Gaussian: exact for those, a start for others."""
    if not budget.is_private:
        return math.inf
    if gamma is None:
        return budget.mu / math.sqrt(candidates) * (1 - 1e-9)
    return _random_mu(budget, gamma, neighbors)


def _random_mu(budget: Budget, gamma: float, neighbors: Neighbors) -> float:
    """Largest mu of a trial of a random search, by halving its logarithm's interval."""
    low, high = math.log(budget.mu) - 12.0, math.log(budget.mu)
    for _ in range(40):
        middle = (low + high) / 2
        trial = (GaussianEvent(SEARCH, math.exp(-middle)),)
        event = SearchEvent(name=SEARCH, trials=(trial,), eta=ETA, gamma=gamma)
        spent = epsilon_spent((event,), budget.delta, neighbors=neighbors)
        low, high = (middle, high) if spent <= budget.epsilon else (low, middle)
    return math.exp(low) * (1 - 1e-9)


def _events(trials: list[Any], gamma: float | None) -> tuple[Event, ...]:
    """What the whole asks: one search, or every candidate's events under names of their own."""
    if gamma is not None:
        kinds: Any = tuple(dict.fromkeys(trial.plan.events for trial in trials))
        return (SearchEvent(name=SEARCH, trials=kinds, eta=ETA, gamma=gamma),)
    events = tuple(
        replace(event, name=event.name + suffix_of(number))
        for number, trial in enumerate(trials)
        for event in trial.plan.events
    )
    if len(events) > MOST_EVENTS:
        raise ValueError(
            f"method='joint' would ask {len(events)} questions, more than {MOST_EVENTS}: use fewer "
            "candidates, or method='random'."
        )
    return events


def _describe(
    candidates: int, gamma: float | None, tried: float, part: Budget, budget: Budget
) -> dict[str, Any]:
    """Public choices worth showing: the way, the numbers behind it, and the budget of a trial."""
    shown: dict[str, Any] = {"candidates": candidates}
    if gamma is None:
        shown["search"] = "joint: every candidate is tried once, and all of it is paid for"
    else:
        mean = mean_trials(ETA, gamma)
        shown["search"] = f"random: the best of a secret number of trials, {mean:.4g} on average"
        shown["chance that a candidate is tried"] = round(tried, 4)
    if budget.is_private:
        shown["budget of a trial"] = f"epsilon = {part.epsilon:.4g} at delta = {part.delta:g}"
        shown["mu of a trial over that of one fit"] = round(part.mu / budget.mu, 4)
    return shown
