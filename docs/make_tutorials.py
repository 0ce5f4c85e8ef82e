"""Run the tutorials and keep what they show: ``python docs/make_tutorials.py [NAME ...]``.

A tutorial is run from its first block to its last in a folder that is thrown away. What its blocks
print is written into the page, below each block that has a ``text`` block behind it; the picture
goes to ``docs/images/tutorials``, and the whole, as a notebook that has been run, to
``docs/tutorials/notebooks``. So page, picture and notebook are of one run. Noise is new in every
run: so are the last digits.
"""

import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from make_notebooks import BLOCK, make_notebook

DOCS = Path(__file__).resolve().parent
NAMES = ("hospital", "genes", "films", "sensors", "brains", "survey")
#: A block of Python and, behind it, what it prints.
SHOWN = re.compile(r"(^```python\n(.*?)^```\n)(\n```text\n.*?^```\n)?", flags=re.S | re.M)
LINK = re.compile(r"(!?)\[([^\]]*)\]\([^)]*\)")
ABOUT = """\
*A tutorial of Veilspan's documentation, as a notebook that has been run. To run it again you need
Veilspan and matplotlib. Nobody in it is real; noise is new each time, so your last digits will
differ.*"""


def main(chosen: list[str]) -> None:
    """Make some tutorials, or all."""
    import matplotlib as mpl

    mpl.use("Agg")
    warnings.simplefilter("ignore")  # what notebooks show is what blocks print
    for name in chosen or NAMES:
        page = DOCS / "tutorials" / f"{name}.md"
        outputs, picture = run_blocks(BLOCK.findall(page.read_text(encoding="utf-8")), name)
        (DOCS / "images" / "tutorials" / f"{name}.png").write_bytes(picture)
        page.write_text(show_outputs(page.read_text(encoding="utf-8"), outputs), encoding="utf-8")
        notebook = executed(page.read_text(encoding="utf-8"), outputs, picture, name)
        target = DOCS / "tutorials" / "notebooks" / f"{name}.ipynb"
        target.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"{name}: {len(outputs)} blocks, a picture of {len(picture) // 1024} KB")


def run_blocks(blocks: list[str], name: str) -> tuple[list[str], bytes]:
    """Run blocks in their order; return what each prints, and the picture that they save."""
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs = []
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(block, f"{name}.md", "exec"), names)
                outputs.append(printed.getvalue())
            return outputs, in_few_colours(Path(f"{name}.png"))
        finally:
            os.chdir(home)


def in_few_colours(path: Path) -> bytes:
    """Return a picture as a small file: 255 colours are enough for lines and dots."""
    from PIL import Image

    small = io.BytesIO()
    Image.open(path).convert("RGB").quantize(255).save(small, "png", optimize=True)
    return small.getvalue()


def show_outputs(text: str, outputs: list[str]) -> str:
    """Return the page with what its blocks have printed."""
    left = iter(outputs)

    def shown(match: re.Match[str]) -> str:
        printed = next(left)
        return match[1] + (f"\n```text\n{printed}```\n" if match[3] else "")

    return SHOWN.sub(shown, text)


def executed(text: str, outputs: list[str], picture: bytes, name: str) -> dict[str, Any]:
    """Return the page as a notebook with its outputs; links become their words."""
    notebook: dict[str, Any] = make_notebook(SHOWN.sub(r"\1", text))
    for one in notebook["cells"]:
        if one["cell_type"] == "markdown":
            words = LINK.sub(lambda found: "" if found[1] else found[2], "".join(one["source"]))
            one["source"] = words.strip().splitlines(keepends=True)
    notebook["cells"][0]["source"].insert(1, f"\n{ABOUT}\n")  # below the title
    notebook["cells"] = [one for one in notebook["cells"] if one["source"]]
    code = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    for number, (one, printed) in enumerate(zip(code, outputs, strict=True), start=1):
        one["execution_count"] = number
        if printed:
            lines = printed.splitlines(keepends=True)
            one["outputs"].append({"name": "stdout", "output_type": "stream", "text": lines})
        if f'"{name}.png"' in "".join(one["source"]):
            png = {"image/png": base64.b64encode(picture).decode()}
            one["outputs"].append({"output_type": "display_data", "metadata": {}, "data": png})
    return notebook


if __name__ == "__main__":
    main(sys.argv[1:])
