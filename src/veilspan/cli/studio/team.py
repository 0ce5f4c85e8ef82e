"""``veilspan studio person``: who may come into a studio of several people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veilspan.cli.arguments.options import AsJson
from veilspan.cli.console import print_json, say

if TYPE_CHECKING:
    from veilspan.studio.accounts import Accounts

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)

Config = Annotated[Path, typer.Option("--config", help="The studio.toml of the studio.")]
Name = Annotated[str, typer.Argument(help="The person's name, as the ledger will name them.")]


def open_accounts(config: Path) -> tuple[Accounts, str]:
    """The accounts of a studio, and the address under which people reach it."""
    from veilspan.cli.studio.command import collect_settings
    from veilspan.studio.accounts import FILE, Accounts

    settings = collect_settings([], [], {}, config, demo=False)
    if not settings.team:
        raise ValueError("say team = true in studio.toml first: this studio has one person only.")
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = settings.url.rstrip("/") or f"http://127.0.0.1:{settings.port or 'PORT'}"
    return Accounts(settings.folder / FILE), place


@app.command()
def add(
    name: Name,
    role: Annotated[str, typer.Option(help="steward, analyst or officer.")],
    config: Config = Path("studio.toml"),
    json: AsJson = False,
) -> None:
    """Add a person, and print a link by which they choose their password.

    Whoever has the link can pass for them: hand it over in a way that reaches nobody else.
    """
    accounts, place = open_accounts(config)
    accounts.add(name, role)
    _tell_link(accounts, place, name, as_json=json)


@app.command("list")
def list_people(config: Config = Path("studio.toml"), json: AsJson = False) -> None:
    """List who may come in, and as what."""
    people = open_accounts(config)[0].list()
    if json:
        print_json([{"name": each.name, "role": each.role} for each in people])
        return
    for each in people:
        waiting = "" if each.has_password else "  (no password chosen yet)"
        say(f"{each.role:<8}  {each.name}{waiting}")


@app.command()
def reset(name: Name, config: Config = Path("studio.toml"), json: AsJson = False) -> None:
    """Print a link for a person who has forgotten their password; it works once, within a day."""
    accounts, place = open_accounts(config)
    _tell_link(accounts, place, name, as_json=json)


@app.command()
def remove(name: Name, config: Config = Path("studio.toml"), json: AsJson = False) -> None:
    """Remove a person; what they asked and approved stays in the ledger."""
    open_accounts(config)[0].remove(name)
    if json:
        print_json({"removed": name})
    else:
        say(f"{name} cannot come in any more.")


def _tell_link(accounts: Accounts, place: str, name: str, *, as_json: bool) -> None:
    link = f"{place}/password?token={accounts.reset_link(name)}"
    if as_json:
        print_json({"name": name, "link": link})
        return
    say(f"Give this link to {name} and to nobody else; it works once, within a day:")
    say(link)
