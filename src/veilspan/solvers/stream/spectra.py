"""What a noisy second moment tells of a subspace, and frames that turn no more than they must."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.solvers.spectral import leading_eigenvectors

#: Fraction of the least energy inside below which rows count as having left the subspace.
LOST = 0.4
#: Standard errors by which a number must differ from what is believed before that is doubted.
SURPRISE = 4
#: Predicted squared angle below which the subspace counts as known: a tilt, which is the tangent of
#: an angle, is then within a tenth of it.
KNOWN = 0.25
#: Least variance of a tilt's entry, so that precisions stay finite where there is no noise.
LEAST_VARIANCE = 1e-30


@dataclass(frozen=True)
class Spectrum:
    """The leading part of an averaged second moment.

    Attributes
    ----------
    basis : array of shape (D, r)
        Leading eigenvectors.
    inside, outside : float
        Energy of rows in their span and beside it, without what noise adds.
    length2 : float
        Mean squared length of the bounded rows.
    variance, angle2 : float
        Predicted variance of an entry of the tilt to the truth, and squared angle.
    """

    basis: np.ndarray
    inside: float
    outside: float
    length2: float
    variance: float
    angle2: float


def read_moment(
    mean: np.ndarray, entry2: float, n_rows: float, rank: int, row_norm: float
) -> Spectrum:
    """Read a mean second moment of so many rows; ``entry2``: noise variance off the diagonal."""
    tiny = tiny_energy(row_norm)
    values, rows = leading_eigenvectors(mean, rank)
    width = len(mean)
    inside = _deflate(values, entry2, width)
    length2 = min(max(float(np.trace(mean)), float(inside.sum()), tiny), row_norm**2)
    rest = max(length2 - float(inside.sum()), 0.0)
    bulk = rest / (width - len(values))
    gap = max(float(inside[-1]) - bulk, math.sqrt(width * entry2), tiny)
    variance = (entry2 + float(inside[-1]) * bulk / n_rows) / gap**2
    angle2 = (width - len(values)) * variance
    return Spectrum(rows.T, float(inside.sum()), rest, length2, variance, angle2)


def tiny_energy(row_norm: float) -> float:
    """Energy that counts as none; it keeps quotients finite where there is no noise."""
    return 1e-30 * row_norm**2


def has_left(before: np.ndarray | None, now: np.ndarray, noise: float) -> bool:
    """Whether some direction has lost most of its energy, beyond what noise explains."""
    if before is None:
        return False
    least, earlier = (float(np.linalg.eigvalsh(block)[0]) for block in (now, before))
    return least + SURPRISE * noise * math.sqrt(len(now)) < LOST * earlier


def nearest_basis(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal columns with the span of ``matrix`` that are nearest to it: no sign flips."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left @ right)


def turn_to(basis: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """The same span in the basis nearest to the last one: coordinates go on without a break."""
    return basis.copy() if before is None else basis @ nearest_basis(basis.T @ before)


def best_scale(inside: float, outside: float, row_norm: float, smallest: float) -> float:
    """The stretch s of least noise on a tilt, at most 1, for rows of these energies."""
    scale = math.sqrt(outside / max(inside, row_norm**2 - inside))
    return min(1.0, max(scale, smallest))


def relative_noise(inside: float, outside: float, row_norm: float, scale: float) -> float:
    """Noise on a tilt over that of unstretched rows: s over what clipping leaves of a row."""
    return scale / min(1.0, row_norm**2 / (inside + outside / scale**2))


def _deflate(values: np.ndarray, entry2: float, size: int) -> np.ndarray:
    """Eigenvalues l without what noise adds to them, l + size e^2 / l, and never below 0."""
    inside = np.maximum(values**2 - 4 * size * entry2, 0.0)
    return np.maximum((values + np.sqrt(inside)) / 2, 0.0)
