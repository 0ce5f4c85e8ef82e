"""Help that reads like a tour: commands in panels, in the order in which one needs them.

Plain text with a little colour. typer's own panels are drawn by rich, which is slow to import.
"""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperGroup

START, WORK, CHECK, EVIDENCE = "Start here", "Work", "Check", "Evidence"
EXIT_CODES = """\b
Exit codes:
  0  done
  1  an error: one sentence says which (also: a ledger that does not verify)
  2  the command was not understood
  3  an audit found a violation
  4  the budget does not cover what was asked; nothing was released
130  stopped by Ctrl-C; nothing half-written stays behind
143  stopped by SIGTERM, likewise (128 and the number of the signal)"""


class Tour(TyperGroup):
    """A group whose help shows its commands first, by panel."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels, then the options."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                title = getattr(command, "rich_help_panel", None)
                row = (_coloured(name, fg="cyan"), command.get_short_help_str(300))
                panels.setdefault(title if isinstance(title, str) else "Commands", []).append(row)
        width = max(len(name) for rows in panels.values() for name, _ in rows)
        for title, rows in panels.items():
            with formatter.section(_coloured(title, bold=True)):
                # Equally wide names keep the texts of all panels in one column.
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: the panels have shown them."""


def _coloured(text: str, **style: Any) -> str:
    return text if os.environ.get("NO_COLOR") else typer.style(text, **style)
