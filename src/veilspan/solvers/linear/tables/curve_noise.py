r"""How much of what Newton-like steps have learned is noise: from released answers alone.

Step t goes from theta_t by -H^-1 (g(theta_t) + z_t), H being the released curvature G after it was
lifted out of its noise, and z_t noise of std s_t in every coordinate, which is public. Near the end
g(theta) = k G (theta - theta*), with k = 1 for least squares whose residuals stay below their cap,
and less where some do not. G and H share their eigenvectors v. Along one, a = k <v, G v> / <v, H v>
is what is left of a distance after one step less, and the mean of the last m of T iterates carries

    sum_t c_t(a) <v, z_t> / <v, H v>,   c_t = (1/m) sum over averaged iterates j of (1 - a)^(j - t),

of variance sum_t (c_t s_t)^2 / <v, H v>^2. k is read off the answers: moves d_t = theta_(t+1) -
theta_t and gradients G_t = g(theta_t) + z_t have

    E <d_t, G_(t+1) - G_t> = k <d_t, G d_t> + s_t^2 tr H^-1,

since d_t holds -H^-1 z_t. The estimate less its own standard error is taken, so that errors are
told too large rather than too small. Answers were charged; this is post-processing and is free.

What is *not* in it: that other people might have been in the table (sampling), the noise of the
matrix itself and of a first fit, which the last one mostly undoes, and the bias of caps, of few
waves and of stopping early. The noise of the released mass moves the waves themselves; that part
is :meth:`veilspan.queries.linear.learned_features.LearnedFeatures.map_spread`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

#: Least k that is believed: below it steps have hardly begun to settle.
LEAST = 0.1


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
        self.gradients.append(gradient)
        self.moves.append(move)
        self.stds.append(std)

    def forget_bends(self) -> None:
        """Measure by later steps alone what curvature is left: a new cap leaves another part."""
        self.first = len(self.stds)

    def covariance(self, lifted: np.ndarray, released: np.ndarray, averaged: int) -> np.ndarray:
        """Covariance of the noise in the mean of the last ``averaged`` iterates.

        Parameters
        ----------
        lifted, released : array of shape (p, p)
            H and G.
        averaged : int
            m.
        """
        values, vectors = np.linalg.eigh(lifted)
        bare = np.einsum("ij,ij->j", vectors, released @ vectors)
        kept = np.clip(self._kept_curvature(values, vectors, bare) * bare / values, 0.0, 1.0)
        steps, weights = len(self.stds), np.zeros((len(self.stds), len(values)))
        for last in range(steps - averaged, steps):
            ago = last - np.arange(last + 1)
            weights[: last + 1] += (1.0 - kept) ** ago[:, None] / averaged
        squares = np.sum((weights * np.array(self.stds)[:, None]) ** 2, axis=0)
        return np.asarray((vectors * (squares / values**2)) @ vectors.T)

    def _kept_curvature(self, values: np.ndarray, vectors: np.ndarray, bare: np.ndarray) -> float:
        """The part k of the released curvature that the loss has where the steps went."""
        stds = np.array(self.stds[self.first : -1])
        if not len(stds):
            return LEAST
        moves = np.array(self.moves[self.first : -1]) @ vectors
        turned = np.sum(moves * (np.diff(self.gradients[self.first :], axis=0) @ vectors))
        bent = float(np.sum(np.maximum(bare, 0.0) * moves**2))
        own = float(np.sum(stds**2))
        found = turned - own * float(np.sum(1.0 / values))
        spread = 2.0 * np.sum((stds[:, None] * moves) ** 2)
        spread += 2.0 * float(np.sum(stds**4)) * float(np.sum(values**-2.0))
        return float(np.clip((found - np.sqrt(spread)) / max(bent, 1e-300), LEAST, 1.0))


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
