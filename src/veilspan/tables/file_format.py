"""How the cells of a text file are written: declared, never guessed from the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from veilspan.tables.columns import as_texts, is_clean_name
from veilspan.tables.problems import Problem, show, suggest

#: Encodings in which the bytes of line breaks and separators are always those characters, so that
#: a file can be cut into rows before it is decoded; by their names and other spellings.
ENCODINGS = {
    "utf-8": "utf-8", "utf8": "utf-8",
    "ascii": "ascii", "us-ascii": "ascii",
    "latin-1": "latin-1", "latin1": "latin-1", "iso-8859-1": "latin-1",
    "iso-8859-15": "iso-8859-15", "latin-9": "iso-8859-15",
    "cp1252": "cp1252", "windows-1252": "cp1252",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How a text file writes its cells; tables with types of their own need ``missing`` only.

    Parameters
    ----------
    separator : str
        One ASCII character between cells.
    decimal : {".", ","}
        The decimal mark.
    encoding : {"utf-8", "ascii", "latin-1", "iso-8859-15", "cp1252"}
        How letters are stored.
    missing : tuple of str
        Texts that mean a missing cell, trimmed.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ("", "NA")

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", as_texts(self.missing))
        if isinstance(self.encoding, str):
            spelled = self.encoding.strip().lower().replace("_", "-")
            object.__setattr__(self, "encoding", ENCODINGS.get(spelled, self.encoding))

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong with it, in the words of a schema."""
        separator = self.separator
        if not isinstance(separator, str) or not _can_separate(separator):
            yield Problem(
                "file.separator",
                'is one ASCII character that no number or name has, such as ",", ";", "|" or '
                '"\\t".',
            )
        if self.decimal not in (".", ","):
            yield Problem("file.decimal", f'is "." or ",", not {show(self.decimal)}.')
        elif separator == self.decimal:
            yield Problem("file.decimal", f"{show(separator)} separates cells already.")
        known = tuple(dict.fromkeys(ENCODINGS.values()))
        if self.encoding not in known:
            hint = suggest(self.encoding, ENCODINGS) if isinstance(self.encoding, str) else ""
            yield Problem(
                "file.encoding", f"{show(self.encoding)} is none of {', '.join(known)}.{hint}"
            )
        yield from self._missing_problems()

    def _missing_problems(self) -> Iterator[Problem]:
        if not isinstance(self.missing, tuple):
            yield Problem("file.missing", 'is a list of texts, such as ["", "NA"].')
            return
        for text in self.missing:
            if not isinstance(text, str):
                yield Problem("file.missing", f'{show(text)} is no text: put it in quotes ("-99").')
            elif text and not is_clean_name(text):
                yield Problem("file.missing", "one of its texts holds control characters.")


def _can_separate(text: str) -> bool:
    plain = len(text) == 1 and text.isascii() and not text.isalnum()
    return plain and (text == "\t" or (text.isprintable() and text not in "\"'+-._"))
