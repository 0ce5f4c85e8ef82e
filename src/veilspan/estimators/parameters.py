"""Parameters that all private estimators have, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veilspan.ledger.dataset import Dataset


@dataclass(eq=False, repr=False, kw_only=True)
class PrivacyParameters:
    """The budget, the relation, the noise and the account of a private estimator.

    Estimators are dataclasses of their parameters, so that each parameter is written once;
    scikit-learn reads the signature that this makes, and its own ``repr``, ``clone`` and comparison
    stay in place.

    Parameters
    ----------
    epsilon, delta : float
        The budget. ``epsilon=inf`` runs the same code without noise.
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation. Under add-remove the number of rows is private.
    noise : {"grid", "exact"}
        Gaussian noise rounded to a grid, or the exact discrete Gaussian (small answers only).
    random_state : None or int
        ``None`` draws secure noise. An int makes a reproducible simulation that is *not* private.
    ledger : Dataset, optional
        Account that is charged before any row is read (:class:`veilspan.Ledger`).
    allow_weak : bool
        Whether a promise may be weak: a delta of 1/n or more is refused otherwise, and an epsilon
        above 10 warned of. n is the public number of people, or a public guess.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    neighbors: str = "replace-one"
    noise: str = "grid"
    random_state: int | None = None
    ledger: Dataset | None = None
    allow_weak: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class TableParameters(PrivacyParameters):
    """The same for estimators that read tables of rows or of ratings.

    Parameters
    ----------
    schema : Schema, optional
        What is public of the table (:class:`veilspan.Schema`). With it ``fit`` takes a table of any
        kind as it is: ids, texts, dates, categories and empty cells included.
    epsilon, delta, neighbors, noise, random_state, ledger, allow_weak
        See :class:`PrivacyParameters`.
    """

    schema: Any = None
