r"""From the kept rows of people to encoded units: one row a person, or slots.

*Length.* A unit is as short as a row. Encoded rows lie in a convex set K that contains zero: every
entry within its bounds, the columns of 0 and 1 of a group adding up to at most 1, so the length is
at most ``schema.row_norm``. A mean of rows of K is in K; so is their sum over ``max_rows``, which
is a mean with rows of zeros; ``first``, ``last`` and the slots of ``none`` are rows of K or zero.

*Bits.* A person's rows are added up slot after slot, entry by entry, in the order in which they
were chosen. No reduction runs over several people, so a unit has the same bits whoever else there
is.
"""

from __future__ import annotations

import numpy as np

from veilspan.tables.encoding import Encoded
from veilspan.tables.persons.kept_rows import KeptRows, rank_order
from veilspan.tables.persons.rules import PersonRules, TargetRule


@np.errstate(all="ignore")
def combine_rows(kept: KeptRows, rules: PersonRules) -> Encoded:
    """Units of people, in their order: one row each, or ``max_rows`` slots each."""
    if rules.combine == "none":
        return _lay_out(kept, rules.slots)
    x = _combine_features(kept, rules)
    if kept.rows.y is None:
        return Encoded(x)
    assert rules.target is not None
    return Encoded(x, *_combine_targets(kept, rules.target))


def _combine_features(kept: KeptRows, rules: PersonRules) -> np.ndarray:
    if rules.combine in ("first", "last"):
        return kept.rows.x[_find_ends(kept, rules.combine)]
    total = add_slots(kept.rows.x, kept.starts)
    if rules.combine == "sum":
        assert rules.max_rows is not None
        return total / float(rules.max_rows)
    return total / kept.counts.astype(np.float64)[:, None]


def add_slots(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums of each person's rows, one after the other, whoever else there is."""
    first, counts = starts[:-1], np.diff(starts)
    total = np.array(values[first])
    # The longest first, so that those with a further row are a slice that gets shorter.
    longest = np.argsort(-counts, kind="stable")
    sorted_counts, moved = -counts[longest], total[longest]
    for slot in range(1, int(counts.max(initial=0))):
        more = int(np.searchsorted(sorted_counts, -slot, side="left"))
        moved[:more] += values[first[longest[:more]] + slot]
    total[longest] = moved
    return total


def _find_ends(kept: KeptRows, which: str, among: np.ndarray | None = None) -> np.ndarray:
    """The first or the last row of each person by ``order_by``, ties by coins.

    With ``among`` only those rows count; a person without one has any of hers.
    """
    order = kept.rows.order
    keys = [kept.coins, kept.owners]
    if order is not None:
        keys.insert(1, rank_order(order, which))
    if among is not None:
        keys.insert(len(keys) - 1, ~among)
    return np.asarray(np.lexsort(keys)[kept.starts[:-1]])


def _lay_out(kept: KeptRows, slots: int) -> Encoded:
    """Rows in slots of their people; slots that nobody fills are absent."""
    size = kept.n_people * slots
    numbers = np.arange(len(kept.rows)) - np.repeat(kept.starts[:-1], kept.counts)
    places = kept.owners * slots + numbers
    x = np.zeros((size, kept.rows.x.shape[1]))
    x[places] = kept.rows.x
    present = np.zeros(size, dtype=bool)
    present[places] = True if kept.rows.present is None else kept.rows.present
    if kept.rows.y is None:
        return Encoded(x, None, present)
    y = np.zeros(size)
    y[places] = kept.rows.y
    return Encoded(x, y, present)


# Targets.


def _combine_targets(kept: KeptRows, rule: TargetRule) -> tuple[np.ndarray, np.ndarray]:
    """One target a person, of her kept rows that have one, and whether there is any."""
    y, present = kept.rows.y, kept.rows.present
    assert y is not None
    if present is None:
        present = np.ones(len(y), dtype=bool)
    known = _count(present, kept.starts)
    if rule.how == "any":
        hits = _count(present & (y == rule.wanted), kept.starts)
        found = np.where(hits > 0, rule.wanted, 1.0 - rule.wanted)
    elif rule.how == "majority":
        found = y[_find_majority(kept, y, present)]
    elif rule.how in ("first", "last"):
        found = y[_find_ends(kept, rule.how, present)]
    else:
        found = add_slots(np.where(present, y, 0.0), kept.starts)
        if rule.how == "mean":
            found = found / np.maximum(known, 1)
        if rule.range is not None:
            found = np.clip(found, *rule.range)
    return np.where(known > 0, found, 0.0), known > 0


def _count(flags: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """How many of each person's rows have a flag; whole numbers, so that no order matters."""
    totals = np.concatenate([[0], np.cumsum(flags)])
    return np.asarray(totals[starts[1:]] - totals[starts[:-1]])


def _find_majority(kept: KeptRows, y: np.ndarray, present: np.ndarray) -> np.ndarray:
    """A row of each person's most frequent class; of equally frequent ones by the least coin."""
    owners = kept.owners
    by_class = np.lexsort((kept.coins, y, ~present, owners))
    same = np.ones(max(0, len(y) - 1), dtype=bool)
    for part in (owners, present, y):
        sorted_part = part[by_class]
        same &= sorted_part[1:] == sorted_part[:-1]
    # Each group is a class of a person, its least coin in front.
    groups = np.flatnonzero(np.concatenate([[True] * bool(len(y)), ~same]))
    sizes = np.diff(np.append(groups, len(y)))
    lead = by_class[groups]
    best = lead[np.lexsort((kept.coins[lead], -sizes, ~present[lead], owners[lead]))]
    return np.asarray(best[np.searchsorted(owners[best], np.arange(kept.n_people))])
