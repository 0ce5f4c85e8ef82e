"""The door of the studio: what is refused before any page is asked, and what every answer says.

A page on the internet can make a browser send requests to this machine. So a request is taken only

* for a host that is ours (421 else: a name that was pointed at this machine from outside, DNS
  rebinding),
* from a page of ours or from nowhere: ``Sec-Fetch-Site`` of a reading request, ``Origin`` of a
  writing one, which must be there (403 else). Another port of this machine is another site.

Every answer, errors too, forbids scripts and styles that are not our files, framing, and storing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from starlette.exceptions import HTTPException

from veilspan.studio.errors import Refusal, describe, error_page

#: Bytes of a form: a schema of some hundred columns takes a tenth of it.
MOST_FORM = 512 * 1024
#: Bytes of a file for "predict on my file".
MOST_UPLOAD = 20 * 2**20
#: Seconds in which a body must have come as a whole.
BODY_SECONDS = 30.0
#: Forms that come before somebody is let in, by anybody who finds the address; how many may be
#: on their way at a time. A form that comes at once needs some milliseconds.
OPEN_FORMS = ("/login", "/password")
MOST_ARRIVING = 20
#: Bytes of such a form: a name, a password twice.
MOST_OPEN_FORM = 16 * 1024
#: Requests that are answered at a time; more are asked to come again.
MOST_OPEN = 200
#: How many of them may be one person's, half-sent forms and open pages that follow a job included:
#: nobody who is let in can keep the others out. A browser has six connections to a site at a time.
MOST_OF_ONE = 40
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not "no-referrer": browsers would then send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_OURS = ("same-origin", "none")


class Guard:
    """Wraps the pages: refuses what is not from here, limits bodies, completes every answer.

    Parameters
    ----------
    app : ASGI application
        The pages.
    hosts, origins : iterable of str
        What ``Host`` and ``Origin`` may say.
    find_limit : callable, optional
        Most bytes of a form at a path.
    find_person : callable, optional
        Who sends a request, by its session; None for somebody who was not let in.
    """

    def __init__(
        self,
        app: Any,
        hosts: Iterable[str],
        origins: Iterable[str],
        find_limit: Callable[[str], int] | None = None,
        find_person: Callable[[Any], str | None] | None = None,
    ) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)
        self.origins = frozenset(origin.lower() for origin in origins)
        self.find_limit = find_limit or (lambda path: MOST_FORM)
        self.find_person = find_person or (lambda scope: None)
        self._open = 0
        self._open_of: Counter[str] = Counter()
        self._arriving: list[asyncio.Task[bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request; anything but HTTP is closed."""
        if scope["type"] != "http":
            return
        started = False

        async def complete(message: Any) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": complete_headers(message.get("headers", ()))}
            await send(message)

        self._open += 1
        person: str | None = None
        try:
            if self._open > MOST_OPEN:
                raise Refusal(503, "Too many people ask at once. Try again in a moment.")
            self.check(scope)
            person = self.find_person(scope)
            if person is not None:
                self._open_of[person] += 1
                if self._open_of[person] > MOST_OF_ONE:
                    words = "You have too many pages or forms open at once. Close some of them."
                    raise Refusal(503, words)
            limit = self.find_limit(scope["path"])
            if scope["method"] == "POST" and scope["path"] in OPEN_FORMS:
                body = limit_body(scope, receive, min(limit, MOST_OPEN_FORM))
                taken = give_back(await self._wait_for(body), receive)
            else:
                taken = limit_body(scope, receive, limit)
            await self.app(scope, taken, complete)
        except Exception as error:
            if not isinstance(error, (Refusal, HTTPException)):
                _log(error)
            if started:  # nothing can be taken back: the answer ends here
                raise
            status, words, more = describe(error)
            title = error.title if isinstance(error, Refusal) else ""
            page = error_page(status, words, more, title=title, head=scope["method"] == "HEAD")
            await page(scope, receive, complete)
        finally:
            self._open -= 1
            if person is not None:
                self._open_of[person] -= 1
                if not self._open_of[person]:
                    del self._open_of[person]

    async def _wait_for(self, receive: Any) -> bytes:
        """The body of a form from outside; where too many are on their way the oldest is left.

        So clients that send half a form and then wait keep nobody from reading, nor from logging
        in: those who send theirs at once are faster than any number of those.
        """
        arriving = asyncio.ensure_future(read_body(receive))
        self._arriving.append(arriving)
        if len(self._arriving) > MOST_ARRIVING:
            self._arriving.pop(0).cancel()
        try:
            return await arriving
        except asyncio.CancelledError:
            raise Refusal(503, "Too many people log in at once. Try again in a moment.") from None
        finally:
            if arriving in self._arriving:
                self._arriving.remove(arriving)

    def check(self, scope: Any) -> None:
        """Refuse a request that is for somebody else, or that a page of somebody else sent."""
        headers = [(name.lower(), value) for name, value in scope["headers"]]

        def said(name: bytes) -> str | None:
            values = [value for key, value in headers if key == name]
            if len(values) > 1:  # which of them another program would believe, nobody knows
                raise Refusal(400, "A header that says where this comes from stands there twice.")
            return values[0].decode("latin-1").strip().lower() if values else None

        method = scope["method"]
        if said(b"host") not in self.hosts:
            raise Refusal(421, "This address does not lead to this studio.")
        if method not in ("GET", "HEAD", "POST"):
            raise Refusal(405, "Pages are read and forms are sent; nothing else is answered.")
        origin, site = said(b"origin"), said(b"sec-fetch-site")
        if method == "POST" and origin is None:
            raise Refusal(403, "This form did not say which page it came from, so it was not sent.")
        if (origin is not None and origin not in self.origins) or (
            site is not None and site not in _OURS
        ):
            raise Refusal(403, "Another site sent you here, so nothing was done.", link=True)
        if "prefetch" in (said(b"sec-purpose") or said(b"purpose") or ""):
            raise Refusal(403, "Pages are not loaded in advance.")


def complete_headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers of an answer with those that every answer has; what a page set itself stays."""
    kept = list(given)
    names = {name.lower() for name, _ in kept}
    more = [(key.encode(), value.encode()) for key, value in HEADERS.items()]
    return [*kept, *(pair for pair in more if pair[0] not in names)]


def limit_body(scope: Any, receive: Any, most: int) -> Any:
    """A body of at most so many bytes, that comes within a time; else 413 and 408."""
    length = dict(scope["headers"]).get(b"content-length", b"0")
    too_large = Refusal(413, f"This form is larger than {most // 1024:,} KB, and was not read.")
    if length.isdigit() and int(length) > most:
        raise too_large
    loop = asyncio.get_running_loop()
    end, taken, whole = loop.time() + BODY_SECONDS, 0, False

    async def take() -> Any:
        nonlocal taken, whole
        if whole:
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.01, end - loop.time()))
        except TimeoutError:
            raise Refusal(408, "The form took too long to arrive, and was not read.") from None
        taken += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if taken > most:
            raise too_large
        return message

    return take


async def read_body(receive: Any) -> bytes:
    """A body as a whole; one that was broken off is nobody's form."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "The form was broken off, and was not read.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def give_back(body: bytes, receive: Any) -> Any:
    """What receives a body that was read already."""
    given = False

    async def take() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return take


def _log(error: BaseException) -> None:
    """Name an unexpected error in the log; its text may quote a row and is left out."""
    from veilspan._log import log_event

    log_event("studio error", kind=type(error).__name__)
