r"""The tilt from a known subspace to the rows' own, from moments of stretched rows.

With V (D x r) known and T orthogonal to it, V + T spans the subspace looked for. A sum tells T by
its leading eigenvectors U, as U (V^T U)^-1 - V; one block, which is noisier, by the part that
touches V: with A = V^T y V and B = (I - V V^T) y V of its answer y, T = s B (A - c I)^-1, where c
is the energy of a direction outside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.solvers.spectral import leading_eigenvectors
from veilspan.solvers.stream.spectra import LEAST_VARIANCE, SURPRISE


@dataclass(frozen=True)
class Tilt:
    """A tilt, and how much is known of it.

    Attributes
    ----------
    tilt : array of shape (D, r)
        T.
    size2, error2 : float
        Mean square of its entries, and the variance of one.
    ratio : float
        Energy of rows outside of V + T over that inside.
    freedom : int
        Number of its free entries, (D - r) r.
    """

    tilt: np.ndarray
    size2: float
    error2: float
    ratio: float
    freedom: int


def read_sum(
    mean: np.ndarray, centre: np.ndarray, scale: float, std: float, leak: float, rows: float
) -> Tilt | None:
    """The tilt that a mean moment, its stretch undone, tells; None if it holds nothing but noise.

    Parameters
    ----------
    mean : array of shape (D, D)
        Of so many ``rows``, with noise of ``std`` before the stretch was undone.
    centre, scale : array of shape (D, r), float
        V and s.
    std, leak, rows : float
        See above; ``leak`` is further variance of an entry beside the diagonal.
    """
    width, size = centre.shape
    values, vectors = leading_eigenvectors(mean, size)
    inside = float(values.sum())
    least = 2 * std * math.sqrt(width - size) * scale**2
    outside = max(float(np.trace(mean)) - inside, least)
    bulk = outside / (width - size)
    gap = float(values[-1]) - bulk
    if gap <= SURPRISE * std * math.sqrt(size):
        return None
    noise2 = ((scale * std) ** 2 + leak) / 2
    error2 = (noise2 + float(values[-1]) * bulk / rows) / gap**2 + LEAST_VARIANCE
    overlap = centre.T @ vectors.T
    tilt = np.linalg.lstsq(overlap.T, vectors, rcond=1e-8)[0].T - centre
    return _tilt_of(tilt - centre @ (centre.T @ tilt), error2, outside / inside)


def read_block(
    value: np.ndarray, basis: np.ndarray, scale: float, noise: float, rows: float
) -> Tilt | None:
    """The tilt that one block's mean answer, still stretched, tells; None if it is all noise."""
    width, size = basis.shape
    touched = value @ basis
    core = basis.T @ touched
    inside = float(np.trace(core))
    outside = max(float(np.trace(value)) - inside, 0.0) * scale**2
    bulk = outside / (width - size)
    values, vectors = np.linalg.eigh(core)
    gaps = values - bulk
    if gaps[0] <= SURPRISE * noise * math.sqrt(size):
        return None
    tilt = scale * ((touched - basis @ core) @ vectors) / gaps @ vectors.T
    error2 = float(np.mean((scale * noise / gaps) ** 2)) / 2
    error2 += bulk * size / (inside * rows) + LEAST_VARIANCE
    return _tilt_of(tilt, error2, outside / inside)


def undo_stretch(answer: np.ndarray, basis: np.ndarray, scale: float) -> np.ndarray:
    """S y S with S = V V^T + s (I - V V^T): the moment of the rows before they were stretched."""
    touched = answer @ basis
    core = basis.T @ touched
    half = (1 - scale) * (scale * touched + 0.5 * (1 - scale) * basis @ core) @ basis.T
    return np.asarray(scale**2 * answer + half + half.T)


def _tilt_of(tilt: np.ndarray, error2: float, ratio: float) -> Tilt:
    width, size = tilt.shape
    freedom = (width - size) * size
    return Tilt(tilt, float(np.sum(tilt**2)) / freedom, error2, ratio, freedom)
