"""What all completion solvers share: the task, the result, the private item bias."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.completion.rating_moments import ItemStatistics, RatingRule

ITEM_STATISTICS = "item statistics"


@dataclass(frozen=True)
class CompletionTask:
    """Public facts of a fit.

    Attributes
    ----------
    n_users : int or None
        Number of users; ``None`` under add-remove, where it is private.
    n_items : int
        Number of items n.
    rule : RatingRule
        Rating range, ratings kept per user, centring.
    budget : Budget
        Epsilon and delta.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    n_components : int or None
        Largest number of factors; ``None`` for the solver's own choice.
    """

    n_users: int | None
    n_items: int
    rule: RatingRule
    budget: Budget
    neighbors: Neighbors
    n_components: int | None = None

    @property
    def typical_deviation(self) -> float:
        """A public guess of how far a rating lies from its user's mean: a quarter of the range.

        One star of five, two and a half points of ten; the true figure differs by a third or so.
        """
        return (self.rule.high - self.rule.low) / 4


@dataclass(frozen=True)
class CompletionResult:
    """The global half of a model: differentially private, may be published.

    Attributes
    ----------
    item_bias : array of shape (n_items,)
        How much better than a user's own mean an item is rated.
    item_factors : array of shape (n_items, r)
        Columns V; a user's centred ratings are about bias + V u. r may be 0.
    ridge : float
        Penalty |u|^2 that every user's local fit is to use with these factors.
    stopped : str
        Why the solver stopped (never a fact about rows).
    trace : tuple of dict
        Public record of the steps.
    """

    item_bias: np.ndarray
    item_factors: np.ndarray
    ridge: float
    stopped: str = "done"
    trace: tuple[dict[str, Any], ...] = field(default=(), repr=False)


class CompletionSolver(Protocol):
    """From a curator to the global half of a model. A solver is a frozen dataclass of settings."""

    def schedule(self, task: CompletionTask) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Events and their shares of the budget (relative to each other)."""

    def decisions(self, task: CompletionTask) -> Mapping[str, Any]:
        """Public settings worth showing in the plan."""

    def run(self, curator: Curator, task: CompletionTask) -> CompletionResult:
        """Ask, compute, return."""


@dataclass(frozen=True)
class ItemBias:
    """Released statistics of the items and the bias estimated from them.

    Attributes
    ----------
    bias : array of shape (n_items,)
        Shrunken mean of the centred ratings.
    counts : array of shape (n_items,)
        Noisy numbers of (kept) ratings, not below a floor of a tenth of their mean.
    """

    bias: np.ndarray
    counts: np.ndarray


def default_row_norm(task: CompletionTask, share: float = 0.5) -> float:
    """Public clipping norm C: ``share`` of a full row of typical deviations.

    Clipping most rows costs little, because the directions of rows carry the structure, while the
    covariance's noise falls as C^2.
    """
    kept = min(task.rule.max_ratings, task.n_items)
    return share * math.sqrt(kept) * task.typical_deviation


def private_item_bias(curator: Curator, task: CompletionTask, row_norm: float) -> ItemBias:
    r"""Release sums S_j and counts c_j per item, and shrink the means for what is known of noise.

    With prior b_j ~ N(0, t), residual variance v and noise of std s on S_j, the posterior mean is

        b_j = t c_j S_j / (t c_j^2 + v c_j + s^2).

    t and v are public guesses in units of the range: v = (a typical deviation)^2, t = v / 10.
    """
    answer = curator.answer(ItemStatistics(task.rule, row_norm), event=ITEM_STATISTICS)
    sums, counts = answer.value
    counts = np.maximum(counts, max(0.1 * float(counts.mean()), 0.1))
    residual = task.typical_deviation**2
    prior = 0.1 * residual
    bias = prior * counts * sums / (prior * counts**2 + residual * counts + answer.noise_std**2)
    width = task.rule.high - task.rule.low
    return ItemBias(np.clip(bias, -width, width), counts)
