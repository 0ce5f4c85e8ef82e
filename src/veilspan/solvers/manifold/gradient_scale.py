"""How long gradients are, read off a noisy histogram: where to clip, how far to step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.geometry import Manifold
from veilspan.losses.frechet_curvature import curvature_across
from veilspan.losses.manifold import FrechetLoss, ManifoldLoss

#: A histogram is read only if the noise on a count is at most this fraction of all rows.
READABLE = 0.1
#: The mean of min(1, clip / norm) is not believed to be less: clips are at the median or above.
LEAST_KEPT = 0.25


@dataclass(frozen=True)
class Scale:
    """Lengths of gradients at a point.

    Attributes
    ----------
    knots, shares : array
        Lengths, and the share of the rows at each.
    clip : float
        Where to clip.
    curvature : float or None
        Mean curvature of the loss, if it had to be measured.
    """

    knots: np.ndarray
    shares: np.ndarray
    clip: float
    curvature: float | None = None

    @classmethod
    def unread(cls, knots: np.ndarray, curvature: float | None, earlier: int) -> Scale:
        """For want of knowledge: all rows at half the bound, or half as far after each step.

        Rows that are farther are clipped to a direction, which is as clear in the noise as before:
        too small a clip costs little, too large a one is noise.
        """
        place = max(len(knots) - 3 - 2 * earlier, 0)
        return cls(knots, np.eye(len(knots))[place], float(knots[place]), curvature)

    @classmethod
    def read(
        cls,
        knots: np.ndarray,
        counts: np.ndarray,
        noise_std: float,
        n_rows: float,
        beyond: float,
        curvature: float | None,
    ) -> Scale:
        """From noisy counts; ``beyond`` is the share of the rows that may be clipped."""
        clip = clip_at(knots, counts, noise_std, n_rows, beyond)
        return cls(knots, on_simplex(counts / n_rows), clip, curvature)

    @property
    def kept(self) -> np.ndarray:
        """What clipping leaves of a gradient of each length."""
        return np.minimum(1.0, self.clip / self.knots)


def bend(loss: ManifoldLoss, point: np.ndarray, gradient: np.ndarray, scale: Scale) -> float:
    r"""Curvature of the clipped loss in the direction of its mean gradient; a step is its inverse.

    Clipping leaves the fraction min(1, C / norm) of a row's gradient and of its curvature. A
    squared distance bends by 1 towards a row and by more (negative curvature) or less (positive)
    across, see :func:`curvature_across`. With all rows in one direction the mean gradient is as
    long as the mean norm and the bend is 1; with rows all around it is shorter, by a factor r, and
    a fraction of about max(r^2, 1/dim) of the bend is that towards rows.
    """
    curvature = loss.curvature if scale.curvature is None else scale.curvature
    assert curvature is not None
    curvatures = np.full(len(scale.knots), curvature)
    if isinstance(loss, FrechetLoss):
        manifold = loss.manifold
        across = curvature_across(manifold, point, scale.knots)
        towards = share_towards(manifold, point, gradient, scale)
        curvatures = curvatures * (towards + (1 - towards) * across)
    mean = float(scale.shares @ curvatures)
    return max(float(scale.shares @ (scale.kept * curvatures)), LEAST_KEPT * mean)


def share_towards(
    manifold: Manifold, point: np.ndarray, gradient: np.ndarray, scale: Scale
) -> float:
    """max(r^2, 1/dim), r the length of the mean gradient over the mean length."""
    length = float(manifold.norm(point, gradient))
    mean = float(scale.shares @ np.minimum(scale.knots, scale.clip))
    return max(min(1.0, length / mean) ** 2, 1.0 / manifold.dim)


def clip_at(
    knots: np.ndarray, counts: np.ndarray, noise_std: float, n_rows: float, beyond: float
) -> float:
    """Largest knot beyond which more than that fraction of the rows lies, noise apart.

    Tails are summed from the top, where noise could invent rows: a tail must exceed what noise
    explains, two standard deviations.
    """
    tails = np.cumsum(counts[::-1])[::-1]
    noise = 2 * noise_std * np.sqrt(np.arange(len(counts), 0, -1))
    reached = np.flatnonzero(tails >= beyond * n_rows + noise)
    return float(knots[reached[-1]]) if len(reached) else float(knots[-1])


def on_simplex(values: np.ndarray) -> np.ndarray:
    """Nearest non-negative numbers that sum to 1: the likeliest shares behind noisy ones."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.maximum(values - level, 0.0)
