"""What a page was made with beside the release: kept on the page, so that it can be made again.

The rest of a page follows from the release alone. So whoever has the release and this record makes
the same page to the last byte (:mod:`veilspan.reports.recheck`), and every other change is seen.
"""

from __future__ import annotations

import html
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from veilspan._archives import parse_json
from veilspan._version import __version__
from veilspan.audit.verdict import AuditReport
from veilspan.reports.account import AccountRecord, account_from
from veilspan.reports.cover.meta import Meta, meta_from
from veilspan.reports.extras import audit_of

#: Id of the element that holds the record on a page.
PLACE = "page-text"
_FOUND = re.compile(rf'<code id="{PLACE}">([^<]*)</code>')
_KEYS = {"title", "meta", "account", "audit", "own_rows", "written_by"}


def list_versions() -> dict[str, str]:
    """Versions of what writes a page here."""
    import numpy
    import scipy
    import sklearn

    return {
        "veilspan": __version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


@dataclass(frozen=True)
class PageRecord:
    """Everything on a page that does not follow from its release.

    Attributes
    ----------
    title : str or None
        The heading that its author gave.
    meta : Meta or None
        What the cover says.
    account : AccountRecord or None
        The dataset's account as it stood.
    audit : AuditReport or None
        What an audit found.
    own_rows : bool
        Whether the author drew rows; they are not kept.
    written_by : mapping of str
        Versions of what wrote it.
    """

    title: str | None = None
    meta: Meta | None = None
    account: AccountRecord | None = None
    audit: AuditReport | None = None
    own_rows: bool = False
    written_by: Mapping[str, str] = field(default_factory=list_versions)

    def to_json(self) -> str:
        """JSON in ASCII letters, so that nothing in it is invisible."""
        return json.dumps(
            {
                "title": self.title,
                "meta": None if self.meta is None else self.meta.to_dict(),
                "account": None if self.account is None else self.account.to_dict(),
                "audit": None if self.audit is None else self.audit.to_dict(),
                "own_rows": self.own_rows,
                "written_by": dict(self.written_by),
            },
            indent=1,
        )

    @classmethod
    def from_page(cls, text: str) -> PageRecord:
        """Read the record of a page; a ValueError if it has none that a page could have."""
        found = _FOUND.findall(text)
        if len(found) != 1:
            raise ValueError("the page does not say what it was made with.")
        record = parse_json(html.unescape(found[0]).encode())
        if not isinstance(record, dict) or set(record) != _KEYS:
            raise ValueError("what the page says that it was made with is not whole.")
        title, versions = record["title"], record["written_by"]
        texts = isinstance(versions, dict) and all(isinstance(v, str) for v in versions.values())
        if not texts or not isinstance(title, str | None) or type(record["own_rows"]) is not bool:
            raise ValueError("what the page says that it was made with is not whole.")
        return cls(
            title=title,
            meta=None if record["meta"] is None else meta_from(record["meta"]),
            account=None if record["account"] is None else account_from(record["account"]),
            audit=audit_of(record["audit"]),
            own_rows=record["own_rows"],
            written_by=versions,
        )
