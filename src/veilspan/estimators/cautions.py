"""What a fit says of its promise before it runs: a refusal, or warnings. All of it is public."""

from __future__ import annotations

from typing import Any

from veilspan.privacy.accounting import gaussian_only
from veilspan.privacy.errors import (
    LoudNoiseWarning,
    NotPrivateWarning,
    WeakGuaranteeError,
    WeakGuaranteeWarning,
)
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan
from veilspan.privacy.strength import (
    ALARMING,
    find_even_odds,
    is_delta_weak,
    say_attacker,
    say_weak_delta,
)

#: A warning that is still to be given: its kind, and what it says.
Caution = tuple[type[UserWarning], str]

SEEDED = (
    "random_state is an int, so this is a simulation: whoever knows the seed can take the noise "
    "off again. Use random_state=None for a private release."
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


def refuse_weak(estimator: Any, plan: Plan) -> bool:
    """Refuse a delta of 1/n or more, before anything is charged, unless it is allowed.

    Returns whether it is one that was allowed.
    """
    budget, people = plan.budget, known_people(estimator, plan)
    weak = budget.is_private and is_delta_weak(budget.delta, people)
    if weak and not _is_allowed(estimator):
        raise WeakGuaranteeError(say_weak_delta(budget.delta, people))
    return weak


def weigh_promise(
    estimator: Any, plan: Plan, source: NoiseSource, loud: str | None
) -> tuple[Caution, ...]:
    """Refuse a promise that is too weak, and return the warnings that a fit owes its user.

    They speak of noise that drowns, of a seed, and of a promise that is weak.
    """
    weak = refuse_weak(estimator, plan)
    budget = plan.budget
    if not budget.is_private:
        return ()
    found: list[Caution] = []
    if loud is not None:
        found.append((LoudNoiseWarning, loud))
    if not source.secure:
        found.append((NotPrivateWarning, SEEDED))
    if weak:
        said = say_weak_delta(budget.delta, known_people(estimator, plan))
        found.append((WeakGuaranteeWarning, f"{said} Choose delta far below 1/n."))
    if budget.epsilon > ALARMING and not _is_allowed(estimator):
        mu = budget.mu if plan.adaptive or gaussian_only(plan.events) else None
        odds = find_even_odds(budget.epsilon, budget.delta, mu)
        said = f"epsilon = {budget.epsilon:g} is above {ALARMING:g}: hardly a promise."
        found.append((WeakGuaranteeWarning, f"{said} {say_attacker(odds)}"))
    return tuple(found)


def _is_allowed(estimator: Any) -> bool:
    return bool(getattr(estimator, "allow_weak", False))
