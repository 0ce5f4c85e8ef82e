"""``veilspan report``: a saved release as one offline page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from veilspan._printable import printable
from veilspan.cli.arguments.options import AsJson, KeyFile, Release
from veilspan.cli.console import print_json, say

#: Largest statement or audit that is read; real ones take a few thousand bytes.
MOST_BYTES = 2**24
#: The page's name where none is given, beside the files of its release.
PAGE = "report.html"


def _show_example(wanted: bool) -> None:
    if wanted:
        from veilspan.reports.cover.meta import EXAMPLE

        say(EXAMPLE.rstrip("\n"))
        raise typer.Exit


def report(
    release: Release,
    out: Annotated[
        Path | None, typer.Option(help="An .html file; report.html in the release by default.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    meta: Annotated[
        Path | None,
        typer.Option(help="TOML file of who, when and why: adds a cover that can be signed."),
    ] = None,
    meta_example: Annotated[
        bool,
        typer.Option(
            "--meta-example",
            callback=_show_example,
            is_eager=True,
            help="Print a filled --meta file, and stop.",
        ),
    ] = False,
    audit: Annotated[
        Path | None, typer.Option(help="What veilspan audit --json printed, to show it too.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger whose budget is drawn.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Whose budget in the ledger.")] = None,
    ledger_key: Annotated[Path | None, typer.Option(help="Key file of the ledger.")] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Write what was promised and learned as one offline HTML page.

    Nothing in it is computed from rows. With --meta it has a cover to sign: who, why, what it cost,
    what is left.

    Example: veilspan report --meta-example > meta.toml; veilspan report release --meta meta.toml
    """
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--out must end in .html or .htm; got {out.name!r}.")
    from veilspan.reports import write_report

    source = _read_source(release, key)
    statement = getattr(source, "privacy_", source)
    page = write_report(
        out or (release if release.is_dir() else release.parent) / PAGE,
        source,
        ledger=None if ledger is None else _open_account(ledger, dataset, ledger_key, statement),
        audit=None if audit is None else _read_json(audit),
        title=title,
        meta=meta,
    )
    facts = {
        "file": str(page),
        "bytes": page.stat().st_size,
        "release_id": statement.release_id,
        "private": statement.private,
    }
    if json:
        print_json(facts)
        return
    if not statement.private:
        say(f"NOT PRIVATE: {printable(statement.why_not_private)}")
    say(f"{page} ({facts['bytes'] // 1000} KB): open it in any browser, no network needed")


def _read_source(release: Path, key: Path | None) -> Any:
    """A fitted estimator from the folder of a release, or a statement alone from a JSON file."""
    from veilspan.privacy.records import statement_from

    if release.is_file() and release.suffix == ".json" and release.name != "release.json":
        record = _read_json(release)
        if not isinstance(record, dict) or "events" not in record:
            raise ValueError(f"{release} holds no statement of a release.")
        try:
            return statement_from(record)
        except Exception:  # of whatever type: a file may hold anything
            pass
        raise ValueError(f"{release} holds no whole statement of a release.")
    from veilspan.releases import load

    return load(release, key=key)


def _open_account(ledger: str, dataset: str | None, key: Path | None, statement: Any) -> Any:
    """The account to draw; by default the one that the release was charged to."""
    from veilspan.ledger import Ledger

    name = dataset or (statement.ledger or {}).get("dataset")
    if name is None:
        raise ValueError("this release was charged to no dataset: say which one by --dataset.")
    return Ledger(ledger, key).dataset(name)


def _read_json(path: Path) -> Any:
    from veilspan._archives import parse_json
    from veilspan._files import read_regular

    text = read_regular(path, MOST_BYTES)
    try:
        return parse_json(text)
    except ValueError:  # also of bytes that are not UTF-8
        pass
    raise ValueError(f"{path} is not JSON.")
