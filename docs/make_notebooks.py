"""Turn the guides into notebooks: ``python docs/make_notebooks.py FOLDER [PAGE ...]``.

Words become cells of text, blocks of Python become cells of code; pictures and links point to the
pages. Nothing but the standard library is needed to write them. ``.ci/notebooks.py`` runs them all.
"""

import doctest
import json
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
#: Guides that are read from the first block to the last, as one reads a notebook.
PAGES = (
    "tutorials/quickstart",
    "howto/pca",
    "howto/robust_pca",
    "howto/linear_models",
    "howto/curves",
    "howto/recommendations",
    "howto/manifolds",
    "howto/tracking_private",
    "howto/profile",
    "howto/choosing_epsilon",
    "explanation/how_a_ledger_counts",
    "tutorials/hospital",
    "tutorials/genes",
    "tutorials/films",
    "tutorials/sensors",
    "tutorials/brains",
    "tutorials/survey",
)
BLOCK = re.compile(r"^```python\n(.*?)^```\n?", flags=re.S | re.M)
DIRECTIVE = re.compile(r"^(```|:::)\{.*?^\1\n?", flags=re.S | re.M)  # of Sphinx, nothing to read
LINK = re.compile(r"(\]\()(?!https?:|#)([^)]+\))")


def main(folder: str, *names: str) -> None:
    """Write the notebooks of some pages, or of all guides."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name in names or PAGES:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        home = (Path("../docs") / name).parent.as_posix()
        notebook = json.dumps(make_notebook(text, home), indent=1, ensure_ascii=False)
        (place / f"{Path(name).name}.ipynb").write_text(notebook + "\n", encoding="utf-8")


def make_notebook(text: str, home: str = "../docs") -> dict[str, object]:
    """Return a page as a notebook of format 4.5; its links start in the page's folder, ``home``."""
    cells = []
    parts = BLOCK.split(text)
    for place, part in enumerate(parts):
        if place % 2:
            cells.append(cell("code", place, plain_code(part)))
        elif words := LINK.sub(rf"\1{home}/\2", DIRECTIVE.sub("", part)).strip():
            cells.append(cell("markdown", place, words))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def plain_code(block: str) -> str:
    """Return a block without the prompts and outputs of an interactive session."""
    if ">>>" not in block:
        return block.rstrip("\n")
    examples = doctest.DocTestParser().get_examples(block)
    return "".join(example.source for example in examples).rstrip()


def cell(kind: str, place: int, source: str) -> dict[str, object]:
    """Return one cell, which has not been run."""
    found: dict[str, object] = {
        "cell_type": kind,
        "id": f"cell-{place}",
        "metadata": {},
        "source": source.splitlines(keepends=True),
    }
    return found | ({"outputs": [], "execution_count": None} if kind == "code" else {})


if __name__ == "__main__":
    main(*sys.argv[1:])
