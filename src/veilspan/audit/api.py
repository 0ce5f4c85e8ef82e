"""``audit(estimator)``: replay over adversarial neighbours, then a distinguishing game."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from veilspan.audit.game import SeededFit, no_simulation_warnings, play
from veilspan.audit.inputs import pairs_around, pairs_for
from veilspan.audit.neighbors import SIZES, Pair
from veilspan.audit.replay import ReplayReport, replay
from veilspan.audit.verdict import (
    ROUNDING,
    AuditLine,
    AuditReport,
    Claim,
    line_of,
    visible_factor,
)
from veilspan.privacy import gdp
from veilspan.privacy.budget import Budget

Progress = Callable[[str, int, int], None]


def audit(
    estimator: Any,
    table: Any = None,
    claim: Budget | Claim | None = None,
    runs: int = 2000,
    *,
    sizes: Sequence[int] = SIZES,
    alpha: float = 1e-6,
    seed: int = 0,
    progress: Progress | None = None,
) -> AuditReport:
    r"""Try to refute what an estimator promises.

    First a *replay* (deterministic): the recorded answers of a fit are played back over tables that
    differ in one extreme row; nothing but the answers may reach the output, and no answer may move
    by more than its declared sensitivity. Then a *game* (statistical) on the pair that was farthest
    apart: ``runs`` fits on each of its two tables, told apart by their transcripts.

    Parameters
    ----------
    estimator : estimator
        Not changed: a copy is fitted, with seeds, without a ledger.
    table : X or (X, y), optional
        Your own rows; by default generated tables with few rows, where one row matters most.
    claim : Budget or Claim, optional
        What to refute. By default all that the fit's own plan promises, which is more than one
        point (epsilon, delta) and much easier to refute if it is wrong.
    runs : int
        Fits on each table of the game; each is replayed once. 0 leaves the game out.
    sizes : sequence of int
        Numbers of rows of generated tables.
    alpha : float
        Probability of a false alarm of the game. The replay has none.
    seed : int
        Of all runs.
    progress : callable, optional
        ``progress(check, done, total)`` after each step.

    Returns
    -------
    AuditReport
        Claimed epsilon, lower bound, runs, verdict. It never says that something is private.

    Examples
    --------
    >>> from veilspan import PCA
    >>> from veilspan.audit import audit
    >>> report = audit(PCA(1), runs=20, sizes=(5,))
    >>> report.ok
    True
    """
    model = _copy(estimator)
    pairs = _pairs(model, table, sizes, seed)
    fit = seeded(model)
    promise, worst, line = _replay_all(fit, pairs, claim, progress)
    lines = [line]
    if runs and line.ok:
        lines.append(_game(fit, *worst, promise, runs, alpha, seed, progress))
    name = type(estimator).__name__
    return AuditReport(name, promise.delta, estimator.neighbors, alpha, tuple(lines))


def seeded(model: Any) -> SeededFit:
    """``fit(arguments, seed)`` of one estimator, refitted each time."""

    def fit(arguments: tuple[Any, ...], seed: int) -> Any:
        model.random_state = seed
        return model.fit(*arguments)

    return fit


def _copy(estimator: Any) -> Any:
    """An unfitted copy that charges nobody: taped runs are refused by a ledger."""
    from sklearn.base import clone

    epsilon = getattr(estimator, "epsilon", None)
    if epsilon is None or not math.isfinite(epsilon):
        raise ValueError(
            f"{type(estimator).__name__} has no finite epsilon: there is nothing to refute."
        )
    model = clone(estimator)
    if "ledger" in model.get_params(deep=False):
        model.set_params(ledger=None)
    return model


def _pairs(model: Any, table: Any, sizes: Sequence[int], seed: int) -> list[Pair]:
    if table is None:
        return list(pairs_for(model, sizes=sizes, seed=seed))
    arguments = table if isinstance(table, tuple) else (table,)
    return list(pairs_around(model, arguments, seed))


def _replay_all(
    fit: SeededFit, pairs: Sequence[Pair], claim: Budget | Claim | None, progress: Progress | None
) -> tuple[Claim, tuple[Pair, ReplayReport], AuditLine]:
    """Replay every pair; the promise, the pair farthest apart, and the line of the report."""
    outcomes: list[tuple[Pair, ReplayReport]] = []
    plan, refused = None, ""
    with no_simulation_warnings():
        for number, pair in enumerate(pairs, 1):
            try:
                if plan is None:
                    plan = fit(pair.one, 0).plan_
                outcomes.append((pair, _replay(fit, pair)))
            except ValueError as error:  # too few rows for this estimator
                refused = str(error)
            if progress is not None:
                progress("replay", number, len(pairs))
    if not outcomes or plan is None:
        raise ValueError(f"the estimator took none of the {len(pairs)} tables: {refused}")
    promise = _claim(claim, plan)
    worst = max(outcomes, key=lambda outcome: outcome[1].realised_mu)
    sampled = any(event.sampling_rate < 1 for event in plan.events)
    return promise, worst, _replay_line(outcomes, promise, comparable=not sampled)


def _replay(fit: SeededFit, pair: Pair) -> ReplayReport:
    return replay(lambda arguments: fit(arguments, 0), pair.one, pair.two)


def _claim(claim: Budget | Claim | None, plan: Any) -> Claim:
    if isinstance(claim, Budget):
        return Claim.of_budget(claim)
    return Claim.of_plan(plan) if claim is None else claim


def _replay_line(
    outcomes: Iterable[tuple[Pair, ReplayReport]], claim: Claim, *, comparable: bool
) -> AuditLine:
    """Findings of all pairs. Sampled steps may use more than their accounted average."""
    reports = list(outcomes)
    violation = ""
    for pair, report in reports:
        if report.findings:
            violation = f"{report.findings[0].rstrip('.')} ({pair.name})"
            break
    largest = max(report.realised_mu for _, report in reports)
    bound = gdp.epsilon_of(largest, claim.delta) if comparable else None
    over = claim.mu is not None and largest > claim.mu * (1 + ROUNDING)
    if comparable and over and not violation:
        violation = f"exact sums are mu = {largest:.4g} apart, claimed {claim.mu:.4g}"
    use = max(report.largest_use for _, report in reports)
    return line_of(
        "replay", claim, bound, len(reports), violation, f"up to {use:.2f} of a sensitivity used"
    )


def _game(
    fit: SeededFit,
    pair: Pair,
    found: ReplayReport,
    claim: Claim,
    runs: int,
    alpha: float,
    seed: int,
    progress: Progress | None,
) -> AuditLine:
    done = 0

    def tell(steps: int) -> None:
        nonlocal done
        done += steps
        if progress is not None:
            progress("game", done, 2 * runs)

    rates = play(fit, pair.one, pair.two, runs=runs, seed=seed + 1, progress=tell).rates(alpha)
    bound = claim.lower_bound(rates)
    violation = ""
    if claim.refuted_by(rates):
        violation = (
            f"epsilon is at least {bound:.3g}, mu at least {rates.mu:.3g}; error rates below "
            f"{rates.false_positive:.3g} and {rates.false_negative:.3g} ({pair.name})"
        )
    return line_of("game", claim, bound, 2 * runs, violation, _power(claim, found, runs, alpha))


def _power(claim: Claim, found: ReplayReport, runs: int, alpha: float) -> str:
    if claim.mu is None or not math.isfinite(found.realised_mu):
        return ""
    factor = visible_factor(claim.mu, found.realised_mu, runs, alpha)
    if math.isinf(factor):
        return "too few runs to refute this claim, whatever the noise"
    return f"would show noise about {factor:g} times too small"
