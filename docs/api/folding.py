"""Fold what is long and looked up rather than read, so that no page is taller than one can scroll.

Everything stays in the page, for search, for links and for printing without a script: a folded part
is a ``<details>`` of HTML, which browsers open when a link leads into it.
"""

import struct
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

#: A table with more rows than this is looked up.
LONG_TABLE = 25
#: Width of the column of text, and how tall a picture may be in it, in pixels.
COLUMN, TALL_PICTURE = 740, 600


def fold(parent: nodes.Element, first: int, last: int, label: str) -> None:
    """Put the children of a node from one place up to another behind a line to click on."""
    if first >= last:
        return
    start = f'<details class="folded"><summary>{label}</summary>'
    parent.insert(last, nodes.raw("", "</details>", format="html"))
    parent.insert(first, nodes.raw("", start, format="html"))


def fold_names(page: nodes.document) -> None:
    """Of a class or function keep its line and its first paragraph."""
    for entry in list(page.findall(addnodes.desc)):
        if entry["domain"] == "py" and not isinstance(entry.parent, addnodes.desc_content):
            content = next(child for child in entry if isinstance(child, addnodes.desc_content))
            members = len(list(entry.findall(addnodes.desc))) > 1  # beside the entry itself
            label = "Parameters, attributes, methods" if members else "Parameters and details"
            fold(content, after_first_paragraph(content), len(content), label)
    for section in page.findall(nodes.section):  # a table at its top tells what each of them is
        entries = [place for place, child in enumerate(section) if isinstance(child, addnodes.desc)]
        if len(entries) > LONG_TABLE:
            fold(section, entries[0], entries[-1] + 1, "Each of them in full")


def fold_options(page: nodes.document) -> None:
    """Of a command keep what it does and how it is called."""
    for section in page.findall(nodes.section):
        options = [place for place, child in enumerate(section) if isinstance(child, addnodes.desc)]
        if options:
            fold(section, options[0], options[-1] + 1, "Options")


def fold_entries(page: nodes.document) -> None:
    """Of an entry of the errata keep its heading, which says what is wrong."""
    for paper in list(page.findall(nodes.section)):
        for entry in [child for child in paper if isinstance(child, nodes.section)]:
            if isinstance(paper.parent, nodes.section):  # below the title and the paper
                fold(entry, 1, len(entry), "Printed, true, consequence, shown by")


def fold_changes(page: nodes.document) -> None:
    """Of the changelog keep open what concerns guarantees."""
    title = next(iter(page.findall(nodes.section)))
    for version in [child for child in title if isinstance(child, nodes.section)]:
        for part in [child for child in version if isinstance(child, nodes.section)]:
            if part[0].astext() != "Privacy":
                fold(part, 1, len(part), "Every change")


def fold_proofs(page: nodes.document) -> None:
    """Of a theorem keep what it says."""
    for section in list(page.findall(nodes.section)):
        place = 0
        while place < len(section):
            if section[place].astext().startswith("Proof"):
                ends = (i for i in range(place, len(section)) if "□" in section[i].astext())
                last = next(ends, place) + 1
                fold(section, place, last, "Proof")
                place = last + 1
            place += 1


def fold_long_tables(page: nodes.document) -> None:
    """Put long tables behind a line that says how long they are."""
    for table in list(page.findall(nodes.table)):
        rows = len(list(table.findall(nodes.row))) - 1
        if rows > LONG_TABLE and "reference-names" not in table["classes"]:
            place = table.parent.index(table)
            fold(table.parent, place, place + 1, f"A table of {rows} rows")


def fold_tall_pictures(page: nodes.document) -> None:
    """Put pictures that are taller than a screen behind a line."""
    for picture in list(page.findall(nodes.image)):
        width, height = measure(Path(page["source"]).parent / Path(picture["uri"]).name)
        paragraph = picture.parent
        if height * min(1.0, COLUMN / width) > TALL_PICTURE and paragraph.parent is not None:
            place = paragraph.parent.index(paragraph)
            fold(paragraph.parent, place, place + 1, f"Picture: {picture.get('alt', '')}")


def measure(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, from its head."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def after_first_paragraph(content: nodes.Element) -> int:
    """The place behind the first paragraph."""
    places = [place for place, child in enumerate(content) if isinstance(child, nodes.paragraph)]
    return places[0] + 1 if places else 0


RULES: dict[str, Callable[[nodes.document], None]] = {
    "api/cli": fold_options,
    "api/*": fold_names,
    "papers_errata": fold_entries,
    "evidence/*": fold_tall_pictures,
    "development/changelog": fold_changes,
    "explanation/objective_perturbation": fold_proofs,
    "*": fold_long_tables,
}


def fold_page(app: Sphinx, page: nodes.document, name: str) -> None:
    """Fold a page by the rules that it falls under."""
    if app.builder.format == "html":
        for pattern, rule in RULES.items():
            if fnmatch(name, pattern):
                rule(page)


def setup(app: Sphinx) -> dict[str, bool]:
    """Fold pages when they are written."""
    app.connect("doctree-resolved", fold_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
