"""Estimates in the words of a page: spaces that never break a number from its sign or unit."""

from __future__ import annotations

import re

from veilspan.reports.numbers import MINUS
from veilspan.solvers.profile import wording
from veilspan.solvers.profile.estimates import Estimate
from veilspan.tables.profiling.column_cells import ColumnCells

NBSP = "\u00a0"
NOT_MEASURABLE = wording.NOT_MEASURABLE


def say_share(share: Estimate, *, bar: bool = True) -> str:
    """A share in percent, or where it ends."""
    return _tie(wording.say_share(share, bar=bar))


def say_value(cells: ColumnCells, estimate: Estimate, *, bar: bool = True) -> str:
    """A mean or quantile in the column's own terms."""
    return _tie(wording.say_value(cells, estimate, bar=bar))


def say_number(estimate: Estimate, *, bar: bool = True) -> str:
    """A plain number, such as a correlation or a number of people."""
    said = _tie(wording.say_number(estimate, bar=bar))
    return MINUS + said[1:] if said.startswith("-") else said


def _tie(text: str) -> str:
    for loose in (" %", " ± ", " days", "under "):
        text = text.replace(loose, loose.replace(" ", NBSP))
    return re.sub(r"(?<=\d)-(?=\d)", "\u2011", text)  # a date stays on one line
