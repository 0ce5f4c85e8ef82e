"""Words for people: how a unit of a schema is called when there are several."""

from __future__ import annotations

_IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women"}


def plural(word: str) -> str:
    """Several of what one word names, as English mostly has it."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"
