"""Names of datasets, units and keys: one spelling for what looks the same, all printable."""

from __future__ import annotations

import unicodedata
from typing import Any

#: Characters that print as nothing: joiners and fillers of Hangul and Khmer, an empty Braille cell.
_BLANK = frozenset((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))
#: Marks that choose among pictures of the letter before them.
_SELECTORS = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))


def check_name(value: Any, what: str) -> str:
    """Return a name in its normal form, or raise if it cannot be printed on one line.

    Unicode has several ways to write an accented letter, which look the same; by the normal form
    NFC they are the same, and share a budget. Control characters, and others that do not show, are
    refused.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text; got {type(value).__name__}.")
    name = to_nfc(value)
    if not name or len(name) > 200 or not name.isprintable() or name != name.strip():
        raise ValueError(f"{what} must be 1 to 200 printable characters without spaces around.")
    if not name.isascii() and any(_is_blank(letter) for letter in name):
        raise ValueError(f"{what} holds a character that does not show; leave it out.")
    return name


def fold_name(name: str) -> str:
    """A name as a hurried reader sees it: without case, width of letters and repeated spaces.

    Two accounts whose names differ in these only are two budgets for the same people.
    """
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def check_unit(value: Any) -> str:
    """Return the name of a unit in the one spelling by which units are compared and recorded.

    ``Patient``, ``patient`` and `` patient`` are the same people: case and spaces around do not
    count, nor the way in which Unicode writes a letter.
    """
    name = check_name(value.strip() if isinstance(value, str) else value, "a unit")
    # Folding the case may take a letter apart again.
    return check_name(name.casefold(), "a unit")


def _is_blank(letter: str) -> bool:
    """Whether a character that Unicode counts as printable leaves no trace on the page."""
    code = ord(letter)
    return code in _BLANK or any(first <= code <= last for first, last in _SELECTORS)


def to_nfc(name: str) -> str:
    """Return the name in the Unicode normal form NFC, in which each letter is one character."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def spellings(name: str) -> tuple[str, str]:
    """Return a name in NFC and NFD: older ledgers keep keys as typed, mostly in one of both."""
    return to_nfc(name), unicodedata.normalize("NFD", name)
