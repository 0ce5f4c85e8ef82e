"""Fits of one family of copies are counted, also without a ledger.

scikit-learn's ``GridSearchCV``, ``cross_val_score`` and the like copy an estimator by ``clone`` and
fit the copies. Each fit states its own epsilon, and together they spend more. A ledger adds them
up; without one, this process remembers the fits of an estimator and of all its clones, and says
what they come to *if they read the same people*, which it cannot know.

What is missed: fits in other processes (``n_jobs`` with processes hands over pickles, and a pickle
belongs to no family), copies that were not made by ``clone``, and whatever ran before a restart. A
ledger misses none of it.

Only what a plan says is remembered, nothing of rows. Simulations and fits without noise are not
counted: they promise nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from veilspan.curator.tape import CURRENT_TAPE
from veilspan.privacy.accounting import epsilon_spent, gaussian_only
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan
from veilspan.privacy.renyi import epsilon_renyi
from veilspan.privacy.statement import PrivacyStatement

#: Most fits of one family that are added up; beyond, it is only said that there are more.
MOST_FITS = 1000


@dataclass(eq=False)
class Family:
    """What the fits of an estimator and its clones have spent in this process."""

    fits: int = 0
    spent: list[tuple[Event, ...]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)


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
    family = family_of(estimator)
    events = _events_of(plan)
    with family.lock:
        family.fits += 1
        if len(family.spent) < MOST_FITS:
            family.spent.append(events)
        fits, spent = family.fits, list(family.spent)
    if fits < 2:
        return Repeated()
    epsilon = _epsilon_of(spent, plan.budget.delta, plan.neighbors)
    more = "more than " if fits > MOST_FITS else ""
    return Repeated(
        fits,
        f"{fits:,} fits of {type(estimator).__name__} and its clones so far in this process; if "
        f"they read the same people, together they spend {more}epsilon = {epsilon:.4g} at delta = "
        f"{plan.budget.delta:g}, not {plan.budget.epsilon:g} (other processes are not counted; a "
        "ledger counts them all)",
    )


def _events_of(plan: Plan) -> tuple[Event, ...]:
    """What a plan costs, as events; one that is spent as it goes counts whole."""
    if plan.adaptive:
        return (GaussianEvent("all of it", 1 / plan.budget.mu),)
    return plan.events


def _epsilon_of(spent: Sequence[tuple[Event, ...]], delta: float, neighbors: Neighbors) -> float:
    """Epsilon of all fits together: exact for Gaussian ones, else by Rényi orders.

    Both stay true where later fits were chosen by what earlier ones released.
    """
    events = [event for fit in spent for event in fit]
    if gaussian_only(events):
        return epsilon_spent(events, delta, neighbors=neighbors)
    return epsilon_renyi(events, delta, neighbors=neighbors)
