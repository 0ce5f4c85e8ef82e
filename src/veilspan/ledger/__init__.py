"""Who may still spend what on which dataset.

>>> from veilspan.ledger import Ledger

* :mod:`~veilspan.ledger.filters`: which requests still fit, with the proof.
* :mod:`~veilspan.ledger.dataset`: the protocol of a charge.
* :mod:`~veilspan.ledger.approvals.requests`: what people ask, approve and refuse.
* :mod:`~veilspan.ledger.seal.chain`, :mod:`~veilspan.ledger.seal.journal`,
  :mod:`~veilspan.ledger.seal.anchor`: tamper evidence.
* :mod:`~veilspan.ledger.stores.base`, ``sqlite``, ``postgres``: where it is kept.
"""

from __future__ import annotations

from veilspan.ledger.approvals.binding import digest_plan
from veilspan.ledger.approvals.drafts import RequestDraft
from veilspan.ledger.approvals.requests import FitRequest
from veilspan.ledger.dataset import Dataset, Receipt, Request
from veilspan.ledger.errors import (
    LedgerError,
    LedgerWarning,
    RequestError,
    SelfApproval,
    TamperError,
)
from veilspan.ledger.ledger import Ledger
from veilspan.ledger.seal.chain import Head
from veilspan.ledger.seal.verification import LedgerReport
from veilspan.ledger.session import current_dataset
from veilspan.ledger.spending import Spending

__all__ = [
    "Dataset",
    "FitRequest",
    "Head",
    "Ledger",
    "LedgerError",
    "LedgerReport",
    "LedgerWarning",
    "Receipt",
    "Request",
    "RequestDraft",
    "RequestError",
    "SelfApproval",
    "Spending",
    "TamperError",
    "current_dataset",
    "digest_plan",
]
