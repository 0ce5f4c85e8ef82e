"""What the name of a column suggests about it, before a person has said anything."""

from __future__ import annotations

import re
from typing import NamedTuple


class Line(NamedTuple):
    """A line of a column: a fact, or a suggestion that stands behind a ``#``."""

    key: str
    value: str
    comment: str = ""
    suggested: bool = True


#: Values are left empty, so that a line that only lost its # is still found by schema check.
_RANGE = Line("range", "[]", "[lowest, highest] possible value")
_DATES = Line("range", "[]", "[first, last] possible day: [2020-01-01, 2025-12-31]")
_PARTS = Line("as", '["days"]', "and weekday, month")
_LABELS = (
    Line("categories", "[]", 'the public list: ["first", "second"]'),
    Line("other", "true", "one more for everything else and gaps"),
)
#: A column without a name, as data frames write their index.
NAMELESS = Line("role", '"ignore"', "it has no name; an index, mostly", suggested=False)
#: What is left to say of a column whose type is declared where it is stored.
_BY_KIND: dict[str, tuple[Line, ...]] = {
    "integer": (_RANGE,), "number": (_RANGE,), "boolean": (), "date": (_DATES, _PARTS),
    "category": _LABELS,
}  # fmt: skip
_ID = [Line("role", '"id"', "tells people apart; it is not learned from")]
#: Last words of names such as "Insurance number" and "visit_no": numbers of somebody, not amounts.
_NUMBERED = frozenset({"no", "nr", "number"})
#: What names of columns suggest, by the words in them; the first match counts.
_BY_WORD: tuple[tuple[list[Line], str], ...] = (
    (
        _ID,
        "id ids uuid guid mrn ssn key",
    ),
    (
        [Line("role", '"ignore"', "not read; texts cannot be learned from")],
        "name surname firstname lastname forename note notes comment comments remark remarks text "
        "email mail phone address street description",
    ),
    (
        [
            Line("type", '"date"'),
            Line("format", '"%Y-%m-%d"', "how the file writes them"),
            _DATES,
            _PARTS,
        ],
        "date day time timestamp admitted admission discharged discharge birth birthday dob born "
        "created updated at since until",
    ),
    ([Line("type", '"integer"'), _RANGE], "age year years days count n number children visits"),
    (
        [
            Line("type", '"boolean"'),
            Line("true", "[]", 'how the file writes it: ["yes"]'),
            Line("false", "[]", '["no"]'),
        ],
        "is has was flag smoker",
    ),
    (
        [
            Line("type", '"category"'),
            *_LABELS,
        ],
        "sex gender ward unit department type kind category group class status country region city "
        "state code diagnosis level stage grade ethnicity job profession insurance payer",
    ),
)


def suggest_lines(name: str, kind: str, typed: bool = False) -> list[Line]:
    """Suggestions for a column by its declared type, or else by its name alone.

    Parameters
    ----------
    name : str
        Of the column.
    kind : str
        How it is stored, ``text`` if nothing is known.
    typed : bool
        Whether the table declares types, so that ``text`` means texts.
    """
    if kind in _BY_KIND:
        return [Line("type", f'"{kind}"', "as it is stored", suggested=False), *_BY_KIND[kind]]
    if kind == "other":
        return [Line("role", '"ignore"', "stored in a way that is not read")]
    said = _split_words(name)
    if len(said) > 1 and said[-1] in _NUMBERED:
        return _ID
    for lines, words in _BY_WORD:
        if set(words.split()) & set(said):
            return lines
    if typed:
        return [Line("type", '"category"', 'or role = "ignore" for free text'), *_LABELS]
    return [Line("type", '"number"', "integer | number | category | boolean | date"), _RANGE]


def _split_words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
