"""``veilspan studio backup`` and ``restore``: a studio in one file, and back into a new place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.console import print_json, say

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]


def backup(
    out: Annotated[Path, typer.Option(help="A new .zip file.")],
    folder: Annotated[Path, typer.Option(help="The studio's folder.")] = Path("studio"),
    ledger: Annotated[str, typer.Option(help="Ledger of the budgets.")] = "budget.db",
    key: Annotated[Path, typer.Option(help="Key file of the ledger.")] = Path("ledger.key"),
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Also the key: keep such a file as safe as it.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Copy a studio's folder and its ledger to one file, also while they are in use."""
    from veilspan.ledger import Ledger
    from veilspan.studio.backup import back_up

    if not folder.is_dir():
        raise FileNotFoundError(f"there is no studio in {folder}; --folder says where it is.")
    made = back_up(folder, Ledger(ledger, key), out, with_key=with_key)
    if json:
        print_json({"file": str(made), "bytes": made.stat().st_size, "key": with_key})
        return
    say(f"{made} holds the folder and the ledger ({made.stat().st_size // 1000} KB).")
    if not with_key:
        say(f"Keep a copy of {key} elsewhere: nothing can be put back without it.")


def restore(
    archive: Annotated[Path, typer.Argument(help="What veilspan studio backup wrote.")],
    into: Annotated[Path, typer.Option(help="A new folder.")],
    key: Annotated[
        Path | None, typer.Option(help="Key file of the ledger, unless the backup holds it.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Put a backup into a new folder, every file and every entry of the ledger checked.

    A backup from before the last charge is refused: it would hand out their budget again.
    """
    from veilspan.studio import backup as copies

    found = copies.restore(archive, into, key)
    ledger = None if found.ledger is None else str(found.ledger)
    if json:
        facts = {"folder": str(found.folder), "ledger": ledger, "key": str(found.key)}
        print_json({**facts, "entries": found.entries})
        return
    say(f"The studio's folder is {found.folder}.")
    if ledger is not None:
        say(f"The ledger is {ledger}: {found.entries} entries checked, no change found.")
    else:
        say("The ledger is on a server, which has copies of its own.")
    say(f"Its key is {found.key}.")
