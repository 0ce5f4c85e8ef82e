r"""How far noise may have turned released components, from released numbers alone.

A released matrix is M + E, E symmetric Gaussian noise. To first order the eigenvector u_k of M with
eigenvalue l_k turns towards u_j by the angle E_kj / (l_k - l_j). E_kj is normal with a public
standard deviation e_kj, so the squared angle to all other directions is

    sum_j w_j X_j^2,   w_j = (e_kj / (l_k - l_j))^2,   X_j independent standard normals,

whose 95 % point is that of a multiple of a chi-square with the same mean and variance
(Satterthwaite 1946): sum w F(v) / v with v = (sum w)^2 / sum w^2. The l are released too, with what
noise adds taken off (:mod:`veilspan.solvers.subspace.unbounded.spectrum`); directions below the
noise's edge share what the trace leaves. Tangents are taken for angles, so that long ones end below
90 degrees; a component that noise hides has 90.

**Sampling.** Had other people come, M would have been another one: the mean of n independent rows
moves the entry between u_k and u_j by a variance of E (x_k x_j)^2 / n, which is l_k l_j / n for
normal rows (Anderson 1963). Fourth moments are not released, so that rows are taken to be as normal
ones; heavier tails move directions by more. The variance is added to e_kj^2.

What is *not* in it: what bounding rows does to directions. All of it is post-processing of released
values: nothing is spent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from veilspan.solvers.subspace.unbounded.spectrum import signal_variances

#: Share of releases whose component lies within the angle.
LEVEL = 0.95
HIDDEN = 90.0
#: With more columns all eigenvectors take longer than the rest of a fit: no angles are told.
MOST_COLUMNS = 1000


class Angles(NamedTuple):
    """Degrees that hold with 95 %, one for each component: by noise alone, and with sampling."""

    noise: np.ndarray
    sampled: np.ndarray | None


def angles_of_moment(
    moment: np.ndarray,
    noise: np.ndarray | float,
    edges: np.ndarray | float,
    count: int,
    n_rows: float,
) -> Angles | None:
    """Angles of the leading components of a released matrix; ``None`` for too many columns.

    Parameters
    ----------
    moment : array of shape (D, D)
        A mean over rows as released, noise and all.
    noise : float or array of shape (D, D)
        Standard deviation of the noise in its entries off the diagonal.
    edges : float or array of shape (D,)
        Eigenvalue that noise alone reaches, there or anywhere.
    count : int
        Number of components.
    n_rows : float
        Number of rows, public or released.
    """
    size = len(moment)
    if size > MOST_COLUMNS:
        return None
    values, vectors = np.linalg.eigh(moment)
    values, squares = values[::-1], (vectors[:, ::-1] ** 2).T
    entries2 = np.broadcast_to(np.asarray(noise, dtype=float) ** 2, (size, size))
    signal = signal_variances(values, squares @ entries2.sum(axis=1), edges)
    spread = share_out(signal, float(np.trace(moment)))
    shown = np.where(signal[:count] > 0, spread[:count], 0.0)
    entries2 = squares[:count] @ entries2 @ squares.T
    sampling2 = np.outer(spread[:count], spread) / n_rows
    outside = spread[count:]
    return Angles(
        angles_of_components(shown, outside, np.sqrt(entries2)),
        angles_of_components(shown, outside, np.sqrt(entries2 + sampling2)),
    )


def angles_of_components(
    signal: np.ndarray, outside: np.ndarray, entries: np.ndarray | float
) -> np.ndarray:
    """Angles in degrees that hold with 95 %, one for each component.

    Parameters
    ----------
    signal : array of shape (r,)
        Eigenvalues of the components without what noise adds; 0 where noise hides them.
    outside : array of shape (D - r,)
        Those of all other directions, alike.
    entries : float or array of shape (r, D)
        Standard deviation of the noise between a component and each direction.
    """
    every = np.concatenate([signal, outside])
    stds = np.broadcast_to(np.asarray(entries, dtype=float), (len(signal), len(every)))
    angles = np.full(len(signal), HIDDEN)
    for k, value in enumerate(signal):
        if not value > 0:
            continue
        others = np.arange(len(every)) != k
        gaps = np.abs(value - every[others])
        with np.errstate(divide="ignore", over="ignore"):
            weights = (stds[k][others] / gaps) ** 2
        angles[k] = _angle(weights)
    return angles


def angle_of_spectrum(spectrum: np.ndarray, edge: float, count: int) -> float:
    """Angle of the subspace of the ``count`` leading eigenvectors of a released matrix.

    Its noise is isotropic: edge = s sqrt(2 D), and s / sqrt(2) off the diagonal.
    """
    signal = signal_variances(spectrum, edge**2 / 4, edge)
    if count < len(spectrum) and not (signal[:count] > 0).all():
        return HIDDEN
    spread = share_out(signal, float(spectrum.sum()))
    return angle_of_subspace(spread[:count], spread[count:], edge / (2 * math.sqrt(len(spectrum))))


def angle_of_subspace(inside: np.ndarray, outside: np.ndarray, entry: float) -> float:
    """Angle in degrees, over all directions together, that a whole subspace keeps with 95 %.

    ``inside`` and ``outside`` are eigenvalues without what noise adds, ``entry`` is the standard
    deviation of the noise between two directions. The root of the sum of squared principal angles
    is at least the largest of them.
    """
    if len(outside) == 0:
        return 0.0
    gaps = inside[:, None] - outside[None, :]
    if not (gaps > 0).all():
        return HIDDEN
    with np.errstate(divide="ignore", over="ignore"):
        return _angle(((entry / gaps) ** 2).ravel())


def _angle(weights: np.ndarray) -> float:
    """The 95 % point of the root of a weighted sum of squared normals, as an angle."""
    from scipy.special import gammaincinv

    total = float(weights.sum())
    if total == 0:
        return 0.0
    if not math.isfinite(total):
        return HIDDEN
    freedom = total**2 / float(np.sum(weights**2))
    # Twice the inverse of the incomplete gamma function: what ``scipy.stats.chi2.ppf`` says, too.
    square = total * float(2 * gammaincinv(freedom / 2, LEVEL)) / freedom
    return math.degrees(math.atan(math.sqrt(square)))


def share_out(signal: np.ndarray, trace: float) -> np.ndarray:
    """Eigenvalues without what noise adds, hidden ones sharing what the trace leaves.

    Parameters
    ----------
    signal : array of shape (D,)
        Eigenvalues without what noise adds, 0 where noise hides them.
    trace : float
        Of the released matrix.
    """
    hidden = ~(signal > 0)
    if not hidden.any():
        return signal
    rest = max(trace - float(signal[~hidden].sum()), 0.0) / int(hidden.sum())
    return np.where(hidden, rest, signal)
