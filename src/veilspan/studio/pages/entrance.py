"""The way in by a link that works once, and the way out."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from veilspan.studio.errors import Refusal
from veilspan.studio.sessions import SOLO
from veilspan.studio.state import Studio
from veilspan.studio.visits import Visit, form_route


async def use_link(request: Request) -> Response:
    """Take a token for a session; what the browser had before is not taken over."""
    studio: Studio = request.app.studio
    if request.method != "GET":  # previews of a link look at its head: that uses nothing up
        return Response()
    if studio.settings.team or not studio.links.redeem(request.query_params.get("token", "")):
        raise Refusal(401, studio.how_to_enter)
    return let_in(studio, request, studio.settings.who, SOLO)


def let_in(studio: Studio, request: Request, person: str, role: str, stamp: str = "") -> Response:
    """Begin a new session and end the one that the browser brought along, if any."""
    studio.sessions.end(request.cookies.get(studio.cookie_name))
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        studio.cookie_name,
        studio.sessions.start(person, role, stamp),
        httponly=True,
        samesite="strict",
        secure=bool(studio.settings.url),
        path="/",
    )
    return answer


def leave(visit: Visit) -> Response:
    """End the session, here and on the server."""
    studio = visit.studio
    studio.sessions.end(visit.request.cookies.get(studio.cookie_name))
    answer = RedirectResponse("/login" if studio.settings.team else "/left", 303)
    answer.delete_cookie(studio.cookie_name, path="/", httponly=True, samesite="strict")
    return answer


async def say_left(request: Request) -> Response:
    """What somebody sees who has left."""
    raise Refusal(401, request.app.studio.how_to_enter, title="You have logged out")


ROUTES = [
    Route("/enter", use_link, methods=["GET"]),
    Route("/left", say_left, methods=["GET"]),
    form_route("/leave", leave),
]
