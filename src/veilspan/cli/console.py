"""What commands say: results, notes and errors, and the exit codes that go with them."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from veilspan._printable import printable

#: Exit codes; 0 is success. ``veilspan --help`` shows them.
ERROR, USAGE, VIOLATION, BUDGET, INTERRUPTED = 1, 2, 3, 4, 130


def fail(error: BaseException, *, as_json: bool, stopped: int = INTERRUPTED) -> int:
    """Say on the error stream what went wrong, in one sentence; return the exit code.

    ``stopped`` is the code of what was asked to stop: 128 and the number of the signal.
    """
    code = find_exit_code(error)
    interrupted = code == INTERRUPTED
    code = stopped if interrupted else code
    if as_json:
        print(json.dumps({"error": choose_sentence(error), "exit_code": code}), file=sys.stderr)
    elif not interrupted and hasattr(error, "show"):  # what the parser says, with the usage
        if isinstance(getattr(error, "message", None), str):
            error.message = printable(error.message, lines=True)  # type: ignore[attr-defined]
        error.show()
    else:
        say(choose_sentence(error), error=True)
    return code


def say(text: object, *, error: bool = False) -> None:
    """Print: the one way to a terminal, which obeys no character that came from a file.

    With ``error`` on the error stream, as one line of veilspan's.
    """
    if error:
        print(f"veilspan: {printable(str(text))}", file=sys.stderr)
    else:
        print(printable(str(text), lines=True), flush=True)


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
            note(message)

    warnings.showwarning = show


def print_json(content: Any) -> None:
    """Print JSON, the only thing on the output stream."""
    print(json.dumps(content, indent=2, allow_nan=False))
