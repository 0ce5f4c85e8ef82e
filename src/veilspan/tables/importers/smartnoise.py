"""SmartNoise's metadata (YAML): ranges, ids, how many rows a person has.

https://docs.smartnoise.org/sql/metadata.html. Texts have no list of categories there, and moments
no range, so such columns are ignored until somebody declares them. ``rows`` is a rough number by
its documentation: it becomes ``expected`` under add-remove. ``rows_exact`` becomes ``count``.
"""

from __future__ import annotations

from typing import Any

from veilspan.tables.columns import UNCONFIRMED
from veilspan.tables.importers.draft import Draft, as_number, choose, need_dict
from veilspan.tables.problems import Problem, SchemaError
from veilspan.tables.schema import Schema
from veilspan.tables.unit import Unit

#: What a table says beside its columns.
_OF_TABLES = (
    "rows", "rows_exact", "row_privacy", "max_ids", "sample_max_ids", "clamp_counts",
    "clamp_columns", "use_dpsu", "censor_dims",
)  # fmt: skip


def parse_yaml(text: str, origin: str) -> Any:
    """Parse YAML with every scalar as text, so that a column called ``no`` keeps its name."""
    try:
        import yaml
    except ImportError:
        raise ImportError("reading YAML needs PyYAML: pip install pyyaml") from None
    try:
        return yaml.load(text, Loader=yaml.BaseLoader)  # texts, lists and mappings only
    except (yaml.YAMLError, RecursionError, ValueError):
        pass
    raise SchemaError([Problem("", "it is not YAML.")], origin)


def read_smartnoise(document: Any, table: str | None = None) -> Schema:
    """Make a schema of one table of a SmartNoise collection."""
    found = need_dict(document, "its collection")
    collections = {key: value for key, value in found.items() if key != "engine"}
    _, collection = choose(collections, None)
    tables = {
        name: need_dict(facts, "a table")
        for group in need_dict(collection, "its collection").values()
        for name, facts in need_dict(group, "a group of tables").items()
    }
    name, facts = choose(tables, table)
    draft, ids = Draft(), []
    for column, about in facts.items():
        if column not in _OF_TABLES:
            about = need_dict(about, "a column")
            if _is_true(about.get("private_id")):
                ids.append(column)
            _add(draft, column, about)
    return draft.build("SmartNoise metadata", name, unit=_read_unit(facts, ids))


def _add(draft: Draft, name: str, facts: dict[str, Any]) -> None:
    kind = facts.get("type")
    if _is_true(facts.get("private_id")):
        draft.add_plain(name, "id")
    elif kind in ("int", "float"):
        low, high, fill = (as_number(facts.get(key)) for key in ("lower", "upper", "missing_value"))
        draft.add_number(name, low, high, integer=kind == "int", fill=fill)
    elif kind == "boolean":
        draft.add_boolean(name)
    elif kind == "string":
        draft.add_category(name, None)
    elif kind == "datetime":
        draft.add_date(name, None, None)
    else:
        draft.leave_out(name, "its type is not known")


def _read_unit(facts: dict[str, Any], ids: list[str]) -> Unit:
    by_row = _is_true(facts.get("row_privacy")) or not ids
    rows, exact = as_number(facts.get("rows")), as_number(facts.get("rows_exact"))
    most = as_number(facts.get("max_ids", "1"))
    several = not by_row and most != 1
    said: dict[str, Any] = {"protects": "row" if by_row else "person", "source": UNCONFIRMED}
    if several:  # numbers of rows are none of people then
        said |= {"id": ids[0], "max_rows": most, "neighbors": "add-remove"}
    elif exact:
        said |= {"count": exact}
    else:
        said |= {"neighbors": "add-remove", "expected": rows or None}
    return Unit(**said)


def _is_true(value: Any) -> bool:
    return isinstance(value, str) and value.lower() in ("true", "yes", "on")
