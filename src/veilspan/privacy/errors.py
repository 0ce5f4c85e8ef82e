"""Errors and warnings that concern the guarantee. Their texts never hold a value of the data."""

from __future__ import annotations


class PrivacyError(RuntimeError):
    """An operation was refused because it would break a privacy promise."""


class BudgetExceededError(PrivacyError):
    """A question was asked that the plan, or what is left of the budget, does not cover."""


class NotPrivateWarning(UserWarning):
    """A release was made that is not private: its noise came from a seed."""


class WeakGuaranteeWarning(UserWarning):
    """The guarantee is true but protects little, such as delta >= 1/n."""


class LoudNoiseWarning(UserWarning):
    """The noise that the budget asks for is large beside what so few rows can tell."""
