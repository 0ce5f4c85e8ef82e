"""What a cover recommends: by rules that it states, from public facts, and by nothing else."""

from __future__ import annotations

from typing import NamedTuple

from veilspan.audit.verdict import AuditReport
from veilspan.privacy.strength import MODERATE, WEAK
from veilspan.reports.account import AccountRecord
from veilspan.reports.subject import Subject

YES, ASK, NO = "yes", "ask", "no"
#: The rules, as a page states them.
RULES = (
    "Do not release: there is no guarantee, or the recorded uses of the data cost more than was "
    "promised, or an audit found a violation, or it was withdrawn.",
    "Ask back before releasing: the promise is weak; or the number of people is protected and "
    "nobody stated a guess to hold δ against; or the charge is not in the account that was shown, "
    "or was a test.",
    "Otherwise it can be released, once every box of the checklist is initialled.",
    "Purpose, legal basis and usefulness are for people to judge: no rule looks at them.",
)
HEADLINES = {
    YES: "Can be released, once every box of the checklist is initialled.",
    ASK: "Ask back before releasing.",
    NO: "Do not release.",
}


class Recommendation(NamedTuple):
    """What follows from the rules.

    Attributes
    ----------
    answer : {"yes", "ask", "no"}
        Under which rule.
    reasons : tuple of str
        Sentences: why.
    """

    answer: str
    reasons: tuple[str, ...]


def recommend(
    subject: Subject, account: AccountRecord | None, audit: AuditReport | None
) -> Recommendation:
    """Apply the rules, strictest first; all reasons of the rule that applies are given."""
    statement, grade = subject.statement, subject.strength.grade
    found = subject.verification
    stops = []
    if not statement.private:
        stops.append(f"There is no guarantee: {statement.why_not_private}.")
    if found is not None and not found.ok:
        stops.append("The recorded uses of the data cost more than was promised.")
    if audit is not None and not audit.ok:
        stops.append("An audit found a violation of the promise.")
    if account is not None and account.withdrawn:
        stops.append(account.withdrawn)
    if stops:
        return Recommendation(NO, tuple(stops))
    doubts = []
    if grade == WEAK:
        doubts += [f"The promise is weak: {reason}" for reason in subject.strength.reasons]
    if statement.neighbors == "add-remove" and statement.population is None:
        doubts.append(
            "The number of people is protected, and nobody stated a guess to hold δ against."
        )
    if account is not None and not account.charged_here:
        doubts.append(f"The charge of this release is not in the account of {account.name}.")
    if statement.ledger is not None and statement.ledger.get("test"):
        doubts.append("The charge was a test, which costs nothing.")
    if doubts:
        return Recommendation(ASK, tuple(doubts))
    strong = "moderate" if grade == MODERATE else "strong"
    reasons = [f"The promise is {strong}."]
    if found is not None:
        reasons.append("The recorded uses of the data cost no more than was promised.")
    if account is not None:
        reasons.append("The account holds its charge.")
    elif statement.ledger is None:
        reasons.append("It was charged to no account: other releases are for you to know.")
    return Recommendation(YES, tuple(reasons))
