"""What a report is about: a statement, and what was released with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import PrivacyStatement, Verification, write_epsilon
from veilspan.privacy.strength import Strength, grade_promise
from veilspan.reports.numbers import number
from veilspan.reports.promise import Promise, promise_of


@dataclass(frozen=True)
class Subject:
    """A release with its statement. All of it is public: nothing here has seen a row.

    Attributes
    ----------
    source : object
        The fitted estimator, or the statement itself.
    statement : PrivacyStatement
        What was promised.
    plan : Plan or None
        What was asked, if it is known.
    """

    source: Any
    statement: PrivacyStatement
    plan: Plan | None

    @cached_property
    def promise(self) -> Promise | None:
        """The curve behind the statement; None without noise."""
        return promise_of(self.statement)

    @cached_property
    def verification(self) -> Verification | None:
        """The events accounted anew; None where nothing was promised."""
        return self.statement.verify() if self.promise is not None else None

    @cached_property
    def strength(self) -> Strength:
        """How strong the promise is: by the statement, and the plan's rows where it says none."""
        statement, plan = self.statement, self.plan
        if not statement.private:
            return statement.strength
        people = statement.population
        if people is None and plan is not None:
            people = plan.n_rows
        odds = None if self.promise is None else self.promise.even_odds
        return grade_promise(statement.epsilon, statement.delta, people, odds=odds)

    @property
    def epsilon(self) -> str:
        """Epsilon as it was asked for, with the exact figure in brackets."""
        asked = self.statement.asked
        if asked is None and self.plan is not None:
            asked = self.plan.budget.epsilon
        return write_epsilon(self.statement.epsilon, asked, lambda value: number(value, 6))

    def names(self, count: int) -> list[str]:
        """Names of the columns, or x0, x1, ..."""
        known = getattr(self.source, "feature_names_in_", None)
        if known is not None and len(known) == count:
            return [str(name) for name in known]
        return [f"x{i}" for i in range(count)]


def subject_of(source: Any) -> Subject:
    """Find the statement of a fitted estimator, of a result of ``minimize``, or a bare one."""
    if isinstance(source, PrivacyStatement):
        return Subject(source, source, None)
    for statement, plan in (("privacy_", "plan_"), ("privacy", "plan")):
        found = getattr(source, statement, None)
        if isinstance(found, PrivacyStatement):
            asked = getattr(source, plan, None)
            return Subject(source, found, asked if isinstance(asked, Plan) else None)
    name = type(source).__name__
    if hasattr(source, "fit") and getattr(source, "epsilon", 0) is None:
        raise ValueError(
            f"{name} with epsilon=None makes no promise, and what it learned depends on single "
            "rows: there is no release to report. Give epsilon."
        )
    if hasattr(source, "fit"):
        raise ValueError(f"this {name} has released nothing yet: call fit, then report.")
    raise TypeError(f"a report is about a fitted estimator or a statement; got {name}.")


def plain_repr(value: Any) -> str:
    """A value as code, the same on every run: short arrays, no addresses in memory."""
    with np.printoptions(threshold=12, edgeitems=3, precision=6):
        text = repr(as_saved(value))
    # Scalars of NumPy within objects print their type, and come back from the disk without it.
    text = re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", text)
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def as_saved(value: Any) -> Any:
    """The value as it comes back from a saved release: scalars of NumPy are Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(as_saved(item) for item in value)
    if type(value) is dict:
        return {as_saved(key): as_saved(item) for key, item in value.items()}
    return value


def top(sizes: Sequence[float] | np.ndarray, most: int) -> list[int]:
    """Places of the largest sizes, largest first; of equal ones the first."""
    order = np.argsort(-np.asarray(sizes, dtype=float), kind="stable")
    return [int(i) for i in order[:most]]
