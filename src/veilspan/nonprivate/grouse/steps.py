r"""Step rules of GROUSE, as values.

A row with projection p and residual r turns the basis by the angle

.. math:: \theta = \arctan\Bigl(f \, \frac{\|r\|}{\|p\|}\Bigr), \qquad f = 1 - \alpha \in [0, 1]

(Zhang & Balzano 2016, eq. 3). A rule says how large the *fraction* f is: 1 turns all the way to
the row, 0 ignores it. A fraction has no unit, so no rule depends on the scale of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from veilspan.nonprivate.grouse.loops import CONSTANT, DIMINISHING, GREEDY, NOISY, Settings


@dataclass(frozen=True)
class StepRule:
    """Base of the rules; use one of the subclasses."""

    def settings(
        self, n_features: int, n_components: int, *, floor: float = 0.0, alarm: float = 0.0
    ) -> Settings:
        """Return the rule as plain numbers for a basis of this shape, for the compiled loops."""
        kind, size, warm_up, ratio = self._code(_settling_rows(n_features, n_components))
        # Slow averages remember this many rows: 20 for each direction, and 200.
        gain = 1.0 / (20.0 * n_components + 200.0)
        return Settings(kind, size, warm_up, ratio, n_components, gain, floor, alarm)

    def _code(self, settling: float) -> tuple[int, float, float, float]:
        raise NotImplementedError


@dataclass(frozen=True)
class GreedyStep(StepRule):
    """All the way to each row, f = 1: the best step without noise (section 3.1 of the paper)."""

    def _code(self, settling: float) -> tuple[int, float, float, float]:
        return GREEDY, 1.0, settling, 0.0


@dataclass(frozen=True)
class NoisyStep(StepRule):
    r"""The fraction of the residual that is not noise.

    **With a given ratio**: eq. (8) of the paper with c = 1, and alpha clipped to [0, 1] (the
    printed one exceeds 1 in a fifth of the late steps). For m observed entries:

    .. math:: \alpha = \frac{\sigma^2}{1 + \sigma^2} \Bigl(1 - \frac dm\Bigr)
        \frac{\|x\|^2}{\|r\|^2}

    **Without one** the noise is estimated. Let :math:`\tau^2` be its variance per entry, which
    need not grow with the row, and :math:`s` the expected error of the subspace in the residual
    relative to the noise: :math:`E\|r\|^2 = (m - d)\, \tau^2 (1 + s)`. For a small error
    :math:`\Theta`, a step of fraction f leaves :math:`\Theta - f (\Theta w + \xi) w^\top / |w|^2`,
    hence, for coefficients of equal strength in all d directions,

    .. math:: s \leftarrow s + \frac1d \Bigl(\frac{f^2}{q} - (2 f - f^2)\, s\Bigr), \qquad
        q = \frac{\|w\|^2}{E\|w\|^2}

    (with :math:`q + f^2 (m - d) \tau^2 / E\|w\|^2` in place of q, because an angle is bounded).

    Greedy steps lead to s = 1 at any level of noise, so after a greedy warm-up s is known and
    :math:`\hat\tau^2 = \overline{\|r\|^2 / (m - d)} / (1 + s)` follows from recent residuals. It
    falls as fast as they do, and rises slowly, so that a moved subspace is not taken for noise.
    The fraction that lowers s most is :math:`s q / (1 + s q)`, which decays like d / t; 1.5 s in
    place of s learns weak directions twice as fast at a third more variance. A residual
    beyond the quantile 1 - 3e-7 of what :math:`\tau^2` and s explain says that the subspace has
    moved: then :math:`f = 1 - \tau^2 (m - d) / \|r\|^2`, as in eq. (8), and s grows by the formula.
    A subspace that drifts all the time needs ``forgetting``, a floor under f.

    Parameters
    ----------
    noise_variance : float, optional
        :math:`\sigma^2`, the energy of the noise relative to that of the signal,
        :math:`E\|\xi\|^2 / \|v\|^2` (Condition 1 of the paper). ``None`` estimates.
    """

    noise_variance: float | None = None

    def __post_init__(self) -> None:
        if self.noise_variance is not None:
            _check_number(self.noise_variance, "noise_variance", 0.0, math.inf)

    def _code(self, settling: float) -> tuple[int, float, float, float]:
        if self.noise_variance is None:
            return NOISY, 1.0, settling, -1.0
        return NOISY, 1.0, 0.0, float(self.noise_variance)


@dataclass(frozen=True)
class ConstantStep(StepRule):
    """A constant fraction: a row's weight fades by half in about 0.7 d / size rows."""

    size: float = 0.1

    def __post_init__(self) -> None:
        _check_number(self.size, "size", 0.0, 1.0, open_low=True)

    def _code(self, settling: float) -> tuple[int, float, float, float]:
        return CONSTANT, float(self.size), settling, 0.0


@dataclass(frozen=True)
class DiminishingStep(StepRule):
    """f = initial * min(1, rows / t), for streams whose subspace never moves.

    Parameters
    ----------
    initial : float
        First fraction.
    rows : float, optional
        Rows before it shrinks; ``None`` is 2 d log n, what a start from nowhere needs.
    """

    initial: float = 1.0
    rows: float | None = None

    def __post_init__(self) -> None:
        _check_number(self.initial, "initial", 0.0, 1.0, open_low=True)
        if self.rows is not None:
            _check_number(self.rows, "rows", 1.0, math.inf)

    def _code(self, settling: float) -> tuple[int, float, float, float]:
        rows = settling if self.rows is None else float(self.rows)
        return DIMINISHING, float(self.initial), rows, 0.0


def step_rule(step: Any, noise_variance: float | None = None) -> StepRule:
    """Return the step rule that a parameter names: ``"noisy"``, ``"greedy"``, or a rule itself."""
    if isinstance(step, StepRule):
        if noise_variance is not None:
            raise ValueError('noise_variance belongs to step="noisy"; give it to your rule.')
        return step
    if step == "noisy":
        return NoisyStep(noise_variance)
    if step == "greedy":
        if noise_variance is not None:
            raise ValueError('step="greedy" takes no noise_variance; use step="noisy".')
        return GreedyStep()
    raise ValueError(f'step must be "noisy", "greedy" or a rule of steps; got {step!r}.')


def _settling_rows(n_features: int, n_components: int) -> float:
    """Rows from a random start to the neighbourhood of the subspace.

    Measured: 1.2 to 1.9 d log n without noise, for n from 500 to 5000 and d from 10 to 50 (the
    bound of theorem 2 is far larger).
    """
    return math.ceil(2 * n_components * math.log(max(n_features, 3)))


def _check_number(
    value: Any, name: str, low: float, high: float, *, open_low: bool = False
) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number; got {type(value).__name__}.")
    below = value <= low if open_low else value < low
    if below or value > high or not math.isfinite(value):
        raise ValueError(f"{name} must lie between {low:g} and {high:g}; got {value}.")
