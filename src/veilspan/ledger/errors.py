"""What can go wrong with a ledger: it refuses, it was changed, or it is less well protected."""

from __future__ import annotations

from veilspan.privacy.errors import PrivacyError


class LedgerError(PrivacyError):
    """The ledger refused, or cannot be read or written. Nothing was released."""


class TamperError(LedgerError):
    """Entries, accounts or files beside the key are not what was written; nothing was charged."""


class LedgerWarning(UserWarning):
    """The ledger works, with less protection than it should have."""
