"""``veilspan inspect``: what lies in the folder of a release, on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veilspan._printable import printable
from veilspan.cli.arguments.options import AsJson, KeyFile, Release
from veilspan.cli.console import print_json, say

#: Numbers of one attribute that are shown; the report and Python show all.
MOST_NUMBERS = 4
#: Columns that are listed by name.
MOST_COLUMNS = 12


def inspect(release: Release, key: KeyFile = None, json: AsJson = False) -> None:
    """Say what a release is, what it promises and what it holds.

    Everything comes from the release: no row is read and nothing is spent.

    Example: veilspan inspect release
    """
    from veilspan.releases import load

    model = load(release, key=key)
    facts = gather_facts(model, release)
    if json:
        print_json(facts)
        return
    say(f"{facts['kind']} ({facts['estimator']}), release {facts['release_id']}")
    say("")
    say(repr(model.privacy_))
    say("")
    if facts["columns"]:
        shown = facts["columns"][:MOST_COLUMNS]
        more = len(facts["columns"]) - len(shown)
        say(f"columns     {', '.join(map(printable, shown))}{f', and {more} more' if more else ''}")
    if facts["schema"]:
        say(f"schema      {facts['schema']}")
    for name, told in facts["released"].items():
        say(f"{name:<11} {told}")
    say("")
    for name, size in facts["files"].items():
        say(f"{printable(name):<24} {size:,} bytes")


def gather_facts(model: Any, folder: Path) -> dict[str, Any]:
    """What is public of a release, as JSON has it."""
    from veilspan.catalogue import COMMANDS

    name = type(model).__name__
    commands = {kind.estimator: command for command, kind in COMMANDS.items()}
    statement, schema = model.privacy_, getattr(model, "schema_", None)
    digest = getattr(schema, "digest", None)
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    return {
        "kind": commands.get(name, name),
        "estimator": name,
        "release_id": statement.release_id,
        "private": statement.private,
        "epsilon": statement.epsilon if statement.private else None,
        "delta": statement.delta if statement.private else None,
        "neighbors": statement.neighbors,
        "columns": [str(column) for column in getattr(model, "feature_names_in_", ())],
        "schema": digest() if callable(digest) else digest,
        "released": _list_released(model),
        "files": {path.name: path.stat().st_size for path in files},
    }


def _list_released(model: Any) -> dict[str, str]:
    """Attributes that hold numbers, each with its shape or its few values."""
    import numpy as np

    found = {}
    for name, value in sorted(vars(model).items()):
        if not name.endswith("_") or name.startswith("_"):
            continue
        if isinstance(value, (bool, int, float, np.number)):
            found[name] = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
            few = value.size <= MOST_NUMBERS
            numbers = ", ".join(f"{number:.6g}" for number in value.ravel()) if few else "numbers"
            found[name] = f"{' x '.join(map(str, value.shape)) or 'one'}: {numbers}"
    return found
