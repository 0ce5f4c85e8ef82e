"""Text that would like to be a script, in every place of a report that takes text."""

import warnings
from html.parser import HTMLParser

import numpy as np

from veilspan import PCA
from veilspan.reports import report_html

from .outcome import Outcome

PAYLOADS = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    '" onmouseover="alert(1)',
    "' onfocus='alert(1)' autofocus='",
    "<iframe src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<!--><script>alert(1)</script-->",
    "]]><script>alert(1)</script>",
    "\u003cscript\u003ealert(1)\u003c/script\u003e",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<base href=//evil.example/>",
    "{{constructor.constructor('alert(1)')()}}",
    "\x00<script\x00>alert(1)</script>",
    "<scr\u0000ipt>alert(1)</scr\u0000ipt>",
)
HARMLESS = "a plain name"


class Skeleton(HTMLParser):
    """Elements and names of attributes: all that a page could run."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        risky = [
            (k, v) for k, v in attributes if k in ("href", "src", "action") and ":" in (v or "")
        ]
        self.found.append((tag, tuple(sorted(k for k, _ in attributes)), tuple(risky)))


def page(text):
    """A report with a text in its title, its column names and the name of its public rows."""
    import pandas as pd

    rows = np.random.default_rng(0).standard_normal((60, 3))
    table = pd.DataFrame(rows, columns=[text, "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a simulation: pages must differ by the text alone
        model = PCA(2, epsilon=1.0, random_state=0).fit(table)
    return report_html(model, title=text, public_rows={text: table})


def payloads(count, seed, make=page):
    """The page has the elements of one with a harmless name, and no others."""
    outcome, plain = Outcome(), Skeleton(make(HARMLESS)).found
    for text in PAYLOADS[:count]:
        same = Skeleton(make(text)).found == plain
        outcome.count("" if same else f"{text!r} put an element or a handler into the page")
    outcome.note = "in title, column names and names of public rows; parsed, not rendered"
    return outcome
