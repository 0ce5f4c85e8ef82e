"""``veilspan audit``: try to refute what an estimator promises, on generated adversarial tables."""

from __future__ import annotations

import json
import sys
from types import TracebackType
from typing import Any

import typer

from veilspan.catalogue import COMMANDS
from veilspan.cli.console import say

#: Exit code if a violation was found.
VIOLATION = 3


def run_audit(
    name: str,
    *,
    epsilon: float,
    delta: float,
    neighbors: str,
    runs: int,
    seed: int,
    as_json: bool,
) -> None:
    """Audit one estimator by name and print the report."""
    if name not in COMMANDS:
        raise ValueError(f"unknown estimator {name!r}; known are {', '.join(COMMANDS)}.")
    if runs < 0 or runs == 1:
        raise ValueError(f"runs must be 0 (replay only) or at least 2; got {runs}.")
    from veilspan.audit.api import audit

    estimator = COMMANDS[name].make_small(epsilon=epsilon, delta=delta, neighbors=neighbors)
    with _Bars(quiet=as_json or not sys.stderr.isatty()) as bars:
        report = audit(estimator, runs=runs, seed=seed, progress=bars.show)
    say(json.dumps(report.to_dict(), indent=2) if as_json else repr(report))
    if not report.ok:
        raise typer.Exit(VIOLATION)


class _Bars:
    """A progress bar for each check in turn, on the error stream."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._check = ""
        self._bar: Any = None
        self._done = 0

    def __enter__(self) -> _Bars:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def show(self, check: str, done: int, total: int) -> None:
        """Draw what is done of a check."""
        if self._quiet:
            return
        if check != self._check:
            self._close()
            self._check, self._done = check, 0
            self._bar = typer.progressbar(length=total, label=f"{check:<6}", file=sys.stderr)
            self._bar.__enter__()
        self._bar.update(done - self._done)
        self._done = done

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None
