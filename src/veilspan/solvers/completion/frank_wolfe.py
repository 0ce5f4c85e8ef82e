"""Private Frank-Wolfe for matrix completion: one direction a round, users move on their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.curator import Curator
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.completion.residual_moment import (
    History,
    LocalStep,
    ResidualMoment,
    checked_ridge,
)
from veilspan.solvers.completion.base import (
    ITEM_STATISTICS,
    CompletionResult,
    CompletionTask,
    ItemBias,
    default_row_norm,
    private_item_bias,
)
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge

ROUND = "round"
DEFAULT_ROUNDS = 3


@dataclass(frozen=True)
class FrankWolfeCompletion:
    r"""Algorithm 1 of Jain, Thakkar & Thakurta (2018), corrected.

    Frank-Wolfe over matrices of nuclear norm at most k. In round t every user replays the public
    history on her own ratings and contributes g g^T of her residual g, clipped to c (see
    :mod:`~veilspan.queries.completion.residual_moment`); the direction v_t is the leading
    eigenvector of the noisy sum, l_t its eigenvalue. Noise inflates l_t and turns v_t by known
    amounts (spiked Wigner model, as in
    :class:`~veilspan.solvers.completion.covariance.CovarianceCompletion`), so users step with the
    gain k cos^2 / sqrt(l'_t), and a direction below the noise edge is not used.

    What differs from the paper: residuals are clipped by the curator; steps are 2/(t + 1), since
    1/T never exceeds 0.632 k; noise is symmetric and calibrated exactly for the rounds that do
    something; sqrt(l_t) is never that of a negative number; k is not tuned on the ratings. By
    default each user also searches her own step.

    The published factors are the directions, scaled by their share of the largest l'_t; users fit
    *all* of their ratings on them by ridge, the fully corrective last step that is free under joint
    differential privacy.

    Parameters
    ----------
    rounds : int, optional
        Releases T; by default 3, or ``n_components`` of the estimator.
    row_norm : float, optional
        c in units of ratings; by default half of a full row of typical deviations.
    nuclear_norm : float, optional
        k. By default it follows from the first release: a direction seen through a share f of the
        entries has sqrt(l'_1) about f times the largest singular value, so
        k = ``norm_ratio`` sqrt(l'_1) / f.
    norm_ratio : float
        Guess of the nuclear norm over the largest singular value.
    bias_share : float
        Share of the budget for the item bias; 0 for none, as in the paper.
    local : {"classic", "line-search", "refit"}
        How users move along the history while it grows. Steps that are best for the user need no
        luck with k and are free under joint differential privacy; ``"classic"`` is 2/(t + 1).
    ridge : float
        Penalty of the local fits, not negative. Without one, a user who has rated too little for
        all directions gets the shortest of the fits.
    """

    rounds: int | None = None
    row_norm: float | None = None
    nuclear_norm: float | None = None
    norm_ratio: float = 2.0
    bias_share: float = 0.3
    local: LocalStep = "line-search"
    ridge: float = 12.0

    def __post_init__(self) -> None:
        if self.rounds is not None and (self.rounds != int(self.rounds) or self.rounds < 1):
            raise ValueError(f"rounds must be a whole number, at least 1; got {self.rounds}.")
        if not 0 <= self.bias_share < 1:
            raise ValueError(f"bias_share must lie in [0, 1); got {self.bias_share}.")
        if self.local not in get_args(LocalStep):
            words = ", ".join(get_args(LocalStep))
            raise ValueError(f"local must be one of {words}; got {self.local!r}.")
        for name in ("row_norm", "nuclear_norm", "norm_ratio"):
            value = getattr(self, name)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite; got {value}.")
        checked_ridge(self.ridge)

    def schedule(self, task: CompletionTask) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Item statistics if wanted, then all rounds alike."""
        rounds = GaussianEvent(ROUND, count=self._rounds(task))
        if self.bias_share == 0:
            return (rounds,), (1.0,)
        return (GaussianEvent(ITEM_STATISTICS), rounds), (self.bias_share, 1 - self.bias_share)

    def decisions(self, task: CompletionTask) -> Mapping[str, Any]:
        """Settings, as chosen from public sizes."""
        return {
            "row norm": float(f"{self._row_norm(task):.4g}"),
            "share for the bias": self.bias_share,
            "rounds": self._rounds(task),
            "local ridge": self.ridge,
        }

    def run(self, curator: Curator, task: CompletionTask) -> CompletionResult:
        """Ask for a direction a round; users replay the history inside the query."""
        row_norm = self._row_norm(task)
        found = self._item_bias(curator, task, row_norm)
        query = ResidualMoment(task.rule, row_norm, self.local, self.ridge)
        history = History.start(found.bias)
        norm, powers, trace = self.nuclear_norm, [], []
        for _ in range(self._rounds(task)):
            answer = curator.answer(query, tuple(history), event=ROUND)
            values, vectors = leading_eigenvectors(answer.value, 1)
            power, cosine = without_inflation(float(values[0]), answer.noise_std, task.n_items)
            trace.append({"eigenvalue": float(values[0]), "power": power, "cosine squared": cosine})
            if power == 0:
                continue  # noise alone: the next round asks again at the same point
            norm = norm or self.norm_ratio * math.sqrt(power) / _seen_share(task, found)
            history = history.then(vectors[0], norm * cosine / math.sqrt(power))
            powers.append(power * cosine)
        factors = history.directions.T * np.sqrt(
            task.n_items * np.array(powers) / max(powers, default=1.0)
        )
        stopped = f"all {self._rounds(task)} planned rounds were asked"
        return CompletionResult(found.bias, factors, self.ridge, stopped, tuple(trace))

    def _item_bias(self, curator: Curator, task: CompletionTask, row_norm: float) -> ItemBias:
        if self.bias_share == 0:  # no release of counts either: as if all rows were full
            most = float(min(task.rule.max_ratings, task.n_items))
            full = most * (task.n_users or 1) / task.n_items
            return ItemBias(np.zeros(task.n_items), np.full(task.n_items, full))
        return private_item_bias(curator, task, row_norm)

    def _rounds(self, task: CompletionTask) -> int:
        return int(self.rounds or task.n_components or DEFAULT_ROUNDS)

    def _row_norm(self, task: CompletionTask) -> float:
        if self.row_norm is None:
            return default_row_norm(task)
        return check_scale(self.row_norm, "row_norm")


def without_inflation(value: float, noise_std: float, size: int) -> tuple[float, float]:
    """Eigenvalue before noise inflated it, and the squared cosine of its vector; 0, 0 below noise.

    l' = (l + sqrt(l^2 - 2 n s^2)) / 2 and 1 - n s^2 / (2 l'^2), Benaych-Georges & Nadakuditi 2011.
    """
    if value <= max(noise_edge(noise_std, size), 1e-300):
        return 0.0, 0.0
    half = size * noise_std**2 / 2
    clean = (value + math.sqrt(max(value**2 - 4 * half, 0.0))) / 2
    return clean, max(1 - half / clean**2, 0.0)


def _seen_share(task: CompletionTask, found: ItemBias) -> float:
    """Share of the table that is kept: noisy counts over a public number of users, else xi / n."""
    full = min(task.rule.max_ratings, task.n_items) / task.n_items
    if task.n_users is None:
        return full
    return float(np.clip(found.counts.sum() / (task.n_users * task.n_items), 0.01 * full, full))
