"""``veilspan studio people``: who may come into a studio of several people.

For whoever administers the machine: it changes the file of accounts, and asks for no password of
the studio. A forgotten password is replaced here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veilspan._printable import printable
from veilspan.cli.console import print_json, say

if TYPE_CHECKING:
    from veilspan.studio.accounts import Accounts

app = typer.Typer(
    help="People of a studio: list, add, reset (a forgotten password), remove.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="Of the person, as the ledger names them.")]
Folder = Annotated[Path, typer.Option("--folder", help="The studio's folder, without --config.")]
Config = Annotated[Path | None, typer.Option("--config", help="The studio.toml of the studio.")]
Link = Annotated[
    bool,
    typer.Option("--link", help="Print a secret by which they choose it; with --config a link."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
_STUDIO = Path("studio")


@app.command("list")
def list_people(folder: Folder = _STUDIO, config: Config = None, json: AsJson = False) -> None:
    """List all people of a studio and their roles."""
    found = _open(folder, config)[0].list()
    if json:
        print_json([{"name": each.name, "role": each.role} for each in found])
        return
    for each in found:
        waits = "" if each.has_password else "  (has chosen no password yet)"
        say(printable(f"{each.name}  {each.role}{waits}"))
    if not found:
        say("nobody yet: veilspan studio people add NAME --role officer")


@app.command()
def add(
    name: Name,
    role: Annotated[str, typer.Option(help="steward, analyst or officer.")],
    folder: Folder = _STUDIO,
    config: Config = None,
    link: Link = False,
    json: AsJson = False,
) -> None:
    """Add a person; asks for a password, or prints a secret by which they choose one."""
    accounts, place = _open(folder, config)
    if link:
        account = accounts.add(name, role)
        _tell_secret(accounts, place, account.name, as_json=json)
        return
    account = accounts.add(name, role, _ask_password())
    _tell(account.name, f"{account.name} is {account.role} now.", as_json=json)


@app.command()
def reset(
    name: Name,
    folder: Folder = _STUDIO,
    config: Config = None,
    link: Link = False,
    json: AsJson = False,
) -> None:
    """Replace a forgotten password, and end the person's sessions."""
    accounts, place = _open(folder, config)
    if link:
        _tell_secret(accounts, place, name, as_json=json)
        return
    account = accounts.set_password(name, _ask_password())
    _tell(account.name, f"{account.name} has a new password.", as_json=json)


@app.command()
def remove(
    name: Name, folder: Folder = _STUDIO, config: Config = None, json: AsJson = False
) -> None:
    """Remove a person. What they asked and approved stays in the ledger."""
    _open(folder, config)[0].remove(name)
    _tell(name, f"{name} has no account any more.", as_json=json)


def _open(folder: Path, config: Path | None) -> tuple[Accounts, str]:
    """The accounts of a studio, and the address where people reach it if its settings say that."""
    from veilspan.studio.accounts import FILE, Accounts

    if config is None:
        return Accounts(folder / FILE), ""
    from veilspan.cli.studio.command import collect_settings

    settings = collect_settings([], [], {}, config, demo=False)
    if not settings.team:
        raise ValueError("say team = true in studio.toml first: this studio has one person only.")
    settings.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = settings.url.rstrip("/") or f"http://127.0.0.1:{settings.port or 'PORT'}"
    return Accounts(settings.folder / FILE), place


def _ask_password() -> str:
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _tell_secret(accounts: Accounts, place: str, name: str, *, as_json: bool) -> None:
    token = accounts.reset_link(name)
    link = {"link": f"{place}/password?token={token}"} if place else {}
    if as_json:
        print_json({"name": name, "secret": token, **link})
        return
    say(link.get("link", token))
    say(f"It works once, for a day. Whoever has it can pass for {name}: hand it over safely.")


def _tell(name: str, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name})
    else:
        say(printable(words))
