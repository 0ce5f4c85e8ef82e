"""Who may still spend what on which dataset.

>>> from veilspan.ledger import Ledger

* :mod:`~veilspan.ledger.filters`: which requests still fit, with the proof.
* :mod:`~veilspan.ledger.dataset`: the protocol of a charge.
* :mod:`~veilspan.ledger.approvals.requests`: what people ask, approve and refuse.
* :mod:`~veilspan.ledger.approvals.withdrawals`: releases that are not to be used any more.
* :mod:`~veilspan.ledger.seal.chain`, :mod:`~veilspan.ledger.seal.journal`,
  :mod:`~veilspan.ledger.seal.anchor`: tamper evidence.
* :mod:`~veilspan.ledger.stores.base`, ``sqlite``, ``postgres``: where it is kept.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veilspan.ledger.approvals.binding import digest_plan
    from veilspan.ledger.approvals.drafts import RequestDraft
    from veilspan.ledger.approvals.requests import FitRequest
    from veilspan.ledger.approvals.withdrawals import Withdrawal
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

#: Loaded when first used, so that a name is checked or an error caught without numpy.
_HOME = {
    "Dataset": "dataset",
    "FitRequest": "approvals.requests",
    "Head": "seal.chain",
    "Ledger": "ledger",
    "LedgerError": "errors",
    "LedgerReport": "seal.verification",
    "LedgerWarning": "errors",
    "Receipt": "dataset",
    "Request": "dataset",
    "RequestDraft": "approvals.drafts",
    "RequestError": "errors",
    "SelfApproval": "errors",
    "Spending": "spending",
    "TamperError": "errors",
    "Withdrawal": "approvals.withdrawals",
    "current_dataset": "session",
    "digest_plan": "approvals.binding",
}

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
    "Withdrawal",
    "current_dataset",
    "digest_plan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return globals()[name]
