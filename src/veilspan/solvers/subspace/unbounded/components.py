"""From a joined second moment to components, their variances and what to say of them."""

from __future__ import annotations

import numpy as np

from veilspan.solvers.spectral import leading_eigenvectors
from veilspan.solvers.subspace.analyze_gauss import PrincipalComponents
from veilspan.solvers.subspace.unbounded.center_doubt import CenterDoubt
from veilspan.solvers.subspace.unbounded.component_angles import MOST_COLUMNS, angles_of_moment
from veilspan.solvers.subspace.unbounded.looks import Surroundings
from veilspan.solvers.subspace.unbounded.notes import Note, note_of_noise
from veilspan.solvers.subspace.unbounded.spectrum import (
    count_for_share,
    signal_ratios,
    signal_variances,
)
from veilspan.solvers.subspace.unbounded.stretch import NoisyMoment


def read_components(
    found: NoisyMoment,
    n_components: int | None,
    share: float | None,
    around: Surroundings,
    row_norm: float,
    notes: tuple[Note, ...] = (),
) -> PrincipalComponents:
    """Decompose a noisy moment; all of it is post-processing.

    Parameters
    ----------
    found : NoisyMoment
        The mean of x x^T.
    n_components, share : int or None, float or None
        How many components, or how much of the variance they are to hold; both ``None`` for all.
    around, row_norm : Surroundings, float
        What was subtracted from rows and how many there are, and what they were bounded by.
    notes : tuple of notes
        What is to be said beside.
    """
    wanted = n_components or len(found.moment)
    values, vectors = leading_eigenvectors(found.moment, wanted)
    # Noise in the line of an eigenvector: the lines of the frame that it is made of.
    lines = vectors**2 @ np.sum(found.noise**2, axis=1)
    edges = edges_of_noise(found.noise)
    signal = signal_variances(values, lines, edges[:wanted])
    ratios = signal_ratios(signal, float(np.trace(found.moment)))
    if share is not None:
        wanted = count_for_share(ratios, share)
    rows = vectors[:wanted] @ found.frame.T
    largest = np.argmax(np.abs(rows), axis=1)
    rows *= np.sign(rows[np.arange(wanted), largest])[:, None]
    said = note_of_noise(ratios[:wanted], asked=n_components, share=share)
    return PrincipalComponents(
        components=np.ascontiguousarray(rows),
        variances=np.maximum(values[:wanted], 0.0),
        ratios=ratios[:wanted],
        noise_edge=float(edges[wanted - 1]),
        center=around.center,
        row_norm=row_norm,
        notes=(*notes, *said),
        angles=angles_of_moment(
            found.moment,
            np.hypot(found.noise, around.center_std**2),  # the centre's noise, as (m - c)(m - c)^T
            edges,
            wanted,
            around.n_rows,
        ),
        doubt=_doubt_center(found, around),
    )


def _doubt_center(found: NoisyMoment, around: Surroundings) -> CenterDoubt | None:
    """How far a released centre may lie from the mean, by the moment's diagonal in the columns."""
    noise = around.center_noise
    if noise is None or len(found.moment) > MOST_COLUMNS:
        return None
    variances = np.sum((found.frame @ found.moment) * found.frame, axis=1)
    return CenterDoubt.of_variances(noise, variances, around.n_rows, around.left_out)


def edges_of_noise(noise: np.ndarray) -> np.ndarray:
    """Eigenvalue that noise alone reaches among the directions from each one on.

    A direction that stands out takes its own line of the noise with it: what noise makes of the
    others lives in the block that is left, whose edge is twice the root of its largest line.
    """
    tails = np.cumsum((noise**2)[:, ::-1], axis=1)[:, ::-1]
    places = np.arange(len(noise))
    tails[places[:, None] < places[None, :]] = 0.0  # of lines that are not in the block
    return np.asarray(2.0 * np.sqrt(tails.max(axis=0)))
