"""What commands say: results, notes and errors, and the exit codes that go with them."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from typing import Any, TextIO

from veilspan._printable import printable

#: A parameter as a text says it to people who write Python: a name, and a word or some numbers.
_PARAMETER = re.compile(r'\b([a-z][a-z_]*)=(?:"([^"\s]+)"|\(([^()]+)\))')
#: Parameters that are options here.
_OPTIONS = ("neighbors",)

#: Exit codes; 0 is success. ``veilspan --help`` shows them.
ERROR, USAGE, VIOLATION, BUDGET, NOT_PRIVATE, MISFIT, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130


def fail(error: BaseException, *, as_json: bool, stopped: int = INTERRUPTED) -> int:
    """Say on the error stream what went wrong, in one sentence; return the exit code.

    ``stopped`` is the code of what was asked to stop: 128 and the number of the signal.
    """
    code = find_exit_code(error)
    interrupted = code == INTERRUPTED
    code = stopped if interrupted else code
    problems = getattr(error, "problems", None)  # of a schema: all of them, a line each
    if as_json:
        said: dict[str, Any] = {"error": choose_sentence(error), "exit_code": code}
        if problems is not None:
            said["problems"] = [problem._asdict() for problem in problems]
        _write(json.dumps(said), sys.stderr)
    elif not interrupted and hasattr(error, "show"):  # what the parser says, with the usage
        if isinstance(getattr(error, "message", None), str):
            error.message = printable(error.message, lines=True)  # type: ignore[attr-defined]
        error.show()
    elif problems is not None:
        _write(f"veilspan: {printable(choose_sentence(error), lines=True)}", sys.stderr)
    else:
        say(choose_sentence(error), error=True)
    return code


def say(text: object, *, error: bool = False) -> None:
    """Print: the one way to a terminal, which obeys no character that came from a file.

    With ``error`` on the error stream, as one line of veilspan's.
    """
    if error:
        _write(f"veilspan: {printable(str(text))}", sys.stderr)
    else:
        _write(printable(str(text), lines=True), sys.stdout)


def say_stage(text: object, *, whole: bool = True) -> None:
    """Say on the error stream what is being done; not ``whole`` leaves the line open for more."""
    _write(printable(str(text)), sys.stderr, end="\n" if whole else "")


def note(text: object) -> None:
    """Say something beside the result, on the error stream."""
    say(f"note: {text}", error=True)


def find_exit_code(error: BaseException) -> int:
    """The exit code of an error."""
    from veilspan.privacy.errors import BudgetExceededError

    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == "Abort":
        return INTERRUPTED
    if isinstance(error, BudgetExceededError):
        return BUDGET
    return getattr(error, "exit_code", ERROR)


def choose_sentence(error: BaseException) -> str:
    """What an error may say. A text that veilspan did not write could quote a row: it is not shown.

    Errors of the operating system name files, not their contents; those of imports name modules.
    """
    if find_exit_code(error) == INTERRUPTED:
        return "stopped."
    if hasattr(error, "format_message"):
        return str(error.format_message())
    if isinstance(error, OSError):
        named = error.strerror and error.filename
        return f"{error.filename}: {error.strerror}." if named else str(error)
    from veilspan._errors import raised_by_us

    spoken = isinstance(error, (ValueError, TypeError, RuntimeError, ImportError))
    if spoken and raised_by_us(error):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"there is no module {error.name}: install it, or run again with --debug."
    return f"unexpected: {type(error).__name__}; run again with --debug."


def quiet_warnings() -> None:
    """Print warnings as one line each: veilspan's own, which quote no data, and no others."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if category.__module__.startswith("veilspan."):
            note(f"{message}{spell_parameters(str(message))}")

    warnings.showwarning = show


def spell_parameters(text: str) -> str:
    """How parameters that a text names in Python's way are said here; empty if it names none."""
    said = []
    for name, word, numbers in _PARAMETER.findall(text):
        value = word or numbers.replace(" ", "")
        said.append(f"--{name} {value}" if name in _OPTIONS else f"-p {name}={value}")
    return f" (On the command line: {', '.join(dict.fromkeys(said))}.)" if said else ""


def print_json(content: Any) -> None:
    """Print JSON, the only thing on the output stream."""
    _write(json.dumps(content, indent=2, allow_nan=False), sys.stdout)


def make_console(**options: Any) -> Any:
    """A console of rich for tables; a reader that goes away (``| head``) is no error here either.

    Rich's own ends the program with exit code 1 then, after the work was done.
    """
    from rich.console import Console

    class PatientConsole(Console):
        """Writes on to nobody once its reader has gone."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            _write_to_nobody(sys.stdout)

    return PatientConsole(highlight=False, **options)


def _write(text: str, stream: TextIO, end: str = "\n") -> None:
    """Print a text now; a reader that went away (``| head``) is no reason to stop the work."""
    try:
        print(text, file=stream, end=end, flush=True)
    except BrokenPipeError:
        _write_to_nobody(stream)


def _write_to_nobody(stream: TextIO) -> None:
    """Lead a stream whose reader went away to where everything may be written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
