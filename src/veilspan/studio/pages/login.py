"""The way in for a team: name and password, and a new password by a link."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from veilspan._html import tag
from veilspan.studio.accounts import AccountsError
from veilspan.studio.errors import Refusal
from veilspan.studio.fields import text_field
from veilspan.studio.layout import bare_bar, document, hidden
from veilspan.studio.pages.entrance import let_in
from veilspan.studio.state import Studio

#: Passwords that are checked at a time: each takes 32 MiB and a tenth of a second.
AT_A_TIME = 2
_turns: dict[Any, asyncio.Semaphore] = {}
WRONG = (
    "That name and password do not go together, or the account is paused after several wrong "
    "tries. Try again in a while, or ask the steward for a new link."
)


def _turn() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    return _turns.setdefault(loop, asyncio.Semaphore(AT_A_TIME))


async def show_login(request: Request) -> Response:
    """The form; whoever is in already goes on."""
    studio = _team(request)
    if studio.find_session(request.cookies.get(studio.cookie_name)) is not None:
        return RedirectResponse("/", 303)
    return _draw_login()


async def log_in(request: Request) -> Response:
    """Check name and password; a right pair begins a new session, whatever the browser held."""
    studio = _team(request)
    async with request.form(max_fields=5, max_files=0) as form:
        name, password = str(form.get("name", "")), str(form.get("password", ""))
    async with _turn():
        account = await run_in_threadpool(studio.accounts.verify, name, password)
    if account is None:
        return _draw_login(WRONG, name)
    return let_in(studio, request, account.name, account.role, account.stamp)


def _draw_login(wrong: str = "", name: str = "") -> Response:
    body = tag(
        "div",
        tag("h1", "Log in"),
        tag("p", wrong, class_="notice problem", role="alert") if wrong else None,
        tag(
            "form",
            text_field("name", "Name", name[:200], autocomplete="username", required=True),
            text_field("password", "Password", kind="password", required=True,
                       autocomplete="current-password"),
            tag("p", tag("button", "Log in"), class_="actions"),
            method="post",
            action="/login",
        ),
        class_="card narrow",
    )  # fmt: skip
    page = document("Log in", [body], header=bare_bar())
    return HTMLResponse(page, 401 if wrong else 200)


async def show_password(request: Request) -> Response:
    """The form for a new password, for whoever has a link that was not used yet."""
    studio = _team(request)
    token = request.query_params.get("token", "")
    try:
        name = await run_in_threadpool(studio.accounts.whose_link, token)
    except AccountsError as error:
        words = f"It does not work: {error} Ask the steward for a new one."
        raise Refusal(401, words, title="This link has ended") from None
    return _draw_password(token, name)


async def set_password(request: Request) -> Response:
    """Take the new password; all sessions of the person are over."""
    studio = _team(request)
    async with request.form(max_fields=5, max_files=0) as form:
        token, password = str(form.get("token", "")), str(form.get("password", ""))
        again = str(form.get("again", ""))
    try:
        name = await run_in_threadpool(studio.accounts.whose_link, token)
        if password != again:
            return _draw_password(token, name, "The two passwords differ.")
        async with _turn():
            account = await run_in_threadpool(studio.accounts.use_reset, token, password)
    except AccountsError as error:
        return _draw_password(token, "", str(error))
    studio.sessions.end_all_of(account.name)
    return RedirectResponse("/login", 303)


def _draw_password(token: str, name: str, wrong: str = "") -> Response:
    body = tag(
        "div",
        tag("h1", "Choose a password"),
        tag("p", f"For {name}.") if name else None,
        tag("p", wrong, class_="notice problem", role="alert") if wrong else None,
        tag(
            "form",
            hidden("token", token),
            text_field("password", "New password", kind="password", required=True,
                       autocomplete="new-password", help="Twelve letters or more."),
            text_field("again", "Once more", kind="password", required=True,
                       autocomplete="new-password"),
            tag("p", tag("button", "Keep it"), class_="actions"),
            method="post",
            action="/password",
        ),
        class_="card narrow",
    )  # fmt: skip
    page = document("Choose a password", [body], header=bare_bar())
    return HTMLResponse(page, 400 if wrong else 200)


def _team(request: Request) -> Studio:
    studio: Studio = request.app.studio
    if not studio.settings.team:
        raise Refusal(404, "This studio has one person only, who comes in by a link.")
    return studio


ROUTES = [
    Route("/login", show_login, methods=["GET"]),
    Route("/login", log_in, methods=["POST"]),
    Route("/password", show_password, methods=["GET"]),
    Route("/password", set_password, methods=["POST"]),
]
