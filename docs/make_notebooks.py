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
    "quickstart",
    "pca",
    "robust_pca",
    "linear_models",
    "recommendations",
    "manifolds",
    "tracking_private",
    "profile",
    "choosing_epsilon",
    "how_a_ledger_counts",
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
        notebook = json.dumps(make_notebook(text), indent=1, ensure_ascii=False)
        (place / f"{name}.ipynb").write_text(notebook + "\n", encoding="utf-8")


def make_notebook(text: str) -> dict[str, object]:
    """Return a page as a notebook of format 4.5."""
    cells = []
    parts = BLOCK.split(text)
    for place, part in enumerate(parts):
        if place % 2:
            cells.append(cell("code", place, plain_code(part)))
        elif words := LINK.sub(r"\1../docs/\2", DIRECTIVE.sub("", part)).strip():
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
