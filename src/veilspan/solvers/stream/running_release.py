r"""One release per block over running sums with correlated noise, and what is learned from them.

Every block is asked for the second moment of its rows, stretched around the last estimate V by 1/s
(:mod:`veilspan.queries.stream.stretched_moment`), with noise that takes back much of what earlier
noise has left in the running sum (:mod:`veilspan.privacy.correlation`). Blocks of one question are
a *segment*. With S = V V^T + s (I - V V^T), S y S of an answer y is a moment of plain rows again,
and the estimate is spanned by the leading eigenvectors of their mean. Noise of std q on a mean
answer tilts them by about q s / gap an entry.

*Stretching.* For rows with mean squares a2 inside and z2 outside, s over what clipping leaves of a
row is least at s^2 = z2 / max(a2, R^2 - a2). Rows near the subspace make s, and with it the noise
on a tilt, small. So a segment ends, and one with a smaller s around the new estimate begins, when
the noise would fall by a clear factor. The new one opens a triangular block of its own. That is
better than to carry the old noise on: y_t of the new segment would hold -B_t, which is of use to
sums that include earlier blocks alone. And it makes segments independent, so that what earlier ones
told, a precision J of the tilt's entries, enters by J / (J + 1/e^2), the posterior mean.

*Turning.* Within a segment s stays and V is the latest estimate: rows that are stretched around a
V beside their subspace are clipped so that tilts come out a few hundredths too short, for ever.
What it costs: the sum of S_t n_t S_t is no longer S N S with N the sum of the noise. By parts, a
turn of V by T leaves T N_t in it, of std |T| q beside s q: little, since turns are soon far below
s.

*Forgetting* f: sums are decayed by 1 - f a block, with noise made for that, and so is J.

*Rows that drift.* Where one block's own tilt is beyond what noise and precision allow, the sum
would lag: the block is weighed by its own noise, and a segment begins after it.

*Rows that leave.* If a direction of V loses its energy in a block that has as much of it as others,
all is forgotten. A block without rows (absent people) has none in any direction, and passes.

*Forgotten noise* (a copy or a restart): the answer then comes from place 0 of a new triangular
block. The segment before it is closed: its estimate becomes the centre of the next, or its mean,
if it was not stretched, is weighed against the next by their noise.

All of this is decided by released numbers; here is no row, so everything is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from veilspan.curator.answer import Answer, Carried
from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.correlation import Correlation
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.stream.stretched_moment import SMALLEST_SCALE, StretchedMoment
from veilspan.solvers.base import Prepared
from veilspan.solvers.stream.block_release import BLOCK, BlockResult, prepare_blocks
from veilspan.solvers.stream.departures import rows_left
from veilspan.solvers.stream.running_belief import RunningBelief
from veilspan.solvers.stream.spectra import (
    KNOWN,
    LEAST_VARIANCE,
    best_scale,
    nearest_basis,
    read_moment,
    relative_noise,
    tiny_energy,
    turn_to,
)
from veilspan.solvers.stream.tilts import read_block, read_sum, undo_stretch

# Tried on five settings of experiments/streams with seeds of their own: 0.6 and 0.85 in place of
# the first gain, 0.8 of the second, 2 and 6 of _FAR change no distance by more than a tenth; a
# second gain of 0.4 is 1.4 times as far after four blocks of rows with little noise.

#: Noise on a tilt over what it is now, below which stretching begins, or goes further. A segment of
#: j blocks makes up for one of i given up once j (1/gain^2 - 1) > 2 i: soon, if both are short.
_GAIN_FIRST, _GAIN = 0.75, 0.6
#: Standard deviations of a chi-square by which one block's tilt must exceed what is believed before
#: the sum is given up: a false alarm in 10^5 blocks or fewer.
_SURPRISE = 6
#: Squared tilt over what was known of it at which that is doubted.
_FAR = 3.0
#: Variance of a row's entry, in units of R^4, by which unstretched means are weighed beside noise.
_ROW_VARIANCE = 0.01


@dataclass(frozen=True)
class RunningRelease:
    """Settings of a stream's releases with correlated noise.

    Attributes
    ----------
    n_components : int
        Dimension r of the subspace.
    row_norm : float
        Public bound R on the length of a row; longer ones are scaled down to it.
    forgetting : float
        f, in [0, 1]: what a running sum loses a block.
    max_blocks_per_person : int
        k: blocks that may hold a row of one person. Noise is set for so many.
    band : int or None
        Least number of blocks from one of them to the next, at which the noise's memory ends; None
        for k = 1, where it need not end.
    """

    n_components: int
    row_norm: float
    forgetting: float = 0.0
    max_blocks_per_person: int = 1
    band: int | None = None

    @property
    def name(self) -> str:
        """What plans and errors call it."""
        return "one release per block, with correlated noise"

    @property
    def correlation(self) -> Correlation:
        """How the noise of the blocks hangs together."""
        return Correlation(self.band, 1 - self.forgetting)

    def prepare(
        self, problem: RunningBelief, budget: Budget, neighbors: Neighbors
    ) -> Prepared[RunningBelief, BlockResult]:
        """Set the noise of a block so that all blocks of one person stay within the budget.

        What is believed plays no part: each block has the same price, whatever it is asked.
        """
        events = prepare_blocks(self.max_blocks_per_person, budget, neighbors)
        return Prepared(self, problem, budget, events)

    def run(self, curator: Curator, problem: RunningBelief) -> BlockResult:
        """Ask one question about the curator's block, learn from its answer."""
        point = None if problem.scale == 1 else (problem.basis, problem.scale)
        answer = curator.answer(
            StretchedMoment(self.row_norm, self.n_components),
            point,
            event=BLOCK,
            carried=Carried(self.correlation, fresh=problem.total is None),
        )
        return BlockResult(self._learn(problem, answer, curator.n_rows))

    @property
    def _tiny(self) -> float:
        return tiny_energy(self.row_norm)

    # Learning from answers.

    def _learn(self, belief: RunningBelief, answer: Answer, n_rows: int) -> RunningBelief:
        if answer.place == 0 and belief.total is not None:
            belief = self._close(belief, answer.noise_std, n_rows)
        single = answer.noise_std * self.correlation.single_std(answer.place) / n_rows
        alone = answer.value / n_rows
        if rows_left(belief, alone, single, n_rows):
            return self._begin_again(belief, alone, single, n_rows)
        moved = self._follow(belief, alone, single, n_rows)
        if moved is not None:
            return moved
        kept, value, basis = 1 - self.forgetting, answer.value, belief.basis
        if belief.scale < 1:
            assert basis is not None
            value = undo_stretch(value, basis, belief.scale)
        belief = replace(
            belief,
            recent=None if basis is None else basis.T @ alone @ basis,
            total=value + (0.0 if belief.total is None else kept * belief.total),
            traces=float(np.trace(answer.value)) + kept * belief.traces,
            answers=belief.answers + 1,
            weight=1 + kept * belief.weight,
            weight2=1 + kept**2 * belief.weight2,
            leak=kept**2 * belief.leak,
            prior=kept * belief.prior,
            rows=kept * belief.rows,
        )
        assert belief.total is not None
        whole = belief.weight * n_rows
        std = answer.noise_std * self.correlation.sum_std(answer.place) / whole
        rows = n_rows * belief.weight**2 / belief.weight2
        mean = belief.total / whole
        if belief.scale == 1:
            return self._learn_plain(belief, *_weigh(belief, mean, std**2, rows, self.row_norm))
        found = self._learn_tilt(belief, mean, std, rows, belief.leak / whole**2)
        assert found.basis is not None
        assert belief.basis is not None
        turn2 = float(np.mean((found.basis - belief.basis) ** 2))
        return self._stretch_further(replace(found, leak=found.leak + turn2 * (std * whole) ** 2))

    def _learn_plain(
        self, belief: RunningBelief, mean: np.ndarray, noise2: float, rows: float
    ) -> RunningBelief:
        """The leading eigenvectors of an unstretched mean; stretch from now on, if that pays."""
        seen = read_moment(mean, noise2 / 2, rows, self.n_components, self.row_norm)
        belief = replace(
            belief,
            basis=turn_to(seen.basis, belief.basis),
            precision=1 / max(seen.variance, LEAST_VARIANCE),
            length2=seen.length2,
            ratio=seen.outside / max(seen.inside, self._tiny) + min(seen.angle2, 1.0),
        )
        if seen.angle2 >= KNOWN:
            return belief
        inside, outside = self._energies(belief)
        scale = best_scale(inside, outside, self.row_norm, SMALLEST_SCALE)
        if relative_noise(inside, outside, self.row_norm, scale) < _GAIN_FIRST:
            return belief.start_segment(scale, belief.precision)
        return belief

    def _learn_tilt(
        self, belief: RunningBelief, mean: np.ndarray, std: float, rows: float, leak: float
    ) -> RunningBelief:
        """The tilt from the segment's first centre, drawn to it by what was known before."""
        centre, prior = belief.centre, belief.prior
        assert centre is not None
        seen = read_sum(mean, centre, belief.scale, std, leak, rows)
        if seen is None:  # nobody was there
            return replace(belief, precision=prior)
        if prior > 0 and seen.size2 > _FAR * (seen.error2 + 1 / prior):
            prior = 1 / max(seen.size2 - seen.error2, 1 / prior)
        return replace(
            belief,
            basis=nearest_basis(centre + seen.tilt / (1 + prior * seen.error2)),
            precision=prior + 1 / seen.error2,
            ratio=seen.ratio,
            prior=prior,
        )

    def _stretch_further(self, belief: RunningBelief) -> RunningBelief:
        """Begin a segment with a smaller stretch where that pays, without one if all is lost."""
        assert belief.basis is not None
        width, size = belief.basis.shape
        if width - size >= KNOWN * belief.precision:
            return belief.start_segment(1.0, 0.0)
        left = (width - size) / belief.precision  # squared angle to the truth
        inside, outside = self._energies(belief)
        now = relative_noise(inside, outside, self.row_norm, belief.scale)
        outside += left * inside
        scale = best_scale(inside, outside, self.row_norm, SMALLEST_SCALE)
        if relative_noise(inside, outside, self.row_norm, scale) < _GAIN * now:
            return belief.start_segment(scale, belief.precision)
        return belief

    def _energies(self, belief: RunningBelief) -> tuple[float, float]:
        inside = belief.length2 / (1 + belief.ratio)
        return inside, belief.ratio * inside

    # Noise that was forgotten, rows that moved or left.

    def _close(self, belief: RunningBelief, noise_std: float, n_rows: int) -> RunningBelief:
        """End a segment whose noise is gone; what it told is kept."""
        if belief.scale < 1:
            return belief.start_segment(belief.scale, belief.precision)
        assert belief.total is not None
        last = self.correlation.sum_std(belief.answers - 1)
        std = noise_std * last / (belief.weight * n_rows)
        rows = n_rows * belief.weight**2 / belief.weight2
        mean = belief.total / (belief.weight * n_rows)
        mean, noise2, rows = _weigh(belief, mean, std**2, rows, self.row_norm)
        closed = belief.start_segment(1.0, 0.0)
        return replace(closed, moment=mean, noise2=noise2, rows=rows)

    def _follow(
        self, belief: RunningBelief, value: np.ndarray, noise: float, n_rows: int
    ) -> RunningBelief | None:
        """A segment that begins with this block's own tilt, if that is beyond what is believed.

        Rows drift then: their sum would lag behind, and the block counts by its own noise.
        """
        basis, scale = belief.basis, belief.scale
        if belief.total is None or scale == 1:
            return None
        assert basis is not None
        seen = read_block(value, basis, scale, noise, n_rows)
        known2 = 1 / belief.precision
        surprise = 1 + _SURPRISE * math.sqrt(2 / (basis.size - basis.shape[1] ** 2))
        if seen is None or seen.size2 <= surprise * (known2 + seen.error2):
            return None
        prior = 1 / max(seen.size2 - seen.error2, known2)
        moved = replace(
            belief,
            basis=nearest_basis(basis + seen.tilt / (1 + prior * seen.error2)),
            precision=prior + 1 / seen.error2,
        )
        # Rows will go on to move as far as they did.
        inside, outside = self._energies(belief)
        outside += inside * (len(basis) - basis.shape[1]) * seen.size2
        further = best_scale(inside, outside, self.row_norm, SMALLEST_SCALE)
        if further == 1 or len(basis) - basis.shape[1] >= KNOWN * moved.precision:
            return moved.start_segment(1.0, 0.0)
        return moved.start_segment(max(further, scale), moved.precision)

    def _begin_again(
        self, belief: RunningBelief, value: np.ndarray, noise: float, n_rows: int
    ) -> RunningBelief:
        """Forget all but this block, which counts as a segment of its own if it can."""
        plain = belief.scale == 1
        belief = replace(belief.start_segment(1.0, 0.0), precision=0.0, losses=belief.losses + 1)
        if not plain:
            return belief
        belief = replace(belief, moment=value, noise2=noise**2, rows=float(n_rows))
        return self._learn_plain(belief, value, noise**2, float(n_rows))


def _weigh(
    belief: RunningBelief, mean: np.ndarray, noise2: float, rows: float, row_norm: float
) -> tuple[np.ndarray, float, float]:
    """A segment's mean and those before it, weighed by their noise; noise variance and rows."""
    if belief.moment is None or belief.rows <= 0:
        return mean, noise2, rows
    row2 = _ROW_VARIANCE * row_norm**4
    here = 1 / (noise2 + row2 / rows)
    share = here / (here + 1 / (belief.noise2 + row2 / belief.rows))
    both = share * mean + (1 - share) * belief.moment
    return both, share**2 * noise2 + (1 - share) ** 2 * belief.noise2, rows + belief.rows
