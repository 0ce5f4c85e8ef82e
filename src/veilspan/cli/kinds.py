"""KIND on the command line: which estimator, what it reads, and its parameters from text."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from veilspan.catalogue import COMMANDS, Kind

#: Estimators that a command fits, by their names on the command line.
KINDS = {name: kind for name, kind in COMMANDS.items() if kind.has_releases}
#: Said of items or labels: those that occur in the file are public knowledge.
OBSERVED = "observed"
#: Parameters that are options of their own, or are nobody's choice on the command line.
_RESERVED = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "neighbors": "--neighbors",
    "ledger": "--ledger and --dataset",
}
#: What --param says of a mean instead of objects: which manifold, and where its points live.
_MEAN_WORDS = ("manifold", "eigenvalues", "norm", "radius", "noise", "random_state")
_MANIFOLDS = ("spd", "spd-log-euclidean", "spd-bures-wasserstein", "sphere", "euclidean")


def kind_named(name: str) -> Kind:
    """The kind of that name, or an error that lists all."""
    if name not in KINDS:
        raise typer.BadParameter(f"unknown kind {name!r}; known are {', '.join(KINDS)}.")
    return KINDS[name]


def complete_kind(incomplete: str) -> list[str]:
    """Kinds that begin like this, for the shell's completion."""
    return [name for name in KINDS if name.startswith(incomplete)]


def parameters_of(kind: Kind, given: Sequence[str]) -> dict[str, Any]:
    """``name=value`` texts as parameters; values are Python literals, else text."""
    names = kind.load_class()._get_param_names()  # type: ignore[attr-defined]
    known = _MEAN_WORDS if kind.reads == "points" else names
    parameters: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(f"--param takes name=value; got {text!r}.")
        if name in _RESERVED:
            raise ValueError(f"{name} is set by {_RESERVED[name]}, not by --param.")
        if name not in known:
            free = ", ".join(n for n in known if n not in _RESERVED)
            raise ValueError(f"{kind.estimator} has no parameter {name!r}; it has {free}.")
        read = _classes if name == "classes" else _literal
        parameters[name] = read(value.strip())
    return parameters


def _classes(text: str) -> Any:
    """Labels with commas between them; ``observed`` takes those that occur."""
    if text == OBSERVED:
        return None
    value = _literal(text)
    if isinstance(value, (tuple, list)):
        return list(value)
    return [label.strip() for label in text.split(",")]


def _literal(text: str) -> Any:
    if text in ("inf", "-inf"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    except (TypeError, MemoryError, RecursionError):
        pass  # a set of lists, brackets without end
    raise ValueError(f"--param cannot read {text[:60]!r} as a value.")


def make_estimator(kind: Kind, n_columns: int, parameters: Mapping[str, Any], **budget: Any) -> Any:
    """The estimator, unfitted."""
    settings = dict(parameters)
    if kind.reads == "points":
        settings = _mean_settings(n_columns, settings)
    if kind.reads == "ratings" and "rating_range" not in settings:
        raise ValueError(
            "recommend needs the public lowest and highest rating: --param rating_range=1,5, say."
        )
    return kind.load_class()(**settings, **budget)


def _mean_settings(n_columns: int, words: dict[str, Any]) -> dict[str, Any]:
    """Manifold and ball from words, for points of ``n_columns`` numbers each."""
    from veilspan.geometry import Ball

    manifold = _manifold(words.pop("manifold", "spd"), n_columns)
    where = {name: words.pop(name) for name in ("eigenvalues", "norm", "radius") if name in words}
    if len(where) > 1:
        raise ValueError("say where points live by one of eigenvalues, norm and radius.")
    ball = None
    if "eigenvalues" in where:
        ball = Ball.from_eigenvalues(manifold, *_pair(where["eigenvalues"], "eigenvalues"))
    elif "norm" in where:
        ball = Ball.from_norm(manifold, _number(where["norm"], "norm"))
    elif "radius" in where:
        ball = Ball(manifold, manifold.reference_point, _number(where["radius"], "radius"))
    return {"manifold": manifold, "ball": ball, **words}


def _manifold(name: Any, n_columns: int) -> Any:
    from veilspan import geometry

    if name == "sphere":
        return geometry.Sphere(n_columns)
    if name == "euclidean":
        return geometry.Euclidean(n_columns)
    if name not in _MANIFOLDS:
        raise ValueError(f"unknown manifold {name!r}; known are {', '.join(_MANIFOLDS)}.")
    size = math.isqrt(n_columns)
    if size * size != n_columns:
        raise ValueError(
            f"a matrix has k x k entries, row by row; {n_columns} columns are no square number."
        )
    metric: Any = name.removeprefix("spd-") if name != "spd" else "affine-invariant"
    return geometry.SPD(size, metric=metric)


def _pair(value: Any, name: str) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name} takes two numbers, --param {name}=0.01,100 say.")
    return _number(value[0], name), _number(value[1], name)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number; got {value!r}.")
    return float(value)
