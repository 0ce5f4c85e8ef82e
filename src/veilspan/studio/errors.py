"""What the studio says where it cannot do what was asked: a status and a sentence."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from veilspan._errors import raised_by_us
from veilspan._html import tag
from veilspan.studio.layout import bare_bar, document

_TITLES = {
    401: "Please come in by a link",
    403: "Not from here",
    404: "There is no such page",
    405: "Not answered",
    408: "Too slow",
    409: "That cannot be done now",
    413: "Too large",
    421: "Wrong address",
    500: "Something went wrong",
    503: "Busy",
}


#: Over what a person may not do, whose request came from our own page.
NOT_YOURS = "Not for you to do"


class Refusal(Exception):
    """A request that is refused, with a status and what to do next in the reader's words."""

    def __init__(self, status: int, words: str, *, link: bool = False, title: str = "") -> None:
        super().__init__(words)
        self.status, self.words, self.link, self.title = status, words, link, title


def describe(error: BaseException) -> tuple[int, str, bool]:
    """Status, sentence, and whether a link to the first page helps, of whatever went wrong.

    A text that veilspan did not write could quote a row: it is not shown.
    """
    if isinstance(error, Refusal):
        return error.status, error.words, error.link
    if isinstance(error, HTTPException):
        words = "Look at the address, or begin at the first page."
        return error.status_code, words if error.status_code == 404 else "", True
    spoken = isinstance(error, (ValueError, TypeError, RuntimeError, ImportError))
    if spoken and raised_by_us(error):
        return 409, str(error), True
    if isinstance(error, OSError) and error.strerror:
        return 500, f"The system says: {error.strerror}. What was recorded before stays.", True
    return 500, "Nothing was changed by this page. The first page shows what is recorded.", True


def error_page(
    status: int, words: str, link: bool, *, title: str = "", head: bool = False
) -> Response:
    """A whole page for an error, in the style of the others."""
    title = title or _TITLES.get(status, "Not answered")
    body: list[Any] = [
        tag("p", f"{status}", class_="kicker"),
        tag("h1", title),
        tag("p", words, class_="sentence") if words else None,
    ]
    if link:
        body.append(tag("p", tag("a", "To the first page", href="/", class_="button")))
    text = document(title, [tag("div", *body, class_="card narrow")], header=bare_bar())
    return HTMLResponse("" if head else text, status)
