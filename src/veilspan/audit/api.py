"""``audit(estimator)``: replay over adversarial neighbours, then a distinguishing game."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
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
    make_line,
    planned_mu,
    visible_factor,
)
from veilspan.privacy import gdp
from veilspan.privacy.budget import Budget
from veilspan.privacy.plan import Plan

Progress = Callable[[str, int, int], None]
#: From this share of the largest distance on, an earlier pair is taken: its tables are smaller, so
#: that its game is quicker, and at nearly the same distance.
NEARLY = 0.98


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
    model = copy_for_audit(estimator)
    pairs = _make_pairs(model, table, sizes, seed)
    fit = make_seeded_fit(model)
    outcomes = _replay_all(fit, pairs, progress)
    worst = _find_farthest(outcomes)
    promise = _make_claim(claim, worst.plan)
    lines = [_judge_replays(outcomes, promise)]
    if runs:
        lines.append(_play_game(fit, worst, promise, runs, alpha, seed, progress))
    name = type(estimator).__name__
    return AuditReport(name, promise.delta, estimator.neighbors, alpha, tuple(lines))


def make_seeded_fit(model: Any) -> SeededFit:
    """Turn an unfitted estimator into a function ``fit(arguments, seed)``.

    Each run fits a copy of its own: of one object fitted twice, both outputs would be the last.
    """

    def fit(arguments: tuple[Any, ...], seed: int) -> Any:
        fresh = copy(model)
        fresh.random_state = seed
        return fresh.fit(*arguments)

    return fit


def copy_for_audit(estimator: Any) -> Any:
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


def _make_pairs(model: Any, table: Any, sizes: Sequence[int], seed: int) -> list[Pair]:
    if table is None:
        return list(pairs_for(model, sizes=sizes, seed=seed))
    arguments = table if isinstance(table, tuple) else (table,)
    return list(pairs_around(model, arguments, seed))


@dataclass(frozen=True)
class _Outcome:
    """A replayed pair, and the plan of its first run."""

    pair: Pair
    report: ReplayReport
    plan: Plan


def _replay_all(fit: SeededFit, pairs: Sequence[Pair], progress: Progress | None) -> list[_Outcome]:
    """Replay every pair that the estimator takes: some need more rows than the smallest have."""
    outcomes: list[_Outcome] = []
    refused = ""
    with no_simulation_warnings():
        for number, pair in enumerate(pairs, 1):
            try:
                outcomes.append(_replay(fit, pair))
            except ValueError as error:
                refused = str(error)
            if progress is not None:
                progress("replay", number, len(pairs))
    if not outcomes:
        raise ValueError(f"the estimator took none of the {len(pairs)} tables: {refused}")
    return outcomes


def _replay(fit: SeededFit, pair: Pair) -> _Outcome:
    plans: list[Plan] = []

    def fit_and_keep_plan(arguments: Any) -> Any:
        model = fit(arguments, 0)
        if not hasattr(model, "plan_"):  # a stream that has not filled its first block
            raise ValueError("nothing was released from so few rows.")
        plans.append(model.plan_)
        return model

    return _Outcome(pair, replay(fit_and_keep_plan, pair.one, pair.two), plans[0])


def _find_farthest(outcomes: Sequence[_Outcome]) -> _Outcome:
    """Find the pair farthest apart or, if nearly as far, an earlier one."""
    largest = max(outcome.report.realised_mu for outcome in outcomes)
    return next(o for o in outcomes if o.report.realised_mu >= NEARLY * largest)


def _make_claim(claim: Budget | Claim | None, plan: Plan) -> Claim:
    if isinstance(claim, Budget):
        return Claim.of_budget(claim)
    return Claim.of_plan(plan) if claim is None else claim


def _judge_replays(outcomes: Sequence[_Outcome], claim: Claim) -> AuditLine:
    """Findings of all pairs; distances count where every answer is a full-batch release."""
    violation = next((text for text in map(_describe_violation, outcomes) if text), "")
    mus = [o.report.realised_mu for o in outcomes if planned_mu(o.plan) is not None]
    bound = gdp.epsilon_of(max(mus), claim.delta) if mus else None
    if not violation and claim.mu is not None and mus and max(mus) > claim.mu * (1 + ROUNDING):
        violation = f"exact sums are mu = {max(mus):.4g} apart, claimed {claim.mu:.4g}"
    use = max(outcome.report.largest_use for outcome in outcomes)
    return make_line(
        "replay", claim, bound, len(outcomes), violation, f"up to {use:.2f} of a sensitivity used"
    )


def _describe_violation(outcome: _Outcome) -> str:
    """What a replay found wrong, or nothing. Sampled steps may use more than their average."""
    found, where = outcome.report, outcome.pair.name
    if found.findings:
        return f"{found.findings[0].rstrip('.')} ({where})"
    promised = planned_mu(outcome.plan)
    if promised is not None and found.realised_mu > promised * (1 + ROUNDING):
        return (
            f"exact sums are mu = {found.realised_mu:.4g} apart, planned {promised:.4g} ({where})"
        )
    return ""


def _play_game(
    fit: SeededFit,
    worst: _Outcome,
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

    pair = worst.pair
    rates = play(fit, pair.one, pair.two, runs=runs, seed=seed + 1, progress=tell).rates(alpha)
    bound = claim.lower_bound(rates)
    violation = ""
    if claim.refuted_by(rates):
        violation = (
            f"epsilon is at least {bound:.3g}, mu at least {rates.mu:.3g}; error rates below "
            f"{rates.false_positive:.3g} and {rates.false_negative:.3g} ({pair.name})"
        )
    return make_line(
        "game", claim, bound, 2 * runs, violation, _describe_power(claim, worst.report, runs, alpha)
    )


def _describe_power(claim: Claim, found: ReplayReport, runs: int, alpha: float) -> str:
    if claim.mu is None or not math.isfinite(found.realised_mu):
        return ""
    factor = visible_factor(claim.mu, found.realised_mu, runs, alpha)
    if math.isinf(factor):
        return "too few runs to refute this claim, whatever the noise"
    return f"would show noise about {factor:g} times too small"
