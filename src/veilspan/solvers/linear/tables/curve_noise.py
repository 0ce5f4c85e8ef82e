r"""How much of what Newton-like steps have learned is noise: from released answers alone.

Step t goes from theta_t by -H^-1 (g(theta_t) + z_t), H being the released curvature after it was
lifted out of its noise, and z_t noise of std s_t in every coordinate, which is public. Near the end
g(theta) = K (theta - theta*), with K the Hessian of the mean loss: k times that of least squares,
where k = 1 if residuals stay below their cap, and less if some do not or the loss bends less. Noise
of step t moves iterate j by (1 - H^-1 K)^(j - t) H^-1 z_t. With H^(-1/2) K H^(-1/2) = U diag(a) U^T
the mean of the last m of T iterates has the covariance

    H^(-1/2) U [ Q o (U^T H^-1 U) ] U^T H^(-1/2),     Q_pq = sum_t s_t^2 c_t(a_p) c_t(a_q),
    c_t(a) = (1/m) sum over averaged iterates j of (1 - a)^(j - t).

**K.** The released matrix G has p^2 entries that are mostly noise where rows are few. It is drawn
towards a stand-in M that noise does not reach
(:mod:`veilspan.solvers.linear.tables.made_up_rows`): M + r (G - M), r = 1 - s^2 p (p + 1) / 2 over
|G - M|^2, at least 0, which is what is left of the difference when the noise's expected part of its
square is taken off (James & Stein 1961, the noise being known). **k** is read off the answers:
moves d_t = theta_(t+1) - theta_t and gradients G_t = g(theta_t) + z_t have

    E <d_t, G_(t+1) - G_t> = <d_t, K d_t> + s_t^2 tr H^-1,

since d_t holds -H^-1 z_t. Answers were charged; this is post-processing and is free.

**A ridge** D adds to both: steps divide by H + D, and what pulls noise back is k K + D.

**At most.** With several scores, momentum, or noise in other coordinates, K is not told: the
curvature of k scores is not that of the one matrix, and rare classes bend least. Then a = 0 is
taken for all directions, where nothing pulls noise back: v H^-2, v the variance that steps of size
1 with such noise come to
(:class:`~veilspan.solvers.linear.tables.noise_response.DescentNoise`). Of k scores whose gradients
sum to zero noise keeps the part 1 - 1/k.

**An earlier fit's noise** e, of whose predictions the rest is learned, the steps undo: what is left
of it after j of them is (1 - H^-1 K)^j e, and in the result its mean over the averaged iterates. Of
a category that few rows have most of it stays.

What is *not* in it: that other people might have been in the table (sampling), and the bias of
caps, of few waves and of stopping early. The noise of the released mass moves the waves themselves;
that part is :meth:`veilspan.queries.linear.learned_features.LearnedFeatures.map_spread`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.curator import Answer
from veilspan.losses.linear import LinearLoss
from veilspan.solvers.linear.tables.noise_response import DescentNoise

#: Least k that is believed: below it steps have hardly begun to settle.
LEAST = 0.1
#: Most k where made-up rows have said how much the loss bends: they may say too little.
MORE = 2.0
#: Losses whose curvature is told: by one part of the matrix, or by scores as well (logistic).
TOLD = ("squared", "huber", "quantile", "logistic", "weighted logistic")
#: Stds of its noise below which an entry of the diagonal tells nothing.
SURE = 3.0
#: Curvature along the moves up to which nothing is told of k: noise has left none of the matrix, or
#: turned its sign. Its square must not underflow.
NO_CURVATURE = 1e-150


@dataclass
class CurveNoise:
    """Watches the steps of a fit; says afterwards how much noise is in what they averaged."""

    moves: list[np.ndarray] = field(default_factory=list)
    gradients: list[np.ndarray] = field(default_factory=list)
    stds: list[float] = field(default_factory=list)
    #: The first step by which the curvature that is left is measured.
    first: int = 0

    def add(self, gradient: np.ndarray, move: np.ndarray, std: float) -> None:
        """One step: the noisy gradient, where it led, and the noise in each of its entries."""
        self.stds.append(std)
        if gradient.ndim == 1:  # of several scores K is not told
            self.gradients.append(gradient)
            self.moves.append(move)

    def last(self, count: int) -> CurveNoise:
        """The same, that measures what curvature is left by the last so many steps alone."""
        return replace(self, first=max(self.first, len(self.stds) - count))

    def forget_bends(self) -> None:
        """Measure by later steps alone what curvature is left: a new cap leaves another part."""
        self.first = len(self.stds)


@dataclass(frozen=True, eq=False)
class NewtonNoise:
    """What the steps of a fit tell of their noise.

    Attributes
    ----------
    steps : CurveNoise
        Noise, moves and gradients of all steps.
    lifted : array of shape (p, p)
        H, with the ridge.
    released, std : array of shape (p, p), float
        G, L times the released Gram matrix over n, and the std of its noise, alike.
    averaged : int
        m.
    clip : float
        Longest gradient of a row at the end.
    ridge : array of shape (p, p)
        D, diagonal.
    rows : float
        n, public or noisy.
    momentum : float
        Of the steps.
    residuals : Answer or None
        The histogram of residuals, where a cap was chosen by one.
    loss : LinearLoss or None
        What was minimised.
    back : array of shape (p, p) or None
        What takes gradients to theta's coordinates, where their noise was added in others.
    """

    steps: CurveNoise
    lifted: np.ndarray
    released: np.ndarray
    std: float
    averaged: int
    clip: float
    ridge: np.ndarray
    rows: float
    momentum: float = 0.0
    residuals: Answer | None = None
    loss: LinearLoss | None = None
    back: np.ndarray | None = None

    @property
    def exact(self) -> bool:
        """Whether K is told: one score, plain steps, a loss that bends in a known way."""
        plain = self.momentum == 0 and self.back is None and len(self.steps.moves) > 0
        return plain and (self.loss is None or self.loss.name in TOLD)

    def at_most(self, n_scores: int) -> np.ndarray:
        """Covariance of the noise in each score's coefficients, if nothing pulls noise back."""
        walk = DescentNoise(
            1.0, self.momentum, tuple(self.steps.stds), self.averaged, self.rows, self.clip
        )
        kept = 1.0 if n_scores == 1 else 1.0 - 1.0 / n_scores
        with threads_for(len(self.lifted)):
            inverse = np.linalg.inv(self.lifted)
            moved = inverse if self.back is None else inverse @ self.back
            return np.asarray(kept * float(walk.variances(np.zeros(1))[0]) * moved @ moved.T)

    @property
    def diagonal(self) -> np.ndarray:
        """How much each feature bends, by the released matrix."""
        return np.diag(self.released)

    def covariance(
        self, model: np.ndarray, bend: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Covariance of the noise in the result.

        Parameters
        ----------
        model : array of shape (p, p)
            A stand-in for the released matrix.
        bend : callable, optional
            From that matrix to the curvature of a loss that bends less where scores are large.
        """
        with threads_for(len(model)):
            shares, turn, root = self._pulled(model, bend)
            inner = self._squares(shares) * (turn.T @ (root @ root) @ turn)
            away = root @ turn
            return np.asarray(away @ inner @ away.T)

    def left_of(self, before: np.ndarray, model: np.ndarray) -> np.ndarray:
        """Covariance of what the steps leave of an earlier fit's noise.

        Parameters
        ----------
        before : array of shape (p,)
            Variances of that noise, as coefficients of these features.
        model : array of shape (p, p)
            A stand-in for the released matrix.
        """
        with threads_for(len(model)):
            shares, turn, root = self._pulled(model)
            count = len(self.steps.stds)
            after = np.arange(count - self.averaged + 1, count + 1)
            stays = np.mean((1.0 - shares) ** after[:, None], axis=0)
            left = (root @ turn * stays) @ np.linalg.solve(root, turn).T
            return np.asarray((left * before) @ left.T)

    def _pulled(
        self, model: np.ndarray, bend: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares a and directions U of the formula at the top, and H^(-1/2)."""
        values, vectors = np.linalg.eigh(self.lifted)
        bent = shrunk(self.released, self.std, model)
        bent = bent if bend is None else bend(bent)
        kept = self._kept_curvature(
            float(np.sum(1.0 / values)), values, bent, 1.0 if bend is None else MORE
        )
        root = (vectors / np.sqrt(values)) @ vectors.T
        shares, turn = np.linalg.eigh(root @ (kept * bent + self.ridge) @ root)
        return np.clip(shares, 0.0, 1.0), turn, root

    def _squares(self, shares: np.ndarray) -> np.ndarray:
        """Q of the formula at the top."""
        stds = np.array(self.steps.stds)
        count, weights = len(stds), np.zeros((len(stds), len(shares)))
        for last in range(count - self.averaged, count):
            ago = last - np.arange(last + 1)
            weights[: last + 1] += (1.0 - shares) ** ago[:, None] / self.averaged
        weights *= stds[:, None]
        return np.asarray(weights.T @ weights)

    def _kept_curvature(
        self, trace: float, values: np.ndarray, bent: np.ndarray, most: float = 1.0
    ) -> float:
        """The part k of the curvature that the loss has where the steps went."""
        steps = self.steps
        stds = np.array(steps.stds[steps.first : -1])
        if not len(stds):
            return 1.0
        moves = np.array(steps.moves[steps.first : -1])
        turned = float(np.sum(moves * np.diff(steps.gradients[steps.first :], axis=0)))
        straight = float(np.sum((moves @ bent) * moves))
        if not straight > NO_CURVATURE:
            return 1.0  # the limit of what follows as the doubt grows
        found = turned - float(np.sum(stds**2)) * trace
        spread = 2.0 * np.sum((stds[:, None] * moves) ** 2)
        spread += 2.0 * float(np.sum(stds**4)) * float(np.sum(values**-2.0))
        # Drawn towards 1 as far as noise hides it.
        doubt = spread / straight**2
        measured = found / straight
        return float(np.clip((measured + doubt) / (1.0 + doubt), LEAST, most))


def shrunk(released: np.ndarray, std: float, model: np.ndarray) -> np.ndarray:
    """A noisy symmetric matrix, drawn towards a model of it as far as noise hides the difference.

    ``std`` is that of the noise in every orthonormal direction of symmetric matrices.
    """
    away = released - model
    hidden = np.diag(released) < SURE * std  # categories that few rows have, if any
    away[hidden] = 0.0
    away[:, hidden] = 0.0
    square, size = float(np.sum(away**2)), len(model) - int(hidden.sum())
    noise = std**2 * size * (size + 1) / 2
    share = max(0.0, 1.0 - noise / square) if square > 0 else 0.0
    return np.asarray(model + share * away)


def column_blocks(
    covariance: np.ndarray, columns: np.ndarray, n_columns: int
) -> tuple[np.ndarray, ...]:
    """The parts of a covariance that belong to one column of the table each.

    Parameters
    ----------
    covariance : array of shape (p, p)
        Of all coefficients.
    columns : int array of shape (p,)
        The column of each feature; -1 for those of none.
    n_columns : int
        Columns of the table.
    """
    own = [np.flatnonzero(columns == owner) for owner in range(n_columns)]
    return tuple(covariance[np.ix_(places, places)].copy() for places in own)
