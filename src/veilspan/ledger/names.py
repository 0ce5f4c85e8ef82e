"""Names of datasets and of keys: one spelling, printable."""

from __future__ import annotations

import unicodedata
from typing import Any


def check_name(value: Any, what: str) -> str:
    """Return a name in its normal form, or raise if it cannot be printed on one line.

    Unicode has several ways to write an accented letter, which look the same; by the normal form
    NFC they are the same, and share a budget. Control characters, and others that do not show, are
    refused.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text; got {type(value).__name__}.")
    name = normalised(value)
    if not name or len(name) > 200 or not name.isprintable() or name != name.strip():
        raise ValueError(f"{what} must be 1 to 200 printable characters without spaces around.")
    return name


def normalised(name: str) -> str:
    """The name in NFC."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def spellings(name: str) -> tuple[str, str]:
    """A name in NFC and in NFD: keys were once kept as they were typed, mostly in one of these."""
    return normalised(name), unicodedata.normalize("NFD", name)
