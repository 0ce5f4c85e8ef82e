"""One request as a page sees it: who asks, what the form says, and how to answer.

Pages are plain functions from a :class:`Visit` to an answer. They run in threads, since they read
the ledger; forms are read before, and checked for the token of their session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from veilspan.studio.errors import NOT_YOURS, Refusal
from veilspan.studio.layout import document, notices, top_bar
from veilspan.studio.sessions import SOLO, Session

if TYPE_CHECKING:
    from veilspan.studio.state import Studio

#: Fields that a form may have; a schema has a dozen a column.
MOST_FIELDS = 20_000
#: Versions and events are counted up from one: nobody gets this far.
MOST_DIGITS = 9
ROLES = ("steward", "analyst", "officer")


@dataclass
class Visit:
    """A request, with the session it came in and the form it brought."""

    studio: Studio
    request: Request
    session: Session
    form: Any = None

    @property
    def params(self) -> dict[str, str]:
        """What the address says in its variable parts."""
        return self.request.path_params

    def text(self, name: str, default: str = "") -> str:
        """A field of the form, as text; what is no text counts as absent."""
        value = (self.form or {}).get(name, default)
        return value if isinstance(value, str) else default

    def query(self, name: str, default: str = "") -> str:
        """A word of the address behind the question mark."""
        return self.request.query_params.get(name, default)

    def page(self, title: str, *body: Any, wide: bool = False, status: int = 200) -> HTMLResponse:
        """Answer with a whole page."""
        session, team = self.session, self.studio.settings.team
        place = self.request.url.path
        bar = top_bar(session.person, session.role, session.csrf, team=team, place=place)
        said = notices(session.take_notices())
        return HTMLResponse(document(title, [said, *body], header=bar, wide=wide), status)

    def go(self, place: str, words: str = "", kind: str = "done") -> Response:
        """Answer a form: go to a page, which says these words. Reloading it sends nothing again."""
        if words:
            self.session.say(words, kind)
        return RedirectResponse(place, 303)


def read_number(text: str) -> int:
    """A whole number that a form or a header brought: few plain digits, else 400."""
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise Refusal(400, "A number of this form cannot be read. Reload the page.")
    return int(text)


Handler = Callable[[Visit], Response]


def page_route(path: str, handler: Handler, *, roles: Sequence[str] = ROLES) -> Route:
    """A page that is read, and by whom."""
    return Route(path, _answer(handler, roles), methods=["GET"])


def form_route(path: str, handler: Handler, *, roles: Sequence[str] = ROLES) -> Route:
    """Where a form is sent: its token is checked, and who may send it."""
    return Route(path, _answer(handler, roles, sends=True), methods=["POST"])


def _answer(handler: Handler, roles: Sequence[str], *, sends: bool = False) -> Any:
    async def answer(request: Request) -> Response:
        try:
            visit = enter(request)
        except Refusal:
            if not request.app.studio.settings.team or sends:
                raise
            return RedirectResponse("/login", 303)
        if not sends:
            return await run_in_threadpool(_checked, handler, visit, roles)
        async with request.form(max_fields=MOST_FIELDS, max_files=1) as form:
            visit.form = form
            if not visit.session.knows(visit.text("csrf")):
                raise Refusal(
                    403,
                    "This form is of an earlier session. Go back, reload the page, and send it "
                    "again: nothing was changed.",
                )
            return await run_in_threadpool(_checked, handler, visit, roles)

    return answer


def _checked(handler: Handler, visit: Visit, roles: Sequence[str]) -> Response:
    if not visit.session.may(*roles):
        raise Refusal(
            403,
            f"This is for people with the role {' or '.join(roles)}.",
            link=True,
            title=NOT_YOURS,
        )
    with visit.studio.warming.turn():
        return handler(visit)


def enter(request: Request) -> Visit:
    """The visit of somebody who is let in; 401 for everybody else."""
    studio: Studio = request.app.studio
    session = studio.find_session(request.cookies.get(studio.cookie_name))
    known = ROLES if studio.settings.team else (SOLO,)
    if session is not None and session.role not in known:
        session = None
    if session is None:
        raise Refusal(401, studio.how_to_enter)
    return Visit(studio, request, session)
