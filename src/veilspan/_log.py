"""What a service's log is told: public facts of charges and releases, under one logger's name.

All lines go to the logger ``veilspan``, at INFO and DEBUG: nothing is printed unless somebody sets
it up (``logging.basicConfig(level="INFO")``). No line holds a value that depends on a row, a time
that it took, or more than names, budgets and numbers of entries, which a ledger and a release show
as well.
"""

from __future__ import annotations

from veilspan._printable import printable

NAME = "veilspan"


def log_event(what: str, *, detail: bool = False, **facts: object) -> None:
    """Log one line: what happened, then ``name=value``; control characters are escaped."""
    import logging  # late: it takes a tenth of what `import veilspan` may take

    level = logging.DEBUG if detail else logging.INFO
    logger = logging.getLogger(NAME)
    if logger.isEnabledFor(level):
        said = " ".join(f"{name}={printable(str(value))}" for name, value in facts.items())
        logger.log(level, "%s %s", what, said, stacklevel=2)
