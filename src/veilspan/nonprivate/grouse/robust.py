r"""Rows with wild entries: fits that a few of them, or a burst of wild rows, cannot pull far.

Both fits judge an entry by a *running scale*, the median size of a residual entry over the rows so
far. It rises by at most 2 % and falls by at most 5 % with a row, so that a burst of some dozen rows
is over before the scale has noticed, while a subspace that has really moved is accepted in the end.

- ``"huber"``: Huber's M-estimate, by the method of modified residuals (Huber & Dutter 1974).
- ``"l1"``: least absolute deviations by ADMM, as in GRASTA (He, Balzano & Szlam 2012); and a row
  whose median residual is beyond 4 scales is skipped, as a row that is wild as a whole.

In both, residuals beyond 2 scales are cut to that size before they turn the basis. They are not
dropped: where the subspace is wrong they stand out again and again, and would never be learned.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from veilspan.nonprivate.grouse import loops
from veilspan.nonprivate.grouse.grouse import learn_fit, observed_solver

#: In running scales: residual entries are cut to the first, rows with a median beyond the second
#: are skipped. Why a cut at all is said above; 2 keeps 95 % of normal residuals as they are.
_CUT, _WILD = 2.0, 4.0
#: How far the running scale falls and rises with a row: see the top.
_FALL, _RISE = 0.95, 1.02
#: Most steps of Huber's fit, which ends when a step is short, and the steps that ADMM always does.
_HUBER_STEPS, _ADMM_STEPS = 20, 30
#: Median of the absolute value of a standard normal.
_NORMAL_MEDIAN = 0.6744897501960817

Solver = Callable[[np.ndarray], np.ndarray]


def robust_loop(kind: str) -> Callable[..., None]:
    """The loop over rows for ``"huber"`` or ``"l1"``, in NumPy."""
    if kind not in _FITS:
        raise ValueError(f'robust must be None, "huber" or "l1"; got {kind!r}.')
    return partial(_rows, _FITS[kind])


def _rows(
    fit: Callable[[np.ndarray, np.ndarray, Solver, float], np.ndarray],
    basis: np.ndarray,
    rows: np.ndarray,
    settings: loops.Settings,
    memory: np.ndarray,
    ratios: np.ndarray,
) -> None:
    for t, row in enumerate(rows):
        places = np.flatnonzero(~np.isnan(row))
        values, frame = row[places], basis[:, places]
        solve = _solver(frame, basis.shape[1])
        if solve is None:
            ratios[t] = loops.skip(memory)
            continue
        if memory[loops.SCALE] == 0:
            memory[loops.SCALE] = _size(values - solve(values) @ frame)
        scale = float(memory[loops.SCALE])
        weights = fit(frame, values, solve, scale)
        rest = values - weights @ frame
        energy, size = float(values @ values), _size(rest)
        ratios[t] = min(float(rest @ rest) / energy, 1.0) if energy > 0 else 0.0
        if energy > 0:
            memory[loops.SCALE] = scale * min(max(size / max(scale, 1e-300), _FALL), _RISE)
        if fit is _least_absolute and size > _WILD * scale:
            loops.skip(memory)
            continue
        # The part of the cut residual that the basis can explain goes to the coefficients.
        cut = np.clip(rest, -_CUT * scale, _CUT * scale)
        more = solve(cut)
        direction = np.zeros(basis.shape[1])
        direction[places] = cut - more @ frame
        cleaned = weights @ frame + cut
        energy = float(cleaned @ cleaned)
        learn_fit(basis, weights + more, direction, energy, len(places), settings, memory)


def _solver(frame: np.ndarray, n: int) -> Solver | None:
    """Least squares; without gaps the basis is orthonormal and nothing is to be factorised."""
    return frame.__matmul__ if frame.shape[1] == n else observed_solver(frame, n)


def _huber(frame: np.ndarray, values: np.ndarray, solve: Solver, scale: float) -> np.ndarray:
    """Coefficients of Huber's fit, by least squares on residuals cut to 2 scales, repeated."""
    cut = _CUT * scale
    weights = solve(values)
    for _ in range(_HUBER_STEPS):
        step = solve(np.clip(values - weights @ frame, -cut, cut))
        weights = weights + step
        if step @ step <= 1e-12 * (weights @ weights):
            break
    return weights


def _least_absolute(
    frame: np.ndarray, values: np.ndarray, solve: Solver, scale: float
) -> np.ndarray:
    """Coefficients of least absolute deviations, by a fixed number of steps of ADMM."""
    wild, dual = np.zeros(len(values)), np.zeros(len(values))
    weights = solve(values)
    for _ in range(_ADMM_STEPS):
        rest = values - weights @ frame
        shifted = rest - dual
        wild = np.sign(shifted) * np.maximum(np.abs(shifted) - scale, 0)
        dual += wild - rest
        weights = solve(values - wild - dual)
    return weights


def _size(rest: np.ndarray) -> float:
    return float(np.median(np.abs(rest))) / _NORMAL_MEDIAN


_FITS = {"huber": _huber, "l1": _least_absolute}
