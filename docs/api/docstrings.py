"""Our docstrings are plain text with indented formulas: this makes them reStructuredText."""

import re
from typing import Any

_SPANS = re.compile(
    r"(``[^`]+``|:[\w:]+:`[^`]+`|`[^`]+`_{0,2}|\*\*[^*\s][^*]*\*\*|\*[^*\s][^*\s]*\*)"
)
_BULLET = re.compile(r"\s*([*\-+]|\d+\.|\(?[a-zA-Z0-9]\))\s")


def tidy(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place: indented formulas are literal, stray bars and stars text."""
    lines[:] = rewritten(lines)


def rewritten(lines: list[str]) -> list[str]:
    """Return the lines with formulas as literal blocks."""
    done: list[str] = []
    literal: int | None = None  # indentation of the paragraph above a literal block
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if literal is not None and (not line.strip() or depth > literal):
            done.append(line)
            continue
        literal = None
        if _opens_formula(lines, number, done):
            above = _last_text(done)
            literal = len(above) - len(above.lstrip())
            done += ["", f"{' ' * literal}.. code-block:: text", "", line]
            continue
        if _opens_directive(line):
            literal = depth
            done.append(line)
            continue
        done.append(line if line.lstrip().startswith((">>>", "...")) else escaped(line))
        if line.rstrip().endswith("::"):
            literal = depth
    return done


def _opens_directive(line: str) -> bool:
    return line.lstrip().startswith(".. ")


def _opens_formula(lines: list[str], number: int, done: list[str]) -> bool:
    """An indented block after a blank line, below a paragraph that is no list item."""
    line = lines[number]
    if not line.strip() or not done or done[-1].strip():
        return False
    above = _last_text(done)
    depth = len(line) - len(line.lstrip())
    base = len(above) - len(above.lstrip())
    return bool(above) and depth >= base + 4 and not _in_list(done)


def _in_list(done: list[str]) -> bool:
    paragraph = []
    for line in reversed(done):
        if not line.strip():
            if paragraph:
                break
            continue
        paragraph.append(line)
    return bool(paragraph) and bool(_BULLET.match(paragraph[-1]))


def _last_text(done: list[str]) -> str:
    return next((line for line in reversed(done) if line.strip()), "")


def escaped(line: str) -> str:
    """Return a line whose bars, stars and underscores mean themselves outside of markup."""
    pieces = _SPANS.split(line)
    pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
    pieces[::2] = [re.sub(r"(?<=\w)_(?=[\s.,;:)\]]|$)", r"\\_", piece) for piece in pieces[::2]]
    pieces[::2] = [re.sub(r"(?<=\S)\*|\*(?=\S)", r"\\*", piece) for piece in pieces[::2]]
    return "".join(pieces)
