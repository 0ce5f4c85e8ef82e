"""``report_html`` and ``write_report``: one offline HTML file about one release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from veilspan._files import write_whole
from veilspan.ledger.dataset import Dataset
from veilspan.privacy.strength import NONE, WEAK
from veilspan.reports import extras, guarantee, spending
from veilspan.reports.account import account_of, shares_if_readable
from veilspan.reports.html import Html, tag
from veilspan.reports.learned import learned_section
from veilspan.reports.page import page
from veilspan.reports.profile.page import is_profile, profile_hero, profile_sections
from veilspan.reports.reproduce import reproduce
from veilspan.reports.subject import Subject, subject_of

_SECTIONS = {
    "budget": "Budget",
    "attacker": "Attacker",
    "mechanisms": "Mechanisms",
    "rechecked": "Re-checked",
    "assumptions": "Assumptions",
    "audit": "Audit",
    "learned": "Learned",
    "embedding": "Embedding",
    "reproduce": "Reproduce",
}


def report_html(
    source: Any,
    *,
    ledger: Dataset | None = None,
    audit: Any = None,
    public_rows: Any = None,
    title: str | None = None,
) -> str:
    """A release as one self-contained HTML page.

    Everything on it comes from the released numbers and the statement: no row is looked at, but for
    those passed as ``public_rows``. The same release gives the same page. It holds no date, loads
    nothing, works offline, in light, dark and on paper.

    Parameters
    ----------
    source : fitted estimator, result of ``minimize``, or PrivacyStatement
        The release.
    ledger : Dataset, optional
        Account whose budget is drawn; by default that of the estimator, if it can be read.
    audit : AuditReport or mapping, optional
        Result of :func:`veilspan.audit.audit`, or its ``to_dict()``.
    public_rows : array, or mapping of names to arrays, optional
        Rows to draw in the released coordinates. **They are shown as they are**: pass only rows
        that are public or your own.
    title : str, optional
        Heading of the page.

    Examples
    --------
    >>> from veilspan import PCA
    >>> from veilspan.datasets import make_haystack
    >>> from veilspan.reports import report_html
    >>> pca = PCA(2, epsilon=1.0).fit(make_haystack(2000, 6, 2).rows)
    >>> html = report_html(pca, title="Trial 42")
    >>> "differentially private" in html, "http://" in html
    (True, False)
    """
    subject = subject_of(source)
    statement = subject.statement
    checked = extras.audit_of(audit)
    dataset = account_of(source, ledger)
    shares = None
    if dataset is not None:
        shares = shares_if_readable(statement, dataset, must=ledger is not None)
    own = profile_sections(source) if is_profile(source) else {}
    sections: dict[str, Html | None] = {
        "budget": spending.budget(subject, shares),
        "attacker": spending.curves(subject),
        "assumptions": guarantee.assumptions(subject),
        "learned": learned_section(subject),
        "embedding": extras.scatter(subject, public_rows),
        "mechanisms": spending.mechanisms(subject),
        "rechecked": spending.recheck_section(subject),
        "audit": extras.audit_section(checked),
        "reproduce": reproduce(subject),
    }
    shown = {key: part for key, part in sections.items() if part is not None}
    heading = title or _title(subject)
    names = [(key, name) for key, (name, _) in own.items()]
    names += [(key, _SECTIONS[key]) for key in shown]
    notes = guarantee.notes(guarantee.attention(subject, checked))
    promise = guarantee.hero(subject, heading, shares)
    head: tuple[Html | None, ...] = (promise, guarantee.navigation(names), notes)
    if own:  # what was counted comes first, and then what was promised for it
        head = (
            profile_hero(source, heading),
            guarantee.navigation([*names[: len(own)], ("promise", "Privacy"), *names[len(own) :]]),
            notes,
            *(part for _, part in own.values()),
            guarantee.promise_section(subject),
        )
    body = (
        *head,
        *shown.values(),
        tag("footer", f"Release {statement.release_id} · veilspan {statement.version}"),
    )
    strength = subject.strength
    alarm = ""
    if strength.grade == NONE:
        alarm = f"NOT PRIVATE: {statement.why_not_private}"
    elif strength.grade == WEAK:
        alarm = f"A WEAK promise: {strength.reasons[0]}"
    return page(heading, body, alarm=alarm, grade=strength.grade)


def write_report(path: str | os.PathLike[str], source: Any, **options: Any) -> Path:
    """Write :func:`report_html` to a file, whole or not at all.

    Parameters
    ----------
    path : path
        The file; replaced if it is there.
    source, **options
        As for :func:`report_html`.

    Returns
    -------
    Path
        Of the file.
    """
    text = report_html(source, **options)
    target = Path(path)
    write_whole(target, lambda stream: stream.write(text.encode()))
    return target


def _title(subject: Subject) -> str:
    if is_profile(subject.source):
        return subject.source.schema.name or "A table"
    return subject.statement.method
