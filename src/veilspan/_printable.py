"""Make text safe for a terminal: control characters in names or paths become visible escapes."""

from __future__ import annotations


def printable(text: str, *, lines: bool = False) -> str:
    """The text with control characters, and others that do not show, as escapes.

    Parameters
    ----------
    text : str
        Anything.
    lines : bool
        Whether ends of lines stay, for texts of our own that have some.
    """
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(c if c.isprintable() or c in kept else _escape(c) for c in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "backslashreplace").decode("ascii")
