"""The command line: declares its commands and says how they fail.

Heavy imports happen inside the commands, so that ``--help`` stays quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from veilspan._version import __version__
from veilspan.cli import checks, ledger, work
from veilspan.cli.stopping import stopped_like_ctrl_c
from veilspan.cli.tour import CHECK, EVIDENCE, EXIT_CODES, START, WORK, Tour

app = typer.Typer(
    cls=Tour,
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
        from veilspan.cli.console import say

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
    (START, (work.demo, work.datasets, work.plan)),
    (WORK, (work.fit, work.transform, work.recommend)),
    (CHECK, (checks.report, checks.audit)),
):
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(
    ledger.app,
    name="ledger",
    help="Budgets that outlive a process: create, show, verify, export.",
    rich_help_panel=CHECK,
)
app.command(rich_help_panel=EVIDENCE)(checks.reproduce)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error is one sentence and an exit code, see ``veilspan --help``."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    with stopped_like_ctrl_c() as signals:
        code = _run(words, signals, debug=debug)
    raise SystemExit(code if isinstance(code, int) else 0)


def _run(words: list[str], signals: list[int], *, debug: bool) -> Any:
    try:
        if not debug:
            from veilspan.cli.console import quiet_warnings

            quiet_warnings()
        code = app(args=words, prog_name="veilspan", standalone_mode=False)
        if code == 130:  # Typer turns Ctrl-C into this number, without a word
            raise KeyboardInterrupt
        return code
    except (Exception, KeyboardInterrupt) as error:
        if debug and not hasattr(error, "exit_code"):
            raise
        from veilspan.cli.console import INTERRUPTED, fail

        stopped = 128 + signals[0] if signals else INTERRUPTED
        return fail(error, as_json="--json" in words, stopped=stopped)
