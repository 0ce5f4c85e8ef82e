"""Questions in words, the methods that answer them, and why a schema cannot feed some of them."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from veilspan.catalogue import COMMANDS, Kind
from veilspan.tables.schema import Schema

#: Parameters that other entries say: the budget, the account, the schema.
RESERVED = ("epsilon", "delta", "neighbors", "ledger", "schema", "allow_weak", "random_state")


class Method(NamedTuple):
    """A method that answers a question: its command, what it is called, when it is right."""

    command: str
    title: str
    when: str
    params: Mapping[str, Any] = {}


class Question(NamedTuple):
    """A question as a person asks it, with the methods that answer it, the usual one first."""

    key: str
    title: str
    about: str
    methods: tuple[Method, ...]


QUESTIONS = (
    Question(
        "describe",
        "What does the table look like?",
        "Counts, shares, means, spreads and correlations of all columns, with error bars.",
        (Method("profile", "Profile", "the usual first release of a table"),),
    ),
    Question(
        "classes",
        "Who will ...? Predict yes or no",
        "A model that predicts one of a few answers, and tells how each column counts.",
        (
            Method("logistic", "Logistic regression", "gives chances; the usual choice"),
            Method("svc", "Support vector classifier", "only the answer counts, not its chance"),
        ),
    ),
    Question(
        "numbers",
        "How much ...? Predict a number",
        "A model that predicts a number, and tells how each column counts.",
        (
            Method("ridge", "Ridge regression", "the usual choice"),
            Method("linear", "Linear regression", "without any shrinking"),
            Method("lasso", "Lasso", "if few columns matter"),
            Method("elastic-net", "Elastic net", "between ridge and lasso"),
            Method("huber", "Huber regression", "if some numbers are far off"),
        ),
    ),
    Question(
        "patterns",
        "What are the main patterns?",
        "The few directions in which people differ most.",
        (
            Method("pca", "Principal components", "the usual choice", {"n_components": 2}),
            Method(
                "robust-pca",
                "Robust principal components",
                "if some rows are far from the rest",
                {"n_components": 2},
            ),
        ),
    ),
    Question(
        "recommend",
        "What may they like? Recommend",
        "Items that suit a user, from the ratings of all.",
        (Method("recommend", "Matrix completion", "ratings of users and items"),),
    ),
    Question(
        "matrices",
        "What is their average matrix?",
        "The mean of covariance matrices, one a person, on their curved space.",
        (Method("frechet", "Fréchet mean", "tables of matrices"),),
    ),
)
METHODS = {method.command: method for question in QUESTIONS for method in question.methods}


def find_question(command: str) -> Question:
    """The question that a method answers."""
    return next(q for q in QUESTIONS if any(m.command == command for m in q.methods))


def why_not(question: Question, schema: Schema) -> str:
    """Why the schema cannot feed a question, in its reader's words; empty if it can."""
    kind = COMMANDS[question.methods[0].command]
    if kind.reads == "points":
        return "It reads matrices, not columns: veilspan fit frechet on the command line does it."
    if kind.reads == "ratings":
        if schema.column_of_role("rating") is None:
            return "It needs columns that say who rated what, and how."
    elif kind.reads != "cells" and not schema.columns_out:
        return "The schema has no column to learn from."
    if kind.needs_target and schema.target is None:
        return "No column of the schema is marked “predict it”."
    if kind.reads == "labels" and schema.classes is None:
        return f"The column to predict, {schema.target.name}, holds numbers."  # type: ignore[union-attr]
    if kind.reads == "numbers" and schema.target_range is None:
        return f"The column to predict, {schema.target.name}, holds classes."  # type: ignore[union-attr]
    if schema.neighbors == "replace-one" and schema.count is None:
        return "The schema does not say how many there are."
    return ""


def make_model(
    command: str, schema: Schema, params: Mapping[str, Any], epsilon: float, delta: float
) -> Any:
    """The estimator, unfitted, as a job makes it."""
    from veilspan.studio.fits import build_estimator

    find_kind(command)
    return build_estimator(command, params, epsilon, delta, schema)


def make_plan(model: Any) -> Any:
    """What a fit of the model would ask and spend."""
    return model.plan()


def find_kind(command: str) -> Kind:
    """The kind of a command that the studio offers."""
    if command not in METHODS:
        raise ValueError("this method is none of those that the studio offers.")
    return COMMANDS[command]


def list_parameters(command: str) -> list[str]:
    """Names of the parameters that a person may set."""
    names = find_kind(command).load_class()._get_param_names()  # type: ignore[attr-defined]
    said = ("columns",) if command != "profile" else ()
    facts = ("classes", "feature_range", "target_range", "rating_range", "bounds", *said)
    return [name for name in names if name not in (*RESERVED, *facts)]


def read_parameters(command: str, text: str) -> dict[str, Any]:
    """``name = value`` lines as parameters that JSON can hold."""
    from veilspan.tables.problems import suggest

    known = list_parameters(command)
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals:
            raise ValueError(f"write a setting as name = value; got {line.strip()[:60]!r}.")
        if name not in known:
            raise ValueError(f"{command} has no setting {name[:60]!r}.{suggest(name, known)}")
        found[name] = _read_value(value)
    return found


def write_parameters(params: Mapping[str, Any]) -> str:
    """Parameters as lines that :func:`read_parameters` reads."""
    return "\n".join(f"{name} = {value!r}" for name, value in params.items())


def _read_value(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, SyntaxError):
        return text
    except (TypeError, MemoryError, RecursionError):
        raise ValueError(f"this value cannot be read: {text[:60]!r}.") from None
    return list(value) if isinstance(value, tuple) else value
