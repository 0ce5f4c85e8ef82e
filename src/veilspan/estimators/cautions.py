"""What a fit says of its promise before it runs: a refusal, or warnings. All of it is public."""

from __future__ import annotations

import warnings
from typing import Any

from veilspan.privacy.accounting import gaussian_only
from veilspan.privacy.errors import LoudNoiseWarning, NotPrivateWarning, WeakGuaranteeWarning
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan
from veilspan.privacy.strength import (
    ALARMING,
    find_even_odds,
    is_delta_weak,
    refuse_weak_delta,
    say_attacker,
    say_weak_delta,
)


def known_people(estimator: Any, plan: Plan) -> int | None:
    """How many people there are: what is public of it, or a public guess; None if nobody said.

    Under add-remove their number is private, and is never what this returns.
    """
    schema = getattr(estimator, "schema", None)
    if plan.neighbors == "replace-one":
        count = None if schema is None else schema.count
        return plan.n_rows if count is None else int(count)
    guess = None if schema is None else schema.expected
    guess = getattr(estimator, "expected_rows", None) if guess is None else guess
    return None if guess is None else int(guess)


def refuse_weak(estimator: Any, plan: Plan) -> None:
    """Refuse a delta of 1/n or more, before anything is charged, unless it is allowed."""
    if plan.budget.is_private and not _is_allowed(estimator):
        refuse_weak_delta(plan.budget.delta, known_people(estimator, plan))


def warn_of_fit(estimator: Any, plan: Plan, source: NoiseSource, loud: str | None) -> None:
    """Warn of noise that drowns, of a seed, and of a promise that is weak."""
    budget = plan.budget
    if not budget.is_private:
        return
    if loud is not None:
        warnings.warn(loud, LoudNoiseWarning, stacklevel=4)
    if not source.secure:
        warnings.warn(
            "random_state is an int, so this is a simulation: whoever knows the seed can take the "
            "noise off again. Use random_state=None for a private release.",
            NotPrivateWarning,
            stacklevel=4,
        )
    people = known_people(estimator, plan)
    if is_delta_weak(budget.delta, people):
        weak = f"{say_weak_delta(budget.delta, people)} Choose delta far below 1/n."
        warnings.warn(weak, WeakGuaranteeWarning, stacklevel=4)
    if budget.epsilon > ALARMING and not _is_allowed(estimator):
        mu = budget.mu if plan.adaptive or gaussian_only(plan.events) else None
        odds = find_even_odds(budget.epsilon, budget.delta, mu)
        warnings.warn(
            f"epsilon = {budget.epsilon:g} is above {ALARMING:g}: hardly a promise. "
            f"{say_attacker(odds)}",
            WeakGuaranteeWarning,
            stacklevel=4,
        )


def _is_allowed(estimator: Any) -> bool:
    return bool(getattr(estimator, "allow_weak", False))
