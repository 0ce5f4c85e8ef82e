r"""Penalised minima of a released quadratic: public post-processing, no rows, no charge."""

from __future__ import annotations

import numpy as np

from veilspan._threads import threads_for
from veilspan.losses.penalties import L2, NoPenalty
from veilspan.solvers.linear.base import LinearProblem

MOST_STEPS = 20_000
MOST_IN_ALL = 100_000
TOLERANCE = 1e-12
# Eigenvalues below this part of the largest, for each column, are rounding: they are lifted to it.
# (A step from theta solves A moved = A theta - g. The product is right to sqrt(p) u |A| |theta| or
# so, u = 2^-53, which the least eigenvalue divides. With 1e-13 for all columns together 300 steps
# moved theta from a minimum by a tenth of its length, on 400 columns of rank 30, and fits of
# adult's hours by curves, without noise, ended nowhere.)
ROUNDING = 1e-13


def minimise_quadratic(
    matrix: np.ndarray, linear: np.ndarray, problem: LinearProblem, start: np.ndarray | None = None
) -> np.ndarray:
    r"""Minimise <theta, A theta>/2 - <b, theta> + penalty(theta), sparing the intercept.

    Parameters
    ----------
    matrix : array of shape (p, p)
        A, symmetric and positive definite; with k scores it acts on each column of theta.
    linear : array of shape (p,) or (p, k)
        b.
    problem : LinearProblem
        Its penalty and whether the last coefficient is spared.
    start : array, optional
        Where to begin, if the penalty needs iterations.

    Notes
    -----
    No penalty and l2 are solved directly. All else by accelerated proximal gradient steps (Beck &
    Teboulle 2009), begun anew when the momentum turns uphill (O'Donoghue & Candes 2015), until a
    step moves theta by less than 1e-12 of its length: numbers and stops depend on released values
    only.
    """
    return Quadratic(matrix, problem).minimise(linear, start)


class Quadratic:
    """The same quadratic again and again with other b: what can be factorised is, once.

    Parameters
    ----------
    matrix, problem : array of shape (p, p), LinearProblem
        As in :func:`minimise_quadratic`.
    in_all : bool
        Whether there is a most of the steps of all minima together, ``MOST_IN_ALL``; asked for
        another then, it gives back where that should start. Columns that are nearly alike take
        ``MOST_STEPS`` for each minimum, and without privacy there are a thousand.
    """

    def __init__(self, matrix: np.ndarray, problem: LinearProblem, *, in_all: bool = False) -> None:
        from scipy.linalg import lu_factor

        self.matrix, self._problem, self._factor = matrix, problem, None
        self._left = MOST_IN_ALL if in_all else None
        if isinstance(problem.penalty, (NoPenalty, L2)):
            with threads_for(len(matrix)):
                self._factor = lu_factor(matrix + np.diag(ridge_of(problem)))

    @property
    def is_spent(self) -> bool:
        """Whether all steps of all minima are taken."""
        return self._left == 0

    def minimise(self, linear: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Minimum for one b, or one a column."""
        with threads_for(len(self.matrix)):
            if self._factor is None:
                most = MOST_STEPS if self._left is None else min(MOST_STEPS, self._left)
                theta, used = _accelerated(self.matrix, linear, self._problem, start, most)
                if self._left is not None:
                    self._left -= used
                return theta
            from scipy.linalg import lu_solve

            return np.asarray(lu_solve(self._factor, linear))


def ridge_of(problem: LinearProblem) -> np.ndarray:
    """What no penalty or an l2 one adds to the diagonal; nothing for the intercept."""
    ridge = np.full(problem.n_features, problem.penalty.strong_convexity)
    if problem.intercept:
        ridge[-1] = 0.0
    return ridge


def _accelerated(
    matrix: np.ndarray,
    linear: np.ndarray,
    problem: LinearProblem,
    start: np.ndarray | None,
    most: int,
) -> tuple[np.ndarray, int]:
    """The minimum, and the steps that it took."""
    step = 1.0 / float(np.linalg.eigvalsh(matrix)[-1])
    theta = np.zeros_like(linear) if start is None else start
    if most:
        theta = problem.prox(theta, step)
    ahead, momentum, used = theta, 1.0, 0
    for used in range(1, most + 1):  # noqa: B007
        moved = problem.prox(ahead - step * (matrix @ ahead - linear), step)
        change = moved - theta
        if np.sum((ahead - moved) * change) > 0:
            momentum = 1.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        still = _length(moved - ahead) <= TOLERANCE * max(1.0, _length(moved))
        ahead = moved + (momentum - 1.0) / following * change
        theta, momentum = moved, following
        if still:
            break
    return np.asarray(theta), used


def _length(vector: np.ndarray) -> float:
    return float(np.linalg.norm(vector))


def eigenvalues_mapped(matrix: np.ndarray, floor: float) -> np.ndarray:
    r"""A symmetric noisy matrix made positive definite: g becomes g + k^2 / g, and 2 k below k.

    ``floor`` is k. Read g as a curvature known up to noise of size k: a Newton step then divides by
    g + k^2/g, the Wiener filter g / (g^2 + k^2) of a step along its eigenvector. Where g is far
    above the noise, almost nothing changes (a relative k^2 / g^2, not the k/g of an added ridge).
    Where g drowns in it, its noisy value says little and all such directions are treated alike.
    """
    with threads_for(len(matrix)):
        values, vectors = np.linalg.eigh(matrix)
    least = max(floor, ROUNDING * len(matrix) * abs(values[-1]), np.finfo(float).tiny)
    lifted = np.maximum(values, least)
    return np.asarray((vectors * (lifted + floor**2 / lifted)) @ vectors.T)
