"""A studio that runs in this process, and browsers without a window that talk to it."""

import re
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

from veilspan.studio.server import make_server, write_link


class Visitor(httpx.Client):
    """A client that behaves as a browser does on our own pages."""

    def __init__(self, origin, **options):
        self.origin = origin
        lone = httpx.Limits(max_keepalive_connections=0)  # nothing stays open between requests
        super().__init__(base_url=origin, timeout=30, limits=lone, **options)

    def csrf(self, page="/"):
        return re.search(r'name="csrf" value="([^"]+)"', self.get(page).text).group(1)

    def submit(self, path, fields=None, *, csrf=None, origin=None, **options):
        """Send a form as a page of the studio would."""
        data = {"csrf": self.csrf() if csrf is None else csrf, **(fields or {})}
        headers = {"Origin": origin or self.origin, "Sec-Fetch-Site": "same-origin"}
        return self.post(path, data=data, headers=headers, **options)


class Running:
    def __init__(self, studio):
        self.studio = studio
        self.origin = f"http://127.0.0.1:{studio.port}"

    def visitor(self, **options):
        return Visitor(self.origin, **options)

    def enter(self):
        """A visitor who came in by a link."""
        came = self.visitor()
        link = urlsplit(write_link(self.studio))
        answer = came.get(f"{link.path}?{link.query}")
        assert answer.status_code == 303, answer.text
        return came


@contextmanager
def run_studio(settings):
    server, studio, taken = make_server(settings)
    with taken:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Running(studio)
        server.should_exit = True
        thread.join(10)
