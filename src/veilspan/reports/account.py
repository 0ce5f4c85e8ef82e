"""What a dataset's account says about a release: spent, this release, left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.records import CHARGE
from veilspan.ledger.spending import Spending
from veilspan.privacy.statement import PrivacyStatement


@dataclass(frozen=True)
class BudgetShares:
    """Shares of a dataset's budget; the three sum to 1.

    Attributes
    ----------
    others, this, left : float
        Spent by other releases, by this one, and left.
    state : Spending
        The account as it stood when the report was written.
    charged_here : bool
        Whether the account holds the charge of this release.
    """

    others: float
    this: float
    left: float
    state: Spending
    charged_here: bool


def budget_shares(statement: PrivacyStatement, dataset: Dataset) -> BudgetShares:
    """Read the account, and find the charge of this release in it."""
    state = dataset.spent()
    shares = state.shares  # all by the rule with most left, so that they add up
    costs = _costs(statement, dataset)
    this = 0.0 if costs is None else min(shares.of(costs), shares.used)
    return BudgetShares(shares.used - this, this, shares.left, state, costs is not None)


def account_of(source: Any, given: Dataset | None) -> Dataset | None:
    """The dataset that was passed, else the one that the estimator charged."""
    if given is not None:
        if not isinstance(given, Dataset):
            raise TypeError(
                "ledger must be a dataset of a ledger, Ledger(...).dataset(name), or None; "
                f"got {type(given).__name__}."
            )
        return given
    own = getattr(source, "ledger", None)
    return own if isinstance(own, Dataset) else None


def shares_if_readable(
    statement: PrivacyStatement, dataset: Dataset, *, must: bool
) -> BudgetShares | None:
    """The shares; None if the estimator's own ledger is not at hand where the report is made."""
    try:
        return budget_shares(statement, dataset)
    except (LedgerError, OSError):
        if must:
            raise
        return None


def _costs(statement: PrivacyStatement, dataset: Dataset) -> list[int] | None:
    """Units of this release's charge under each rule; None if the account does not hold it."""
    charged = statement.ledger
    if charged is None or charged.get("dataset") != dataset.name:
        return None
    entry = dataset.entry(charged["entry"])
    # The same number in another ledger has another digest.
    if entry is None or entry.kind != CHARGE or f"{entry.seq}:{entry.mac}" != charged["head"]:
        return None
    return list(entry.content["costs"])
