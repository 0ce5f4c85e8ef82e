"""A plan: what a fit is going to ask, decided from public facts before any row is read.

A plan that costs more than its budget does not exist: its constructor accounts the events and
refuses (:func:`veilspan.privacy.accounting.fits_budget`). Recorded plans are built by the same
constructor. So whoever holds a plan, a curator or a ledger say, need not ask whether it adds up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veilspan._notebook import draw_card
from veilspan.privacy import gdp
from veilspan.privacy.accounting import epsilon_spent, fits_budget, gaussian_mu, gaussian_only
from veilspan.privacy.budget import LEAST_EPSILON, Budget
from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.events import (
    Event,
    ObjectiveEvent,
    SearchEvent,
    event_from_dict,
    event_to_dict,
)
from veilspan.privacy.neighbors import RELATIONS, Neighbors, check_neighbors
from veilspan.privacy.schema_record import SchemaRecord
from veilspan.privacy.strength import ALARMING, find_even_odds, say_attacker

#: Most events of a plan that is read from a file: each is accounted by itself, so that a
#: long list would keep its reader busy. Plans that we make have a handful.
MOST_EVENTS = 512


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The questions of one fit and what they cost.

    Parameters
    ----------
    method : str
        Who asks, e.g. ``"PCA"``.
    budget : Budget
        What may be spent.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    n_rows : int or None
        The public number of rows; ``None`` under add-remove, where it is private.
    n_features : int
        The public number of columns.
    events : tuple of events
        The schedule. Names are unique: a solver asks by name and gets this much noise. Together
        they cost no more than the budget, else ``BudgetExceededError``; at an infinite epsilon
        anything goes.
    adaptive : bool
        Whether the solver chooses its full-batch releases as it goes, under the filter
        sum mu_k^2 <= mu^2 (valid for adaptively chosen mu_k; Smith & Thakurta 2022). ``events`` are
        then those that are certain beforehand, and the rest of the budget is the solver's.
    decisions : mapping
        Public choices worth showing (steps, scales, shares).
    schema : SchemaRecord or None
        By which the table is going to be read, if by one.
    """

    method: str
    budget: Budget
    neighbors: Neighbors
    n_rows: int | None
    n_features: int
    events: tuple[Event, ...] = ()
    adaptive: bool = False
    decisions: Mapping[str, Any] = field(default_factory=dict)
    schema: SchemaRecord | None = None

    def __post_init__(self) -> None:
        names = [event.name for event in self.events]
        if len(set(names)) != len(names):
            raise ValueError(
                "two events of a plan share a name: a solver asks by name, so give each its own."
            )
        if self.neighbors not in RELATIONS:
            check_neighbors(self.neighbors)
        if not fits_budget(tuple(self.events), self.budget, self.neighbors):
            raise BudgetExceededError(_explain_overspending(self))

    @property
    def epsilon(self) -> float:
        """Epsilon that the fit guarantees at the budget's delta.

        Never above the budget's, which the constructor has checked by itself, and never below the
        least that a budget can have: events that cost less than delta alone would make it 0.
        """
        if self.adaptive or not self.budget.is_private:
            return self.budget.epsilon
        spent = epsilon_spent(self.events, self.budget.delta, neighbors=self.neighbors)
        return min(max(spent, LEAST_EPSILON), self.budget.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description (an infinite epsilon is the string ``"inf"``)."""
        epsilon = self.budget.epsilon
        return {
            "method": self.method,
            "epsilon": epsilon if math.isfinite(epsilon) else "inf",
            "delta": self.budget.delta,
            "neighbors": self.neighbors,
            "n_rows": self.n_rows,
            "n_features": self.n_features,
            "adaptive": self.adaptive,
            "events": [event_to_dict(event) for event in self.events],
            "decisions": dict(self.decisions),
            # Left out if there is none: such a plan is the same request as before schemas.
            **({} if self.schema is None else {"schema": self.schema.to_dict()}),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Plan:
        """Rebuild a plan from :meth:`to_dict`; refused if its events cost more than its budget."""
        fields = dict(record)
        if len(fields["events"]) > MOST_EVENTS:
            raise ValueError(f"a recorded plan has at most {MOST_EVENTS} events.")
        epsilon = fields.pop("epsilon")
        if isinstance(epsilon, float) and math.isinf(epsilon):
            raise ValueError('an infinite epsilon is recorded as "inf", not as a number.')
        fields["budget"] = Budget(math.inf if epsilon == "inf" else epsilon, fields.pop("delta"))
        fields["events"] = tuple(event_from_dict(event) for event in fields["events"])
        if fields.get("schema") is not None:
            fields["schema"] = SchemaRecord.from_dict(fields["schema"])
        return cls(**fields)

    def asks_the_same_as(self, other: Plan) -> bool:
        """Whether two plans ask the same questions of the same table, whatever their noise."""

        def form(plan: Plan) -> tuple[Any, ...]:
            asked = [(type(e), e.name, e.count, e.sampling_rate) for e in plan.events]
            return (plan.method, plan.neighbors, plan.n_rows, plan.n_features, plan.adaptive, asked)

        return form(self) == form(other)

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {line}" for line in self._lines())])

    def _repr_html_(self) -> str:
        return draw_card(self._title(), [("asks", self._lines())])

    def _title(self) -> str:
        rows = "private number of" if self.n_rows is None else f"{self.n_rows:,}"
        return (
            f"Plan for {self.method}: {rows} rows x {self.n_features:,} columns, "
            f"epsilon = {self.budget.epsilon:g}, delta = {self.budget.delta:g}, {self.neighbors}"
        )

    def _lines(self) -> list[str]:
        lines = []
        if self.schema is not None:
            lines.append(f"schema: {self.schema.describe(short=True)}")
        lines += event_lines(self.events)
        if self.adaptive:
            what = "the rest of its budget" if self.events else "its budget"
            lines.append(f"(the solver spends {what} as it goes, and never more)")
        lines += [f"{name}: {value}" for name, value in self.decisions.items()]
        budget = self.budget
        if budget.is_private and budget.epsilon > ALARMING:
            mu = budget.mu if self.adaptive or gaussian_only(self.events) else None
            odds = find_even_odds(budget.epsilon, budget.delta, mu)
            lines.append(f"WEAK: {say_attacker(odds)}")
        return lines


@dataclass(frozen=True, kw_only=True)
class PlanPart:
    """What one of a fit's solvers reads of its plan.

    Not a plan: where a fit has several solvers, their events were calibrated together, and the cost
    of one's events may lie a little on either side of its part. The whole plan covers them, and
    its meter is the one that counts.

    Attributes
    ----------
    budget : Budget
        What the solver decides by.
    neighbors, n_rows, n_features : str, int or None, int
        As in the plan; columns are those after the map of an earlier stage.
    events : tuple of events
        The solver's own.
    adaptive : bool
        As in the plan.
    """

    budget: Budget
    neighbors: Neighbors
    n_rows: int | None
    n_features: int
    events: tuple[Event, ...] = ()
    adaptive: bool = False


def _explain_overspending(plan: Plan) -> str:
    """Say why there is no such plan; all that is said is public."""
    budget = plan.budget
    said = f"epsilon = {budget.epsilon:g} at delta = {budget.delta:g} ({plan.neighbors})"
    if any(event.noise_multiplier == 0 and event.count for event in plan.events):
        return (
            f"the plan of {plan.method} has a release without noise, which costs more than its "
            f"budget of {said} and any other. Calibrate the noise, or plan for epsilon = inf."
        )
    spent, exactly = gdp.epsilon_of(gaussian_mu(plan.events), budget.delta), "at least "
    if spent <= budget.epsilon or gaussian_only(plan.events):
        spent, exactly = epsilon_spent(plan.events, budget.delta, neighbors=plan.neighbors), ""
    return (
        f"the plan of {plan.method} costs {exactly}epsilon = {spent:.6g}, more than its budget of "
        f"{said}. Use calibrate_noise to set the noise."
    )


def describe_law(event: SearchEvent) -> str:
    """Say how many trials a search has on average, and by which law."""
    from veilspan.privacy.random_search import mean_trials

    law = "geometric" if event.eta == 1 else f"negative binomial, eta {event.eta:g}"
    return f"{mean_trials(event.eta, event.gamma):.4g} on average, {law}"


def event_lines(events: tuple[Event, ...]) -> list[str]:
    """Return one line of text per event, with the names padded to one width."""
    width = max((len(event.name) for event in events), default=0)
    lines = []
    for event in events:
        noise = f"noise multiplier {event.noise_multiplier:.4g}" if event.noise_multiplier else ""
        extra = f", sampling rate {event.sampling_rate:g}" if event.sampling_rate < 1 else ""
        if isinstance(event, ObjectiveEvent):
            extra = f", lam {event.lam:.4g}, clip {event.clip:.4g}, {event.shape} loss"
        if isinstance(event, SearchEvent):
            extra = f" or more in each of a secret number of trials ({describe_law(event)})"
        lines.append(
            f"{event.name:<{width}}  {event.count} x {event.mechanism}, "
            f"{noise or 'no noise'}{extra}"
        )
    return lines
