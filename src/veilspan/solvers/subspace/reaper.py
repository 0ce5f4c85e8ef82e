"""REAPER by projected gradients and by mirror descent, and their private forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.curator import Curator
from veilspan.queries.subspace.reaper_gradient import ReaperGradient
from veilspan.queries.subspace.sphered import GUARD
from veilspan.solvers.spectral import leading_eigenvectors
from veilspan.solvers.steps import STEP, DecreasingSteps, StepSchedule
from veilspan.solvers.subspace.base import (
    SubspaceProblem,
    SubspaceResult,
    ask_start,
    build_result,
    choose_rank,
    find_rows_and_center,
)
from veilspan.solvers.subspace.descent import SubspaceDescent


def project_capped_simplex(values: np.ndarray, total: int) -> np.ndarray:
    r"""Nearest point to ``values`` in {0 <= p <= 1, sum p = total}: water-filling.

    It is p_i = clip(v_i + t, 0, 1); sum p is a non-decreasing piecewise linear function of t that
    bends up at -v_i and down at 1 - v_i, so t is found by sorting the bends: exact, O(D log D).
    """
    # Measured from the total-th largest value, t lies in [0, 1]: below, too few entries are
    # positive; at 1, enough are full. So values may be cut to [-1, 1]: nothing cancels.
    nth = len(values) - total
    shifted = np.clip(values - np.partition(values, nth)[nth], -1.0, 1.0)
    bends = np.concatenate([-shifted, 1.0 - shifted])
    order = np.argsort(bends, kind="stable")
    bends = bends[order]
    slopes = np.cumsum(np.repeat([1, -1], len(values))[order])
    heights = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(bends))])
    return np.clip(shifted + np.interp(total, heights, bends), 0.0, 1.0)


def project_entropy(logs: np.ndarray, total: int) -> np.ndarray:
    r"""Logarithms of the Bregman projection of exp(``logs``) on {0 <= p <= 1, sum p = total}.

    Under the negative entropy it is p_i = min(1, c e^(l_i)). With the logs sorted downwards, the
    number of capped entries is the least k with (total - k) e^(l_k) <= sum_{j >= k} e^(l_j): if
    k - 1 fails, then c e^(l_{k-1}) > 1, so the first k belong at the cap. At k = total - 1 it
    always holds. (Scaling the trace alone projects on {p >= 0, sum p = total} and leaves entries
    above 1.)
    """
    order = np.argsort(-logs, kind="stable")
    # The scale is free: measured from the last entry that can be at the cap, nothing is lost.
    sorted_logs = logs[order] - logs[order[total - 1]]
    tails = np.logaddexp.accumulate(sorted_logs[::-1])[::-1][:total]
    room = np.log(total - np.arange(total))
    # Differences of logarithms first: the room would drown in large ones.
    capped = int(np.argmax((sorted_logs[:total] - tails) + room <= 1e-15))
    projected = np.minimum((sorted_logs - tails[capped]) + room[capped], 0.0)
    projected[:capped] = 0.0
    out = np.empty_like(projected)
    out[order] = projected
    return out


class DescentGeometry(Protocol):
    """How a step is taken and made feasible; the state is P or its logarithm."""

    def enter(self, point: np.ndarray) -> np.ndarray:
        """State of a feasible P."""

    def step(self, state: np.ndarray, move: np.ndarray, rank: int) -> tuple[Any, np.ndarray]:
        """New state and new P after a step of -move."""


class EuclideanGeometry:
    """Projected gradient: P <- nearest feasible matrix to P - eta G."""

    def enter(self, point: np.ndarray) -> np.ndarray:
        """The state is P itself."""
        return point

    def step(self, state: np.ndarray, move: np.ndarray, rank: int) -> tuple[Any, np.ndarray]:
        """Take the step, then cap and shift the eigenvalues by water-filling."""
        values, vectors = _eigh(state - move)
        point = _compose(vectors, project_capped_simplex(values, rank))
        return point, point


class EntropyGeometry:
    r"""Mirror descent under Psi(P) = (tr P log P + log D) / 4.

    Its gradient is (log P + I)/4, so a step of size eta is log P - 4 eta G (the 4 is missing in
    print), followed by the Bregman projection. The state is the logarithm, whose eigenvalues never
    underflow.
    """

    def enter(self, point: np.ndarray) -> np.ndarray:
        """Log P, of a P inside the cone."""
        values, vectors = _eigh(point)
        return _compose(vectors, np.log(values))

    def step(self, state: np.ndarray, move: np.ndarray, rank: int) -> tuple[Any, np.ndarray]:
        """Cap the largest eigenvalues at 1 and scale the others."""
        values, vectors = _eigh(state - 4.0 * move)
        logs = project_entropy(values, rank)
        return _compose(vectors, logs), _compose(vectors, np.exp(logs))


GEOMETRIES: dict[str, DescentGeometry] = {
    "euclidean": EuclideanGeometry(),
    "mirror": EntropyGeometry(),
}

# Chosen once on haystacks (2000, 20, 2), (4000, 30, 4) and (10000, 12, 3) with inlier noise .1, .05
# and .2, at epsilon .3, 1 and 4, by the mean log error of 40 settings: 20 or 40 steps,
# c / sqrt(k + 1) with c from .2 to 2, or from .2, .5 or 1 with 3 or 6 halvings, last or mean P.
# 40 steps of 1 / sqrt(k + 1) with the mean P were best, or within .01 of it, in both geometries.
# Start shares of .1, .2 and .35 and blends from .02 to 1 (then at epsilon .1 too) differ by less
# than .1 up to a blend of .5.
DEFAULT_STEPS: StepSchedule = DecreasingSteps(1.0)


@dataclass(frozen=True)
class ReaperDescent(SubspaceDescent):
    r"""Minimise the mean of |(I - P) x| over {0 <= P <= I, tr P = r} (dp-(S)GD- and -(S)MD-REAP).

    The convex relaxation of least absolute deviations (Lerman, McCoy, Tropp & Zhang 2015), by the
    noisy subgradients of :class:`~veilspan.queries.subspace.reaper_gradient.ReaperGradient`, from
    P_0 = (1 - a) V V^T + a (r/D) I with V a private spherical PCA and a = ``start_blend``. The
    result is spanned by the leading eigenvectors of the mean P over the last half of the steps, or
    of the last P. Every step decomposes a D x D matrix and its noise fills one: for D in the
    hundreds at most.

    Parameters
    ----------
    geometry : {"euclidean", "mirror"}
        Projected gradients, or mirror descent under the von Neumann entropy.
    steps : int
        Number of gradients.
    sampling_rate : float, optional
        Probability with which a row takes part in a step; ``None`` for all rows.
    start_share : float
        Share of the budget for the start.
    average : bool
        Whether the last half of the P_k is averaged.
    step_schedule : callable, optional
        Size of step k = 0, 1, ...; by default 1 / sqrt(k + 1).
    start_blend : float
        a above, in (0, 1].
    guard : float
        See :class:`~veilspan.queries.subspace.reaper_gradient.ReaperGradient`.
    """

    geometry: Literal["euclidean", "mirror"] = "euclidean"
    steps: int = 40
    sampling_rate: float | None = None
    start_share: float = 0.2
    average: bool = True
    step_schedule: StepSchedule | None = None
    start_blend: float = 0.02
    guard: float = GUARD

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.geometry not in GEOMETRIES:
            raise ValueError(f'geometry must be "euclidean" or "mirror"; got {self.geometry!r}.')
        if not 0 < self.start_blend <= 1:
            raise ValueError(f"start_blend must lie in (0, 1]; got {self.start_blend}.")

    @property
    def name(self) -> str:
        """What the paper calls it; an S in front says that rows are sampled."""
        kind = "GD" if self.geometry == "euclidean" else "MD"
        return f"{kind}-REAP" if self.sampling_rate is None else f"S{kind}-REAP"

    @property
    def step_sizes(self) -> StepSchedule:
        """The schedule of step sizes: the one that was given, or the default."""
        return self.step_schedule or DEFAULT_STEPS

    def step_query(self, guard: float, center: np.ndarray | None = None) -> ReaperGradient:
        """The subgradient of the mean residual."""
        return ReaperGradient(guard, center)

    def run(self, curator: Curator, problem: SubspaceProblem) -> SubspaceResult:
        """Start, descend, round to a subspace."""
        n_rows, center = find_rows_and_center(curator, problem)
        start = ask_start(curator, n_rows, center)
        rank = problem.n_components or choose_rank(start)
        query = self.step_query(self.guard_under(curator.plan.neighbors), center)
        # The expected size of a sample; its actual size would tell of the rows under add-remove.
        rows = n_rows * (self.sampling_rate or 1.0)
        geometry, sizes = GEOMETRIES[self.geometry], self.step_sizes
        point = _blend(start.basis(rank), self.start_blend)
        state, total = geometry.enter(point), np.zeros_like(point)
        trace: list[dict[str, Any]] = []
        for k in range(self.steps):
            answer = curator.answer(query, point, event=STEP)
            state, point = geometry.step(state, answer.value * (sizes(k) / rows), rank)
            trace.append({"step": k, "size": sizes(k), "noise_std": answer.noise_std / rows})
            if 2 * k >= self.steps - 1:
                total += point
        _, leading = leading_eigenvectors(total if self.average else point, rank)
        stopped = f"all {self.steps} planned steps were taken"
        return build_result(start, leading.T, center, stopped, trace)


def _blend(basis: np.ndarray, share: float) -> np.ndarray:
    """(1 - a) V V^T + a (r/D) I: feasible, with eigenvalues inside (0, 1]."""
    size, rank = basis.shape
    outer = basis @ basis.T
    return (1.0 - share) / 2 * (outer + outer.T) + share * rank / size * np.eye(size)


def _eigh(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with threads_for(len(matrix)):
        values, vectors = np.linalg.eigh(matrix)
    return values, vectors


def _compose(vectors: np.ndarray, values: np.ndarray) -> np.ndarray:
    """U diag(v) U^T, symmetric to the last bit."""
    product = (vectors * values) @ vectors.T
    return (product + product.T) / 2
