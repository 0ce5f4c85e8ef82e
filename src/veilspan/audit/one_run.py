r"""An audit from a single fit: many canaries, each in or out by a fair coin, guessed afterwards.

For users with their own table, at a level alpha of a few percent (Steinke, Nasr & Jagielski 2023;
the bound is that of Mahloujifar, Melis & Chaudhuri 2024, "Auditing f-differential privacy in one
run"). Let r of m canaries be guessed, p_t = P[exactly t guesses are right], and for a canary chosen
at random

    R_i = sum_{t >= i} (t/m) p_t         its guess is right, and i or more are,
    H_i = sum_{t >= i} ((r-t)/m) p_t     its guess is wrong, and i or more are right.

Turning over one coin turns "right, i+1 or more" into "wrong, i or more" for the same output, so
mu-GDP gives R_{i+1} <= Phi(Phi^-1(H_i) + mu), that is H_i >= Phi(Phi^-1(R_{i+1}) - mu). Suppose v
or more are right with probability alpha. Going down from i = v one gets lower bounds on all R_i,
H_i; but R_0 + H_0 = r/m. If the bounds exceed that, mu is refuted at level alpha.

Scores. Answers are sums over rows at points that earlier answers determine. So after one recorded
fit, replays with one coin turned over give the shift d_j that canary j makes in all answers
(whitened), and the answers are mid + sum_j (b_j - 1/2) d_j + noise with known mid and d_j: the
scores are the best linear estimates of the coins, (D D^T / 4 + I)^-1 D (answers - mid). They use
the released answers and public knowledge of the canaries only, not the coins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan.audit.api import Progress, copy_for_audit, make_seeded_fit
from veilspan.audit.canaries import Canaries, canaries_for
from veilspan.audit.game import SeededFit, no_simulation_warnings, play_back, read_answer
from veilspan.audit.verdict import ROUNDING, AuditReport, Claim, make_line, planned_mu
from veilspan.curator.tape import Tape, recording
from veilspan.privacy import gdp

#: Shares of the canaries that are guessed; the level is divided among them. One, fixed in advance,
#: showed noise halved at epsilon 8 more often than any mixture that was tried.
SHARES = (0.4,)
LARGEST_MU = 64.0


def audit_one_run(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    n_canaries: int = 1000,
    canaries: Canaries | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    progress: Progress | None = None,
) -> AuditReport:
    """Try to refute an estimator's promise by one fit to your own rows with canaries among them.

    Parameters
    ----------
    estimator : estimator
        Not changed: a copy is fitted once and replayed once for each canary. All answers must be
        full-batch Gaussian releases: no sampled rows, no objective perturbation.
    X, y : table and targets
        Your rows. Canaries follow them, so the fit that is audited is not one to use.
    n_canaries : int
        More give sharper bounds and take longer; they get in each other's way where there are more
        of them than orthogonal shifts of the answers (d (d - 1) / 2 for PCA under replace-one, d
        for a gradient).
    canaries : Canaries, optional
        Your own; by default rows as long as the bounds allow, as orthogonal as can be (see
        ``canaries``).
    alpha : float
        Probability of a false alarm.
    seed : int
        Of coins, canaries and the fit.
    progress : callable, optional
        ``progress("one run", done, total)`` after each replay.

    Returns
    -------
    AuditReport
        With one line.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import PCA
    >>> from veilspan.audit import audit_one_run
    >>> audit_one_run(PCA(1, epsilon=8.0), np.zeros((100, 5)), n_canaries=20).ok
    True
    """
    model = copy_for_audit(estimator)
    rng = np.random.default_rng([seed, 1])
    chosen = canaries or canaries_for(model, X, y, n_canaries, rng)
    coins = rng.random(len(chosen)) < 0.5
    scores, plan, leak = _score_canaries(make_seeded_fit(model), chosen, coins, seed, progress)
    mu = planned_mu(plan)
    if mu is None:
        raise ValueError(
            "a one-run audit needs full-batch Gaussian answers; use audit() for other plans."
        )
    claim = Claim.of_plan(plan)
    found = LARGEST_MU if leak else bound_mu(scores, coins, alpha)
    violation = leak
    if not leak and found > mu * (1 + ROUNDING):
        violation = f"mu is at least {found:.3g}, claimed {mu:.3g}"
    line = make_line(
        "one run",
        claim,
        gdp.epsilon_of(found, claim.delta),
        1,
        violation,
        _describe_power(chosen, claim.delta, alpha),
    )
    name = type(estimator).__name__
    return AuditReport(name, claim.delta, estimator.neighbors, alpha, (line,))


def _describe_power(canaries: Canaries, delta: float, alpha: float) -> str:
    """What could be found at best: all guesses right."""
    count = len(canaries)
    best = bound_mu(np.arange(count), np.arange(count) >= count / 2, alpha)
    return (
        f"{count:,} canaries among {canaries.n_rows:,} rows; "
        f"their largest possible bound is {gdp.epsilon_of(best, delta):.3g}"
    )


# ---------------------------------------------------------------- the bound


def bound_mu(
    scores: np.ndarray, coins: np.ndarray, alpha: float, shares: tuple[float, ...] = SHARES
) -> float:
    """Lower bound on mu from one run; above the truth with probability at most ``alpha``.

    Parameters
    ----------
    scores : array of shape (m,)
        Large ones say that a canary was in. They must not depend on the coins but through what was
        released.
    coins : array of bool of shape (m,)
        Which canaries were in.
    alpha : float
        Level, divided among ``shares``.
    shares : tuple of float
        Shares of canaries to guess: half of them, with the largest scores, as "in", half as "out".
    """
    scores, coins = np.asarray(scores, dtype=float), np.asarray(coins, dtype=bool)
    if scores.ndim != 1 or scores.shape != coins.shape or len(scores) < 2:
        raise ValueError("scores and coins must be two lists of the same length, at least 2.")
    if np.isnan(scores).any() or not 0 < alpha < 1:
        raise ValueError("scores must be numbers and alpha must lie strictly between 0 and 1.")
    order, best = np.argsort(scores, kind="stable"), 0.0
    for share in shares:
        half = max(1, int(share * len(scores) / 2))
        right = int(coins[order[-half:]].sum() + (~coins[order[:half]]).sum())
        best = max(best, refute_mu(len(scores), 2 * half, right, alpha / len(shares)))
    return best


def refute_mu(canaries: int, guesses: int, right: int, alpha: float) -> float:
    """Return the largest mu that ``right`` or more right guesses refute at level ``alpha``."""
    low, high = 0.0, LARGEST_MU
    for _ in range(4):  # each round narrows the place of the change by 32
        grid = np.linspace(low, high, 33)[1:]
        refuted = _refute(grid, canaries, guesses, right, alpha)
        count = int(np.argmin(refuted)) if not refuted.all() else len(grid)
        if count == len(grid):
            return float(grid[-1])
        low, high = (low if count == 0 else float(grid[count - 1])), float(grid[count])
    return low


def _refute(mus: np.ndarray, canaries: int, guesses: int, right: int, alpha: float) -> np.ndarray:
    """Say of each mu whether it is refuted: the recursion at the head of this file, all at once."""
    from scipy.special import ndtr, ndtri

    sure = np.full(len(mus), alpha * right / canaries)
    wrong = np.full(len(mus), alpha * (guesses - right) / canaries)
    for i in range(right - 1, -1, -1):
        more = np.maximum(wrong, ndtr(ndtri(sure) - mus))
        sure = np.minimum(1.0, sure + i / (guesses - i) * (more - wrong))
        wrong = more
    return np.asarray(sure + wrong > guesses / canaries)


# ---------------------------------------------------------------- scores of a fit


def _score_canaries(
    fit: SeededFit, canaries: Canaries, coins: np.ndarray, seed: int, progress: Progress | None
) -> tuple[np.ndarray, Any, str]:
    """Scores of all canaries, the plan of the fit, and a leak if a replay found one."""
    shifts = []
    with no_simulation_warnings():
        with recording() as tape:
            plan = fit(canaries.table(coins), seed).plan_
        if any(entry.question.std == 0 for entry in tape.entries):
            return np.zeros(len(coins)), plan, "an answer carries no noise"
        exact = _whiten(tape, lambda entry: entry.exact)
        for j in range(len(coins)):
            turned = coins.copy()
            turned[j] = not coins[j]
            other = play_back(fit, tape, canaries.table(turned), seed)
            if other is None:
                return np.zeros(len(coins)), plan, "the questions depend on the rows"
            shifts.append(_whiten(other, lambda entry: entry.exact, like=tape) - exact)
            if progress is not None:
                progress("one run", j + 1, len(coins))
    turned_over = np.array(shifts)
    middle = exact + turned_over.sum(axis=0) / 2
    signs = np.where(coins, -1.0, 1.0)  # from "out" to "in"
    shift = turned_over * signs[:, None]
    residual = shift @ (_whiten(tape, read_answer) - middle)
    gram = shift @ shift.T / 4 + np.eye(len(coins))
    return np.linalg.solve(gram, residual), plan, ""


def _whiten(tape: Tape, part: Callable[[Any], np.ndarray], like: Tape | None = None) -> Any:
    """All answers in one vector, each over the standard deviation of its noise."""
    stds = [entry.question.std for entry in (like or tape).entries]
    return np.concatenate([part(entry) / std for entry, std in zip(tape.entries, stds)])
