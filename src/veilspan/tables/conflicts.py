"""What is wrong between parts of a schema that may each be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from veilspan.tables.columns import BooleanColumn, CategoryColumn, Column, DateColumn, NumberColumn
from veilspan.tables.file_format import FileFormat
from veilspan.tables.problems import Problem, place_of, show, suggest
from veilspan.tables.unit import Unit

#: Roles that one column can have.
_ONLY_ONE = ("target", "id", "user", "item", "rating", "time")


def find_conflicts(unit: Unit, file: FileFormat, columns: tuple[Column, ...]) -> Iterator[Problem]:
    """Find names given twice, roles that do not go together, and labels that are never seen."""
    if not columns:
        yield Problem("columns", "is missing: declare every column of the file.")
        return
    names = [column.name for column in columns if isinstance(column.name, str)]
    yield from _find_twins(names, columns)
    for role in _ONLY_ONE:
        of_role = [show(c.name) for c in columns if c.role == role]
        if len(of_role) > 1:
            yield Problem("columns", f"one column can be the {role}, not {', '.join(of_role)}.")
    roles = {column.role for column in columns if isinstance(column.role, str)}
    trio = ("user", "item", "rating")
    if roles & set(trio) and not roles >= {"user", "item"}:  # lists do without ratings
        absent = ", ".join(role for role in trio if role not in roles)
        yield Problem("columns", f"user, item and rating come together; {absent} is missing.")
    elif "use" not in roles and "item" not in roles:
        yield Problem("columns", 'none is used: a column to learn from has role = "use".')
    yield from _find_unit_conflicts(unit, columns, names)
    yield from _find_missing_labels(file, columns)


def _find_twins(names: list[str], columns: tuple[Column, ...]) -> Iterator[Problem]:
    for name, times in Counter(names).items():
        if times > 1:
            yield Problem(place_of("columns", name), "is declared twice (trimmed, NFC).")
    used = [c for c in columns if c.role == "use" and not any(c.problems())]
    made = Counter(name for column in used for name in column.names_out)
    for name, times in made.items():
        if times > 1 and name not in names:
            # Not quoted: a label may come from a file, which may be the table itself by mistake.
            what = "two encoded columns have one name: rename a column or a category with = in it."
            yield Problem("columns", what)
        elif times > 1 and names.count(name) == 1:
            yield Problem(place_of("columns", name), "another column is encoded under this name.")


def _find_unit_conflicts(
    unit: Unit, columns: tuple[Column, ...], names: list[str]
) -> Iterator[Problem]:
    by_name = {column.name: column for column in columns if isinstance(column.name, str)}
    for key in ("id", "order_by"):
        name = getattr(unit, key)
        if isinstance(name, str) and name not in by_name:
            yield Problem(f"unit.{key}", f"there is no column {show(name)}.{suggest(name, names)}")
    if isinstance(unit.id, str) and unit.id in by_name and by_name[unit.id].role != "id":
        yield Problem(f"{place_of('columns', unit.id)}.role", 'is "id", since unit.id names it.')
    target = next((c for c in columns if c.role == "target"), None)
    if unit.combine == "none" and target is not None and target.combine is not None:
        yield Problem(
            f"{place_of('columns', target.name)}.combine",
            'leave it out: with unit.combine = "none" every row keeps its own target.',
        )
    by_order = unit.id is not None and target is not None and target.combine in ("first", "last")
    if by_order and unit.order_by is None:
        yield Problem("unit.order_by", "is missing: the target is the first or the last one.")
    order = by_name.get(unit.order_by) if isinstance(unit.order_by, str) else None
    if order is not None and not isinstance(order, (DateColumn, NumberColumn)):
        yield Problem("unit.order_by", "names a column of dates or numbers.")


def _find_missing_labels(file: FileFormat, columns: tuple[Column, ...]) -> Iterator[Problem]:
    """Labels that no cell would ever have, since a cell with that text or number is missing."""
    missing = set(file.missing) if _are_texts(file.missing) else set()
    numbers = {_number_of(text) for text in missing} - {None}
    for column in columns:
        labels: dict[str, Any] = {}
        hidden = getattr(column, "categories_file", None) is not None
        if isinstance(column, CategoryColumn):
            labels = {"categories": column.categories}
        elif isinstance(column, BooleanColumn):
            labels = {"true": column.true, "false": column.false}
        for key, words in labels.items():
            texts = [word for word in words if word] if _are_texts(words) else []
            for word in (w for w in texts if w in missing or _number_of(w) in numbers):
                yield Problem(
                    f"{place_of('columns', column.name)}.{key}",
                    f"{'one of them' if hidden else show(word)} is in file.missing, so that no "
                    "cell would ever have it: take it out of one of the two.",
                )


def _number_of(text: str) -> float | None:
    try:
        return float(text) if text.isascii() else None
    except ValueError:
        return None


def _are_texts(words: Any) -> bool:
    return isinstance(words, tuple) and all(isinstance(word, str) for word in words)
