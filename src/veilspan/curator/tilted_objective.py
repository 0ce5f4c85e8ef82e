r"""Sums over rows of a tilted objective, and its minimum. Nothing here leaves the curator.

Newton's method, made to end on every table. Below, g is the computed gradient at theta, E(theta)
the bound on its rounding error (``Tolerance.error``) and K a public bound on the curvature of J.

*A step is taken* from theta along d if it halves the shortest gradient so far, or if J certainly
falls: the place moved by m, as float64 has it, with |m| >= |g| / 80 K and
<g', m> <= -(E' + (p + 2) 2^-53 |g'|) |m| for the computed gradient g' there (``_falls``). First
d = -H^-1 g is tried, H of this theta or of an earlier one while that serves well, and shortened, to
0.1 to 0.9 of its length at a time, while it is longer than |g| / 40 K. If nothing is taken,
theta - g / 4K is.

*Why it ends.* Steps of the first kind are fewer than 1 + log2(|g_0| / 4 E(2.1 R)), as |g| stays
above 4 E(2.1 R), see below; each may raise J by a finite amount. Of the second kind: J is strongly
convex with constant lam, so it falls by at least lam |m|^2 / 2 >= lam |g|^2 / (12800 K^2), rounding
of the place and of the product included; how d was found plays no part, so neither an inaccurate
factor nor conjugate gradients that break off can do harm. Of the third kind: while |g| is at least
4 E(theta), <grad J(theta), g> >= 3/4 |g|^2, and along -g / 4K the derivative grows by at most
|g|^2 / 4, so J falls by at least |g|^2 / 8K, and by |g|^2 / 17K where the place is rounded, as
E(theta) >= 4 K 2^-53 |theta|. As J is bounded below, that lasts finitely long.

*|g| >= 4 E(theta) until the end.* For |theta| <= 2.1 R: tau = 5 E(2.1 R) + tilt, and the search
goes on only if |g| + E(theta) + tilt > tau. For a longer theta it goes on only if |theta| is less
than 2 R + (|g| + E + tilt) / lam, hence |g| + E + tilt > lam |theta| / 21. There E + tilt is at
most lam |theta| / 105: it is so at 2.1 R by ``Tolerance.certifiable``, a public condition that is
checked before any row is read, and (E + tilt) / |theta| falls as |theta| grows. So |g| is more than
4 lam |theta| / 105, at least 4 E(theta) and at least 0.08 lam R >= 4 E(2.1 R).

*No factorisation fails.* H is a sum of squares up to rounding, which may leave it indefinite where
lam is near 2^-53 n times its entries. It then gets a larger multiple of I, and more until its
Cholesky factor exists: at the latest when the multiple dominates H.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.curator.plain_minimum import minimise_exactly
from veilspan.curator.rows import Block, scores_of
from veilspan.curator.weighted_gram import weighted_gram
from veilspan.privacy.events import ObjectiveEvent
from veilspan.privacy.grid import UNIT_ROUNDOFF

if TYPE_CHECKING:
    from veilspan.curator.objective_door import RowLoss, Tolerance

WIDEST_HESSIAN = 2000  # columns: beyond, H is only multiplied by vectors
CAUTION = 1 - 1e-9  # rows and slopes stay this much inside their bounds, for rounding
EXACT_STEPS = 100  # of a minimisation without privacy
SHORTEST = 40.0  # a Newton step is shortened to |g| / (40 K) at most
ENOUGH = 8.0  # a step that shortens the gradient by this much keeps its H for the next one


class TiltedObjective:
    """Gradient and curvature of sum_i l_i(<x_i, theta>) + lam/2 |theta|^2, a block at a time."""

    def __init__(
        self,
        total: Callable[[Callable[[Block], np.ndarray]], np.ndarray],
        loss: RowLoss,
        event: ObjectiveEvent,
        n_features: int,
    ) -> None:
        self._total = total
        self.loss, self.event = loss, event
        self.shape: tuple[int, ...] = (
            (n_features,) if loss.n_outputs == 1 else (n_features, loss.n_outputs)
        )
        self._factor: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """What a sum over blocks needs elsewhere: not the way to the rows."""
        return {**vars(self), "_total": None, "_factor": None}

    def row_gradient(self, theta: np.ndarray) -> np.ndarray:
        """Gradient at theta of the losses and the quadratic term, without the tilt."""
        return self._sum(lambda block, shrink, cap: self._slopes_sum(block, shrink, cap, theta)) + (
            self.event.lam * theta
        )

    def solve(self, theta: np.ndarray, gradient: np.ndarray, *, anew: bool = True) -> np.ndarray:
        """-H^-1 gradient, by Cholesky where H is small, else by conjugate gradients.

        Unless ``anew``, the last factor of H serves again: H of another theta has the same bounds.
        """
        p = self.shape[0]
        if len(self.shape) > 1 or p > WIDEST_HESSIAN:
            return self._conjugate_gradients(theta, gradient)
        from scipy.linalg import cho_solve

        if anew or self._factor is None:
            h = self._sum(lambda block, shrink, cap: self._hessian(block, shrink, cap, theta))
            self._factor = shifted_factor(h, self.event.lam)
        return -np.asarray(cho_solve(self._factor, gradient))

    def curvature_bound(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Divide by L sum_i x_i x_i^T + lam I, which no H exceeds; None where that is too wide."""
        if self.shape[0] > WIDEST_HESSIAN:
            return None
        from scipy.linalg.lapack import dpotrs

        h = self._sum(lambda block, shrink, cap: weighted_gram(block.x, shrink))
        h *= self.event.smoothness
        factor, lower = shifted_factor(h, self.event.lam)
        # ``cho_solve`` is this, after more checks than a small system takes to be solved.
        return lambda gradient: np.asarray(dpotrs(factor, gradient, lower=lower)[0])

    def _sum(self, part: Callable[[Block, np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        """Sum over blocks, in groups, as ``tolerance_of`` counts on."""
        return self._total(lambda block: part(block, *self._limits(block)))

    def _limits(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """What shortens each row to its length, and the largest slope that it may then have.

        Kept with the block: every gradient asks for them.
        """
        bounds = self.event.row_length, self.event.clip
        kept: Any = block.__dict__.get("limits")
        if kept is None or kept[0] != bounds:
            kept = bounds, self._find_limits(block)
            block.__dict__["limits"] = kept
        found: tuple[np.ndarray, np.ndarray] = kept[1]
        return found

    def _find_limits(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        longest = self.event.row_length * CAUTION
        lengths = np.sqrt(block.squared_lengths)
        with np.errstate(divide="ignore"):
            shrink = np.minimum(1.0, longest / lengths)
            cap = self.event.clip * CAUTION / np.minimum(lengths, longest)
        if block.present is not None:  # shortened to nothing: no slope, no curvature
            shrink = np.where(block.present, shrink, 0.0)
        return shrink, cap

    def _targets(self, block: Block) -> np.ndarray:
        """Targets that a loss cannot be misled by: signs, class numbers, or the numbers."""
        if block.y is None:
            raise ValueError("a linear model needs targets.")
        if self.event.shape == "softmax":
            kept: Any = block.__dict__.get("class numbers")
            if kept is None or kept[0] != self.event.classes:
                numbers = np.clip(np.rint(block.y), 0, self.event.classes - 1).astype(np.intp)
                kept = self.event.classes, numbers
                block.__dict__["class numbers"] = kept
            return np.asarray(kept[1])
        if not self.loss.margin:
            return block.y
        signs = block.__dict__.get("signs")
        if signs is None:
            signs = block.__dict__["signs"] = np.where(block.y > 0, 1.0, -1.0)
        return np.asarray(signs)

    def _slopes(
        self, block: Block, shrink: np.ndarray, cap: np.ndarray, theta: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Scores, targets, slopes as the loss has them, and slopes as they are kept."""
        y = self._targets(block)
        scores = scores_of(block.x, theta)
        scores *= shrink if scores.ndim == 1 else shrink[:, None]
        raw = self.loss.slope(scores, y)
        if self.event.shape == "softmax":
            return scores, y, raw, raw
        if self.event.shape == "two-sided":
            return scores, y, raw, np.clip(raw, -cap, cap)
        return scores, y, raw, y * np.clip(y * raw, -cap, 0.0)

    def _slopes_sum(
        self, block: Block, shrink: np.ndarray, cap: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        kept = self._slopes(block, shrink, cap, theta)[3]
        return np.asarray(block.columns @ (kept * (shrink if kept.ndim == 1 else shrink[:, None])))

    def _curvatures(
        self, block: Block, shrink: np.ndarray, cap: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        """Second derivatives of the kept losses, times the squared shortening."""
        scores, y, raw, kept = self._slopes(block, shrink, cap, theta)
        inside = np.where(raw == kept, self.loss.curvature(scores, y), 0.0)
        return np.asarray(np.clip(inside, 0.0, self.event.smoothness) * shrink * shrink)

    def _hessian(
        self, block: Block, shrink: np.ndarray, cap: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        return weighted_gram(block.x, np.sqrt(self._curvatures(block, shrink, cap, theta)))

    def _times(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the Hessian at theta with v, without forming the Hessian."""

        def part(block: Block, shrink: np.ndarray, cap: np.ndarray) -> np.ndarray:
            moved = block.x @ v
            if self.event.shape != "softmax":
                moved *= self._curvatures(block, shrink, cap, theta)
                return np.asarray(block.columns @ moved)
            return np.asarray(block.columns @ self._softmax_times(block, shrink, cap, theta, moved))

        return self._sum(part) + self.event.lam * v

    def _softmax_times(
        self, block: Block, shrink: np.ndarray, cap: np.ndarray, theta: np.ndarray, moved: Any
    ) -> np.ndarray:
        """Weighted diag(q) - q q^T, times ``moved``, from the slopes w (q - e_y)."""
        _, y, raw, _ = self._slopes(block, shrink, cap, theta)
        own = y.astype(np.intp)
        weight = class_weights(self.loss)[own]
        likely = raw / weight[:, None]
        likely[np.arange(len(raw)), own] += 1.0
        inner = moved - (likely * moved).sum(axis=1, keepdims=True)
        return np.asarray(likely * inner * (weight * shrink * shrink)[:, None])

    def _conjugate_gradients(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Until the residual is a hundredth of the gradient: a direction of descent all the way.

        It breaks off where rounding has made H look indefinite along a direction.
        """
        d = np.zeros_like(gradient)
        residual = -gradient
        direction, size = residual.copy(), float(np.vdot(residual, residual))
        enough = 1e-4 * size  # of squares: a hundredth of the length
        for _ in range(500):
            image = self._times(theta, direction)
            curvature = float(np.vdot(direction, image))
            if not curvature > 0:
                break
            step = size / curvature
            d += step * direction
            residual = residual - step * image
            smaller = float(np.vdot(residual, residual))
            if smaller <= enough:
                break
            direction = residual + (smaller / size) * direction
            size = smaller
        return d


def class_weights(loss: RowLoss) -> np.ndarray:
    """Weight w of each class: at equal scores the slope of a row's own class is -w (1 - 1/k)."""
    k = loss.n_outputs
    slopes = loss.slope(np.zeros((k, k)), np.arange(k, dtype=float))
    return np.asarray(-np.diag(slopes) * k / (k - 1))


def shifted_factor(h: np.ndarray, lam: float) -> Any:
    """Cholesky factor of h + lam I, or of h plus the next larger multiple of I that has one."""
    from scipy.linalg import LinAlgError, cho_factor

    diagonal = np.arange(len(h))
    own, added = h[diagonal, diagonal].copy(), lam
    least = len(h) * UNIT_ROUNDOFF * float(np.abs(own).max())
    while True:
        h[diagonal, diagonal] = own + added
        try:
            return cho_factor(h)
        except LinAlgError:
            added = max(100 * added, least)


def minimise(objective: TiltedObjective, tilt: np.ndarray, bounds: Tolerance) -> np.ndarray:
    """Find theta with |grad J| <= tau, or any theta if the minimum is certainly beyond 2 R."""
    wide = len(objective.shape) > 1 or objective.shape[0] > WIDEST_HESSIAN
    if objective.event.std == 0 and wide:
        return minimise_exactly(objective)
    theta = np.zeros(objective.shape)
    gradient = objective.row_gradient(theta) + tilt
    shortest, anew = np.inf, True
    for step in count():  # it ends (see the top); a limit would be an error that depends on rows
        if step == EXACT_STEPS and objective.event.std == 0:
            break  # nothing is promised without noise, and rounding may be all that is left
        length, size = float(np.linalg.norm(gradient)), float(np.linalg.norm(theta))
        shortest = min(shortest, length)
        off = length + bounds.error(size) + bounds.tilt
        beyond = size - off / objective.event.lam >= 2 * bounds.radius
        if off <= bounds.tau or (beyond and objective.event.std > 0):
            return theta
        d = objective.solve(theta, gradient, anew=anew)
        taken = _search_along(objective, tilt, bounds, theta, gradient, d, shortest)
        if taken is None:
            trial = theta - gradient / (4 * bounds.curvature)
            taken = trial, objective.row_gradient(trial) + tilt
        theta, gradient = taken
        anew = float(np.linalg.norm(gradient)) > length / ENOUGH
    return theta


def _search_along(
    objective: TiltedObjective,
    tilt: np.ndarray,
    bounds: Tolerance,
    theta: np.ndarray,
    gradient: np.ndarray,
    d: np.ndarray,
    shortest: float,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Look for a step along d that may be taken: its end and gradient there, or None."""
    start, reach = float(np.vdot(gradient, d)), float(np.linalg.norm(d))
    least = float(np.linalg.norm(gradient)) / (SHORTEST * bounds.curvature)
    share = 1.0
    while start < 0 and least <= share * reach < np.inf:
        trial = theta + share * d
        ahead = objective.row_gradient(trial) + tilt
        end = float(np.vdot(ahead, d))
        if np.linalg.norm(ahead) <= shortest / 2 or _falls(bounds, theta, trial, ahead, least):
            return trial, ahead
        # A little before where the derivative along d would vanish, were it straight. Never less
        # than a tenth and never more than nine tenths, so that the search neither stalls nor jumps.
        straight = 0.95 * start / (start - end) if end > start else 0.0
        share *= min(max(straight, 0.1), 0.9)
    return None


def _falls(
    bounds: Tolerance, theta: np.ndarray, trial: np.ndarray, ahead: np.ndarray, least: float
) -> bool:
    r"""Whether J certainly falls from theta to trial, by at least lam least^2 / 8.

    m = trial - theta as it is after rounding, not the step that was meant. By strong convexity
    J(theta) - J(trial) >= -<grad J(trial), m> + lam |m|^2 / 2. The computed gradient is off by at
    most E, m by a unit in each entry, their product by p units: (E + (p + 2) u |g'|) |m| in all. So
    a product below minus that leaves lam |m|^2 / 2, and m counts if it is at least ``least`` / 2.
    """
    moved = trial - theta
    size = float(np.linalg.norm(moved))
    error = bounds.error(float(np.linalg.norm(trial)))
    rounding = (theta.size + 2) * UNIT_ROUNDOFF * float(np.linalg.norm(ahead))
    return size >= least / 2 and float(np.vdot(ahead, moved)) <= -(error + rounding) * size
