r"""GROUSE: an orthonormal basis turned by one row after another.

A row x with coefficients w, projection p = U w and residual r = x - p turns the basis in the plane
of p and r by the angle of a step rule (Zhang & Balzano 2016, algorithm 1):

.. math:: U \leftarrow U + \Bigl[(\cos\theta - 1) \frac{p}{\|p\|}
    + \sin\theta \, \frac{r}{\|r\|}\Bigr] \frac{w^\top}{\|w\|}

Bases are stored as in scikit-learn: d orthonormal **rows** of n entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from veilspan.nonprivate.grouse import loops
from veilspan.nonprivate.grouse.kernels import compiled_loops
from veilspan.nonprivate.grouse.steps import GreedyStep, StepRule

#: Rows between two corrections of the basis; see :func:`polish`, which says how little it matters.
POLISH_ROWS = 512
ENGINES = ("numba", "numpy")


@dataclass(frozen=True)
class BlockReport:
    """What a block of rows did.

    Attributes
    ----------
    ratios : array of shape (b,)
        Squared residual over squared norm of each row's observed entries, *before* it was learned
        from: 0 inside the subspace, 1 orthogonal to it, NaN for rows that were not used.
    memory : array
        What the stream remembers; give it to the next block.
    """

    ratios: np.ndarray
    memory: np.ndarray


def random_basis(n_features: int, n_components: int, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random subspace, as orthonormal rows."""
    return np.ascontiguousarray(np.linalg.qr(rng.standard_normal((n_features, n_components)))[0].T)


def update_block(
    basis: np.ndarray,
    rows: np.ndarray,
    *,
    step: StepRule | None = None,
    memory: np.ndarray | None = None,
    floor: float = 0.0,
    alarm: float = 0.0,
    robust: str | None = None,
    engine: str | None = None,
) -> BlockReport:
    """Learn from rows in their order; ``basis`` changes in place.

    The answer does not depend on how a stream is cut into blocks, to the last bit.

    Parameters
    ----------
    basis : array of shape (d, n)
        Orthonormal rows, C-contiguous, float64.
    rows : array of shape (b, n)
        Finite numbers; NaN is a missing entry.
    step : StepRule, optional
        :class:`GreedyStep` by default.
    memory : array, optional
        Of the last block's report; changes in place. A new stream by default.
    floor : float
        Smallest fraction of the greedy step, for subspaces that drift.
    alarm : float
        Height of the cumulative sum that flags a change; 0 never does.
    robust : {None, "huber", "l1"}
        How to fit rows with wild entries.
    engine : {None, "numba", "numpy"}
        ``None`` is Numba if it is installed.
    """
    _check(basis, rows)
    rule = GreedyStep() if step is None else step
    settings = rule.settings(basis.shape[1], basis.shape[0], floor=floor, alarm=alarm)
    memory = loops.new_memory() if memory is None else memory
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    ratios = np.empty(len(rows))
    learn = _loops(engine, robust)
    missing = np.isnan(rows).any(axis=1)
    start = 0
    while start < len(rows):
        stop = start + _until_polish(memory, len(rows) - start)
        # Runs of complete rows and of rows with gaps: each has its own loop.
        for low, high in _runs(missing[start:stop], start):
            learn[int(missing[low])](basis, rows[low:high], settings, memory, ratios[low:high])
        if memory[loops.ROWS] % POLISH_ROWS == 0:
            polish(basis)
        start = stop
    return BlockReport(ratios, memory)


def polish(basis: np.ndarray) -> None:
    r"""Make rows orthonormal again: :math:`B \leftarrow \tfrac32 B - \tfrac12 B B^\top B`.

    One step of Newton and Schulz towards the nearest orthonormal basis. It squares the departure
    from the identity, turns no sign, and costs 2 n d^2 operations, little next to 3 n d for each
    of 512 rows. It is a safeguard: each step already ends in a unit vector y / |y|, which heals
    most of what rounding does. Measured, at n = 20 and d = 3: at most 2.3e-15 in 10^7 rows.
    """
    gram = basis @ basis.T
    if np.max(np.abs(gram - np.eye(len(basis)))) > 0.1:  # out of reach; never seen
        basis[:] = np.linalg.qr(basis.T)[0].T
        return
    basis *= 1.5
    basis -= 0.5 * (gram @ (basis / 1.5))


def _until_polish(memory: np.ndarray, left: int) -> int:
    return min(left, POLISH_ROWS - int(memory[loops.ROWS]) % POLISH_ROWS)


def _runs(missing: np.ndarray, start: int) -> list[tuple[int, int]]:
    edges = np.flatnonzero(missing[1:] != missing[:-1]) + 1
    bounds = [0, *edges.tolist(), len(missing)]
    return [(start + a, start + b) for a, b in pairwise(bounds)]


def _check(basis: np.ndarray, rows: np.ndarray) -> None:
    d, n = basis.shape
    if not (basis.flags.c_contiguous and basis.dtype == np.float64):
        raise ValueError("basis must be a C-contiguous float64 array; it changes in place.")
    if not 1 <= d < n:
        raise ValueError(f"expected a basis of shape (d, n) with 1 <= d < n; got {basis.shape}.")
    if rows.ndim != 2 or rows.shape[1] != n:
        raise ValueError(f"expected rows of {n} entries; got shape {rows.shape}.")


def _loops(engine: str | None, robust: str | None) -> Any:
    if robust is not None:
        from veilspan.nonprivate.grouse.robust import robust_loop

        loop = robust_loop(robust)
        return loop, loop
    if engine not in (None, *ENGINES):
        raise ValueError(f"engine must be None or one of {ENGINES}; got {engine!r}.")
    fast = None if engine == "numpy" else compiled_loops()
    if fast is None and engine == "numba":
        raise ImportError('engine="numba" needs Numba: pip install "veilspan[fast]".')
    return fast or (numpy_full_rows, numpy_gap_rows)


def numpy_full_rows(
    basis: np.ndarray,
    rows: np.ndarray,
    settings: loops.Settings,
    memory: np.ndarray,
    ratios: np.ndarray,
) -> None:
    """What ``loops.full_rows`` does, by BLAS: three passes over the basis a row."""
    n = basis.shape[1]
    for t, row in enumerate(rows):
        weights = basis @ row
        fitted = weights @ basis
        rest = row - fitted
        energy, residual = float(row @ row), float(rest @ rest)
        projection = float(weights @ weights)
        ratios[t] = min(residual / energy, 1.0) if energy > 0 else 0.0
        tangent = loops.turn(settings, memory, energy, residual, projection, n)
        if tangent > 0:
            add_turn(basis, weights, rest, tangent, fitted)


def numpy_gap_rows(
    basis: np.ndarray,
    rows: np.ndarray,
    settings: loops.Settings,
    memory: np.ndarray,
    ratios: np.ndarray,
) -> None:
    """What ``loops.gap_rows`` does, by NumPy: least squares on the observed entries of each row."""
    n = basis.shape[1]
    for t, row in enumerate(rows):
        seen = ~np.isnan(row)
        values, frame = row[seen], basis[:, seen]
        solve = observed_solver(frame, n)
        if solve is None:
            ratios[t] = loops.skip(memory)
            continue
        weights = solve(values)
        rest = np.zeros(n)
        rest[seen] = values - weights @ frame
        energy = float(values @ values)
        ratios[t] = min(float(rest @ rest) / energy, 1.0) if energy > 0 else 0.0
        learn_fit(basis, weights, rest, energy, len(values), settings, memory)


def learn_fit(
    basis: np.ndarray,
    weights: np.ndarray,
    rest: np.ndarray,
    energy: float,
    observed: int,
    settings: loops.Settings,
    memory: np.ndarray,
) -> None:
    """Turn the basis by a row that was fitted already; ``rest`` is orthogonal to the basis."""
    residual, projection = float(rest @ rest), float(weights @ weights)
    tangent = loops.turn(settings, memory, energy, residual, projection, observed)
    if tangent > 0:
        add_turn(basis, weights, rest, tangent, weights @ basis)


def observed_solver(frame: np.ndarray, n: int) -> Callable[[np.ndarray], np.ndarray] | None:
    """Least squares in the observed columns of a basis, as a function of the observed entries.

    ``None`` if they say too little: :func:`veilspan.nonprivate.grouse.loops.solve_observed` by
    LAPACK.
    """
    d, m = frame.shape
    if m <= d:
        return None
    try:
        factor = np.linalg.cholesky(frame @ frame.T)
    except np.linalg.LinAlgError:
        return None
    if np.min(np.diag(factor)) ** 2 <= loops.SMALLEST_PIVOT * m / n:
        return None

    def solve(values: np.ndarray) -> np.ndarray:
        weights = np.zeros(d)
        for _ in range(2):
            right = frame @ (values - weights @ frame)
            weights += np.linalg.solve(factor.T, np.linalg.solve(factor, right))
        return weights

    return solve


def add_turn(
    basis: np.ndarray, weights: np.ndarray, rest: np.ndarray, tangent: float, fitted: np.ndarray
) -> None:
    """Turn the basis in place by eq. (4): a rank-one update, at the top of this file."""
    from scipy.linalg.blas import dger

    factors = loops.turn_factors(tangent, float(rest @ rest), float(weights @ weights))
    change = factors[0] * fitted + factors[1] * rest
    # The transposed view is Fortran-ordered, so that BLAS adds to the basis itself.
    dger(1.0, change, weights, a=basis.T, overwrite_a=1)
