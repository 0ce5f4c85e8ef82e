"""Find the charge of a release in a ledger, and check that it is the charge of this release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veilspan._files import read_regular
from veilspan.ledger.costs import cost_of
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.ledger import Ledger
from veilspan.ledger.records import CHARGE, RELEASE, as_json
from veilspan.reports.account import read_account
from veilspan.reports.recheck.checks import FITS, UNCHECKED, WITHDRAWN, WRONG, Check
from veilspan.reports.recheck.page import MOST_BYTES
from veilspan.reports.record import PageRecord


def check_charge(model: Any, ledger: Ledger | None, dataset: Dataset | None, page: Path) -> Check:
    """Every seal of the ledger, and the entry that was charged for this release."""
    charged = model.privacy_.ledger
    if ledger is None:
        if charged is None:
            return Check("ledger", UNCHECKED, "The release was charged to no account.")
        told = "It says that it was charged to “{dataset}” as entry {entry}: give the ledger."
        return Check("ledger", UNCHECKED, told.format(**charged))
    if not isinstance(ledger, Ledger):
        raise TypeError(f"ledger must be a veilspan.Ledger or None; got {type(ledger).__name__}.")
    if charged is None:
        return Check("ledger", WRONG, "The release was charged to no account of any ledger.")
    left_out = ""
    problems = _check_ledger(ledger, charged["head"])
    if not problems:
        handle = dataset or ledger.dataset(charged["dataset"])
        shown, left_out = _check_shown(model, ledger, page)
        problems = _check_entry(model, handle, charged) + shown
    if problems:
        return Check("ledger", WRONG, " ".join(problems))
    test = " It is recorded as a test, which costs nothing." if charged.get("test") else ""
    withdrawn = handle.withdrawal(charged["entry"])
    told = "" if withdrawn is None else f"{withdrawn.describe()} "
    return Check(
        "ledger",
        FITS if withdrawn is None else WITHDRAWN,
        f"{told}All seals of the ledger fit, and entry {charged['entry']} of "
        f"“{charged['dataset']}” "
        f"is the charge of this release, at the cost that its plan has; the statement is, word for "
        f"word, the one that was recorded with it.{test}{left_out}",
    )


def _check_ledger(ledger: Ledger, head: str) -> list[str]:
    """What is wrong with the whole ledger, or that it never had the head of the release."""
    try:
        found = ledger.verify(head)
    except (LedgerError, ValueError) as error:
        return [f"The ledger cannot be checked: {error}"]
    return [f"The ledger does not fit: {problem}" for problem in found.problems[:3]]


def _check_entry(model: Any, dataset: Dataset, charged: dict[str, Any]) -> list[str]:
    number = charged["entry"]
    try:
        entry = dataset.entry(number)
        if entry is None or entry.kind != CHARGE or f"{number}:{entry.mac}" != charged["head"]:
            return [f"Entry {number} of “{dataset.name}” is not the charge of this release."]
        content = entry.content
        released = [e.content for e in dataset.history() if (e.kind, e.about) == (RELEASE, number)]
    except LedgerError as error:
        return [f"The ledger cannot be read: {error}"]
    problems = []
    plan = model.plan_
    if _without_decisions(content["plan"]) != _without_decisions(plan.to_dict()):
        problems.append("What was charged is another plan than that of the release.")
    elif not content["test"] and tuple(content["costs"]) != cost_of(plan, dataset._open()[2]):
        problems.append("The entry does not cost what the plan of the release costs.")
    if bool(content["test"]) != bool(charged.get("test")):
        problems.append("Whether the charge was a test is not what the release says.")
    if not released:
        problems.append("The ledger does not know that the charge was released.")
    elif as_json(model.privacy_.to_dict()) not in [as_json(e["statement"]) for e in released]:
        problems.append("The statement is not the one that the ledger recorded with the release.")
    return problems


def _check_shown(model: Any, ledger: Ledger, page: Path) -> tuple[list[str], str]:
    """Whether the account on the page is of this ledger, and what of it was not computed again.

    The page itself is checked elsewhere.
    """
    try:
        record = PageRecord.from_page(read_regular(page, MOST_BYTES).decode())
    except (OSError, ValueError, TypeError, RecursionError):
        return [], ""
    shown = record.account
    if shown is None:
        return [], ""
    if _check_ledger(ledger, shown.head):
        return ["The account that the report shows is not one that this ledger ever had."], ""
    try:
        now = read_account(model.privacy_, ledger.dataset(shown.name), model.plan_)
    except (LedgerError, ValueError) as error:
        return [f"The account that the report shows cannot be read: {error}"], ""
    if now.head != shown.head:
        return [], (
            " The ledger has moved on since the report was written: the figures of the account in "
            "it were NOT checked."
        )
    if now != shown:
        return ["The account that the report shows is not what the ledger says."], ""
    return [], ""


def _without_decisions(plan: dict[str, Any]) -> str:
    """A recorded plan in one spelling; decisions are for people, and may not be kept."""
    return as_json({name: value for name, value in plan.items() if name != "decisions"})
