"""What a re-check found, in plain words: what fits, what does not, what could not be looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

from veilspan._notebook import draw_card
from veilspan._printable import printable

#: How a check ends.
FITS, WRONG, UNCHECKED = "fits", "DOES NOT FIT", "not checked"
#: What no check of a release can see.
LIMITS = (
    "That the noise was really added cannot be seen in a release. Who rewrites a release with all "
    "of its digests is found by its key (--key). The ledger (--ledger) finds another statement, "
    "plan or charge; it does not know the learned numbers and the parameters, so that only the key "
    "vouches for these."
)


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : {"files", "promise", "schema", "report", "ledger"}
        What.
    outcome : {"fits", "DOES NOT FIT", "not checked"}
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
    """

    release_id: str
    promise: str
    private: bool
    grade: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether all that was looked at fits."""
        return all(check.outcome != WRONG for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def conclusion(self) -> str:
        """What follows from all checks together, in a sentence or two."""
        if not self.ok:
            wrong = ", ".join(check.name for check in self.checks if check.outcome == WRONG)
            return f"Something does not fit: {wrong}. Do not rely on this release or its report."
        left = [check.name for check in self.checks if check.outcome == UNCHECKED]
        told = "Everything that was checked fits."
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
            "limits": LIMITS,
        }

    def __repr__(self) -> str:
        name = _on_one_line(self.release_id) or "(cannot be read)"
        lines = [f"release {name}", f"  {_on_one_line(self.promise)}".rstrip()]
        for check in self.checks:
            head = f"{check.name:<8} {check.outcome:<13}"
            first, *rest = wrap(_on_one_line(check.told), 76)
            lines.append(f"  {head} {first}")
            lines += [f"  {'':<{len(head)}} {line}" for line in rest]
        return "\n".join([*(line for line in lines if line), "", self.conclusion, LIMITS])

    def _repr_html_(self) -> str:
        facts = [(f"{check.name}: {check.outcome}", [check.told]) for check in self.checks]
        badge = ("strong", "fits") if self.ok else ("none", "DOES NOT FIT")
        return draw_card(
            f"Release {self.release_id}", facts, badge=badge, foot=f"{self.conclusion} {LIMITS}"
        )


def _on_one_line(text: str) -> str:
    """Texts of a release are others' words: no end of a line in them may begin one of ours."""
    return printable(" ".join(text.split()))
