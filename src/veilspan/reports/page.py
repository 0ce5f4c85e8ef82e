"""One HTML file that loads nothing: style, script and charts are inside, and a policy says so."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from veilspan.privacy.strength import NONE, STRONG, WEAK
from veilspan.reports.html import Html, tag

#: What stands before the title of a page in tabs and lists, by the strength of its promise.
_PREFIXES = {NONE: "NOT PRIVATE: ", WEAK: "WEAK: "}


def page(
    title: str, body: Sequence[Any], *, alarm: str = "", grade: str = STRONG, release: str = ""
) -> str:
    """Return the whole document as text, under an alarm if the promise is weak or none.

    On paper every sheet says which release it is of, and which sheet of how many: loose sheets can
    be put back behind the cover that was signed.

    The Content-Security-Policy forbids everything but the one style sheet and the one script below,
    named by their digests: a page that somebody manages to inject markup into still runs nothing
    and asks no server for anything. There are no style attributes and no handlers.
    """
    style, script = _static("report.css") + _foot_of_sheets(release), _static("report.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{_PREFIXES.get(grade, '')}{title}"),
        tag("style", Html(style)),
    )
    content = tag(
        "body",
        tag("a", "To the content", href="#main", class_="skip"),
        tag("div", alarm, class_=f"alarm {grade}", role="alert") if alarm else None,
        tag("main", *body, id="main"),
        tag("script", Html(script)),
    )
    return f"<!doctype html>\n{tag('html', head, content, lang='en')}\n"


def _foot_of_sheets(release: str) -> str:
    """A rule for paper; nothing but letters and digits of the id gets into the style."""
    if not (release.isascii() and release.isalnum()):
        return ""
    return f'@page {{ @bottom-left {{ content: "Privacy report of release {release}"; }} }}\n'


def _static(name: str) -> str:
    return files("veilspan.reports").joinpath("static", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
