"""What covers are made with in tests."""

import tomllib

from veilspan.reports.cover.meta import EXAMPLE, KEYS, MOST_LETTERS, MOST_TITLE

META = tomllib.loads(EXAMPLE)
NASTY = "</code><script>alert(1)</script>\"'&\u202e\x00"
#: Every entry as long as it may be.
FULL = {
    **META,
    **{
        name: ("Wards of the hospital " * 20)[: MOST_TITLE if name == "title" else MOST_LETTERS]
        for name in KEYS
        if isinstance(META[name], str)
    },
    "signatures": ["Head of the department of internal medicine and surgery", "B", "C", "D"],
}


def without_cover(page):
    """A page with its cover cut out, and without the record of what it was made with."""
    start = page.index('<section id="cover"')
    end = page.index("</section>", start) + len("</section>")
    return page[:start] + page[end:]


def cut_record(page):
    """A page without the record of what it was made with."""
    start = page.index('<code id="page-text">')
    return page[:start] + page[page.index("</code>", start) :]
