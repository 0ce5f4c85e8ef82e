"""The card of one column: its role, its type, what is known of it, and from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veilspan._html import Html, tag
from veilspan.studio.declaring import OF_TYPE
from veilspan.studio.fields import area_field, check_field, choice_field, text_field
from veilspan.studio.layout import hidden
from veilspan.tables.problems import Problem, place_of

ROLES = {
    "use": "learn from it",
    "target": "predict it",
    "ignore": "leave it out",
    "id": "tells whose row it is",
    "user": "recommendations: who rated",
    "item": "recommendations: what was rated",
    "rating": "recommendations: the rating",
    "time": "recommendations: when",
}
TYPES = {
    "": "choose one",
    "integer": "whole number",
    "number": "number",
    "category": "one of a list",
    "boolean": "yes or no",
    "date": "date",
}
_UNUSED = ("ignore", "id", "user")


def draw_column(
    number: int, name: str, facts: Mapping[str, str], problems: Sequence[Problem]
) -> Html:
    """The card of a column, with its problems beside the entries that they are about."""
    place = place_of("columns", name)
    own = [p for p in problems if p.place == place or p.place.startswith(f"{place}.")]

    def key(what: str) -> str:
        return f"c{number}-{what}"

    def wrong(*keys: str) -> list[str]:
        places = {f"{place}.{each}" for each in keys}
        return [problem.what for problem in own if problem.place in places]

    role, kind = facts.get("role") or "use", facts.get("type", "")
    unused = role in _UNUSED

    def for_types(what: str, *fields: Html) -> Html:
        types = [each for each, keys in OF_TYPE.items() if what in keys]
        return tag(
            "div",
            *fields,
            data_types=" ".join(types),
            hidden=kind not in types,
            class_="of-type",
        )

    said = {each: facts.get(each, "") for each in facts}
    detail = tag(
        "div",
        tag(
            "div",
            for_types("low", text_field(key("low"), "Lowest possible", said.get("low", ""),
                                        wrong=wrong("range"))),
            for_types("high", text_field(key("high"), "Highest possible", said.get("high", ""))),
            for_types("scale", choice_field(
                key("scale"), "Scale", said.get("scale", ""),
                {"linear": "even steps", "log": "orders of magnitude"}, wrong=wrong("scale"))),
            for_types("unit", text_field(key("unit"), "Measured in", said.get("unit", ""))),
            for_types("format", text_field(key("format"), "Written as", said.get("format", ""),
                                           help="%Y-%m-%d by default.", wrong=wrong("format"))),
            for_types("parts", text_field(key("parts"), "Use its", said.get("parts", ""),
                                          help="days, weekday, month", wrong=wrong("as"))),
            for_types("true", text_field(key("true"), "Written for yes", said.get("true", ""),
                                         wrong=wrong("true"))),
            for_types("false", text_field(key("false"), "Written for no", said.get("false", ""),
                                          wrong=wrong("false"))),
            class_="row",
        ),
        for_types("categories", area_field(
            key("categories"), "The public list, one a line", said.get("categories", ""),
            wrong=wrong("categories"), rows=4)),
        for_types("other", check_field(key("other"), "and one more for everything else",
                                       said.get("other", ""))),
        tag(
            "div",
            for_types("fill", text_field(key("fill"), "An empty cell counts as",
                                         said.get("fill", ""), wrong=wrong("fill"))),
            tag("div", check_field(
                key("missing_column"), "also tell where it was empty",
                said.get("missing_column", "")), data_role="use",
                hidden=role != "use", class_="of-type low"),
            tag("div", choice_field(
                key("combine"), "Several rows of one", said.get("combine", ""),
                {"": "as usual", "any": "yes if any is", "majority": "the most frequent",
                 "mean": "their mean", "sum": "their sum", "first": "the first",
                 "last": "the last"}, wrong=wrong("combine")),
                data_role="target", hidden=role != "target", class_="of-type"),
            class_="row",
        ),
        text_field(
            key("source"), "Where do you know it from?", said.get("source", ""),
            help="Not from the rows: a form, a manual, a law, a report.", wrong=wrong("source")),
        class_="detail",
        hidden=unused,
    )  # fmt: skip
    general = [p.what for p in own if p.place == place]
    return tag(
        "section",
        hidden(key("name"), name),
        tag(
            "div",
            tag("h3", name or "(a column without a name)"),
            choice_field(key("role"), "Role", role, ROLES, wrong=wrong("role"), data_column="role"),
            tag(
                "div",
                choice_field(
                    key("type"), "Type", kind, TYPES, wrong=wrong("type"), data_column="type"
                ),
                class_="of-type",
                data_typed="yes",
                hidden=unused,
            ),
            class_="column-top",
        ),
        tag("p", " ".join(general), class_="wrong") if general else None,
        detail,
        class_="card declare-column" + (" unused" if unused else "") + (" open" if own else ""),
        data_unused=" ".join(_UNUSED),
    )
