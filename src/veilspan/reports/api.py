"""``report_html`` and ``write_report``: one offline HTML file about one release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from veilspan._files import write_whole
from veilspan.ledger.dataset import Dataset
from veilspan.reports import extras
from veilspan.reports.account import account_of, read_account_if_readable
from veilspan.reports.cover.meta import Meta, meta_from, read_meta
from veilspan.reports.draw import draw_page
from veilspan.reports.record import PageRecord
from veilspan.reports.subject import subject_of


def report_html(
    source: Any,
    *,
    ledger: Dataset | None = None,
    audit: Any = None,
    public_rows: Any = None,
    title: str | None = None,
    meta: Any = None,
) -> str:
    """A release as one self-contained HTML page.

    Everything on it comes from the released numbers and the statement: no row is looked at, but for
    those passed as ``public_rows``. The same release gives the same page. It holds no date, loads
    nothing, works offline, in light, dark and on paper.

    Parameters
    ----------
    source : fitted estimator, result of ``minimize``, or PrivacyStatement
        The release.
    ledger : Dataset, optional
        Account whose budget is drawn; by default that of the estimator, if it can be read.
    audit : AuditReport or mapping, optional
        Result of :func:`veilspan.audit.audit`, or its ``to_dict()``.
    public_rows : array, or mapping of names to arrays, optional
        Rows to draw in the released coordinates. **They are shown as they are**: pass only rows
        that are public or your own.
    title : str, optional
        Heading of the page.
    meta : path or mapping, optional
        A ``meta.toml``, or its entries: who, when, why. The page then has a cover to be signed
        (:mod:`veilspan.reports.cover.meta`); what is behind it stays the same to the last byte.

    Examples
    --------
    >>> from veilspan import PCA
    >>> from veilspan.datasets import make_haystack
    >>> from veilspan.reports import report_html
    >>> pca = PCA(2, epsilon=1.0).fit(make_haystack(2000, 6, 2).rows)
    >>> html = report_html(pca, title="Trial 42")
    >>> "differentially private" in html, "http://" in html
    (True, False)
    """
    subject = subject_of(source)
    dataset = account_of(source, ledger)
    account = None
    if dataset is not None:
        given = ledger is not None
        account = read_account_if_readable(subject.statement, dataset, subject.plan, must=given)
    record = PageRecord(
        title=title,
        meta=None if meta is None else _read_meta(meta),
        account=account,
        audit=extras.audit_of(audit),
        own_rows=public_rows is not None,
    )
    return draw_page(subject, record, public_rows)


def write_report(path: str | os.PathLike[str], source: Any, **options: Any) -> Path:
    """Write :func:`report_html` to a file, whole or not at all.

    Parameters
    ----------
    path : path
        The file; replaced if it is there.
    source, **options
        As for :func:`report_html`.

    Returns
    -------
    Path
        Of the file.
    """
    text = report_html(source, **options)
    target = Path(path)
    write_whole(target, lambda stream: stream.write(text.encode()))
    return target


def _read_meta(meta: Any) -> Meta:
    return read_meta(Path(meta)) if isinstance(meta, (str, os.PathLike)) else meta_from(meta)
