"""Errors of the ledger."""

from __future__ import annotations

from veilspan.privacy.errors import PrivacyError


class LedgerError(PrivacyError):
    """The ledger refused, or cannot be read or written. Nothing was released."""


class TamperError(LedgerError):
    """Entries of the ledger are not what was written."""


class LedgerWarning(UserWarning):
    """The ledger works, with less protection than it should have."""
