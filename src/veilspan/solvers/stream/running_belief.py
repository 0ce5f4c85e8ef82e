"""What a stream with correlated noise has released so far: all that it remembers but its noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veilspan.solvers.stream.belief import find_ridge


@dataclass(frozen=True)
class RunningBelief:
    """Released numbers only; the first has no basis.

    A *segment* is a run of blocks that were asked the same question, with noise from one triangular
    block; their answers are added up.

    Attributes
    ----------
    basis : array of shape (D, r) or None
        The estimate.
    precision : float
        One over the variance of an entry of the tilt from the estimate to the truth.
    length2, ratio : float
        Mean squared length of the bounded rows, and their energy outside over that inside.
    losses : int
        How often rows have left the subspace.
    centre, scale : array of shape (D, r) or None, float
        The estimate at the segment's start, and the s that its rows are stretched by around the
        latest one; s = 1 is not at all.
    prior : float
        Precision of the centre, from earlier segments.
    total, traces, answers, weight, weight2 : array of shape (D, D) or None, and numbers
        Sum of the segment's answers, the stretch undone, and of their traces as they came; both
        decayed if it forgets. Their number, and sums of their weights and of the squares of these.
    recent : array of shape (r, r) or None
        Part of the last answer, a row's mean, that lies in the estimate.
    leak : float
        Variance that turning the stretch has left in an entry of ``total`` beside the diagonal.
    moment, noise2, rows : array of shape (D, D) or None, float, float
        Mean of earlier unstretched segments, its noise variance, and the rows that it stands for.
    """

    basis: np.ndarray | None = None
    precision: float = 0.0
    length2: float = 1.0
    ratio: float = 1.0
    losses: int = 0
    centre: np.ndarray | None = None
    scale: float = 1.0
    prior: float = 0.0
    total: np.ndarray | None = None
    traces: float = 0.0
    answers: int = 0
    weight: float = 0.0
    weight2: float = 0.0
    recent: np.ndarray | None = None
    leak: float = 0.0
    moment: np.ndarray | None = None
    noise2: float = 0.0
    rows: float = 0.0

    @property
    def ridge(self) -> float:
        """Energy of a direction outside over one inside: what gaps in rows are filled with."""
        assert self.basis is not None
        return find_ridge(self.basis, self.ratio)

    def start_segment(self, scale: float, prior: float) -> RunningBelief:
        """The next block opens a segment, stretched around the estimate; its sums start at 0."""
        stretched = scale < 1
        return replace(
            self, centre=self.basis if stretched else None, scale=scale, prior=prior,
            total=None, traces=0.0, answers=0, weight=0.0, weight2=0.0, leak=0.0, recent=None,
            moment=None, noise2=0.0, rows=0.0,
        )  # fmt: skip
