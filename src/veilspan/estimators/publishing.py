"""What can be done with a release from the estimator itself: report on it, keep it.

Both are shortcuts to packages above the estimators, which are looked up when they are called: no
module here depends on them.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from typing import Any


class Reported:
    """What gives an estimator its method ``report``."""

    def report(self, path: str | PathLike[str], **options: Any) -> Any:
        """Write one offline HTML page about the release: what it promises and what it holds.

        Parameters
        ----------
        path : path
            The page.
        **options
            ``ledger``, ``audit``, ``public_rows``, ``title``: see
            :func:`veilspan.reports.write_report`.
        """
        return import_module("veilspan.reports").write_report(path, self, **options)


class Kept(Reported):
    """What gives an estimator its methods ``report`` and ``save``."""

    def save(self, folder: str | PathLike[str], **options: Any) -> Any:
        """Write the release (no rows) to a folder that ``veilspan.load`` reads.

        Parameters
        ----------
        folder : path
            Gets ``release.json`` and the arrays that it names: the whole release or none.
        **options
            ``key``, ``overwrite``: see :func:`veilspan.releases.save`.
        """
        return import_module("veilspan.releases").save(self, folder, **options)
