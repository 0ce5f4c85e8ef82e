"""``veilspan schema``: its commands in the order in which one needs them."""

from __future__ import annotations

import typer

from veilspan.cli.schema.check import check
from veilspan.cli.schema.digest import digest
from veilspan.cli.schema.importing import import_schema
from veilspan.cli.schema.init import init
from veilspan.cli.schema.show import show

app = typer.Typer(
    help="Declare what is public of a table: which columns there are, what they hold, and where "
    "you know it from. A fit by a schema needs no other preparation of the table.",
    no_args_is_help=True,
)
for _command in (init, check, show, digest):
    app.command()(_command)
app.command("import")(import_schema)
