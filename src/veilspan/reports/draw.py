"""Draw a page: the cover and what its author added around what follows from the release alone."""

from __future__ import annotations

import hashlib
from typing import Any

from veilspan.privacy.strength import NONE, WEAK
from veilspan.reports import extras, guarantee, spending
from veilspan.reports.assumptions import assumptions_section
from veilspan.reports.cover.page import cover
from veilspan.reports.glossary import glossary
from veilspan.reports.html import Html, details, join, tag
from veilspan.reports.learned import learned_section
from veilspan.reports.page import page
from veilspan.reports.profile.page import is_profile, profile_hero, profile_sections
from veilspan.reports.record import PLACE, PageRecord
from veilspan.reports.reproduce import block, reproduce
from veilspan.reports.subject import Subject

#: Sections in their order, with their names in the navigation.
_SECTIONS = {
    "budget": "Budget",
    "assumptions": "Checklist",
    "attacker": "Attacker",
    "learned": "Learned",
    "embedding": "Embedding",
    "mechanisms": "Mechanisms",
    "rechecked": "Re-checked",
    "audit": "Audit",
    "words": "Words",
    "reproduce": "Reproduce",
}


def draw_page(subject: Subject, record: PageRecord, public_rows: Any = None) -> str:
    """The whole page, from a release and what the page was made with beside it."""
    statement = subject.statement
    heading = record.title or (record.meta.title if record.meta else "") or _title(subject)
    body = draw_body(subject)
    added: dict[str, Html | None] = {
        "budget": spending.budget(subject, record.account),
        "embedding": extras.scatter(subject, public_rows),
        "audit": extras.audit_section(record.audit),
    }
    found = {**body, **{key: part for key, part in added.items() if part is not None}}
    shown = {key: found[key] for key in _SECTIONS if key in found}
    own = profile_sections(subject.source) if is_profile(subject.source) else {}
    names = [(key, _SECTIONS[key]) for key in shown]
    top: tuple[Html | None, ...]
    alarms = guarantee.attention_to_audit(record.audit)
    if record.account is not None and record.account.withdrawn:
        alarms = [("danger", record.account.withdrawn), *alarms]
    alarm = guarantee.notes(alarms)
    if own:  # what was counted comes first, and then what was promised for it
        first = [(key, name) for key, (name, _) in own.items()]
        top = (
            profile_hero(subject.source, heading),
            guarantee.navigation([*first, ("promise", "Privacy"), *names]),
            alarm,
            body.get("notes"),
            body["own"],
            body["promise"],
        )
    else:
        top = (
            guarantee.hero(heading),
            body["promise"],
            guarantee.navigation(names),
            alarm,
            body.get("notes"),
        )
    front = None
    if record.meta is not None:
        code = digest_body(body)
        front = cover(subject, heading, record.meta, record.account, record.audit, code)
    parts = (front, *top, *shown.values(), _footer(subject, record))
    grade, warning = subject.strength.grade, ""
    if grade == NONE:
        warning = f"NOT PRIVATE: {statement.why_not_private}"
    elif grade == WEAK:
        warning = f"A WEAK promise: {subject.strength.reasons[0]}"
    release = str(statement.release_id or "")
    return page(heading, parts, alarm=warning, grade=grade, release=release)


def draw_body(subject: Subject) -> dict[str, Html]:
    """All parts of a page that follow from the release alone, by their names."""
    own = profile_sections(subject.source) if is_profile(subject.source) else {}
    promise = guarantee.promise_section if own else guarantee.promise_in_numbers
    found: dict[str, Html | None] = {
        "own": join(part for _, part in own.values()) if own else None,
        "promise": promise(subject),
        "notes": guarantee.notes(guarantee.attention(subject)),
        "assumptions": assumptions_section(subject),
        "attacker": spending.curves(subject),
        "learned": learned_section(subject),
        "mechanisms": spending.mechanisms(subject),
        "rechecked": spending.recheck_section(subject),
        "words": glossary(),
        "reproduce": reproduce(subject),
    }
    return {key: part for key, part in found.items() if part is not None}


def digest_body(body: dict[str, Html]) -> str:
    """The check code of a report: SHA-256 of what follows from the release alone."""
    return hashlib.sha256("\n".join(body.values()).encode()).hexdigest()


def _footer(subject: Subject, record: PageRecord) -> Html:
    statement = subject.statement
    versions = ", ".join(f"{name} {version}" for name, version in record.written_by.items())
    return tag(
        "footer",
        tag(
            "p",
            f"Release {statement.release_id} · fitted by veilspan {statement.version} · page "
            f"written by {versions}",
        ),
        details("What this page was made with (JSON)", _record_block(record)),
    )


def _record_block(record: PageRecord) -> Html:
    key = PLACE.removesuffix("-text")
    return block(key, record.to_json())


def _title(subject: Subject) -> str:
    if is_profile(subject.source):
        return subject.source.schema.name or "A table"
    return subject.statement.method
