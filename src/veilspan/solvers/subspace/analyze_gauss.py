"""Analyze Gauss: principal components by one noisy second moment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.moments import SecondMoment
from veilspan.solvers.base import Prepared, Result
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge
from veilspan.solvers.subspace.base import (
    SubspaceProblem,
    calibrate_with_center,
    find_rows_and_center,
    noise_of_center,
)
from veilspan.solvers.subspace.unbounded.center_doubt import CenterDoubt
from veilspan.solvers.subspace.unbounded.component_angles import Angles, angles_of_moment
from veilspan.solvers.subspace.unbounded.notes import Note, note_of_noise
from veilspan.solvers.subspace.unbounded.spectrum import (
    count_for_share,
    signal_ratios,
    signal_variances,
)

SECOND_MOMENT = "second moment"


@dataclass(frozen=True)
class PrincipalComponents(Result):
    """Released components and variances.

    Attributes
    ----------
    components : array of shape (r, D)
        Orthonormal rows, by decreasing variance.
    variances : array of shape (r,)
        Noisy mean squared length of the bounded rows along each, at least 0.
    ratios : array of shape (r,)
        The same over the noisy total, with what noise adds taken off: 0 where noise hides it.
    noise_edge : float
        Variance that pure noise reaches.
    center : array or None
        What was subtracted from rows, public or released.
    row_norm : float or None
        What rows were bounded by, public or released; ``None`` where the caller knows it.
    scale : array or None
        What columns were divided by, where they were.
    angles : Angles or None
        Degrees by which noise may have turned each component, with 95 %, and noise with sampling.
    doubt : CenterDoubt or None
        How far a released centre may lie from the mean.
    notes : tuple of notes
        What the released numbers say that a user should know.
    """

    components: np.ndarray
    variances: np.ndarray
    ratios: np.ndarray
    noise_edge: float
    center: np.ndarray | None
    row_norm: float | None = None
    scale: np.ndarray | None = None
    notes: tuple[Note, ...] = ()
    angles: Angles | None = None
    doubt: CenterDoubt | None = None


@dataclass(frozen=True)
class AnalyzeGauss:
    """Eigenvectors of the sum of x x^T with noise (Dwork, Talwar, Thakurta & Zhang 2014).

    Parameters
    ----------
    row_norm : float
        Public bound on the length of a row after centring; longer rows are scaled down to it.
    share : float, optional
        Share of the variance that the components are to hold, in place of their number.
    """

    row_norm: float = 1.0
    share: float | None = None

    @property
    def name(self) -> str:
        """What Dwork, Talwar, Thakurta & Zhang call it."""
        return "Analyze Gauss"

    def prepare(
        self, problem: SubspaceProblem, budget: Budget, neighbors: Neighbors
    ) -> Prepared[SubspaceProblem, PrincipalComponents]:
        """Spend on the second moment all that the count and the centre leave."""
        asked = (GaussianEvent(SECOND_MOMENT),)
        events = calibrate_with_center(problem, budget, neighbors, asked, (1.0,))
        sensitivity = SecondMoment(self.row_norm).sensitivity(neighbors)
        edge = noise_edge(events[-1].noise_multiplier * sensitivity, problem.n_features)
        decisions = {
            "row_norm": float(self.row_norm),
            "noise edge, sum over rows": float(f"{edge:.4g}"),
        }
        if problem.n_rows is not None:
            decisions["noise edge, variance"] = float(f"{edge / problem.n_rows:.4g}")
        return Prepared(self, problem, budget, events, decisions)

    def run(self, curator: Curator, problem: SubspaceProblem) -> PrincipalComponents:
        """Ask for the second moment and decompose it."""
        n_rows, center = find_rows_and_center(curator, problem)
        center_noise = noise_of_center(curator, problem, n_rows, center)
        answer = curator.answer(SecondMoment(self.row_norm), center, event=SECOND_MOMENT)
        size, asked = problem.n_features, problem.n_components
        values, components = leading_eigenvectors(answer.value, asked or size)
        edge = noise_edge(answer.noise_std, size)
        signal = signal_variances(values, edge**2 / 4, edge)
        ratios = signal_ratios(signal, float(np.trace(answer.value)))
        kept = len(values) if self.share is None else count_for_share(ratios, self.share)
        return PrincipalComponents(
            components=components[:kept],
            variances=np.maximum(values[:kept], 0.0) / n_rows,
            ratios=ratios[:kept],
            noise_edge=edge / n_rows,
            center=center,
            row_norm=self.row_norm,
            notes=note_of_noise(ratios[:kept], asked=asked, share=self.share),
            angles=angles_of_moment(
                answer.value / n_rows,
                answer.noise_std / math.sqrt(2) / n_rows,
                edge / n_rows,
                kept,
                n_rows,
            ),
            doubt=None
            if center_noise is None
            else CenterDoubt.of_variances(center_noise, np.diag(answer.value) / n_rows, n_rows),
        )
