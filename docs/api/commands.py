"""The command line, from what its commands say of themselves."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main


def written() -> list[str]:
    """Return all commands as reStructuredText, in the order of ``veilspan --help``."""
    from veilspan.cli.app import app

    return [line for name, command in _walk("veilspan", typer.main.get_command(app))
            for line in _section(name, command)]  # fmt: skip


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for inner in getattr(command, "commands", {}).values():
        if not inner.hidden:
            yield from _walk(f"{name} {inner.name}", inner)


def _section(name: str, command: Any) -> list[str]:
    lines = [name, "-" * len(name), "", *(command.help or "").splitlines(), ""]
    context = command.context_class(command, info_name=name)
    lines += [
        ".. code-block:: text",
        "",
        f"   {name} {' '.join(command.collect_usage_pieces(context))}",
        "",
    ]
    lines += [f".. program:: {name}", ""]
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in record[0]:  # hidden ones have none
            lines += [f".. option:: {_spelled(record[0])}", "", f"   {_text(record[1])}", ""]
    return lines


def _spelled(words: str) -> str:
    """Return ``--epsilon FLOAT`` as Sphinx wants it: values in angle brackets."""
    return re.sub(r"(?<=\s)([A-Z][A-Z_|]*)", r"<\1>", words).replace(" / ", ", ")


def _text(words: str) -> str:
    return re.sub(r"\s+\[(.*)\]$", r" *(\1)*", words)
