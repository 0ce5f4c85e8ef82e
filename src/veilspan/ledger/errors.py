"""What can go wrong with a ledger: it refuses, it was changed, or it is less well protected."""

from __future__ import annotations

from veilspan.privacy.errors import PrivacyError


class LedgerError(PrivacyError):
    """The ledger refused, or cannot be read or written. Nothing was released."""


class MissingLedgerError(LedgerError):
    """There is no ledger in this place."""


class TamperError(LedgerError):
    """Entries, accounts or files beside the key are not what was written; nothing was charged."""


class RequestError(LedgerError):
    """A request cannot be asked, edited, decided or charged as it stands; nothing was charged."""


class SelfApproval(RequestError):
    """Somebody would approve what they asked for themselves; another person has to."""


class LedgerWarning(UserWarning):
    """The ledger works, with less protection than it should have, or gives what was withdrawn."""
