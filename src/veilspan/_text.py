"""Text from files and names that is safe to print: a terminal obeys control characters."""

from __future__ import annotations


def printable(text: object, *, keep: str = "") -> str:
    r"""Text whose control characters are shown as escapes, such as ``\x1b``, instead of obeyed.

    What cannot be printed is escaped: control and format characters (those that turn the direction
    of writing among them), line separators, and bytes of a file name that are no text.

    Parameters
    ----------
    text : object
        Its ``str`` is taken.
    keep : str
        Characters to leave, for example a line feed of one's own.
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(
        letter if letter.isprintable() or letter in keep else _escaped(letter) for letter in whole
    )


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
