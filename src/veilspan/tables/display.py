"""A schema for people to look at: a line, a table of text, a table for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veilspan._printable import printable
from veilspan.tables.columns import (
    UNCONFIRMED,
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
)
from veilspan.tables.problems import show

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

_HEADER = ("column", "role", "type", "public facts", "known from")
#: Widest a cell of the text table gets; longer ones end in dots.
_WIDEST = 44
_MOST_LABELS = 6
_STYLE = "text-align: left; vertical-align: top; padding: 2px 12px 2px 0"
_DIGITS = 12  # of a digest where people read it


def describe_line(schema: Schema) -> str:
    """The schema in one line, as an estimator's parameters show it."""
    name = printable(schema.name) or "unnamed"
    n, m = len(schema.columns), len(schema.columns_out)
    return (
        f"<Schema {name}: {count_of(n, 'column')}, {m} encoded, one {printable(schema.protects)} "
        f"is protected, digest {schema.digest[:_DIGITS]}>"
    )


def describe_text(schema: Schema) -> str:
    """The schema as a table of text, a line a column."""
    rows = [_HEADER, *(_cells(column) for column in schema.columns)]
    short = [tuple(_shorten(printable(cell)) for cell in row) for row in rows]
    widths = [max(len(row[i]) for row in short) for i in range(len(_HEADER))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in short]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*map(printable, _sentences(schema)), "", *lines])


def describe_html(schema: Schema) -> str:
    """The schema as a table for notebooks, all text escaped."""
    from html import escape

    def cell(text: str, kind: str = "td") -> str:
        return f'<{kind} style="{_STYLE}">{escape(printable(text))}</{kind}>'

    def row(cells: tuple[str, ...], kind: str = "td") -> str:
        return f"<tr>{''.join(cell(text, kind) for text in cells)}</tr>"

    title, *others = (escape(printable(line)) for line in _sentences(schema))
    body = "".join(row(_cells(column)) for column in schema.columns)
    return (
        f"<p><strong>{title}</strong><br>{'<br>'.join(others)}</p>"
        f"<table><thead>{row(_HEADER, 'th')}</thead><tbody>{body}</tbody></table>"
    )


def count_of(number: int, noun: str) -> str:
    """A number with its noun: ``1 column``, ``2 columns``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _sentences(schema: Schema) -> list[str]:
    version = f", version {schema.version}" if schema.version else ""
    unit, lines = schema.unit, [f"Schema {schema.name or '(unnamed)'}{version}"]
    if schema.about:
        lines.append(schema.about)
    protects = f"Protects one {unit.protects} ({unit.neighbors}"
    if unit.count is not None:
        protects += f", {unit.count:,} of them, a public number"
    if unit.expected is not None:
        protects += f", about {unit.expected:,} expected"
    lines.append(f"{protects}).")
    if unit.id is not None:
        most = "" if unit.max_rows is None else f", at most {unit.max_rows:,} are used"
        lines.append(f"Rows of one {unit.protects} are found by {unit.id}{most}.")
    lines.append(
        f"{count_of(len(schema.columns), 'column')}, {len(schema.columns_out):,} encoded; no "
        f"encoded row is longer than {schema.row_norm:.4g}. Digest {schema.digest[:_DIGITS]}."
    )
    if schema.unconfirmed:
        lines.append(
            f"{count_of(len(schema.unconfirmed), 'fact')} imported and not confirmed: no fit "
            "accepts it yet."
        )
    return lines


def _cells(column: Column) -> tuple[str, ...]:
    source = "NOT CONFIRMED (imported)" if column.source == UNCONFIRMED else column.source
    return (column.name, column.role, column.type, _facts(column), source)


def _facts(column: Column) -> str:
    """The range or the list of a column, and what a missing cell becomes."""
    parts: list[str] = []
    if isinstance(column, NumberColumn):
        unit = f" {column.unit}" if column.unit else ""
        parts.append(f"{show(column.range[0])} to {show(column.range[1])}{unit}")
        parts += ["log scale"] if column.scale == "log" else []
    elif isinstance(column, DateColumn):
        parts += [f"{column.range[0]} to {column.range[1]}", " and ".join(column.parts)]
    elif isinstance(column, CategoryColumn):
        labels = [*column.categories, *(["(other)"] if column.other else [])]
        hidden = len(labels) - _MOST_LABELS
        parts.append(" | ".join(labels[:_MOST_LABELS]) + (f" | {hidden:,} more" * (hidden > 0)))
    elif isinstance(column, BooleanColumn):
        parts.append(f"true: {' or '.join(column.true)}, false: {' or '.join(column.false)}")
    fill = getattr(column, "fill", None)
    if fill is not None:
        parts.append(f"missing cells: {show(fill).strip(chr(34))}")
    parts += ["and a column of them"] if column.missing_column else []
    return ", ".join(parts)


def _shorten(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3].rstrip(" ,|") + "..."
