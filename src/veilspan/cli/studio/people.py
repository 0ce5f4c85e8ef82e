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
Folder = Annotated[Path, typer.Option("--folder", help="The studio's folder.")]
Link = Annotated[
    bool, typer.Option("--link", help="Print a secret for a page where they choose a password.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
_STUDIO = Path("studio")


@app.command("list")
def list_people(folder: Folder = _STUDIO, json: AsJson = False) -> None:
    """List all people of a studio and their roles."""
    found = _open(folder).list()
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
    link: Link = False,
    json: AsJson = False,
) -> None:
    """Add a person; asks for a password, or prints a secret by which they choose one."""
    accounts = _open(folder)
    if link:
        account = accounts.add(name, role)
        _tell_secret(accounts, account.name, as_json=json)
        return
    account = accounts.add(name, role, _ask_password())
    _tell(account.name, f"{account.name} is {account.role} now.", as_json=json)


@app.command()
def reset(name: Name, folder: Folder = _STUDIO, link: Link = False, json: AsJson = False) -> None:
    """Replace a forgotten password, and end the person's sessions."""
    accounts = _open(folder)
    if link:
        _tell_secret(accounts, name, as_json=json)
        return
    account = accounts.set_password(name, _ask_password())
    _tell(account.name, f"{account.name} has a new password.", as_json=json)


@app.command()
def remove(name: Name, folder: Folder = _STUDIO, json: AsJson = False) -> None:
    """Remove a person. What they asked and approved stays in the ledger."""
    _open(folder).remove(name)
    _tell(name, f"{name} has no account any more.", as_json=json)


def _open(folder: Path) -> Accounts:
    from veilspan.studio.accounts import FILE, Accounts

    return Accounts(folder / FILE)


def _ask_password() -> str:
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))


def _tell_secret(accounts: Accounts, name: str, *, as_json: bool) -> None:
    token = accounts.reset_link(name)
    if as_json:
        print_json({"name": name, "secret": token})
        return
    say(token)
    say(f"It works once, for a day. Whoever has it can pass for {name}: hand it over safely.")


def _tell(name: str, words: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name})
    else:
        say(printable(words))
