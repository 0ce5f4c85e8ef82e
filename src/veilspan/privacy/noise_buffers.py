r"""The memory of correlated noise: secret, on a grid, never written.

Answers with correlated noise (``privacy.correlation``) are y_t = g_t + (z_t - B_t) / C_tt, where
B_t = sum_{u<t} C_tu n_u is what earlier noise leaves to take back. It is kept in a few buffers of
the size of an answer: b_j <- th_j b_j + k w_j n_t for each memory, or the last noises for a band.

**Secret.** With the releases, the buffers tell the noise, and with it exact sums. So a pickle or a
copy of them is empty, and so are they in the child of a fork: whoever goes on there opens a new
triangular block, which keeps the guarantee. Were they carried along, two processes would release
different rows of C under the same columns, which then have norms up to sqrt(2).

**On the grid.** An exact sum is rounded to the answer's grid g, q(g_t), and so is B_t / C_tt; noise
of std s / C_tt is drawn and rounded to it as for any answer (``privacy.grid``, or ``discrete``),
and what is taken into the buffers is y_t - q(g_t), which float64 holds exactly. So given earlier
releases an answer is a number on the grid plus noise on the grid, and (1) of the theorem holds for
it to the last bit, with the *computed* buffers in the place of B_t. What rounding does is to (2):
the two tables' buffers differ not by exactly the sum of C_tu (q(g_u) - q(g'_u)).

*Slack.* Buffers are integers times g / 256, none beyond 2^50 of these units. On one table, in them:

1. A memory's update errs by less than 1: two products and a sum of numbers up to 2^50 err by at
   most 3/8 (2^-53 times 3 2^50), rounding to an integer by 1/2. Errors decay like the memory, so
   they add up to less than E = sum_j 1 / (1 - th_j). A sum of five buffers is exact. A band's
   noises err by less than 1 each as they are stored, and by at most 32 in their weighted sum (31
   products of weights that add up to less than 6), so E = 32 + sum_m a_m.
2. B_t / C_tt is rounded once more, to g: by at most g / 2, and by 2^-6 g for the division.

So on two tables C_tt (m_t - m'_t) is within e g = (1.1 + 2 E / 256) g of the linear sum in every
one of p coordinates, in the rows from the person's block to the end of the triangular block: N =
``LONGEST`` of them, or b with a band. By Minkowski's inequality over rows and coordinates

    (sum_t |s_t|^2)^(1/2) <= |d| + e g sqrt(p N),

where |d| includes the rounding of the sums themselves. ``slack_steps`` is e sqrt(N);
``noise_scale`` adds it to the sensitivity, so the noise covers it. Without an end N the bound would
be infinite: a difference of one step may never die out. That is why a triangular block has one.

*Clipping* to 2^50 never happens to noise that anybody will see (the grid is at most 2^36 finer than
the noise, so it takes noise of 64 standard deviations). If it does, it only shrinks: all weights
are positive and clipping is monotone with slope at most 1, so entry by entry the two tables'
buffers lie no further apart than the linear ones, with the errors of (1) on top.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from veilspan.privacy.correlation import LONGEST, Correlation
from veilspan.privacy.grid import NoiseScale

#: The buffers' unit is the answer's grid over this.
_FINER = 2.0**8
#: No buffer holds more units than this.
_MOST_UNITS = 2.0**50
#: Bits by which the grid of a correlated answer may at most be finer than its noise.
FINEST_BITS = 36


def slack_steps(correlation: Correlation) -> float:
    """Grid steps (times the root of the coordinates) that rounded buffers add to a sensitivity."""
    if correlation.independent:
        return 0.0
    if correlation.band is None:
        errors, rows = float(np.sum(1 / (1 - correlation.decays))), LONGEST
    else:
        errors, rows = 32.0 + float(correlation.weights.sum()), correlation.band
    return math.sqrt(rows) * (1.1 + 2 * errors / _FINER)


class NoiseBuffers:
    """What correlated noise remembers of itself: empty in every copy, pickle and forked child.

    An answer takes three calls: :meth:`begin`, :meth:`centre` for what noise is added to, and
    :meth:`take` with what was given out. One that breaks off before the last leaves the buffers as
    they are: its column then has no entries below, which is always allowed.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._owner = os.getpid()
        self._place = -1  # of the last answer
        self._fits: tuple[Any, ...] = ()
        self._units = np.empty((0, 0))

    def begin(
        self, correlation: Correlation, fresh: bool, scale: NoiseScale, coordinates: int
    ) -> int:
        """Return the next answer's place in its triangular block; 0 opens a new one.

        That is the case if ``fresh`` asks for it, after :data:`LONGEST` answers, in a forked child,
        and where columns, noise or coordinates are others than before.
        """
        fits = (correlation, scale, coordinates)
        full = self._place + 1 >= LONGEST
        if fresh or full or self._owner != os.getpid() or self._fits != fits:
            self._forget()
            self._fits = fits
            self._units = np.zeros((len(correlation.weights), coordinates))
        return self._place + 1

    @property
    def scale(self) -> NoiseScale:
        """The next answer's own noise: of std s / C_tt."""
        correlation, scale, _ = self._fits
        diagonal, _ = correlation.column(self._place + 1)
        return NoiseScale(scale.std / diagonal, scale.step, scale.sensitivity)

    def centre(self, exact: np.ndarray) -> np.ndarray:
        """The sum, on the grid, less what earlier noise leaves to take back."""
        correlation, scale, _ = self._fits
        if scale.std == 0:
            return exact
        diagonal, _ = correlation.column(self._place + 1)
        total = self._units.sum(axis=0)
        if correlation.band is not None:
            total = correlation.weights @ self._units
        back = np.rint(total / (diagonal * _FINER))
        return np.asarray((np.rint(exact / scale.step) - back) * scale.step)

    def take(self, given: np.ndarray, exact: np.ndarray) -> None:
        """Remember the noise of what was given out for an exact sum."""
        correlation, scale, _ = self._fits
        _, factor = correlation.column(self._place + 1)
        if scale.std > 0:
            noise = (given / scale.step - np.rint(exact / scale.step)) * _FINER
            np.clip(noise, -_MOST_UNITS, _MOST_UNITS, out=noise)
            if correlation.band is None:
                enters = np.multiply.outer(factor * correlation.weights, noise)
                units = correlation.decays[:, None] * self._units + enters
            else:
                units = np.vstack([factor * noise, self._units])[: correlation.band - 1]
            np.rint(units, out=units)
            self._units = np.clip(units, -_MOST_UNITS, _MOST_UNITS, out=units)
        self._place += 1

    def __reduce__(self) -> Any:
        return type(self), ()

    def __repr__(self) -> str:
        return "NoiseBuffers(secret)"
