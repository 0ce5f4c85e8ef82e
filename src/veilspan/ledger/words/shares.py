r"""Shares of a budget, all of them under one rule, so that they add up.

An account counts every charge under several rules at once (:mod:`veilspan.ledger.filters`), and the
share of its budget that is used is another under each. What may still be spent is decided by the
rule with most left. So that rule is the one to show: with units s_1, ..., s_n of the charges and an
allowance A under it,

    used = (s_1 + ... + s_n) / A,      left = 1 - used,

and the share of charge i is s_i / A, whichever rule was ahead when it was made. Which rule is ahead
can change with a charge; shares that somebody noted before are then by another rule, and whoever
shows shares says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veilspan.ledger.filters import Rule
from veilspan.ledger.records import Account


@dataclass(frozen=True)
class Shares:
    """Shares of an account under the rule with most left.

    Attributes
    ----------
    place : int or None
        Which of the account's rules; None if no rule has room for anything, even unspent.
    allowed : int
        Its allowance in units.
    used : float
        Part of the budget that is used, from 0 to 1.
    """

    place: int | None
    allowed: int
    used: float

    @property
    def left(self) -> float:
        """Part of the budget that is left, from 0 to 1."""
        return 1.0 - self.used

    def of(self, costs: Sequence[int]) -> float:
        """Part of the budget that a charge with these costs used, under the same rule."""
        return 0.0 if self.place is None else min(costs[self.place] / self.allowed, 1.0)


def find_leading_rule(allowed: Sequence[int], spent: Sequence[int]) -> int | None:
    """Place of the rule with most left; of equals the first, None if none has any room."""
    used = {i: units / room for i, (room, units) in enumerate(zip(allowed, spent)) if room > 0}
    return min(used, key=used.__getitem__, default=None)


def count_shares(account: Account) -> Shares:
    """Shares of an account as it stands now."""
    place = find_leading_rule(account.allowed, account.spent)
    if place is None:
        return Shares(None, 0, 1.0)
    allowed = account.allowed[place]
    return Shares(place, allowed, min(account.spent[place] / allowed, 1.0))


def add_leader(led: Iterable[int], allowed: Sequence[int], spent: Sequence[int]) -> tuple[int, ...]:
    """Places of the rules that were ahead after some charge, with that after the last one."""
    place = find_leading_rule(allowed, spent) if any(spent) else None
    return tuple(sorted({*led} if place is None else {*led, place}))


def name_rule(rule: Rule) -> str:
    """How a rule counts, in words."""
    if rule.order is None:
        return "exact Gaussian counting"
    return f"Rényi counting at order {rule.order:g}"


def write_share(share: float) -> str:
    """A share in percent with one digit; never a round 0 or 100 that is not quite so.

    Examples
    --------
    >>> write_share(0.1412), write_share(0), write_share(1e-9), write_share(0.99999)
    ('14.1 %', '0 %', 'under 0.1 %', 'over 99.9 %')
    """
    if share <= 0 or share >= 1:
        return "0 %" if share <= 0 else "100 %"
    if share < 0.0005:
        return "under 0.1 %"
    return "over 99.9 %" if share > 0.9995 else f"{100 * share:.1f} %"


def write_shares(parts: Sequence[float]) -> list[str]:
    """Shares that make up a whole, each in percent, rounded such that the figures add up too.

    Examples
    --------
    >>> write_shares([0.33333, 0.33333, 0.33334])
    ['33.3 %', '33.3 %', '33.4 %']
    """
    return _write_parts(parts, round(1000 * math.fsum(parts)))


def write_used(shares: Shares, parts: Sequence[float]) -> list[str]:
    """Parts of what is used, such that their figures add up to its own."""
    return _write_parts(parts, math.floor(1000 * shares.used + 0.5))


def _write_parts(parts: Sequence[float], total: int) -> list[str]:
    """Round to tenths of a percent that add up to a total: the largest remainders go up."""
    tenths = [1000 * part for part in parts]
    floors = [math.floor(value) for value in tenths]
    order = sorted(range(len(parts)), key=lambda i: floors[i] - tenths[i])
    for i in order[: max(total - sum(floors), 0)]:
        floors[i] += 1
    return [_write_tenths(count, part) for count, part in zip(floors, parts)]


def _write_tenths(tenths: int, share: float) -> str:
    if share <= 0 or share >= 1 or 0 < tenths < 1000:
        return write_share(tenths / 1000 if 0 < tenths < 1000 else share)
    return "under 0.1 %" if tenths <= 0 else "over 99.9 %"
