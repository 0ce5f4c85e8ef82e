"""Fields of forms: each with its label, a word of help, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from veilspan._html import Html, tag
from veilspan.studio.layout import void


def text_field(
    key: str,
    label: str,
    value: str = "",
    *,
    help: Any = None,
    wrong: Sequence[str] = (),
    kind: str = "text",
    **more: Any,
) -> Html:
    """A line of text; ``kind`` is that of the input."""
    box = void(
        "input", type=kind, id=key, name=key, value=value, **_described(key, help, wrong), **more
    )
    return _field(key, label, box, help, wrong)


def area_field(
    key: str,
    label: str,
    value: str = "",
    *,
    help: Any = None,
    wrong: Sequence[str] = (),
    **more: Any,
) -> Html:
    """Several lines of text to type."""
    # A line break right behind the tag is not part of the text.
    text = f"\n{value}"
    box = tag("textarea", text, id=key, name=key, **_described(key, help, wrong), **more)
    return _field(key, label, box, help, wrong)


def choice_field(
    key: str,
    label: str,
    value: str,
    choices: Mapping[str, str],
    *,
    help: Any = None,
    wrong: Sequence[str] = (),
    **more: Any,
) -> Html:
    """One of several words to choose."""
    options = [
        tag("option", words, value=name, selected=name == value) for name, words in choices.items()
    ]
    box = tag("select", *options, id=key, name=key, **_described(key, help, wrong), **more)
    return _field(key, label, box, help, wrong)


def check_field(key: str, label: Any, value: str, **more: Any) -> Html:
    """A box to tick; it sends ``yes``."""
    box = void("input", type="checkbox", id=key, name=key, value="yes", checked=bool(value), **more)
    return tag("div", tag("label", box, tag("span", label), class_="check"), class_="field")


def _described(key: str, help: Any, wrong: Sequence[str]) -> dict[str, Any]:
    named = [f"{key}-help"] if help else []
    named += [f"{key}-wrong"] if wrong else []
    return {
        "aria_describedby": " ".join(named) or None,
        "aria_invalid": "true" if wrong else None,
    }


def _field(key: str, label: str, box: Html, help: Any, wrong: Sequence[str]) -> Html:
    return tag(
        "div",
        tag("label", label, for_=key),
        box,
        tag("p", help, class_="help", id=f"{key}-help") if help else None,
        tag("p", " ".join(wrong), class_="wrong", id=f"{key}-wrong") if wrong else None,
        class_="field",
    )
