"""Ask a steward whether the first line of a table holds names, before any of it is shown."""

from __future__ import annotations

from starlette.responses import Response

from veilspan._html import tag
from veilspan.studio.fields import check_field
from veilspan.studio.header_names import confirm_names, open_header
from veilspan.studio.layout import address, card, form, heading
from veilspan.studio.visits import Visit, form_route


def ask_for_names(visit: Visit, name: str) -> Response:
    """The question, with nothing of the line in it."""
    words = (
        "This table stores no types, so that its first line may be the names of its columns or "
        "somebody's row. Names become public: look at the file itself, then say which it is. If it "
        "is a row, write a line of names above it."
    )
    answer = tag("p", "That is for the steward.", class_="muted")
    if visit.session.may("steward"):
        answer = form(
            address("d", name, "names"),
            visit.session.csrf,
            check_field("names", "The first line holds names of columns.", "", required=True),
            tag("p", tag("button", "Show the names"), class_="actions"),
        )
    return visit.page(
        f"Declare {name}",
        heading(f"Does {name} begin with names?", over="Dataset"),
        card(tag("p", words), answer, class_="first"),
    )


def confirm(visit: Visit) -> Response:
    """Keep the steward's word for this first line, and for no other."""
    studio, name = visit.studio, visit.params["name"]
    place = address("d", name, "schema")
    if visit.text("names") != "yes":
        return visit.go(place, "Tick the box if the first line holds names.", "problem")
    confirm_names(studio.folder, name, open_header(studio, name).names)
    return visit.go(place)


ROUTES = [form_route("/d/{name}/names", confirm, roles=("steward",))]
