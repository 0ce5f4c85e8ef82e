"""``veilspan studio``: open the studio in a browser, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veilspan._passwords import are_pairs
from veilspan.cli.console import say
from veilspan.cli.studio.copies import backup, restore
from veilspan.cli.studio.people import app as people_app

if TYPE_CHECKING:
    from veilspan.studio.settings import Settings

#: Where the demo is put, beside what else is in the present folder.
DEMO = Path("veilspan-demo")
FOLDER, LEDGER, KEY = Path("studio"), "budget.db", Path("ledger.key")

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True, no_args_is_help=False)
app.add_typer(people_app, name="people")
app.command()(backup)
app.command()(restore)


@app.callback()
def studio(
    context: typer.Context,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", help="A table, NAME=FILE; may be repeated: ward=visits.parquet."),
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option("--schema", help="Its schema, NAME=FILE; may be declared in the studio too."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help=f"Ledger of the budgets; {LEDGER} by default.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help=f"Key file of the ledger; {KEY} by default.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help=f"Drafts, schemas and releases; {FOLDER} by default."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen at; this machine alone by default.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen at; 0 (by default) takes a free one.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A studio.toml that says all of it.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help=f"Make a hospital to try it on, in {DEMO}.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the link in a browser.")
    ] = True,
    json: Annotated[
        bool, typer.Option("--json", help="Print the link as one line of JSON.")
    ] = False,
) -> None:
    """Private releases for people who do not program, in a browser on this machine.

    Prints and opens a link that works once. Nothing is sent anywhere, and no page shows a row.

    Example: veilspan studio --demo
    """
    if context.invoked_subcommand is not None:
        return
    given = {"ledger": ledger, "key": key, "folder": folder, "host": host, "port": port}
    settings = collect_settings(data or [], schema or [], given, config, demo=demo)
    try:
        from veilspan.studio.demo import open_hospital
        from veilspan.studio.server import run_studio
    except ModuleNotFoundError as error:
        raise ValueError(
            f"the studio needs {error.name}: pip install 'veilspan[studio]' brings it."
        ) from None
    prepare = open_hospital if demo else None
    if json:
        run_studio(settings, browser=browser, say=_say_json, prepare=prepare)
        return
    asked = "People log in at:" if settings.team else "Open this link, which works once:"
    greeting = f"Veilspan Studio runs on this machine. {asked}"
    run_studio(settings, browser=browser, say=say, greeting=greeting, prepare=prepare)


def _say_json(link: str) -> None:
    """Print a link for a program that waits for it."""
    from json import dumps

    if "://" in link:
        say(dumps({"link": link}))


def collect_settings(
    data: list[str], schema: list[str], given: dict[str, Any], config: Path | None, *, demo: bool
) -> Settings:
    """What the command line says, over what the configuration says, over what is usual."""
    from dataclasses import replace

    from veilspan.studio.settings import Settings, Table, read_pairs, read_settings

    said = {name: value for name, value in given.items() if value is not None}
    if demo:
        if data or schema or config is not None or {"ledger", "key"} & set(said):
            raise ValueError(
                "--demo brings tables, schema and ledger along: leave --data, --schema, --ledger, "
                "--key and --config out."
            )
        from veilspan.studio.demo import make_hospital

        made = make_hospital(said.pop("folder", DEMO))
        return replace(made, **said)
    known: dict[str, Any] = {"folder": FOLDER, "ledger": LEDGER, "key": KEY, "tables": {}}
    if config is not None:
        known |= read_settings(config)
    files, schemas = read_pairs(data, "--data"), read_pairs(schema, "--schema")
    tables = dict(known["tables"])
    tables |= {name: Table(name, _make_absolute(file)) for name, file in files.items()}
    for name, file in schemas.items():
        if name not in tables:
            raise ValueError(f"--schema {name}=... is of no table: say --data {name}=FILE as well.")
        tables[name] = replace(tables[name], schema=Path(file).absolute())
    if not tables:
        raise ValueError(
            "the studio needs a table: --data ward=visits.csv, --config studio.toml, or --demo to "
            "try it on a made-up hospital."
        )
    found = {**known, **said, "tables": tables}
    found |= {name: Path(found[name]).absolute() for name in ("folder", "key")}
    return Settings(**{**found, "ledger": _make_absolute(found["ledger"])})


def _make_absolute(place: str) -> str:
    """A path as seen from everywhere: approvals bind where the data lie. Servers stay as said."""
    return place if "://" in place or are_pairs(place) else str(Path(place).absolute())
