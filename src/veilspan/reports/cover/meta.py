"""``meta.toml``: what only its author knows of a release, read with every problem at once.

Nothing in it is about a row. All of it is text for people: it is escaped where it is shown, and
bounded, so that a cover stays one page.
"""

from __future__ import annotations

import datetime
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilspan._files import IrregularFileError, read_regular
from veilspan._printable import printable
from veilspan.tables.problems import Problem, show, suggest

#: Largest file that is read; a full one takes two thousand bytes.
MOST_BYTES = 2**16
#: Letters of the title, and of every other entry: what fits on one sheet of paper if all are full.
MOST_TITLE, MOST_LETTERS = 100, 200
#: Lines to sign on one cover.
MOST_SIGNATURES = 4
#: Years of dates that are no slips of the keyboard.
FIRST_YEAR, LAST_YEAR = 1900, 2200

#: What a cover says, in its order: the key of the file, and the words on the page.
TEXTS = {
    "prepared_by": "Prepared by",
    "purpose": "Purpose",
    "legal_basis": "Legal basis",
    "data_owner": "Data owner",
    "population": "People in the data",
    "contact": "Contact",
}
#: What a cover may say besides.
MORE_TEXTS = {"title": "", "recipients": "Goes to", "remarks": "Remarks"}
DATES = ("date", "period_start", "period_end")
KEYS = (*TEXTS, *DATES, *MORE_TEXTS, "signatures")
#: Who signs where the file does not say.
SIGNERS = ("Data owner", "Privacy officer")

#: Of the spellings of a day in ISO 8601 the one that people read.
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
#: Letters by their category that leave no ink: the Hangul fillers, and the empty Braille cell.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"

EXAMPLE = """\
# What only you know of a release, for the cover of its report:
#   veilspan report RELEASE --meta meta.toml
# Write it for people who know no mathematics. Each entry has at most 200 letters, the title 100.
title = "Returning patients, ward 3"
prepared_by = "Dr. Ada Example, Clinical Data Science"
date = 2026-03-31
purpose = "Find out which patients come back within 30 days, to plan follow-up visits."
legal_basis = "Art. 9(2)(j) GDPR; ethics vote 2025-117"
data_owner = "St. Example Hospital, Department of Medicine"
population = "Adults who were discharged from ward 3, one row a patient"
period_start = 2024-01-01
period_end = 2024-12-31
contact = "privacy@hospital.example, extension 4711"

# These may be left out.
recipients = "Planning board; the numbers will also be on the hospital's website"
remarks = "Replaces the release of 2025-06-30."
signatures = ["Data owner", "Privacy officer"]
"""


class MetaError(ValueError):
    """A ``meta`` that cannot be used, with everything that is wrong with it.

    Attributes
    ----------
    problems : tuple of Problem
        Each with ``place`` and ``what``.
    """

    def __init__(self, problems: Iterable[Problem], origin: str = "meta") -> None:
        self.problems = tuple(problems)
        self.origin = origin
        super().__init__(self.problems, origin)

    def __str__(self) -> str:
        origin = printable(self.origin)
        if len(self.problems) == 1:
            return f"{origin} has a problem. {self.problems[0]}"
        lines = [f"  - {problem}" for problem in self.problems]
        return "\n".join([f"{origin} has {len(self.problems)} problems:", *lines])


@dataclass(frozen=True)
class Meta:
    """What a cover says that no release knows.

    Attributes
    ----------
    prepared_by, purpose, legal_basis, data_owner, population, contact : str
        In the author's words.
    date, period_start, period_end : datetime.date
        Of the report, and of the data.
    title, recipients, remarks : str
        May be empty.
    signatures : tuple of str
        Roles of those who sign.
    """

    prepared_by: str
    purpose: str
    legal_basis: str
    data_owner: str
    population: str
    contact: str
    date: datetime.date
    period_start: datetime.date
    period_end: datetime.date
    title: str = ""
    recipients: str = ""
    remarks: str = ""
    signatures: tuple[str, ...] = SIGNERS

    def to_dict(self) -> dict[str, Any]:
        """Return all entries, JSON-ready: dates are texts, ``2026-03-31``."""
        found = {name: getattr(self, name) for name in KEYS}
        dates = {name: found[name].isoformat() for name in DATES}
        return {**found, **dates, "signatures": list(self.signatures)}


def read_meta(path: Path) -> Meta:
    """Read a file of TOML; a :class:`MetaError` names all that is wrong with it."""
    origin = f"the file {path}"
    try:
        data = read_regular(path, MOST_BYTES)
    except IrregularFileError as error:
        raise MetaError([Problem("", str(error))], origin) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        what = "it is not UTF-8, as TOML is: save it with that encoding."
        raise MetaError([Problem("", what)], origin) from None
    return meta_from(_parse(text, origin), origin)


def meta_from(given: Any, origin: str = "meta") -> Meta:
    """A :class:`Meta` from a mapping of its entries, as a file or ``to_dict`` has them."""
    if isinstance(given, Meta):
        return given
    if not isinstance(given, Mapping):
        raise TypeError(
            "meta must be a mapping of the entries of a meta.toml, or what read_meta gives; got "
            f"{type(given).__name__}."
        )
    problems = [
        Problem(str(key), f"is not an entry.{suggest(str(key), KEYS) or _say_known()}")
        for key in given
        if key not in KEYS
    ]
    found: dict[str, Any] = {}
    for name in (*TEXTS, *DATES):
        if name not in given:
            example = "2026-03-31" if name in DATES else '"..."'
            problems.append(Problem(name, f"is missing: write {name} = {example}."))
    for name in (*TEXTS, *MORE_TEXTS):
        if name in given:
            found[name] = _read_text(name, given[name], problems, must=name in TEXTS)
    for name in DATES:
        if name in given:
            found[name] = _read_date(name, given[name], problems)
    if "signatures" in given:
        found["signatures"] = _read_signatures(given["signatures"], problems)
    start, end = found.get("period_start"), found.get("period_end")
    if start is not None and end is not None and end < start:
        problems.append(Problem("period_end", f"is before period_start, {start.isoformat()}."))
    if problems:
        raise MetaError(problems, origin)
    return Meta(**found)


def _parse(text: str, origin: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why = f"it is not TOML: {str(error)[:200]}."
        if any(word in str(error) for word in ("Invalid value", "Unclosed", "Illegal")):
            why += ' Texts stand in double quotes, contact = "...".'
    except (ValueError, OverflowError):  # a date that is none, a number of too many digits
        why = "it is not TOML: a number or date in it is none."
    except RecursionError:
        why = "it is nested too deeply."
    raise MetaError([Problem("", why)], origin)


def _say_known() -> str:
    return f" Known are {', '.join(KEYS)}."


def _read_text(name: str, value: Any, problems: list[Problem], *, must: bool) -> str:
    most = MOST_TITLE if name == "title" else MOST_LETTERS
    if not isinstance(value, str):
        problems.append(Problem(name, f'is a text, {name} = "...", not {show(value)}.'))
    elif len(value) > most:
        what = f"has {len(value):,} letters; the cover has room for {most} of it."
        problems.append(Problem(name, what))
    elif must and not _can_be_seen(value):
        problems.append(Problem(name, "is empty: whoever signs needs to know it."))
    else:
        return " ".join(value.split())
    return ""


def _can_be_seen(text: str) -> bool:
    """Whether any letter of it leaves ink; spaces, joiners and lone accents do not."""
    return any(unicodedata.category(c)[0] not in "CZM" and c not in _BLANK for c in text)


def _read_date(name: str, value: Any, problems: list[Problem]) -> datetime.date | None:
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value) if _DAY.fullmatch(value) else None
        except ValueError:
            value = None
    if type(value) is not datetime.date:  # a date with a time is one as well
        problems.append(Problem(name, f"is a day, written {name} = 2026-03-31."))
        return None
    if not FIRST_YEAR <= value.year <= LAST_YEAR:
        problems.append(Problem(name, f"has the year {value.year}: is that a slip?"))
        return None
    return value


def _read_signatures(value: Any, problems: list[Problem]) -> tuple[str, ...]:
    wrong = (
        f'is a list of 1 to {MOST_SIGNATURES} roles of at most 60 letters, ["Data owner", '
        '"Privacy officer"].'
    )
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MOST_SIGNATURES:
        problems.append(Problem("signatures", wrong))
        return ()
    if not all(isinstance(role, str) and _can_be_seen(role) and len(role) <= 60 for role in value):
        problems.append(Problem("signatures", wrong))
        return ()
    return tuple(" ".join(role.split()) for role in value)
