"""How long gradients are, read off a noisy histogram: where to clip, how far to step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.geometry import Manifold
from veilspan.losses.frechet_curvature import curvature_across
from veilspan.losses.manifold import FrechetLoss, ManifoldLoss

#: A histogram is read only if the noise on a count is at most this fraction of all rows: with more,
#: a clip read off it would be that of the noise.
READABLE = 0.1
#: The mean of min(1, clip / norm) is not believed to be less: clips are at the median or above.
LEAST_KEPT = 0.25


@dataclass(frozen=True)
class GradientLengths:
    """How long the rows' gradients are at a point, and where to clip them.

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
    def guess(cls, knots: np.ndarray, curvature: float | None, earlier: int) -> GradientLengths:
        """Where no histogram was read: all rows at half the bound, half as far after each step.

        Rows that are farther are clipped to a direction, which is as clear in the noise as before:
        too small a clip costs little, too large a one is noise.
        """
        # Two knots are a factor of 2 apart, and the last of them is the bound.
        place = max(len(knots) - 3 - 2 * earlier, 0)
        return cls(knots, np.eye(len(knots))[place], float(knots[place]), curvature)

    @classmethod
    def from_counts(
        cls,
        knots: np.ndarray,
        counts: np.ndarray,
        noise_std: float,
        n_rows: float,
        beyond: float,
        curvature: float | None,
    ) -> GradientLengths:
        """Read noisy counts; ``beyond`` is the share of the rows that may be clipped."""
        clip = choose_clip(knots, counts, noise_std, n_rows, beyond)
        return cls(knots, project_on_simplex(counts / n_rows), clip, curvature)

    @property
    def kept(self) -> np.ndarray:
        """What clipping leaves of a gradient of each length."""
        return np.minimum(1.0, self.clip / self.knots)


def estimate_curvature(
    loss: ManifoldLoss, point: np.ndarray, gradient: np.ndarray, lengths: GradientLengths
) -> float:
    r"""Curvature of the clipped loss in the direction of its mean gradient; a step is its inverse.

    Clipping leaves the fraction min(1, C / norm) of a row's gradient and of its curvature. A
    squared distance bends by 1 towards a row and by more (negative curvature) or less (positive)
    across, see :func:`curvature_across`. With all rows in one direction the mean gradient is as
    long as the mean norm and the curvature is 1; with rows all around it is shorter, by a factor r,
    and a fraction of about max(r^2, 1/dim) of the curvature is that towards rows.
    """
    curvature = loss.curvature if lengths.curvature is None else lengths.curvature
    assert curvature is not None
    curvatures = np.full(len(lengths.knots), curvature)
    if isinstance(loss, FrechetLoss):
        manifold = loss.manifold
        across = curvature_across(manifold, point, lengths.knots)
        towards = share_towards(manifold, point, gradient, lengths)
        curvatures = curvatures * (towards + (1 - towards) * across)
    mean = float(lengths.shares @ curvatures)
    return max(float(lengths.shares @ (lengths.kept * curvatures)), LEAST_KEPT * mean)


def share_towards(
    manifold: Manifold, point: np.ndarray, gradient: np.ndarray, lengths: GradientLengths
) -> float:
    """max(r^2, 1/dim), r the length of the mean gradient over the mean length."""
    length = float(manifold.norm(point, gradient))
    mean = float(lengths.shares @ np.minimum(lengths.knots, lengths.clip))
    return max(min(1.0, length / mean) ** 2, 1.0 / manifold.dim)


def choose_clip(
    knots: np.ndarray, counts: np.ndarray, noise_std: float, n_rows: float, beyond: float
) -> float:
    """Clip at the largest knot beyond which more than that fraction of the rows lies.

    Tails are summed from the top, where noise could invent rows: a tail must exceed what noise
    explains, two standard deviations.
    """
    tails = np.cumsum(counts[::-1])[::-1]
    noise = 2 * noise_std * np.sqrt(np.arange(len(counts), 0, -1))
    reached = np.flatnonzero(tails >= beyond * n_rows + noise)
    return float(knots[reached[-1]]) if len(reached) else float(knots[-1])


def project_on_simplex(values: np.ndarray) -> np.ndarray:
    """Find the nearest non-negative numbers that sum to 1: the likeliest shares behind noise."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(values) + 1)
    level = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.maximum(values - level, 0.0)
