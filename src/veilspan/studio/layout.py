"""The frame of every page: head, bar at the top, steps, and the two ways to do it by text.

All style is in files, for the policy of the studio takes no other; all text is escaped by
:func:`veilspan._html.tag`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from veilspan._html import Html, details, join, tag

#: The way from a file to a release, as the steps at the top of a page name it.
STEPS = ("Declare", "Ask", "Plan", "Sign and run", "Release")
#: The three lists, and by the first word of an address to which of them a page belongs.
_LISTS = {"Datasets": "/", "Requests": "/requests", "Releases": "/releases"}
_PARTS = {"requests": "/requests", "r": "/requests", "releases": "/releases", "x": "/releases",
          "compare": "/releases"}  # fmt: skip
_LOGO = Html(
    '<svg viewBox="0 0 32 32" class="logo" aria-hidden="true">'
    '<path class="logo-span" d="M4 26 L28 8"></path>'
    '<circle class="logo-dot" cx="9" cy="15" r="2.6"></circle>'
    '<circle class="logo-dot" cx="15" cy="23" r="2.6"></circle>'
    '<circle class="logo-dot" cx="17" cy="9.5" r="2.6"></circle>'
    '<circle class="logo-dot" cx="24" cy="17.5" r="2.6"></circle></svg>'
)


def void(name: str, /, **attributes: Any) -> Html:
    """An element that has no end, which :func:`tag` would close."""
    whole = tag(name, **attributes)
    return Html(whole.removesuffix(f"</{name}>"))


def document(title: str, body: Sequence[Any], *, header: Html, wide: bool = False) -> str:
    """The whole document as text: our style sheets and our script, and nothing from elsewhere."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Veilspan Studio"),
        void("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        void("link", rel="stylesheet", href="/static/report.css"),
        void("link", rel="stylesheet", href="/static/studio.css"),
        tag("script", src="/static/studio.js", defer=True),
    )
    content = tag(
        "body",
        tag("a", "To the content", href="#main", class_="skip"),
        header,
        tag("main", *body, id="main", class_="wide" if wide else None),
        class_="studio",
    )
    return f"<!doctype html>\n{tag('html', head, content, lang='en')}\n"


def top_bar(person: str, role: str, csrf: str, *, team: bool, place: str) -> Html:
    """The bar at the top: where one is, who one is, and the way out."""
    part = _PARTS.get(place.split("/")[1], "/")
    home = tag("a", _LOGO, tag("span", "Veilspan", tag("b", " Studio")), href="/", class_="brand")
    links = tag(
        "nav",
        *(
            tag("a", name, href=link, aria_current=_say_current(link, part, place))
            for name, link in _LISTS.items()
        ),
        aria_label="Pages",
    )
    who = f"{person}, {role}" if team else f"{person}, alone"
    leave = form("/leave", csrf, tag("button", "Log out", class_="quiet"), class_="inline")
    return tag(
        "header",
        tag("div", home, links, tag("div", tag("span", who, class_="who"), leave, class_="me")),
        class_="bar",
    )


def _say_current(link: str, part: str, place: str) -> str | None:
    """The list that a page is, or belongs to, as a screen reader is told."""
    if link == place:
        return "page"
    return "true" if link == part else None


def bare_bar() -> Html:
    """The bar of a page for somebody who is not let in: whose page it is, and no way on."""
    brand = tag("span", _LOGO, tag("span", "Veilspan", tag("b", " Studio")), class_="brand")
    return tag("header", tag("div", brand), class_="bar")


def form(action: str, csrf: str, *children: Any, **attributes: Any) -> Html:
    """A form that is sent by POST with the token of its session."""
    token = void("input", type="hidden", name="csrf", value=csrf)
    return tag("form", token, *children, method="post", action=action, **attributes)


def hidden(name: str, value: Any) -> Html:
    """A field that a form carries along unseen."""
    return void("input", type="hidden", name=name, value=value)


def steps(now: int, links: Sequence[str | None] = ()) -> Html:
    """The steps from a file to a release, the present one marked."""
    items = []
    for place, name in enumerate(STEPS):
        link = links[place] if place < len(links) else None
        state = "now" if place == now else "past" if place < now else "next"
        inner = tag("a", name, href=link) if link and place != now else tag("span", name)
        current = "step" if place == now else None
        items.append(tag("li", inner, class_=state, aria_current=current))
    return tag("ol", *items, class_="steps", aria_label="Steps from a file to a release")


def heading(title: Any, *, over: Any = None, under: Any = None) -> Html:
    """The heading of a page, with a line above and one below."""
    return tag(
        "div",
        tag("p", over, class_="kicker") if over else None,
        tag("h1", title),
        tag("p", under, class_="lead") if under else None,
        class_="heading",
    )


def notices(said: Sequence[tuple[str, str]]) -> Html | None:
    """What was done, or why it was not, said once."""
    if not said:
        return None
    return join(
        tag("p", words, class_=f"notice {kind}", role="alert" if kind == "problem" else "status")
        for kind, words in said
    )


def draw_warnings(warnings: Sequence[str]) -> Html | None:
    """What a fit warned of, for whoever would use its release."""
    if not warnings:
        return None
    told = [tag("li", words) for words in warnings]
    return tag("div", tag("b", "The fit warns:"), tag("ul", *told), class_="notice careful warned")


def card(*children: Any, title: Any = None, class_: str = "", **attributes: Any) -> Html:
    """A box with a heading of its own."""
    head = tag("h2", title) if title else None
    return tag("section", head, *children, class_=f"card {class_}".strip(), **attributes)


def as_text(command: str, python: str) -> Html:
    """The same thing as a command and as Python, folded away."""
    return details(
        "The same by text: command and Python",
        tag(
            "div",
            _code("as-command", "As command", command),
            _code("as-python", "As Python", python),
        ),
        class_="as-text",
    )


def _code(key: str, title: str, text: str) -> Html:
    copy = tag("button", "Copy", type="button", data_copy=key, hidden=True)
    shown = tag("pre", tag("code", text, id=key), tabindex="0", aria_label=title)
    return tag("div", tag("h3", title), tag("div", copy, shown, class_="code"))


def address(*parts: str) -> str:
    """An address of the studio from its parts, each of which may hold any letter."""
    return "/" + "/".join(quote(part, safe="") for part in parts)
