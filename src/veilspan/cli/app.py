"""The command line: its commands in the order in which one needs them, and how a run ends.

``--help`` must be quick. So the modules of the commands, which are imported here, import numpy and
the rest of the library inside their functions; and the help is plain text with a little colour,
since typer's own panels are drawn by rich, which is slow to import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from veilspan._version import __version__
from veilspan.cli import ledger
from veilspan.cli.audit import audit
from veilspan.cli.console import INTERRUPTED, fail, quiet_warnings, say
from veilspan.cli.datasets import datasets
from veilspan.cli.demo.command import demo
from veilspan.cli.export.command import export
from veilspan.cli.fit import fit
from veilspan.cli.inspect import inspect
from veilspan.cli.plan import plan
from veilspan.cli.profile.command import profile
from veilspan.cli.report import report
from veilspan.cli.reproduce import reproduce
from veilspan.cli.schema.command import app as schema_app
from veilspan.cli.stop_signals import stop_like_ctrl_c
from veilspan.cli.studio.command import app as studio_app
from veilspan.cli.use.predict import predict
from veilspan.cli.use.recommend import recommend
from veilspan.cli.use.transform import transform
from veilspan.cli.verify import verify

START, WORK, CHECK, EVIDENCE = "Start here", "Work", "Check", "Evidence"
EXIT_CODES = """\b
Exit codes:
  0  done
  1  an error: one sentence says which (also: a ledger that does not verify)
  2  the command was not understood
  3  an audit found a violation
  4  the budget does not cover what was asked; nothing was released
  5  done, but what was released is NOT PRIVATE (a seed, or epsilon = inf)
  6  verify: the release, its report or its charge does not fit; do not rely on it
130  stopped by Ctrl-C; nothing half-written stays behind
143  stopped by SIGTERM, likewise (128 and the number of the signal)"""


#: Commands in the order in which one needs them; typer would list groups after all others.
TOUR = (
    "demo", "studio", "datasets", "schema", "plan", "profile", "fit", "transform", "predict",
    "recommend", "export", "inspect", "report", "verify", "audit", "ledger",
    "reproduce",
)  # fmt: skip


class HelpByPanel(TyperGroup):
    """A group whose help shows its commands first, by panel."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order of the tour."""
        known = super().list_commands(ctx)
        return sorted(known, key=lambda name: TOUR.index(name) if name in TOUR else len(TOUR))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels, then the options."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                title = getattr(command, "rich_help_panel", None)
                row = (_colour(name, fg="cyan"), command.get_short_help_str(300))
                panels.setdefault(title if isinstance(title, str) else "Commands", []).append(row)
        width = max(len(name) for rows in panels.values() for name, _ in rows)
        for title, rows in panels.items():
            with formatter.section(_colour(title, bold=True)):
                # Equally wide names keep the texts of all panels in one column.
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: the panels have shown them."""


def _colour(text: str, **style: Any) -> str:
    return text if os.environ.get("NO_COLOR") else typer.style(text, **style)


app = typer.Typer(
    cls=HelpByPanel,
    help="Low-dimensional structure from sensitive rows, under differential privacy.\n\n"
    "Every command has --help and --json. Nothing is sent anywhere.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100, "help_option_names": ["--help", "-h"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"veilspan {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options of every command; ``main`` takes ``--debug`` out of the line wherever it stands."""


for _panel, _commands in (
    (START, (demo, datasets, plan)),
    (WORK, (profile, fit, transform, predict, recommend, export)),
    (CHECK, (inspect, report, verify, audit)),
):
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(
    schema_app,
    name="schema",
    help="Say what is public of a table: init, check, show, digest, import.",
    rich_help_panel=START,
)
app.add_typer(
    studio_app,
    name="studio",
    help="Private releases for people who do not program, in a browser.",
    rich_help_panel=START,
)
app.add_typer(
    ledger.app,
    name="ledger",
    help="Budgets that outlive a process: create, show, verify, export.",
    rich_help_panel=CHECK,
)
app.command(rich_help_panel=EVIDENCE)(reproduce)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one sentence and an exit code, see ``veilspan --help``."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    with stop_like_ctrl_c() as signals:
        code = _run(words, signals, debug=debug)
    raise SystemExit(code if isinstance(code, int) else 0)


def _run(words: list[str], signals: list[int], *, debug: bool) -> Any:
    try:
        if not debug:
            quiet_warnings()
        code = app(args=words, prog_name="veilspan", standalone_mode=False)
        if code == INTERRUPTED:  # Typer turns Ctrl-C into this number, without a word
            raise KeyboardInterrupt
        return code
    except SystemExit as end:
        # So typer ends when nobody reads its help to the end (``| head``), which is no error.
        return 0 if type(sys.stdout).__name__ == "PacifyFlushWrapper" else end.code
    except (Exception, KeyboardInterrupt) as error:
        if debug and not hasattr(error, "exit_code"):
            raise
        stopped = 128 + signals[0] if signals else INTERRUPTED
        return fail(error, as_json="--json" in words, stopped=stopped)
