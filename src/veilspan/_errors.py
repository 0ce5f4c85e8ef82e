"""Tell errors that this package raised from others: only its own are known to quote no row."""

from __future__ import annotations

import dis


def raised_by_us(error: BaseException) -> bool:
    """Whether an error comes from a ``raise`` of this package, whose messages quote no row."""
    return raised_by(error, "veilspan")


def raised_by(error: BaseException, package: str) -> bool:
    """Whether an error comes from a ``raise`` in a module of a package.

    That the innermost line is the package's is not enough: an error of compiled code
    (``float("a name")``) has no line of its own. So the instruction that was running must be a
    ``raise``.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    frame = trace.tb_frame
    inside = str(frame.f_globals.get("__name__", "")).partition(".")[0] == package
    return inside and frame.f_code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
