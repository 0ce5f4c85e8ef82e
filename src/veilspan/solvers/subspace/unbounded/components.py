"""From a joined second moment to components, their variances and what to say of them."""

from __future__ import annotations

import numpy as np

from veilspan.solvers.spectral import leading_eigenvectors
from veilspan.solvers.subspace.analyze_gauss import PrincipalComponents
from veilspan.solvers.subspace.unbounded.component_angles import angles_of_moment
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
    center: np.ndarray | None,
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
    center, row_norm : array or None, float
        What was subtracted from rows, and what they were bounded by.
    notes : tuple of notes
        What is to be said beside.
    """
    wanted = n_components or len(found.moment)
    values, vectors = leading_eigenvectors(found.moment, wanted)
    # Noise in the line of an eigenvector: the lines of the frame that it is made of.
    lines = vectors**2 @ np.sum(found.noise**2, axis=1)
    edges = edges_of_noise(found.noise)[:wanted]
    signal = signal_variances(values, lines, edges)
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
        center=center,
        row_norm=row_norm,
        notes=(*notes, *said),
        angles=angles_of_moment(found.moment, found.noise, edges_of_noise(found.noise), wanted),
    )


def edges_of_noise(noise: np.ndarray) -> np.ndarray:
    """Eigenvalue that noise alone reaches among the directions from each one on.

    A direction that stands out takes its own line of the noise with it: what noise makes of the
    others lives in the block that is left, whose edge is twice the root of its largest line.
    """
    tails = np.cumsum((noise**2)[:, ::-1], axis=1)[:, ::-1]
    places = np.arange(len(noise))
    tails[places[:, None] < places[None, :]] = 0.0  # of lines that are not in the block
    return np.asarray(2.0 * np.sqrt(tails.max(axis=0)))
