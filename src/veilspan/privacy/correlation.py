r"""Noise that is correlated from block to block, for sums that go on for ever.

A stream gives one bounded sum g_t a block, t = 1, 2, ...; wanted are the running sums. Independent
noise of std s on each g_t adds up to s sqrt(t). Here the noise n of the answers y_t = g_t + n_t is

    C n = z,    z_t independent, N(0, s^2 I),    C lower triangular, C_tt > 0, columns of norm <= 1,

so that n_t takes back part of what earlier noise has added to the running sum. For a C that follows
the square root of the prefix sum the noise of a running sum grows like log t, not like sqrt(t).

**Theorem** (continual release; Denisov, McMahan, Rush, Smith & Thakurta 2022, Theorem 2.1). Let the
question asked of block t, and the entries of row t of C, be functions of the releases before t. Let
neighbours differ in one person, who is in at most k blocks and moves the sum of each by at most
Delta, and let no two of these blocks have columns of C with an entry in the same row. Then all
releases together, however many, are mu-GDP with mu = sqrt(k) Delta / s.

*Proof.* (1) Given a table and the releases before t, the earlier noise n_u = y_u - g_u is known. So

    y_t = g_t + (z_t - sum_{u<t} C_tu n_u) / C_tt

is Gaussian with std s / C_tt and a mean m_t with C_tt m_t = C_tt g_t + sum_{u<t} C_tu (g_u - y_u).
(2) On the neighbour with the same releases before t the question is the same, and the means are

    C_tt (m_t - m'_t) = sum_{u<=t} C_tu (g_u - g'_u) =: s_t

apart: the t-th release is a Gaussian mechanism of parameter |s_t| / s, which earlier releases
decide. (3) The person's blocks are u_1 < u_2 < ..., and d_i = g_{u_i} - g'_{u_i}. A row t has an
entry in at most one of their columns, so on every path

    sum_t |s_t|^2 = sum_i |C_{. u_i}|^2 |d_i|^2 <= k Delta^2 .

(4) That is the condition of the privacy filter for GDP (Smith & Thakurta 2022, Theorem 1; Koskela,
Tobaben & Honkela 2022), which lets each parameter depend on earlier releases; a divergence over
infinitely many releases is the supremum of those over finitely many. [] (Denisov et al. turn the
noise instead; the filter says the same, and lets C follow the releases too.)

Nothing here is special to one neighbour relation: Delta is the sensitivity of a block's sum under
the relation at hand. Under add-remove the blocks themselves must not move with the person.

**A new triangular block.** From a block v on, entries C_tu with u < v <= t may be left out: columns
only lose entries, so their norms stay at most 1 and supports that were disjoint stay so. When to do
it may follow releases (2). That is what happens when noise is forgotten (a copy, a restart, another
question): it costs accuracy of sums across v, no privacy. A copy that went on *with* the noise of
the original would put further entries under the same columns, of norm up to sqrt(2).

**The columns.** Column u, the i-th of its triangular block, has the diagonal d_i and k_i a_m below,
at u + m. W = sum_m a_m^2 is finite and d_i = sqrt(1 - k_i^2 W), so its norm is 1 for ever.

* One block a person: a_m = sum_j w_j th_j^(m-1), five decaying memories ("buffered linear
  Toeplitz"; Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024), which takes five buffers
  however long the stream is. W = sum_ij w_i w_j / (1 - th_i th_j). They follow the coefficients
  binom(2m, m) / 4^m of the square root of the prefix sum.
* Several blocks, at least b apart: those coefficients themselves, for m < b ("banded";
  Choquette-Choo et al. 2023). b = 1 is C = I, independent noise.
* Forgetting: of sums decayed by f a block the square root has a_m f^m, shorter columns to which
  the noise is then fitted: th_j f and w_j f in place of th_j and w_j.
* Start: a Toeplitz C has k_i = d_i = 1 / sqrt(1 + W), and a first block with sqrt(1 + W) = 1.73
  times the noise that it needs. Yet k_1 = 0 is a waste: (d, k sqrt(W)) lies on a circle, so d_1 =
  0.96, noise of 1.04, leaves 0.28 of the column to later blocks. So k_i rises in six equal steps.

``experiments/streams`` prints what this gives at each block beside the least that is possible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

#: Decay of the five memories a block: of 1.7 to 362 blocks, evenly on a logarithmic scale. A longer
#: one would cost all blocks 2 % of noise for each doubling, and gain from the thousandth on.
MEMORIES = tuple(1 - 0.5**power for power in (0.8, 2.725, 4.65, 6.575, 8.5))
#: Their weights: those of non-negative least squares to the coefficients of the square root of the
#: prefix sum over 128 blocks, relative errors counting alike. A test fits them again.
WEIGHTS = (0.17481468, 0.15519884, 0.08773144, 0.02423572, 0.06087002)
#: Diagonal of the first column of a triangular block, and steps in which the columns go on from
#: there to those of a Toeplitz matrix. By trial: smaller or fewer, and the first blocks have more
#: noise; larger or more, and all later ones have.
FIRST_DIAGONAL = 0.96
RAMP = 6
#: Rows of C after which a triangular block ends (noise is forgotten): the rounding of the buffers
#: is covered for so many (``privacy.noise_buffers``).
LONGEST = 2**16
#: Widest band. It takes an answer's memory for each of its blocks.
WIDEST = 32
#: Relative excess at which W is taken, above what float64 can err in computing it.
_ABOVE = 1e-9


@dataclass(frozen=True)
class Correlation:
    """Which columns C has; a public choice.

    Attributes
    ----------
    band : int or None
        Blocks that a column reaches over, its own included; None: for ever.
    kept : float
        f: what a running sum keeps of itself from block to block, at most 1.
    """

    band: int | None = None
    kept: float = 1.0

    def __post_init__(self) -> None:
        if self.band is not None and not 1 <= self.band <= WIDEST:
            raise ValueError(f"band must lie in 1, ..., {WIDEST}; got {self.band}.")
        if not 0 <= self.kept <= 1:
            raise ValueError(f"kept must lie in [0, 1]; got {self.kept}.")

    @property
    def independent(self) -> bool:
        """Whether C is the identity."""
        return self.band == 1 or self.kept == 0

    @property
    def decays(self) -> np.ndarray:
        """What each memory keeps from block to block; none with a band."""
        return self.kept * np.array(MEMORIES if self.band is None else ())

    @property
    def weights(self) -> np.ndarray:
        """Weight of each memory; with a band, those of the blocks before, the last one first."""
        if self.band is None:
            return self.kept * np.array(WEIGHTS)
        steps = np.arange(1, self.band)
        return np.asarray(np.cumprod((2 * steps - 1) / (2 * steps) * self.kept))

    @property
    def tail2(self) -> float:
        """W: squared length of the part of a column below its diagonal, for k_i = 1."""
        return _find_tail2(self)

    def column(self, place: int) -> tuple[float, float]:
        """Diagonal d and factor k of a column, by its place in its triangular block, from 0 on."""
        tail2 = self.tail2
        last = 1 / math.sqrt(1 + tail2)
        if tail2 == 0:
            return 1.0, 0.0
        first = min(last, math.sqrt((1 - FIRST_DIAGONAL**2) / tail2))
        factor = first + (last - first) * min(1.0, place / (RAMP - 1))
        return math.sqrt(1 - factor**2 * tail2), factor

    def matrix(self, size: int) -> np.ndarray:
        """The first rows and columns of C, for tests and for those who want to see it."""
        below = np.zeros(size)
        if self.band is None:
            powers = self.decays[:, None] ** np.arange(size - 1)
            below[1:] = self.weights @ powers
        else:
            weights = self.weights[: size - 1]
            below[1 : 1 + len(weights)] = weights
        full = np.zeros((size, size))
        for place in range(size):
            diagonal, factor = self.column(place)
            full[place:, place] = factor * below[: size - place]
            full[place, place] = diagonal
        return full

    def sum_std(self, place: int) -> float:
        """Std of the noise on the (decayed) sum of answers 0, ..., place, in units of z's."""
        return _spreads_of(self).at(place)[0]

    def single_std(self, place: int) -> float:
        """Std of the noise of the answer at a place, in units of z's."""
        return _spreads_of(self).at(place)[1]


@dataclass
class _Spreads:
    """Standard deviations by place, computed one after the other and remembered.

    The state (memories, or the last noises of a band; then the running sum) is linear in z: its
    covariance is propagated, one number a pair for all coordinates alike.
    """

    correlation: Correlation
    covariance: np.ndarray = field(init=False)
    found: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = len(self.correlation.weights) + 1
        self.covariance = np.zeros((size, size))

    def at(self, place: int) -> tuple[float, float]:
        """Of the running sum and of the single answer."""
        while len(self.found) <= place:
            self._go_on()
        return self.found[place]

    def _go_on(self) -> None:
        spec, size = self.correlation, len(self.covariance)
        diagonal, factor = spec.column(len(self.found))
        noise = np.zeros(size)  # n_t = noise . state + z_t / d
        step = np.zeros((size, size))
        enters = np.zeros(size)  # how n_t enters the state
        if spec.band is None:
            noise[:-1] = -1 / diagonal
            step[:-1, :-1] = np.diag(spec.decays)
            enters[:-1] = factor * spec.weights
        else:
            noise[:-1] = -spec.weights / diagonal
            step[1:-1, :-2] = np.eye(max(size - 2, 0))
            if size > 1:
                enters[0] = factor
        step[-1, -1], enters[-1] = spec.kept, 1.0
        single2 = float(noise @ self.covariance @ noise) + diagonal**-2
        step += np.outer(enters, noise)
        self.covariance = step @ self.covariance @ step.T + np.outer(enters, enters) / diagonal**2
        self.found.append((math.sqrt(self.covariance[-1, -1]), math.sqrt(single2)))


@lru_cache(maxsize=64)
def _find_tail2(spec: Correlation) -> float:
    weights, decays = spec.weights, spec.decays
    if spec.band is not None:
        return float(weights @ weights) * (1 + _ABOVE)
    return float(np.sum(np.outer(weights, weights) / (1 - np.outer(decays, decays)))) * (1 + _ABOVE)


@lru_cache(maxsize=64)
def _spreads_of(correlation: Correlation) -> _Spreads:
    return _Spreads(correlation)
