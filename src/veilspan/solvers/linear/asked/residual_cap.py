r"""The cap of residuals of a regression, chosen by a paid answer.

Least squares have no bound on their slopes: noise must cover the longest gradient of a row, so
gradients are cut at a cap C. A small cap means little noise, and bias: with r the residual of a
row, what is cut is e = (|r| - C)_+ sign(r), and the fitted scores miss the part of e that the
columns can express. The cost of a cap, as a mean of squares of scores, is taken for

    m^2 + B (v - m^2)  +  A (C s)^2,        m = mean e,  v = mean e^2:

m is missed in full by an intercept that wants it; of the rest the columns express a share, B = 0.1
of it is assumed; s C is the std of the noise in each coordinate of the mean gradient, over the
steps that are still to come, and A is what a unit of it comes to in the scores, the trace of the
inverse curvature. The second part falls as C grows, the third grows, and with s the best C goes to
the longest residual: **bias does not outlive the noise**, whatever the shape of the residuals.

m and v come from one noisy histogram of the residuals (event "residuals",
:class:`~veilspan.queries.linear.residual_histogram.ResidualHistogram`, sensitivity 1 under
add-remove and sqrt(2) under replace-one), asked after a quarter of the steps and paid for with 2 %
of the budget (of mu^2). The choice is post-processing. It moves the clip of later steps alone:
their number and their noise multipliers, noise over sensitivity, were fixed by public numbers
before, so that what they cost is what was planned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.curator.curator import Answer, Curator
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.linear.residual_histogram import ResidualHistogram
from veilspan.queries.linear.slope_gradient import SlopeGradient
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.steps import STEP

RESIDUALS = "residuals"
#: Caps to choose from, as fractions of half of the range of targets; edges of the bins as well.
CAPS = 0.02 * np.sqrt(2.0) ** np.arange(15)
EDGES = np.concatenate([-CAPS[::-1], CAPS])
#: Share of what is cut, beside its mean, that columns are taken to express.
EXPRESSED = 0.1
#: Counts below so many stds of their noise are taken for nothing.
NOTHING = 4.0
#: Share of the rows that must be seen above the noise for a choice.
SEEN = 0.5


@dataclass(frozen=True)
class ResidualCap:
    """How a cap is chosen (see the module).

    Parameters
    ----------
    share : float
        Share of the budget (of mu^2) for the histogram.
    after : float
        Part of the steps that is taken before it is asked for.
    """

    share: float = 0.02
    after: float = 0.25

    def __post_init__(self) -> None:
        for name, value in (("share", self.share), ("after", self.after)):
            if not 0 < value < 1:
                raise ValueError(f"{name} must lie strictly between 0 and 1; got {value}.")

    @property
    def event(self) -> GaussianEvent:
        """What is asked, to be calibrated with the steps."""
        return GaussianEvent(RESIDUALS)

    def place(self, steps: int) -> int:
        """The step before which the cap is chosen."""
        return min(max(1, round(self.after * steps)), steps - 1)

    def choose(
        self,
        curator: Curator,
        loss: LinearLoss,
        theta: np.ndarray,
        noise: float,
        rows: float,
        before: float,
    ) -> float:
        """Ask for the residuals at theta, and choose (event "residuals").

        Parameters
        ----------
        curator : Curator
            Over scaled rows, with targets in [-1, 1].
        loss : LinearLoss
            With slopes that have no bound.
        theta : array of shape (p,)
            Where the steps have come so far.
        noise : float
            sqrt(A) s: what noise of a cap of 1 comes to in the scores.
        rows : float
            Their number, public or noisy.
        before : float
            The cap so far, which is kept where noise hides half of the rows.
        """
        return best_cap(self.ask(curator, loss, theta), noise, rows, before)

    def ask(self, curator: Curator, loss: LinearLoss, theta: np.ndarray) -> Answer:
        """The histogram of residuals at theta (event "residuals")."""
        return curator.answer(ResidualHistogram(loss, EDGES), theta, event=RESIDUALS)


def with_cap(
    cap: ResidualCap | None,
    problem: LinearProblem,
    budget: Budget,
    events: tuple[Event, ...],
    shares: tuple[float, ...],
) -> tuple[tuple[Event, ...], tuple[float, ...]]:
    """Events and shares of a solver, the histogram of residuals among them if there is a cap.

    Without privacy nothing is cut, and nothing asked.
    """
    if cap is None:
        return events, shares
    if math.isfinite(problem.loss.slope_bound) or problem.loss.n_outputs > 1:
        raise ValueError(
            f"a cap is chosen for least squares, and the {problem.loss.name} loss has bounded "
            "slopes: leave cap=None."
        )
    if not budget.is_private:
        return events, shares
    rest = (1 - cap.share) / sum(shares)
    return (cap.event, *events), (cap.share, *(share * rest for share in shares))


def cap_place(cap: ResidualCap, curator: Curator, steps: int) -> int | None:
    """The step before which a cap is chosen; ``None`` where the plan has none."""
    if steps < 2 or not curator.plan.budget.is_private:
        return None
    return cap.place(steps)


def noise_of_steps(curator: Curator, problem: LinearProblem, steps: int, rows: float) -> float:
    """Std of each coordinate of the mean of some gradients that are cut at 1."""
    unit = SlopeGradient(problem.loss, 1.0).sensitivity(curator.plan.neighbors)
    return curator.planned(STEP).noise_multiplier * unit / (rows * math.sqrt(steps))


def seen_shares(answer: Answer, rows: float) -> np.ndarray | None:
    """Shares of the rows in each bin, as far as they stand out of the noise; none if it hides them.

    ``None`` where fewer than half of the rows are seen.
    """
    counts = np.asarray(answer.value)
    counts = np.where(counts > NOTHING * answer.noise_std, counts, 0.0)
    total = counts.sum()
    return None if total < SEEN * rows else np.asarray(counts / total)


def best_cap(answer: Answer, noise: float, rows: float, before: float) -> float:
    """The cap of least cost: post-processing of a noisy histogram."""
    shares = seen_shares(answer, rows)
    if shares is None:
        return before
    middles = (EDGES[1:] + EDGES[:-1]) / 2
    places = np.concatenate([[EDGES[0]], middles, [EDGES[-1]]])
    cut = np.sign(places) * np.maximum(np.abs(places) - CAPS[:, None], 0.0)
    mean, square = cut @ shares, cut**2 @ shares
    cost = mean**2 + EXPRESSED * (square - mean**2) + (noise * CAPS) ** 2
    return float(CAPS[np.argmin(cost)])
