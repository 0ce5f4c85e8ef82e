"""What a notebook shows of a statement, a plan, an account or an audit: one calm card, no script.

Everything is escaped (:mod:`veilspan._html`). Notebooks are light or dark and tell nobody which, so
that ink and paper are the notebook's own; rules and the meter are half-transparent greys that read
on both, and badges bring their own paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from veilspan._html import Html, tag

#: Ink and paper of a badge by the strength of a promise (:mod:`veilspan.privacy.strength`).
_COLOURS = {
    "strong": "color:#ffffff;background:#0072b2",
    "moderate": "color:#ffffff;background:#555e69",
    "weak": "color:#1a1d21;background:#e69f00",
    "none": "color:#ffffff;background:#a0001c",
}
_RULE = "1px solid rgba(128,128,128,.35)"
_CARD = f"border:{_RULE};border-radius:8px;padding:.7em 1em;max-width:58em;line-height:1.5"
_BADGE = "padding:.1em .7em;border-radius:1em;font-weight:600;font-size:.9em;white-space:nowrap"
_CELL = f"text-align:left;vertical-align:top;padding:.3em 1.2em .3em 0;border:0;border-top:{_RULE}"
_NAME = f"{_CELL};font-weight:500;opacity:.75;white-space:nowrap"
_TABLE = "border-collapse:collapse;width:100%;margin:.6em 0 0;background:none;font-size:.95em"


def draw_card(
    title: str,
    facts: Iterable[tuple[str, Iterable[str]]],
    *,
    badge: tuple[str, str] | None = None,
    used: float | None = None,
    foot: str = "",
) -> str:
    """A small card as HTML.

    Parameters
    ----------
    title : str
        Its first line.
    facts : iterable of pairs
        A label, and the lines that belong to it.
    badge : pair of str, optional
        A strength, which gives the colour, and the words in it.
    used : float, optional
        From 0 to 1: a meter below the title.
    foot : str
        A last line in small letters.
    """
    rows = (
        tag(
            "tr",
            tag("th", label, scope="row", style=_NAME),
            tag(
                "td",
                *(tag("div", line, style="overflow-wrap:anywhere") for line in lines),
                style=_CELL,
            ),
            style="background:none",
        )
        for label, lines in facts
    )
    return _draw(title, tag("table", tag("tbody", *rows), style=_TABLE), badge, used, foot)


def draw_table_card(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    badge: tuple[str, str] | None = None,
    foot: str = "",
) -> str:
    """The same with a table of several columns, whose first one names the rows."""
    heads = (tag("th", text, scope="col", style=_NAME) for text in head)
    body = (
        tag(
            "tr",
            *(
                tag("td" if i else "th", text, scope=None if i else "row", style=_CELL)
                for i, text in enumerate(row)
            ),
            style="background:none",
        )
        for row in rows
    )
    whole = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body), style=_TABLE)
    return _draw(title, whole, badge, None, foot)


def _draw(
    title: str, inside: Html, badge: tuple[str, str] | None, used: float | None, foot: str
) -> str:
    mark = None
    if badge is not None:
        mark = tag("strong", badge[1], style=f"{_COLOURS[badge[0]]};{_BADGE}")
    return tag(
        "div",
        tag("div", mark, " " if mark else None, tag("b", title, style="overflow-wrap:anywhere")),
        None if used is None else _draw_meter(used),
        inside,
        tag("div", foot, style="font-size:.85em;opacity:.75;margin-top:.6em") if foot else None,
        style=_CARD,
    )


def _draw_meter(used: float) -> Html:
    """A bar of what is used; full only when everything is, empty only when nothing is."""
    share = min(max(used, 0.0), 1.0)
    width = 100.0 if share >= 1 else min(max(100 * share, 1.0 if share > 0 else 0.0), 99.0)
    filled = f"width:{width:.1f}%;height:100%;background:#d55e00"
    paper = "max-width:26em;height:.7em;border-radius:.35em;overflow:hidden;margin-top:.5em"
    return tag(
        "div",
        tag("div", "", style=filled),
        role="img",
        aria_label=f"{100 * share:.1f} % of the budget used",
        style=f"{paper};background:rgba(128,128,128,.25)",
    )
