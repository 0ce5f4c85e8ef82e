"""Names as long as there is room for them, by how wide letters are in a wide font."""

from __future__ import annotations

import unicodedata

#: Letters by their widths over the size of the font, in DejaVu Sans, which is wider than most.
#: Those of Asian scripts are as wide as they are high.
_GROUPS = {"ijlI|'!.,:; ": 0.32, "frt()[]-/": 0.42, "cksvxyz": 0.59, "mwMW@%&…": 0.98}
_WIDTHS = {letter: width for letters, width in _GROUPS.items() for letter in letters}
_CAPITAL, _OTHER = 0.72, 0.64


def width_of(words: str, size: float) -> float:
    """About how wide words are, rather too much than too little."""
    return size * sum(map(_width_of_letter, words))


def shorten(words: str, room: float, size: float) -> str:
    """Words that fit into so much room; what is cut off is told by an ellipsis."""
    if width_of(words, size) <= room:
        return words
    kept = words
    while kept and width_of(kept + "…", size) > room:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def _width_of_letter(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return _WIDTHS.get(letter, _CAPITAL if letter.isupper() else _OTHER)
