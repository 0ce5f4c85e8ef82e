"""The files that pages load: two style sheets, a script and an icon, by their exact names."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from veilspan.studio.errors import Refusal

#: Name of a file: which package holds it, and what it is.
FILES = {
    "report.css": ("veilspan.reports", "text/css; charset=utf-8"),
    "studio.css": ("veilspan.studio", "text/css; charset=utf-8"),
    "studio.js": ("veilspan.studio", "text/javascript; charset=utf-8"),
    "icon.svg": ("veilspan.studio", "image/svg+xml"),
}


async def serve_file(request: Request) -> Response:
    """A file of the table above; no other name leads to a file."""
    name = request.path_params["name"]
    if name not in FILES:
        raise Refusal(404, "There is no such file.")
    package, kind = FILES[name]
    data = files(package).joinpath("static", name).read_bytes()
    return Response(data, headers={"content-type": kind})


ROUTES = [Route("/static/{name}", serve_file, methods=["GET"])]
