"""Fits of one family of copies are counted, also without a ledger.

scikit-learn's ``GridSearchCV``, ``cross_val_score`` and the like copy an estimator by ``clone`` and
fit the copies. Each fit states its own epsilon, and together they spend more. A ledger adds them
up; without one, this process remembers the fits of an estimator and of all its clones, and says
what they come to *if they read the same people*, which it cannot know.

What is missed: fits in other processes (``n_jobs`` with processes hands over pickles, and a pickle
belongs to no family), copies that were not made by ``clone``, and whatever ran before a restart. A
ledger misses none of it.

**Fits under different relations** are added under replace-one. Exchanging a row is adding one and
removing another, two steps of add-remove. So a mechanism whose trade-off function is that of mu
under add-remove has that of 2 mu under replace-one (group privacy: Dong, Roth & Su 2022, Theorem
2.14), and the noise multiplier of a Gaussian event is halved. The multipliers of sampled and
objective events are relative to what a single row adds, whatever the relation, so that the
accountant has their cost under replace-one from the event itself; a search costs what its trials
do. The other way there is nothing to add: under replace-one the number of rows is public, which
promises nothing under add-remove.

**Fits for different units** (rows here, patients there) are never added: how many rows a patient
has is not known here. Those of the last fit's unit are, and the others are named beside them.

Only what a plan says is remembered, nothing of rows. Simulations and fits without noise are not
counted: they promise nothing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from veilspan.curator.tape import CURRENT_TAPE
from veilspan.ledger.records import ROW
from veilspan.privacy.accounting import epsilon_spent, gaussian_mu, gaussian_only
from veilspan.privacy.events import Event, GaussianEvent, SearchEvent, merge, with_noise
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan
from veilspan.privacy.renyi import epsilon_renyi
from veilspan.privacy.schema_record import names_rows
from veilspan.privacy.statement import PrivacyStatement

#: Most fits of one family that are added up; beyond, it is only said that there are more.
MOST_FITS = 1000


@dataclass(frozen=True)
class Spent:
    """What fits under one relation, for one unit, have spent.

    Full-batch Gaussian events compose to one, so the sum of their mu^2 is kept; equal ones of
    other kinds are joined.
    """

    fits: int
    mu_squared: float
    others: tuple[Event, ...]
    neighbors: Neighbors
    unit: str


@dataclass(eq=False)
class Family:
    """What the fits of an estimator and its clones have spent in this process.

    Fits are joined as they come, by relation and unit: a list of them all would be walked at every
    fit, and the hundredth would take longer to count than to run.
    """

    fits: int = 0
    first: tuple[Plan, str] | None = None
    spent: dict[tuple[Neighbors, str], Spent] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)

    def add(self, plan: Plan, unit: str) -> None:
        """Count one more fit, and what it spends unless too many are added up already."""
        self.fits += 1
        if self.fits > MOST_FITS:
            return
        if self.fits == 1:  # most are fitted once: nothing is added up before a second fit
            self.first = plan, unit
            return
        if self.first is not None:
            self._join(*self.first)
            self.first = None
        self._join(plan, unit)

    def _join(self, plan: Plan, unit: str) -> None:
        fits, (mu_squared, others) = 1, _cost_of(plan)
        before = self.spent.get((plan.neighbors, unit))
        if before is not None:
            fits, mu_squared = before.fits + 1, before.mu_squared + mu_squared
            others = merge((*before.others, *others)) if others else before.others
        self.spent[plan.neighbors, unit] = Spent(fits, mu_squared, others, plan.neighbors, unit)


_FAMILIES: WeakKeyDictionary[Any, Family] = WeakKeyDictionary()


def join_family(copy: Any, original: Any) -> None:
    """Let a clone belong to the family of what it was cloned from.

    The family is kept beside the estimators, not in them: their attributes, pickles and comparisons
    stay those of their parameters.
    """
    family = family_of(original)
    if type(copy).__hash__ is not None:
        _FAMILIES[copy] = family


def family_of(estimator: Any) -> Family:
    """The family of an estimator; a new one if nobody has asked before.

    One that is compared by its values, so that it has no hash, is always alone.
    """
    if type(estimator).__hash__ is None:
        return Family()
    return _FAMILIES.setdefault(estimator, Family())


@dataclass(frozen=True)
class Repeated:
    """How often a family was fitted, this fit included, and what is to be said of it."""

    fits: int = 1
    text: str = ""

    @property
    def is_told(self) -> bool:
        """Whether to warn: at the second fit, the fourth, the eighth, and so on."""
        return bool(self.text) and self.fits & (self.fits - 1) == 0

    def note_on(self, statement: PrivacyStatement) -> PrivacyStatement:
        """The statement with what is to be said, if anything."""
        if not self.text:
            return statement
        return replace(statement, assumptions=(*statement.assumptions, self.text))


def count_fit(estimator: Any, plan: Plan, source: NoiseSource) -> Repeated:
    """Count a fit that no ledger counts, and say what all of its family come to together."""
    if not (plan.budget.is_private and source.secure and CURRENT_TAPE.get() is None):
        return Repeated()
    family, unit = family_of(estimator), protected_by(estimator)
    with family.lock:
        family.add(plan, unit)
        fits, spent = family.fits, list(family.spent.values())
    if fits < 2:
        return Repeated()
    return Repeated(fits, _say_together(type(estimator).__name__, fits, spent, plan, unit))


def protected_by(estimator: Any) -> str:
    """What one unit of the fit is called: as the schema says, or as the estimator's kind has it."""
    schema = getattr(estimator, "schema", None)
    if schema is not None and not names_rows(schema):
        return str(schema.protects)
    return str(getattr(estimator, "_protects", ROW))


def _say_together(name: str, fits: int, spent: Sequence[Spent], plan: Plan, unit: str) -> str:
    """What all fits of a family come to, for the last one's unit."""
    told = f"{fits:,} fits of {name} and its clones so far in this process"
    same = [one for one in spent if one.unit == unit]
    alike, apart = sum(one.fits for one in same), ""
    if len(same) < len(spent):
        others = ", ".join(sorted({repr(one.unit) for one in spent} - {repr(unit)}))
        told += f", {alike:,} of them for the unit {unit!r}"
        apart = f"; fits for other units ({others}) are not in it and come on top"
    ending = f"{apart} (other processes are not counted; a ledger counts them all)"
    if alike == 1:
        return f"{told}, this one{ending}"
    mixed = ""
    if len(same) > 1:
        mixed = " under replace-one, where fits under add-remove count for two steps,"
    epsilon = _epsilon_of(same, plan.budget.delta)
    more = "more than " if fits > MOST_FITS else ""
    return (
        f"{told}; if they read the same people, together they spend{mixed} {more}epsilon = "
        f"{epsilon:.4g} at delta = {plan.budget.delta:g}, not {plan.budget.epsilon:g}{ending}"
    )


def _cost_of(plan: Plan) -> tuple[float, tuple[Event, ...]]:
    """What a plan costs: mu^2 of its Gaussian events, and the others.

    One that is spent as it goes counts whole.
    """
    if plan.adaptive:
        return plan.budget.mu**2, ()
    gaussian = gaussian_mu(plan.events)
    return gaussian**2, tuple(e for e in plan.events if not isinstance(e, GaussianEvent))


def _epsilon_of(spent: Sequence[Spent], delta: float) -> float:
    """Epsilon of all fits together: exact for Gaussian ones, else by Rényi orders.

    Both stay true where later fits were chosen by what earlier ones released.
    """
    relation: Neighbors = "add-remove"
    if any(one.neighbors == "replace-one" for one in spent):
        relation = "replace-one"
    mu_squared = 0.0
    events: list[Event] = []
    for one in spent:
        alike = one.neighbors == relation
        mu_squared += one.mu_squared if alike else 4 * one.mu_squared
        events += one.others if alike else [_for_exchange(event) for event in one.others]
    if mu_squared > 0:
        events.append(GaussianEvent("all of them", 1 / math.sqrt(mu_squared)))
    if gaussian_only(events):
        return epsilon_spent(events, delta, neighbors=relation)
    return epsilon_renyi(events, delta, neighbors=relation)


def _for_exchange(event: Any) -> Any:
    """An event of add-remove as it counts under replace-one; the module says why."""
    if isinstance(event, GaussianEvent):
        return with_noise(event, event.noise_multiplier / 2)
    if isinstance(event, SearchEvent):
        return replace(
            event, trials=tuple(tuple(_for_exchange(e) for e in trial) for trial in event.trials)
        )
    return event
