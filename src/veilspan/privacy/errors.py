"""Errors and warnings about the guarantee. Their texts never hold a value of the data."""

from __future__ import annotations

WITHHELD = (
    "the fit failed while rows were read. What failed is withheld, because it may depend on a "
    "single row; what was charged stays charged. To see it, fit made-up rows of the same form with "
    "an int as random_state: the error then names its cause. veilspan.check_query examines a query "
    "or loss of your own."
)


class PrivacyError(RuntimeError):
    """An operation was refused because it would break a privacy promise."""


class BudgetExceededError(PrivacyError):
    """A question was asked that the plan, or what is left of the budget, does not cover."""


class FormError(ValueError):
    """A table does not have the form that counts as public: see the statement of any release."""


class TemporaryFolderError(RuntimeError):
    """Rows that do not fit into memory could not be kept in the temporary folder.

    It tells of the folder alone: that it is not there, closed to us, or full. How much memory a fit
    needs is not protected, as its release says, and room on a disk is memory.
    """


class WithheldError(PrivacyError):
    """Something failed while rows were read; what it was is kept back, as it may tell of a row.

    The text is the same whatever happened, and there is no other error behind it. In a simulation,
    with an int as ``random_state``, ``__cause__`` is the original.
    """

    def __init__(self) -> None:
        super().__init__(WITHHELD)

    def __reduce__(self) -> tuple[type[WithheldError], tuple[()]]:
        return type(self), ()


class NotPrivateWarning(UserWarning):
    """A release was made that is not private: its noise came from a seed."""


class WeakGuaranteeWarning(UserWarning):
    """The guarantee is true but protects little: delta >= 1/n, or an epsilon above 10."""


class WeakGuaranteeError(PrivacyError):
    """A fit was refused because its guarantee would protect nobody: delta >= 1/n.

    Parameters
    ----------
    reason : str
        What is wrong with it.
    consent : str
        How somebody says that it is meant.
    """

    def __init__(self, reason: str, consent: str = "allow_weak=True") -> None:
        self.reason, self.consent = reason, consent
        super().__init__(
            f"{reason} Choose delta far below 1/n; if this is what you mean, say {consent}. "
            "Nothing was charged."
        )

    def __reduce__(self) -> tuple[type[WeakGuaranteeError], tuple[str, str]]:
        return type(self), (self.reason, self.consent)


class LoudNoiseWarning(UserWarning):
    """The noise that the budget asks for is large beside what so few rows can tell."""


class RepeatedFitsWarning(UserWarning):
    """An estimator and its clones were fitted several times, and no ledger adds it up."""


class PeopleCountWarning(UserWarning):
    """A paid, noisy number of people is far from the one that the schema says."""


class RowCountWarning(UserWarning):
    """A table has another number of rows than its schema says; both are public."""


class PublicLabelsWarning(UserWarning):
    """The set of labels was taken from the rows: private only if it is public knowledge."""


class RareClassWarning(UserWarning):
    """A paid, noisy count says that a class is so rare that a plain model predicts it never."""


class CenterWarning(UserWarning):
    """Paid, noisy numbers leave it open where rows are centred."""
