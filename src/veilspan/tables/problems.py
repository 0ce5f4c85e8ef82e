"""What is wrong with a schema: all of it at once, each problem with its place and what to do.

A schema is public, so its words may be quoted, shortened and with control characters escaped. The
lines of a category file are not quoted, for the file named may be the table itself by mistake.
"""

from __future__ import annotations

import datetime
import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

from veilspan._printable import printable

#: Problems that the text of an error spells out; all are in ``SchemaError.problems``.
MOST_SHOWN = 200
#: Letters of a quoted value; a schema may hold texts of any length.
_MOST_LETTERS = 60


class Problem(NamedTuple):
    """One thing that is wrong: its place, such as ``columns.age.range``, and what to do."""

    place: str
    what: str

    def __str__(self) -> str:
        return printable(f"{self.place}: {self.what}" if self.place else self.what)


def not_confirmed(place: str) -> Problem:
    """The problem of an imported fact whose source nobody has named yet."""
    words = "was imported and is not confirmed: check its facts and say where you know them from."
    return Problem(f"{place}.source", words)


class SchemaError(ValueError):
    """A schema that cannot be used, with everything that is wrong with it.

    Parameters
    ----------
    problems : iterable of Problem
        At least one.
    origin : str
        What has the problems, such as ``"the schema ward.toml"``.

    Attributes
    ----------
    problems : tuple of Problem
        Each with ``place`` and ``what``.
    """

    def __init__(self, problems: Iterable[Problem], origin: str = "the schema") -> None:
        self.problems = tuple(problems)
        self.origin = origin
        super().__init__(self.problems, origin)

    def __str__(self) -> str:
        origin = printable(self.origin)
        if len(self.problems) == 1:
            return f"{origin} has a problem. {self.problems[0]}"
        lines = [f"  - {problem}" for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"  - and {len(self.problems) - MOST_SHOWN:,} more.")
        return "\n".join([f"{origin} has {len(self.problems):,} problems:", *lines])


def show(value: Any) -> str:
    """A value of a schema in the words of an error: short, and without control characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        short = value if len(value) <= _MOST_LETTERS else value[:_MOST_LETTERS] + "..."
        return f'"{printable(short)}"'
    if isinstance(value, int) and abs(value) >= 10**_MOST_LETTERS:
        return "a number of more than sixty digits"  # Python refuses to print the longest
    if isinstance(value, float):
        return f"{value:.17g}" if value != round(value, 6) else f"{value:.15g}"
    if isinstance(value, (int, datetime.date, datetime.time)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a table" if isinstance(value, dict) else f"a {type(value).__name__}"


def suggest(word: str, known: Iterable[str]) -> str:
    """`` Did you mean ...?`` if a known word is close, else nothing."""
    close = difflib.get_close_matches(word[:_MOST_LETTERS], list(known), n=1)
    return f' Did you mean "{printable(close[0])}"?' if close else ""


def place_of(*parts: str) -> str:
    """Name a place as TOML would, ``columns.age`` or ``columns."blood pressure"``."""
    return ".".join(part if is_bare(part) else show(part) for part in parts)


def is_bare(key: str) -> bool:
    """Whether TOML takes a key without quotes."""
    return bool(key) and key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
