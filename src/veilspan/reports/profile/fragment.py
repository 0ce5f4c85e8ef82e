"""A profile in a notebook: its table at a glance, with styles of its own."""

from __future__ import annotations

from typing import Any

from veilspan.reports.html import Html, tag
from veilspan.reports.profile.overview import at_a_glance
from veilspan.reports.profile.words import say_number

#: A notebook has no style sheet of ours; colours that read on light and dark.
_STYLE = """
.veilspan-profile { max-width: 60rem; font-size: 0.95em; }
.veilspan-profile table { border-collapse: collapse; }
.veilspan-profile th, .veilspan-profile td { padding: 0.25rem 0.8rem 0.25rem 0; text-align: left; }
.veilspan-profile .number { text-align: right; }
.veilspan-profile caption { display: none; }
.veilspan-profile .spark { width: 7rem; height: 1.6rem; }
.veilspan-profile .bin { fill: #3a86b8; } .veilspan-profile .end { fill: #e69f00; }
.veilspan-profile .gone { fill: #9aa5b1; } .veilspan-profile .axis { stroke: #9aa5b1; }
.veilspan-profile .small { opacity: 0.75; font-size: 0.9em; }
"""


def profile_fragment(profile: Any) -> str:
    """Markup for a notebook's output cell."""
    promise = profile.privacy_
    head = f"{say_number(profile.people)} people, epsilon {promise.epsilon:g}"
    if not promise.private:
        head = f"NOT PRIVATE ({promise.why_not_private}): {head}"
    keys = dict.fromkeys(profile.column_names, "")
    return str(
        tag(
            "div",
            tag("style", Html(_STYLE)),
            tag("p", tag("strong", f"Profile of {profile.schema.name or 'a table'}"), f": {head}"),
            at_a_glance(profile, keys),
            class_="veilspan-profile",
        )
    )
