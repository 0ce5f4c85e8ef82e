r"""One release per block of a stream, and what is remembered from block to block.

Every block pays for one Gaussian answer. Two questions share its price:

* the *whole* second moment M (D x D): needs no idea of the subspace. Blocks are averaged, and the
  estimate is spanned by the leading eigenvectors of the average ("Analyze Gauss", Dwork, Talwar,
  Thakurta & Zhang 2014);
* the *touching* blocks A (r x r) and B (D x r) of the moment around the last estimate V, with rows
  stretched by 1/s outside of it (:mod:`veilspan.queries.stream.touching_moment`). The tilt of V
  towards the subspace is s B (A - c I)^-1, c the mean energy of a direction outside: one step of
  Newton's method for the energy in a subspace.

Both put noise of one size on B, so on the tilt it is phi = s / w times as large with the second
question as with the first, where w = min(1, R^2 / (E|a|^2 + E|b|^2)) is what clipping leaves of a
row. For rows with mean squares a2 inside and z2 outside, phi is least at

    s^2 = z2 / max(a2, R^2 - a2) .

Rows that lie near the subspace make s, and with it the noise, small. So: ask for the whole moment
until the subspace is known, then for the touching blocks once they are less noisy or if D^2 numbers
are too many, and for the whole moment again when rows have left the subspace. All of this is
decided by released numbers; here is no row, so everything is post-processing.

Tilts are averaged by precision, J <- (1 - f) J + 1/e^2 with gain (1/e^2) / J, which is the Kalman
filter of a subspace that drifts at the rate that the forgetting f implies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.moments import SecondMoment
from veilspan.queries.stream.stretched_moment import SMALLEST_SCALE
from veilspan.queries.stream.touching_moment import TouchingMoment
from veilspan.solvers.base import Prepared, Result
from veilspan.solvers.stream.belief import Belief
from veilspan.solvers.stream.running_belief import RunningBelief
from veilspan.solvers.stream.spectra import (
    KNOWN,
    LEAST_VARIANCE,
    SURPRISE,
    best_scale,
    has_left,
    nearest_basis,
    read_moment,
    relative_noise,
    tiny_energy,
    turn_to,
)

#: Name of the event that pays for a block.
BLOCK = "block"

# The numbers below were set by hand when the method was written; no experiment on record compares
# them with others. benchmarks/tracking.py and the accuracy tests of the private tracker hold what
# they reach.

#: The touching blocks are asked for if phi is below this: only a clear gain pays for a question
#: that forgets the averaged moment.
_WORTH = 0.8
#: What the r x r block keeps of its weight from touch to touch.
_KEPT = 0.8


def prepare_blocks(count: int, budget: Budget, neighbors: Neighbors) -> tuple[Event, ...]:
    """Set the noise of so many blocks, those that one person may be in, to fit the budget."""
    asked = (GaussianEvent(BLOCK, count=count),)
    return calibrate_noise(budget, asked, neighbors=neighbors, weights=(1.0,))


@dataclass(frozen=True)
class BlockResult(Result):
    """What is believed after a block.

    Attributes
    ----------
    belief : Belief or RunningBelief
        Of released numbers, as the next block will be asked by.
    """

    belief: Belief | RunningBelief


@dataclass(frozen=True)
class StreamRelease:
    """Settings of a stream's releases.

    Attributes
    ----------
    n_components : int
        Dimension r of the subspace.
    row_norm : float
        Public bound R on the length of a row; longer ones are scaled down to it.
    forgetting : float
        f, in [0, 1]: least weight of a block against all earlier ones.
    largest_moment : int
        Most columns for which the whole moment is ever asked.
    cheap_moment : int
        Most columns for which it is preferred if the touching blocks are no better.
    max_blocks_per_person : int
        k: blocks that may hold a row of one person. Noise is set for so many.
    """

    n_components: int
    row_norm: float
    forgetting: float = 0.0
    largest_moment: int = 2000
    cheap_moment: int = 300
    max_blocks_per_person: int = 1

    @property
    def name(self) -> str:
        """What plans and errors call it."""
        return "one release per block"

    def prepare(
        self, problem: Belief, budget: Budget, neighbors: Neighbors
    ) -> Prepared[Belief, BlockResult]:
        """Set the noise of a block so that all blocks of one person stay within the budget.

        What is believed plays no part: each block has the same price, whatever it is asked.
        """
        events = prepare_blocks(self.max_blocks_per_person, budget, neighbors)
        return Prepared(self, problem, budget, events)

    @property
    def _tiny(self) -> float:
        return tiny_energy(self.row_norm)

    def run(self, curator: Curator, problem: Belief) -> BlockResult:
        """Ask one question about the curator's block, learn from its answer."""
        belief, n_rows = problem, curator.n_rows
        if self._asks_whole(belief, curator.n_features):
            answer = curator.answer(SecondMoment(self.row_norm), event=BLOCK)
            return BlockResult(self._learn_from_moment(belief, answer, n_rows))
        basis = belief.basis
        if basis is None:
            basis = self._any_basis(curator.n_features)
            belief = replace(belief, basis=basis)
        scale = self._best_scale(belief) if belief.known else 1.0
        answer = curator.answer(TouchingMoment(self.row_norm), (basis, scale), event=BLOCK)
        return BlockResult(self._learn_from_touch(belief, basis, scale, answer, n_rows))

    def _asks_whole(self, belief: Belief, width: int) -> bool:
        if width > self.largest_moment:
            return False
        if belief.basis is None or not belief.known:
            return True
        if belief.moment is None:  # going back would throw away what the tilts have told
            return False
        return width <= self.cheap_moment and self._phi(belief) > _WORTH

    def _any_basis(self, width: int) -> np.ndarray:
        """A public start: a fixed subspace in general position.

        Its seed is nobody else's, so that simulated truth does not coincide with it.
        """
        rng = np.random.default_rng(0x5375627370616365)
        return np.linalg.qr(rng.standard_normal((width, self.n_components)))[0]

    # The scale.

    def _energies(self, belief: Belief) -> tuple[float, float]:
        inside = belief.length2 / (1 + belief.ratio)
        return inside, belief.ratio * inside

    def _best_scale(self, belief: Belief) -> float:
        """The s of least noise, at most 1."""
        return best_scale(*self._energies(belief), self.row_norm, SMALLEST_SCALE)

    def _phi(self, belief: Belief) -> float:
        """Noise on the tilt by touching over that by the whole moment."""
        scale = self._best_scale(belief)
        return relative_noise(*self._energies(belief), self.row_norm, scale)

    # Learning from answers.

    def _learn_from_moment(self, belief: Belief, answer: Answer, n_rows: int) -> Belief:
        value, noise2 = answer.value / n_rows, (answer.noise_std / n_rows) ** 2
        left = self._has_left_moment(belief, value, math.sqrt(noise2))
        before = 0.0 if left or belief.moment is None else belief.moment
        old = 0.0 if left else (1 - self.forgetting) * belief.weight
        weight = old + 1.0
        mean = (old * before + value) / weight
        noise2 = (old**2 * belief.noise2 + noise2) / weight**2
        seen = read_moment(mean, noise2 / 2, n_rows * weight, self.n_components, self.row_norm)
        return replace(
            belief,
            basis=turn_to(seen.basis, belief.basis),
            precision=1 / max(seen.variance, LEAST_VARIANCE),
            known=seen.angle2 < KNOWN,
            length2=seen.length2,
            ratio=seen.outside / max(seen.inside, self._tiny) + min(seen.angle2, 1.0),
            scale=1.0,
            inside=None,
            moment=mean,
            weight=weight,
            noise2=noise2,
            losses=belief.losses + left,
        )

    def _learn_from_touch(
        self, belief: Belief, basis: np.ndarray, scale: float, answer: Answer, n_rows: int
    ) -> Belief:
        first, second, energy = (part / n_rows for part in answer.value)
        noise = answer.noise_std / n_rows
        width, size = basis.shape
        pooled = first
        if belief.inside is not None:
            # A shrinks with s by clipping: an old one counts less the further s has moved.
            kept = _KEPT * min(scale / belief.scale, belief.scale / scale) ** 2
            pooled = kept * belief.inside + (1 - kept) * first
        if belief.known and has_left(belief.inside, first, noise):
            return replace(
                belief, known=False, precision=0.0, moment=None, weight=0.0, inside=None,
                losses=belief.losses + 1,
            )  # fmt: skip
        outside = max(float(energy[0]), 2 * noise) * scale**2
        ratio = outside / max(float(np.trace(pooled)), noise * math.sqrt(size), self._tiny)
        values, vectors = np.linalg.eigh(pooled)
        gaps = np.maximum(
            values - outside / (width - size), max(noise * math.sqrt(size), self._tiny)
        )
        tilt = scale * (second @ vectors) / gaps @ vectors.T
        error2 = float(np.mean((scale * noise / gaps) ** 2)) / 2
        error2 += ratio * size / ((width - size) * n_rows) + LEAST_VARIANCE
        prior = self._prior(belief, tilt, error2)
        # A tilt is a tangent of angles, not an angle: V + tilt is a step of the power method, and
        # long tilts do not wrap around as they would along a geodesic.
        moved = nearest_basis(basis + tilt / (1 + prior * error2))
        precision = prior + 1 / error2
        length2 = belief.length2
        if scale == 1.0:  # nothing was stretched: lengths are those of the rows
            length2 = min(max(float(np.trace(first)) + outside, self._tiny), self.row_norm**2)
        return replace(
            belief,
            basis=moved,
            precision=precision,
            known=(width - size) / precision < KNOWN,
            length2=length2,
            ratio=ratio,
            scale=scale,
            inside=pooled if belief.known else None,  # it is of a V that has moved far since
            moment=None,
            weight=0.0,
        )

    def _has_left_moment(self, belief: Belief, value: np.ndarray, noise: float) -> bool:
        basis = belief.basis
        if belief.moment is None or basis is None or not belief.known:
            return False
        return has_left(basis.T @ belief.moment @ basis, basis.T @ value @ basis, noise)

    def _prior(self, belief: Belief, tilt: np.ndarray, error2: float) -> float:
        """Precision before the block: less if the tilt is larger than it allows.

        The test is at so many standard errors of a chi-square.
        """
        prior = (1 - self.forgetting) * belief.precision
        if not belief.known or prior == 0:
            return 0.0
        seen = float(np.mean(tilt**2))
        if seen > (1 + SURPRISE * math.sqrt(2 / tilt.size)) * (1 / prior + error2):
            prior = 1 / max(seen - error2, 1 / prior)
        return prior
