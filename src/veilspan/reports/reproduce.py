"""How to make the release again, and how to check it without trusting this page."""

from __future__ import annotations

import inspect
import json
from typing import Any

from veilspan.privacy.schema_record import SchemaRecord
from veilspan.privacy.statement import PrivacyStatement
from veilspan.reports.html import Html, details, table, tag
from veilspan.reports.subject import Subject, as_saved, plain_repr
from veilspan.tables.schema import Schema

#: How a schema is told: by the file that holds it.
SCHEMA = 'Schema.load("schema.toml")'
#: Parameters that a call says even where they have their defaults.
_SAID = ("epsilon", "delta", "neighbors")
_CHECK = """\
import json
from veilspan import PrivacyStatement

with open("statement.json") as file:  # the statement below
    statement = PrivacyStatement.from_dict(json.load(file))
print(statement)
print(statement.verify())"""


def reproduce(subject: Subject) -> Html:
    """Versions, parameters, code, and the records as JSON, each with a button to copy it."""
    statement, source = subject.statement, subject.source
    parameters = _parameters(source)
    parts: list[Any] = [_facts(subject)]
    if parameters:
        rows = [
            (name, tag("code", plain_repr(value), class_="wrap"), "" if changed else "default")
            for name, value, changed in parameters
        ]
        parts += [
            tag("h3", "Fit again"),
            tag(
                "p",
                "The same call on the same rows costs the budget again and draws other noise: a "
                "private release cannot be repeated bit for bit, only its plan can.",
                class_="muted",
            ),
            block("code", _code(source, parameters)),
            details(
                "All parameters",
                table(("parameter", "value", ""), rows, caption="Parameters"),
                class_="record",
            ),
        ]
    parts += [tag("h3", "Check the statement"), block("check", _CHECK)]
    parts.append(
        details("Statement (JSON)", block("statement", statement.to_json()), class_="record")
    )
    if subject.plan is not None:
        # Decisions may hold anything printable; what JSON does not know becomes text.
        plan = json.dumps(as_saved(subject.plan.to_dict()), indent=2, default=plain_repr)
        parts.append(details("Plan (JSON)", block("plan", plan), class_="record"))
    return tag("section", tag("h2", "Reproduce"), *parts, id="reproduce", class_="card")


def block(key: str, text: str) -> Html:
    """Code with a button to copy it; the button shows where scripts run."""
    return tag(
        "div",
        tag("button", "Copy", type="button", hidden=True, data_copy=f"{key}-text"),
        tag("pre", tag("code", text, id=f"{key}-text"), tabindex="0"),
        class_="code",
    )


def _facts(subject: Subject) -> Html:
    statement, source = subject.statement, subject.source
    kind = type(source)
    rows = [
        ("release", statement.release_id or "without an id"),
        ("method", statement.method),
        ("fitted by", f"veilspan {statement.version}" if statement.version else "not recorded"),
    ]
    if statement.schema is not None:
        rows.insert(2, ("schema", SchemaRecord.from_dict(statement.schema).describe()))
    if not isinstance(source, PrivacyStatement):
        rows.insert(2, ("class", f"{kind.__module__}.{kind.__qualname__}"))
    return table(("", ""), rows, caption="Facts", class_="facts")


def _parameters(source: Any) -> list[tuple[str, Any, bool]]:
    """Name, value, and whether it differs from the default. The ledger is no part of a release."""
    if not hasattr(source, "get_params"):
        return []
    given = {name: as_saved(value) for name, value in source.get_params(deep=False).items()}
    signature = inspect.signature(type(source).__init__).parameters
    return [
        (name, given[name], plain_repr(given[name]) != plain_repr(parameter.default))
        for name, parameter in signature.items()
        if name in given and name != "ledger"
    ]


def _code(source: Any, parameters: list[tuple[str, Any, bool]]) -> str:
    import veilspan

    name = type(source).__name__
    home = "veilspan" if name in veilspan.__all__ else type(source).__module__
    said = [(key, value) for key, value, changed in parameters if changed or key in _SAID]
    given = [f"{key}={_as_code(value)}" for key, value in said]
    inside = ", ".join(given)
    call = f"{name}({inside})"
    if len(call) > 88:
        call = f"{name}(\n    " + ",\n    ".join(given) + ",\n)"
    objects = [key for key, value, changed in parameters if changed and not _is_code(value)]
    note = f"# as they print themselves: {', '.join(objects)}\n" if objects else ""
    imports, arguments = f"from {home} import {name}\n", "X, y" if hasattr(source, "coef_") else "X"
    if any(isinstance(value, Schema) for _, value in said):
        imports, arguments = f"{imports}from veilspan import Schema\n", "table"
        if home == "veilspan":
            imports = f"from veilspan import {', '.join(sorted((name, 'Schema')))}\n"
    return f"{imports}\n{note}model = {call}\nmodel.fit({arguments})"


def _as_code(value: Any) -> str:
    return SCHEMA if isinstance(value, Schema) else plain_repr(value)


def _is_code(value: Any) -> bool:
    """Whether a value is told by code that needs no other import."""
    if isinstance(value, (list, tuple)):
        return all(type(item) is not Schema and _is_code(item) for item in value)
    return value is None or isinstance(value, Schema) or type(value) in (bool, int, float, str)
