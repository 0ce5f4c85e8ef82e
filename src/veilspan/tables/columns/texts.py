"""Texts of a schema as cells are compared with them: names, labels, and what is wrong with them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from veilspan.tables.problems import show

OTHER, MISSING = "(other)", "(missing)"
#: Letters of a text that is normalised. Python sorts the accents of one letter in quadratic time:
#: a cell of a megabyte of them would take hours, one of this length takes a millisecond.
MOST_NORMALISED = 1000


def clean_text(text: Any) -> Any:
    """A text as cells are compared with it: NFC and trimmed. Anything else as it is.

    Texts of more than ``MOST_NORMALISED`` letters are trimmed only.
    """
    if not isinstance(text, str):
        return text
    text = text.strip()
    if len(text) > MOST_NORMALISED:
        return text
    return unicodedata.normalize("NFC", text).strip()


def is_clean_name(text: str) -> bool:
    """Whether a text can be a name: not empty, no control characters, no separators of lines."""
    if text.isprintable():  # nearly always, and fast: lists may be long
        return bool(text)
    kinds = {"Cc", "Cs", "Zl", "Zp"}
    return all(unicodedata.category(letter) not in kinds for letter in text)


def as_texts(value: Any) -> Any:
    """A list of texts as a tuple, each cleaned; anything else as it is."""
    return tuple(map(clean_text, value)) if isinstance(value, (list, tuple)) else value


def find_label_problems(labels: tuple[Any, ...], hidden: bool) -> Iterator[str]:
    """What is wrong with a list of labels; by their place in the list only if ``hidden``."""
    seen: dict[str, int] = {}
    for place, label in enumerate(labels, start=1):
        if isinstance(label, str) and label not in seen and _is_label(label):
            seen[label] = place
            continue
        name = f"entry {place:,}" if hidden else show(label)
        if not isinstance(label, str):
            yield f'{name} is no text: put it in quotes, as in ["1", "2"].'
        elif not is_clean_name(label):
            yield f"entry {place:,} is empty or holds control characters."
        elif label in (OTHER, MISSING):
            yield f"{label} is veilspan's own name; other = true makes such a column."
        else:
            yield f"{name} is there twice (entries {seen[label]:,} and {place:,}, trimmed, NFC)."


def _is_label(text: str) -> bool:
    return is_clean_name(text) and text not in (OTHER, MISSING)
