"""All addresses of the studio, behind the guard."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.routing import Router

from veilspan.studio.guard import MOST_FORM, MOST_UPLOAD, Guard
from veilspan.studio.pages import (
    compare,
    datasets,
    declare,
    entrance,
    files,
    importing,
    login,
    names,
    plan,
    question,
    release,
    requests,
    run,
    sign,
)
from veilspan.studio.state import Studio

#: Pages in the order in which one meets them; each lists its addresses.
MODULES = (
    entrance, login, files, datasets, declare, importing, names, question, plan, sign, run,
    requests, release, compare,
)  # fmt: skip


class Pages:
    """The pages of a studio as an application: finds who answers an address."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        modules = MODULES
        self.router = Router([route for module in modules for route in module.ROUTES])
        self.router.default = _not_found
        self.router.redirect_slashes = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request by the page at its address."""
        scope["app"] = self
        await self.router(scope, receive, send)


async def _not_found(scope: Any, receive: Any, send: Any) -> None:
    raise HTTPException(404)


def make_app(studio: Studio) -> Guard:
    """The studio as an ASGI application that answers its own hosts only."""
    if studio.settings.url:
        hosts = [urlsplit(studio.settings.url).netloc]
        origins = [studio.settings.url.rstrip("/")]
    else:
        hosts = [f"{name}:{studio.port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        origins = [f"http://{host}" for host in hosts]
    return Guard(Pages(studio), hosts, origins, _find_limit, partial(_find_person, studio))


def _find_person(studio: Studio, scope: Any) -> str | None:
    """Whose requests are counted; whoever is alone keeps nobody out."""
    if not studio.settings.team:
        return None
    session = studio.sessions.find(HTTPConnection(scope).cookies.get(studio.cookie_name))
    return None if session is None else session.person


def _find_limit(path: str) -> int:
    return MOST_UPLOAD if path.endswith("/predict") else MOST_FORM
