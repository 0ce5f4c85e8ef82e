"""Run the studio: take a port, print and open the link, answer until somebody stops it."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from veilspan.studio.app import make_app
from veilspan.studio.guard import HEADERS
from veilspan.studio.settings import Settings
from veilspan.studio.state import Studio

#: Seconds in which the head of a request must have come: slow clients hold nothing for long.
HEAD_SECONDS = 10.0
#: Seconds for which a connection is kept when an answer was given and nothing follows.
KEEP_ALIVE = 15


class PatientForAWhile(H11Protocol):
    """HTTP that closes connections whose request does not come, and whose errors say no more."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the head of the first request, for a while."""
        super().connection_made(transport)
        self._expect_request(HEAD_SECONDS)

    def on_response_complete(self) -> None:
        """Wait for the next request in the same way; its head may begin late, and then come."""
        self._expect_request(self.timeout_keep_alive + HEAD_SECONDS)
        super().on_response_complete()

    def _expect_request(self, seconds: float) -> None:
        # Not cancelled when a request comes: by then this cycle is another one.
        self.loop.call_later(seconds, self._close_if_silent, self.cycle)

    def _close_if_silent(self, last: Any) -> None:
        if self.cycle is last and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, with the headers of every other answer."""
        lines = [f"{name}: {value}" for name, value in HEADERS.items()]
        head = ["HTTP/1.1 400 Bad Request", *lines, "content-length: 0", "connection: close"]
        self.transport.write(("\r\n".join(head) + "\r\n\r\n").encode())
        self.transport.close()


def open_socket(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((settings.host.strip("[]"), settings.port))
        taken.listen()  # two may bind a port that nobody listens at; one of them gets it
    except OSError as error:
        taken.close()
        raise ValueError(
            f"the studio cannot listen at {settings.host}:{settings.port} ({error.strerror}): "
            "--port 0 takes a free one."
        ) from None
    return taken


def make_server(settings: Settings) -> tuple[uvicorn.Server, Studio, socket.socket]:
    """A server that is ready to run, and the studio behind it."""
    taken = open_socket(settings)
    studio = Studio(settings, taken.getsockname()[1])
    config = uvicorn.Config(
        make_app(studio),
        http=PatientForAWhile,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # the guard logs errors, without their text, which may quote a row
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config), studio, taken


def write_link(studio: Studio) -> str:
    """A link that lets one browser in, once; in a team the address alone."""
    if studio.settings.url:
        return studio.settings.url
    place = f"http://127.0.0.1:{studio.port}"
    return place if studio.settings.team else f"{place}/enter?token={studio.links.make()}"


def run_studio(
    settings: Settings,
    *,
    browser: bool,
    say: Callable[[str], None],
    greeting: str = "",
    prepare: Callable[[Settings], None] | None = None,
) -> None:
    """Run until it is stopped; ``say`` prints a line on the terminal, once the port is ours.

    What ``prepare`` does is done when the link is told: the first page waits for it, which needs
    the same slow modules anyway.
    """
    server, studio, taken = make_server(settings)
    link = write_link(studio)
    if greeting:
        say(greeting)
    say(link)
    if browser and not settings.url:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
    if sys.stdin is not None and sys.stdin.isatty() and not settings.team:
        say("Press Enter for another link, Ctrl-C to stop.")
        threading.Thread(target=_give_links, args=(studio, say), daemon=True).start()
    with taken:
        if prepare is not None:
            prepare(settings)
        studio.warming.start()
        server.run(sockets=[taken])


def _give_links(studio: Studio, say: Callable[[str], None]) -> None:
    """Print a new link for every line that somebody types."""
    for _ in sys.stdin:
        say(write_link(studio))
