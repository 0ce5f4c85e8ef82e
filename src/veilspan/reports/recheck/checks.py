"""What a re-check found, in plain words: what fits, what does not, what could not be looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

from veilspan._notebook import draw_card
from veilspan._printable import printable

#: How a check ends.
FITS, WRONG, UNCHECKED = "fits", "DOES NOT FIT", "not checked"
#: And how that of the ledger ends where all fits, and somebody withdrew the release.
WITHDRAWN = "WITHDRAWN"
#: What no check of a release can see.
NOISE = "That the noise was really added cannot be seen in a release."
#: What nobody has looked at without the key, and what is known with it.
WITHOUT_KEY = (
    "Nobody has checked here that the released numbers are the ones that were computed. Whoever "
    "can write to the folder can exchange them, and everything above still fits. The ledger does "
    "not help: it records what was promised and charged, not the numbers. Only the key file that "
    "sealed the release can show it: give it by --key."
)
WITH_KEY = (
    "Nobody without the key has changed the release, its numbers included, since it was sealed."
)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : {"files", "promise", "schema", "report", "ledger"}
        What.
    outcome : {"fits", "DOES NOT FIT", "not checked", "WITHDRAWN"}
        How it ended.
    told : str
        Sentences that say what was found.
    """

    name: str
    outcome: str
    told: str


@dataclass(frozen=True)
class ReleaseCheck:
    """All checks of a release; true if nothing was found that does not fit.

    Attributes
    ----------
    release_id : str
        Of the release; empty if it could not be read.
    promise : str
        What it promises, in one line; empty if it could not be read.
    private : bool
        Whether it promises anything.
    grade : {"strong", "moderate", "weak", "none"}
        How strong the promise is (:mod:`veilspan.privacy.strength`).
    checks : tuple of Check
        In the order in which they were made.
    sealed : bool
        Whether the seal of the release was checked by its key: only that vouches for the numbers.
    """

    release_id: str
    promise: str
    private: bool
    grade: str
    checks: tuple[Check, ...]
    sealed: bool = False

    @property
    def limits(self) -> str:
        """What was not checked, or cannot be, in plain words."""
        if not self.ok:
            return NOISE
        return f"{WITH_KEY} {NOISE}" if self.sealed else f"{WITHOUT_KEY} {NOISE}"

    @property
    def ok(self) -> bool:
        """Whether all that was looked at fits, and nobody withdrew the release."""
        return all(check.outcome not in (WRONG, WITHDRAWN) for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def conclusion(self) -> str:
        """What follows from all checks together, in a sentence or two."""
        wrong = ", ".join(check.name for check in self.checks if check.outcome == WRONG)
        if not self.ok and not wrong:
            return "What was checked fits, and the release was WITHDRAWN: do not use it any more."
        if wrong:
            return f"Something does not fit: {wrong}. Do not rely on this release or its report."
        left = [check.name for check in self.checks if check.outcome == UNCHECKED]
        told = "Everything that was checked fits."
        if not self.sealed:
            left.append("the numbers themselves")
        if left:
            told += f" Not checked: {', '.join(left)}."
        if not self.private:
            told += " The release is NOT PRIVATE: treat it like the rows themselves."
        elif self.grade == "weak":
            told += " Its promise is WEAK."
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return all checks and what follows from them, JSON-ready."""
        return {
            "ok": self.ok,
            "release_id": self.release_id,
            "promise": self.promise,
            "private": self.private,
            "strength": self.grade,
            "checks": [asdict(check) for check in self.checks],
            "conclusion": self.conclusion,
            "sealed": self.sealed,
            "limits": self.limits,
        }

    def __repr__(self) -> str:
        name = _on_one_line(self.release_id) or "(cannot be read)"
        lines = [f"release {name}", f"  {_on_one_line(self.promise)}".rstrip()]
        for check in self.checks:
            head = f"{check.name:<8} {check.outcome:<13}"
            first, *rest = wrap(_on_one_line(check.told), 76)
            lines.append(f"  {head} {first}")
            lines += [f"  {'':<{len(head)}} {line}" for line in rest]
        return "\n".join([*(line for line in lines if line), "", self.conclusion, self.limits])

    def _repr_html_(self) -> str:
        facts = [(f"{check.name}: {check.outcome}", [check.told]) for check in self.checks]
        wrong = any(check.outcome == WRONG for check in self.checks)
        badge = ("strong", "fits") if self.ok else ("none", WRONG if wrong else WITHDRAWN)
        return draw_card(
            f"Release {self.release_id}",
            facts,
            badge=badge,
            foot=f"{self.conclusion} {self.limits}",
        )


def _on_one_line(text: str) -> str:
    """Texts of a release are others' words: no end of a line in them may begin one of ours."""
    return printable(" ".join(text.split()))
