r"""Nothing is said while rows are read: no warning, and no error but one that is always the same.

From the charge of a fit on, whatever touches rows runs inside :class:`Silence`. Every map of a row
and every query is meant to be total (defined for each row that passes the public check of the
table's form, without a warning), so that nothing ever has to be kept silent. This file is the
second net, for what was overlooked and for code of others (a loss of your own, a library):

* floating point is silent, whatever ``np.seterr`` says, and so are warnings, whatever their filters
  say: a warning, or the error that a filter makes of it, could tell of a single row;
* an exception becomes one :class:`WithheldError`, whose type and text are the same whatever
  happened, without the original behind it. Only a simulation, whose seed is an int and which
  promises nothing, carries the original as ``__cause__``.

That a fit failed at all can then depend on a row: one bit, without noise. The fit is charged like
one that succeeds (the charge stands before the first row is read), but no charge covers such a bit.
What the guarantee rests on is that maps and queries are total; ``tests/contracts`` checks it.

Let through as they are: ``KeyboardInterrupt`` and the like, ``MemoryError`` and
:class:`TemporaryFolderError`, which stands for it where rows wait on a disk (releases say that
memory and crashes are not protected), ``ReplayMismatchError`` of an audit, :class:`PrivacyError`,
which speaks of plans, budgets and other public facts, and :class:`FormError`: that a table has its
form is public.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from veilspan._errors import raised_by_us
from veilspan.curator.tape import ReplayMismatchError
from veilspan.privacy.errors import (
    FormError,
    PrivacyError,
    TemporaryFolderError,
    WithheldError,
)

#: Errors that say nothing of a row.
PASSING = (PrivacyError, FormError, MemoryError, TemporaryFolderError, ReplayMismatchError)

_silent: ContextVar[bool] = ContextVar("veilspan_silent", default=False)


class _WhileSilent:
    """Stands for the pattern of a warning filter, and matches inside :func:`quiet` alone.

    ``warnings.catch_warnings`` would replace the filters of the whole process: two fits in two
    threads that leave it in another order than they came leave warnings off for good.

    Who copies filters to other threads or processes, as scikit-learn does, reads their patterns:
    the copy matches nothing, and a fit puts the filter itself before it.
    """

    pattern = r"(?!)"

    def match(self, text: str) -> bool:
        """Whether the warning is to be ignored, whatever it says."""
        return _silent.get()


_FILTER: Any = ("ignore", _WhileSilent(), Warning, None, 0)


class quiet(AbstractContextManager[None]):
    """Keep floating-point errors and warnings of this thread silent inside the block."""

    def __enter__(self) -> None:
        # Somebody may have put filters before it since; it stays, and does nothing outside.
        if not warnings.filters or warnings.filters[0] is not _FILTER:
            warnings.filters.insert(0, _FILTER)  # type: ignore[attr-defined]
        self._token = _silent.set(True)
        self._ignored = np.errstate(all="ignore")
        self._ignored.__enter__()

    def _leave(self) -> None:
        self._ignored.__exit__(None, None, None)
        _silent.reset(self._token)

    def __exit__(self, *_: object) -> None:
        self._leave()


class Silence(quiet):
    """Run quietly, and turn exceptions into one :class:`WithheldError`.

    Parameters
    ----------
    simulation : bool
        Whether the noise comes from an int: then the original is the error's ``__cause__``.
    """

    def __init__(self, simulation: bool) -> None:
        self._simulation = simulation

    def __exit__(self, *raised: object) -> None:
        self._leave()
        error = raised[1]
        if not isinstance(error, Exception):
            return
        if not self._passes(error):
            _withhold(error if self._simulation else None)
        if not self._simulation:  # what it was made from may quote a row
            error.__cause__ = error.__context__ = None

    def _passes(self, error: Exception) -> bool:
        return isinstance(error, PASSING)


class Discretion(Silence):
    """The same around a whole run, whose own errors and warnings are public.

    Between its questions a solver sees answers, parameters and plans. What this package itself
    raises there, or where it checks the form of a table, speaks of those; the rest is withheld, as
    inside a question. Warnings pass: nothing but :func:`quiet` code sees a row.
    """

    def __enter__(self) -> None:
        self._ignored = np.errstate(all="ignore")
        self._ignored.__enter__()

    def _leave(self) -> None:
        self._ignored.__exit__(None, None, None)

    def _passes(self, error: Exception) -> bool:
        return super()._passes(error) or raised_by_us(error)


def _withhold(original: Exception | None) -> None:
    withheld = WithheldError()
    try:
        raise withheld from original
    except WithheldError:
        # Python would hang the exception that is being handled, which may quote a row, behind it.
        withheld.__context__ = original
        raise
