"""``veilspan studio backup`` and ``restore``: one file that holds folder and ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import AsJson
from veilspan.cli.console import print_json, say


def backup(
    out: Annotated[Path, typer.Option("--out", help="A new .zip file.")],
    config: Annotated[
        Path | None, typer.Option("--config", help="The studio.toml of the studio.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Its folder, without --config.")] = Path("studio"),
    ledger: Annotated[str, typer.Option(help="Its ledger, without --config.")] = "budget.db",
    key: Annotated[Path, typer.Option(help="The key, without --config.")] = Path("ledger.key"),
    with_key: Annotated[
        bool, typer.Option("--with-key", help="Also the ledger's key; better kept elsewhere.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Write a studio's folder and its ledger to one file.

    The key is left out: whoever has the ledger and its key can write what they like.
    """
    from veilspan.ledger import Ledger
    from veilspan.studio.backup import BackupError, back_up

    if config is not None:
        from veilspan.cli.studio.command import collect_settings

        settings = collect_settings([], [], {}, config, demo=False)
        folder, ledger, key = settings.folder, settings.ledger, settings.key
    if not folder.is_dir():
        raise BackupError(f"there is no studio in {folder}: name its --folder, or its --config.")
    written = back_up(folder, Ledger(ledger, key), out, with_key=with_key)
    if json:
        print_json({"backup": str(written), "bytes": written.stat().st_size})
        return
    say(f"{written} ({written.stat().st_size // 1000:,} KB)")
    if not with_key:
        say(f"Keep a copy of {key} elsewhere: it is not in there, and nothing is readable without.")


def restore(
    archive: Annotated[Path, typer.Argument(help="What backup wrote.")],
    into: Annotated[Path, typer.Option("--into", help="A folder that is not there yet.")],
    key: Annotated[
        Path | None, typer.Option("--key", help="The ledger's key, unless the backup holds it.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Put a backup into a new folder, checked by digests and seals; nothing is overwritten."""
    from veilspan.studio.backup import restore as put_back

    found = put_back(archive, into, key)
    facts = {
        "folder": str(found.folder),
        "ledger": None if found.ledger is None else str(found.ledger),
        "entries": found.entries,
    }
    if json:
        print_json(facts)
        return
    say(f"The studio is in {found.folder}; its ledger has {found.entries:,} entries and verifies.")
