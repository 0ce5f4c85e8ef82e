"""``veilspan verify``: check a release and its report again, offline, from the release alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import AsJson, KeyFile, Release
from veilspan.cli.console import MISFIT, NOT_PRIVATE, print_json, say


def verify(
    release: Release,
    report: Annotated[
        Path | None, typer.Option(help="Its report; report.html in the release by default.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option(help="A schema file that must be the one that was used.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger that must hold its charge.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Whose account in the ledger.")] = None,
    ledger_key: Annotated[Path | None, typer.Option(help="Key file of the ledger.")] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Check a release and its report again, from the release alone.

    Computes anew: the digests of the files, the accounting of the recorded events, the digest of
    the schema, every byte of the report, and with --ledger all seals and the charge. No row is
    read, nothing is spent, no network is used.

    Exit code 0: all that was checked fits. 5: it fits, and is NOT PRIVATE. 6: something does not
    fit, or the ledger says that it was withdrawn. 1: it could not be checked.

    Example: veilspan verify release --ledger budget.db
    """
    from veilspan.reports import verify_release

    book = account = None
    if ledger is not None:
        from veilspan.ledger import Ledger

        book = Ledger(ledger, ledger_key)
        account = None if dataset is None else book.dataset(dataset)
    elif dataset is not None or ledger_key is not None:
        raise ValueError("--dataset and --ledger-key belong to a --ledger.")
    found = verify_release(
        release, key=key, report=report, schema=schema, ledger=book, dataset=account
    )
    if json:
        print_json(found.to_dict())
    else:
        say(found)
    if not found:
        raise typer.Exit(MISFIT)
    if not found.private:
        raise typer.Exit(NOT_PRIVATE)
