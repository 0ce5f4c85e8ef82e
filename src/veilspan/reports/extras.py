"""Sections on what the author of a report adds: rows of their own, and an audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veilspan.audit.verdict import NOTE, AuditReport
from veilspan.reports.charts import MARKS, legend, scatter_chart
from veilspan.reports.html import Html, table, tag
from veilspan.reports.numbers import count, equals, number
from veilspan.reports.subject import Subject
from veilspan.reports.svg import figure

#: At most so many points are drawn.
MOST_POINTS = 2000
LABEL = "rows given by the author of this report"


def scatter(subject: Subject, public_rows: Any) -> Html | None:
    """Rows that the author passed, in the released coordinates."""
    if public_rows is None:
        return None
    transform = getattr(subject.source, "transform", None)
    if transform is None:
        raise ValueError(
            f"{type(subject.source).__name__} has no transform: there are no coordinates in which "
            "public_rows could be drawn."
        )
    groups = public_rows if isinstance(public_rows, Mapping) else {"rows": public_rows}
    if not 1 <= len(groups) <= len(MARKS):
        raise ValueError(f"public_rows may have 1 to {len(MARKS)} groups; got {len(groups)}.")
    most = max(1, MOST_POINTS // len(groups))
    points, total = {}, 0
    for name, rows in groups.items():
        coordinates = np.asarray(transform(rows), dtype=float)
        total += len(coordinates)
        if coordinates.shape[1] < 2:  # one component: along a line
            coordinates = np.column_stack([coordinates, np.zeros(len(coordinates))])
        points[str(name)] = coordinates[:most, :2]
    drawn = sum(map(len, points.values()))
    words = f"{count(drawn, 'point')} of {count(total, 'row')} along the first two coordinates. "
    words += "They are no part of the release: whoever wrote this page chose to show them, and no "
    words += "guarantee covers them."
    kind = "component" if hasattr(subject.source, "components_") else "coordinate"
    return tag(
        "section",
        tag("h2", f"Embedding: {LABEL}"),
        figure(
            scatter_chart(points, (f"{kind} 1", f"{kind} 2")),
            words,
            before=legend(list(points)) if isinstance(public_rows, Mapping) else None,
        ),
        id="embedding",
        class_="card",
    )


def audit_section(audit: AuditReport | None) -> Html | None:
    """The section on what an audit tried and found; None without an audit."""
    if audit is None:
        return None
    rows = [
        (
            line.check,
            number(line.claimed),
            "" if line.lower_bound is None else number(line.lower_bound, 3),
            f"{line.runs:,}",
            line.verdict + (f" ({line.power})" if line.power else ""),
        )
        for line in audit.lines
    ]
    verdict = "No violation found." if audit.ok else "A violation of the promise was found."
    about = (
        f"Audit of {audit.method} at {equals('δ', audit.delta)}, {audit.neighbors}; false alarms "
        f"with probability {number(audit.alpha)}. {NOTE}"
    )
    head = ("check", "promised ε", "lower bound", "runs", "verdict")
    return tag(
        "section",
        tag("h2", "Audit"),
        tag("p", verdict, class_="ok" if audit.ok else "danger"),
        table(head, rows, caption="Checks", numeric=(1, 2, 3)),
        tag("p", about, class_="muted"),
        id="audit",
        class_="card",
    )


def audit_of(given: Any) -> AuditReport | None:
    """An audit's report, or the record that ``veilspan audit --json`` prints."""
    if given is None or isinstance(given, AuditReport):
        return given
    said = "audit must be the report of veilspan.audit.audit, or its to_dict()"
    if not isinstance(given, Mapping) or "checks" not in given:
        raise TypeError(f"{said}; got {type(given).__name__}.")
    try:
        return _read_audit(given)
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"{said}: this record is not whole.")


def _read_audit(given: Mapping[str, Any]) -> AuditReport:
    from veilspan.audit.verdict import AuditLine

    def line(record: Mapping[str, Any]) -> AuditLine:
        bound = record["lower_bound"]
        if not isinstance(record["ok"], bool):  # the text "false" would count as true
            raise TypeError
        return AuditLine(
            **{
                **record,
                "claimed": float(record["claimed"]),
                "lower_bound": None if bound is None else float(bound),
                "runs": int(record["runs"]),
                "verdict": str(record["verdict"]),
            }
        )

    lines = tuple(line(record) for record in given["checks"])
    if not lines:
        raise ValueError
    return AuditReport(
        method=str(given["method"]),
        delta=float(given["delta"]),
        neighbors=str(given["neighbors"]),
        alpha=float(given["alpha"]),
        lines=lines,
    )
