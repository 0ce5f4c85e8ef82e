"""An estimator from what users type: its KIND, and its parameters as ``name=value``.

Which kinds there are, and what each reads, is the catalogue's to say; their parameters are those of
the class. Only the mean on a manifold is spoken of in other words
(:mod:`veilspan.cli.arguments.manifolds`): its parameters are objects, which nobody can type.
"""

from __future__ import annotations

import ast
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
    "schema": "--schema",
    "allow_weak": "--allow-weak",
}


def find_kind(name: str) -> Kind:
    """The kind of that name, or an error that lists all."""
    if name not in KINDS:
        known = ", ".join(KINDS)
        raise typer.BadParameter(f"unknown kind {name!r}; known are {known}.{_suggest(name)}")
    return KINDS[name]


def _suggest(name: str) -> str:
    """`` Did you mean ...?`` for a kind that is close, or the name of its class in Python."""
    import difflib

    spelled = {kind.estimator.lower(): command for command, kind in KINDS.items()}
    spelled |= {command: command for command in KINDS}
    word = name.lower().replace("_", "-")
    close = difflib.get_close_matches(word, spelled, n=1) or [
        known for known in spelled if word and known.startswith(word)
    ]
    return f" Did you mean {spelled[close[0]]}?" if close else ""


def list_kinds(reads: str) -> str:
    """Names of the kinds that read such tables, with commas between them."""
    return ", ".join(name for name, kind in KINDS.items() if kind.reads == reads)


def complete_kind(incomplete: str) -> list[str]:
    """Kinds that begin like this, for the shell's completion."""
    return [name for name in KINDS if name.startswith(incomplete)]


def complete_parameter(ctx: typer.Context, incomplete: str) -> list[str]:
    """Parameters of the kind in question that begin like this, for the shell's completion."""
    # An option that waits for its value leaves the words of the line unread.
    words = [str(ctx.params.get("kind")), *ctx.args]
    kind = next((KINDS[word] for word in words if word in KINDS), None)
    if kind is None or "=" in incomplete:
        return []
    return [f"{name}=" for name in list_parameters(kind) if name.startswith(incomplete)]


def list_parameters(kind: Kind) -> list[str]:
    """Names of the parameters that ``--param`` takes for a kind."""
    from veilspan.cli.arguments.manifolds import MEAN_WORDS

    if kind.reads == "points":
        return [*MEAN_WORDS]
    names = kind.load_class()._get_param_names()  # type: ignore[attr-defined]
    return [name for name in names if name not in _RESERVED]


def read_parameters(kind: Kind, given: Sequence[str]) -> dict[str, Any]:
    """``name=value`` texts as parameters; values are Python literals, else text."""
    from veilspan.tables.problems import suggest

    known = list_parameters(kind)
    parameters: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(
                f"--param takes name=value; got {text!r}. {kind.command} has {', '.join(known)}."
            )
        if name in _RESERVED:
            raise ValueError(f"{name} is set by {_RESERVED[name]}, not by --param.")
        if name not in known:
            raise ValueError(
                f"{kind.command} has no parameter {name!r}; it has {', '.join(known)}."
                f"{suggest(name, known)}"
            )
        read = _read_classes if name == "classes" else _read_literal
        parameters[name] = read(value.strip())
    return parameters


def _read_classes(text: str) -> Any:
    """Labels with commas between them; ``observed`` takes those that occur."""
    if text == OBSERVED:
        return OBSERVED
    value = _read_literal(text)
    if isinstance(value, (tuple, list)):
        return list(value)
    return [label.strip() for label in text.split(",")]


def _read_literal(text: str) -> Any:
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
    """The estimator, unfitted, for a table of ``n_columns`` columns."""
    settings = dict(parameters)
    if kind.reads == "points":
        from veilspan.cli.arguments.manifolds import read_mean_settings

        settings = read_mean_settings(n_columns, settings)
    lists = settings.get("task") == "rank"  # which need no ratings
    if kind.reads == "ratings" and "rating_range" not in settings and not lists:
        raise ValueError(
            f"{kind.command} needs the public lowest and highest rating: --param rating_range=1,5, "
            "say. Without ratings it makes lists: --param task=rank."
        )
    return kind.load_class()(**settings, **budget)
