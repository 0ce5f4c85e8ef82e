"""The head of a profile's page: how many people, how exact, and all columns at a glance."""

from __future__ import annotations

from typing import Any

from veilspan.reports.html import Html, table, tag
from veilspan.reports.numbers import count, number
from veilspan.reports.profile.charts import sparkline
from veilspan.reports.profile.words import say_number, say_share, say_value
from veilspan.solvers.profile.shares import typical_bar


def profile_hero(profile: Any, title: str) -> Html:
    """Title, what the page is, and the numbers to remember."""
    statement = profile.privacy_
    protects = profile.schema.protects
    lead = (
        f"What there is in the table, with noise that protects every {protects}. A bar holds the "
        "number without noise with 95 %; where noise wins, no number is given."
    )
    return tag(
        "header",
        tag("p", "Veilspan · private profile", class_="kicker"),
        tag("h1", title),
        tag("p", profile.schema.about, class_="about") if profile.schema.about else None,
        tag("p", lead, class_="sentence"),
        _tiles(profile, statement),
        class_="hero",
    )


def _tiles(profile: Any, statement: Any) -> Html:
    people = profile.people
    columns = [profile[name] for name in profile.column_names]
    bar = max(typical_bar(column.all_shares) for column in columns)
    cells = sum(len(column.all_shares) for column in columns)
    seen = sum(int(column.all_shares.measurable.sum()) for column in columns)
    public = "public" if people.bar == 0 else "private, with noise"
    epsilon = number(statement.epsilon, 6) if statement.private else "none"
    tiles = [
        ("people", say_number(people), public),
        ("columns", f"{len(columns)}", f"{cells:,} cells, {seen:,} of them measurable"),
        ("a share is known to", f"± {100 * bar:.2g}", "percentage points"),
        ("epsilon", epsilon, f"at δ = {number(statement.delta)}, one {profile.schema.protects}"),
    ]
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, class_="big"), tag("dd", more))
            for name, value, more in tiles
        ),
        class_="tiles",
    )


def at_a_glance(profile: Any, keys: dict[str, str]) -> Html:
    """All columns, a line each: shape, missing, mean and median."""
    rows = []
    for name in profile.column_names:
        column = profile[name]
        middle = column.quantiles.get(0.5)
        rows.append(
            (
                tag("a", name, href=f"#{keys[name]}"),
                column.type,
                sparkline(column),
                say_share(column.missing),
                "" if column.mean is None else say_value(column.cells, column.mean),
                "" if middle is None else say_value(column.cells, middle),
            )
        )
    head = ("column", "type", "shape", "missing", "mean", "median")
    return tag(
        "section",
        tag("h2", "At a glance"),
        table(head, rows, caption="Columns", numeric=(3, 4, 5), class_="glance"),
        _reading_note(profile),
        id="glance",
        class_="card",
    )


def _reading_note(profile: Any) -> Html:
    words = "Shares are of all people, the missing included; they are not negative and sum to one. "
    words += "On a log scale the mean is the geometric one, of a boolean the share of true ones. "
    words += "“Under x” says that a share is not measurable, and where it ends."
    if profile.left_out:
        left = count(len(profile.left_out), "column has", "columns have")
        words += f" {left} no mean, for want of room: {', '.join(profile.left_out)}."
    return tag("p", words, class_="muted small")
