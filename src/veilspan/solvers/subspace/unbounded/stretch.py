r"""How a first second moment says to stretch rows for the next one, and how both are joined.

Let M1 be a noisy mean of x x^T with eigenvectors q_i and variances l_i, of which r are wanted. The
next release asks for rows y = T x, T = sum t_i q_i q_i^T, bounded by R_T, and T^-1 M2 T^-1 has
noise proportional to R_T^2 / (t_i t_j) on its entry (i, j). To first order components k <= r lose

    sum_{k <= r < j} noise_kj^2 / (l_k - l_j),

and R_T^2 grows with the mean of |y|^2 = sum t_i^2 l_i. With a_i = t_i^2 the loss is proportional to

    (sum_i a_i l_i)^2 sum_{k <= r < j} 1 / (a_k a_j (l_k - l_j)),

which is minimised in turns: given the a_j outside, a_k ~ sqrt(c_k / l_k) with
c_k = sum_j 1/(a_j (l_k - l_j)), and the same for the a_j; both halves then get equal parts of the
sum of a_i l_i. Without gaps that count, that is a_k = 1/l_k inside and a_j = 1/sqrt(l_j) outside.
Where M1 tells nothing but noise all l_i are alike, T is a multiple of I, and both releases together
are worth one of their joint budget: nothing is lost.

**Joining.** Both moments estimate the same matrix. In the frame of the q_i every entry is averaged
by the precisions of the two noises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veilspan._threads import threads_for
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.subspace.reshaped_moment import Stretch
from veilspan.solvers.subspace.base import CLEARLY_ABOVE_NOISE
from veilspan.solvers.subspace.refinement import deflate

#: Directions that are stretched one by one at most, beside those wanted: each costs a product with
#: all rows. All others are stretched alike.
MOST_DIRECTIONS = 64
#: How far the a_i of directions that are stretched alike may be from their mean, over it. At its
#: minimum the loss grows by the square of such a change alone, a few per cent of what these
#: directions add to it; those that noise hides are credited with one variance and do not differ.
ALIKE = 0.25
#: Rounds of the minimisation in turns; it changes little after three.
ROUNDS = 8
#: Largest over smallest stretch: rounding of stretched rows grows with it, and under add-remove
#: that of all rows counts (see ``ReshapedMoment``).
STEEPEST = {"replace-one": 1e3, "add-remove": 1e2}
#: Least variance, over the sum of all, that a direction is credited with.
LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class NoisyMoment:
    """A mean of x x^T with noise, decomposed.

    Attributes
    ----------
    frame : array of shape (D, D)
        Orthonormal columns: eigenvectors of the first release, leading ones first.
    moment : array of shape (D, D)
        The estimate in these coordinates.
    noise : array of shape (D, D)
        Std of the noise on each entry off the diagonal.
    """

    frame: np.ndarray
    moment: np.ndarray
    noise: np.ndarray

    @cached_property
    def shown(self) -> int:
        """Leading directions of a first release that stand out of its noise."""
        edge = 2.0 * float(self.noise[0, 0]) * math.sqrt(len(self.moment))
        return int(np.sum(np.cumprod(np.diag(self.moment) > edge)))

    def times(self, factor: float) -> NoisyMoment:
        """The same, all variances and their noise times a number."""
        return NoisyMoment(self.frame, factor * self.moment, factor * self.noise)


def decompose(moment: np.ndarray, noise: float) -> NoisyMoment:
    """The mean of a first release, in the frame of its own eigenvectors."""
    size = len(moment)
    with threads_for(size):
        values, vectors = np.linalg.eigh(moment)
    frame = np.ascontiguousarray(vectors[:, ::-1])
    return NoisyMoment(frame, np.diag(values[::-1]), np.full((size, size), noise))


def plain_variances(found: NoisyMoment, total: float) -> np.ndarray:
    """Variances of a first release without the inflation by noise.

    Directions that noise hides share what the others leave of ``total``, the sum of all as the
    lengths of rows have it: the trace has more noise. Those that are shown, and that noise alone
    may have set apart from each other, have their mean in common.
    """
    size, noise = len(found.moment), float(found.noise[0, 0])
    values = np.diag(found.moment)
    plain = deflate(values, noise, size)
    above, told = found.shown, count_told(found)
    rest = (total - float(plain[:above].sum())) / max(size - above, 1)
    if told < above:
        rest = float(values[told:].mean())
    least = max(LEAST_VARIANCE * total, 1e-300)
    apart = np.arange(size) < min(told, above)
    return np.asarray(np.where(apart, np.maximum(plain, least), max(rest, least)))


def count_told(found: NoisyMoment) -> int:
    """Leading directions of a first release that noise cannot have set apart from the rest.

    Noise spreads the eigenvalues of k directions of one variance v over v +- 2 sqrt(k) times its
    std: so many are told apart that no other stands above the mean of those after it by more.
    """
    values, noise = np.diag(found.moment), float(found.noise[0, 0])
    left = np.arange(len(values), 0, -1)
    means = np.cumsum(values[::-1])[::-1] / left
    edges = 2.0 * noise * np.sqrt(left)
    return int(np.sum(np.cumprod(values - means > CLEARLY_ABOVE_NOISE * edges)))


def choose_stretch(
    found: NoisyMoment,
    n_components: int,
    center: np.ndarray | None,
    neighbors: Neighbors,
    total: float,
) -> tuple[Stretch, np.ndarray, float]:
    """The stretch for a second release, its t in the frame of the first, and the mean of |y|^2."""
    variances = plain_variances(found, total)
    size = len(variances)
    shown = min(n_components, found.shown)
    squares = minimise_in_turns(variances, shown, float(found.noise[0, 0]))
    apart = min(max(MOST_DIRECTIONS, n_components), count_apart(squares))
    if apart < size:
        squares[apart:] = squares[apart:].mean()
    squares = np.maximum(squares / squares.max(), STEEPEST[neighbors] ** -2)
    sizes = np.sqrt(squares)
    basis = np.ascontiguousarray(found.frame[:, :apart])
    stretch = Stretch(center, basis, sizes[:apart], float(sizes[-1]))
    return stretch, sizes, float(squares @ variances)


def count_apart(squares: np.ndarray) -> int:
    """Leading directions to be stretched one by one, at least 1: all others are ``ALIKE``."""
    backwards = squares[::-1]
    means = np.cumsum(backwards) / np.arange(1, len(squares) + 1)
    alike = np.maximum.accumulate(backwards) <= (1 + ALIKE) * means
    alike &= np.minimum.accumulate(backwards) >= (1 - ALIKE) * means
    return max(len(squares) - int(np.flatnonzero(alike)[-1]) - 1, 1)


def minimise_in_turns(variances: np.ndarray, r: int, noise: float) -> np.ndarray:
    """The a_i = t_i^2, up to a common factor."""
    if not 0 < r < len(variances):
        return np.ones_like(variances)
    inside, outside = variances[:r], variances[r:]
    # Gaps that noise hides are as good as its own size.
    gaps = np.maximum(inside[:, None] - outside[None, :], noise + 1e-9 * inside[:, None])
    a, b, inverse = 1 / inside, 1 / np.sqrt(outside), 1 / gaps
    for _ in range(ROUNDS):
        a = np.sqrt(inverse @ (1 / b) / inside)
        b = np.sqrt((1 / a) @ inverse / outside)
    return np.concatenate([a / float(a @ inside), b / float(b @ outside)])


def join_moments(
    found: NoisyMoment, second: np.ndarray, sizes: np.ndarray, noise: float
) -> NoisyMoment:
    """Average a first release with a stretched one, entry by entry.

    Parameters
    ----------
    found : NoisyMoment
        The first.
    second : array of shape (D, D)
        Mean of y y^T, noisy.
    sizes : array of shape (D,)
        t: what the second was stretched by along the first's eigenvectors.
    noise : float
        Std of an entry of the second off its diagonal.
    """
    with threads_for(len(second)):
        back = found.frame.T @ second @ found.frame
    stretches = np.outer(sizes, sizes)
    back /= stretches
    spread = noise / stretches
    weight = found.noise**2 / (found.noise**2 + spread**2)
    joined = found.moment + weight * (back - found.moment)
    return NoisyMoment(found.frame, (joined + joined.T) / 2, np.sqrt(weight) * spread)
