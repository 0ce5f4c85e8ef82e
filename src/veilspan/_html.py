"""HTML from functions that escape all text, so that nobody can forget to.

Text is text and markup is :class:`Html`: :func:`tag` escapes every child and every attribute that
is not markup already. Names of columns, labels and ids come from users, so no part of a report
glues strings together by hand.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

_VOID = {"meta", "br", "col"}
# Joiners that names in some scripts need; other invisible characters could hide or reverse text.
_JOINERS = "\u200c\u200d"
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


class Html(str):
    """A string that is markup already, and is not escaped again."""

    __slots__ = ()


def escape(value: Any) -> Html:
    """Text as markup. Characters that cannot be seen become U+FFFD; line breaks stay."""
    text = "".join(letter if _is_visible(letter) else "\ufffd" for letter in str(value))
    return Html(html.escape(text, quote=True))


def _is_visible(letter: str) -> bool:
    return letter in "\n\t" or letter in _JOINERS or unicodedata.category(letter) not in _UNSEEN


def join(parts: Iterable[Any], between: str = "") -> Html:
    """Parts one after the other, each escaped unless it is markup."""
    return Html(str(escape(between)).join(_markup(part) for part in parts if part is not None))


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element: ``tag("p", "a < b", class_="note")``.

    Underscores of attribute names become hyphens and a last one is dropped. ``None`` and ``False``
    leave an attribute out, ``True`` writes its name alone.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    caption: Any = None,
    numeric: Sequence[int] = (),
    class_: str | None = None,
) -> Html:
    """A table whose first column heads its rows; ``numeric`` columns are aligned to the right."""

    def cell(index: int, value: Any) -> Html:
        side = "number" if index in numeric else None
        if index == 0:
            return tag("th", value, scope="row", class_=side)
        return tag("td", value, class_=side)

    heads = (
        tag("th", text, scope="col", class_="number" if i in numeric else None)
        for i, text in enumerate(head)
    )
    body = (tag("tr", *(cell(i, value) for i, value in enumerate(row))) for row in rows)
    whole = tag(
        "table",
        tag("caption", caption) if caption is not None else None,
        tag("thead", tag("tr", *heads)),
        tag("tbody", *body),
        class_=class_,
    )
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def details(summary: Any, *children: Any, class_: str | None = None) -> Html:
    """Something that is folded away until it is wanted."""
    return tag("details", tag("summary", summary), *children, class_=class_)


def _markup(part: Any) -> str:
    return part if isinstance(part, Html) else escape(part)


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        value = f"{value:.2f}".rstrip("0").rstrip(".")
        value = "0" if value == "-0" else value
    return f' {name}="{escape(value)}"'
