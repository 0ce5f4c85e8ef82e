"""What a notebook shows of a statement, a plan or an account: a few plain elements, no script.

Everything is escaped (:mod:`veilspan._html`). The only styles are colours of a badge that are
readable on light and dark pages alike.
"""

from __future__ import annotations

from collections.abc import Iterable

from veilspan._html import tag

#: Ink and paper of a badge by the strength of a promise (:mod:`veilspan.privacy.strength`).
_COLOURS = {
    "strong": "color:#ffffff;background:#0072b2",
    "moderate": "color:#ffffff;background:#555e69",
    "weak": "color:#1a1d21;background:#e69f00",
    "none": "color:#ffffff;background:#a0001c",
}


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
    mark = None
    if badge is not None:
        style = f"{_COLOURS[badge[0]]};padding:0 .6em;border-radius:1em"
        mark = tag("strong", badge[1], style=style)
    meter = None
    if used is not None:
        meter = tag("div", tag("meter", "", min=0, max=1, value=used, style="width:20em"))
    rows = (
        tag(
            "tr",
            tag("th", label, scope="row", style="text-align:left;vertical-align:top"),
            tag("td", *(tag("div", line) for line in lines), style="text-align:left"),
        )
        for label, lines in facts
    )
    return tag(
        "div",
        tag("div", tag("b", title), " " if mark else None, mark),
        meter,
        tag("table", tag("tbody", *rows)),
        tag("small", foot) if foot else None,
    )
