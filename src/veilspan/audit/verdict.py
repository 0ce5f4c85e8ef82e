"""What an audit says: what was claimed, what was found, and never more than that.

An audit can refute a promise. If it does not, the words are "no violation found; lower bound x": a
mechanism that passes may still be broken in a way that these tables and scores do not show.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veilspan._notebook import draw_table_card
from veilspan.audit.bounds import ErrorRates, clopper_pearson_upper
from veilspan.privacy import gdp
from veilspan.privacy.accounting import gaussian_mu, gaussian_only, privacy_curve
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.plan import Plan

ROUNDING = 1e-6  # relative: by how much a bound must exceed a claim to refute it
CURVE_POINTS = 41
NOTE = (
    "An audit can refute a promise, never prove it. It reads exact sums, so its fits are not "
    "private releases."
)


@dataclass(frozen=True)
class Claim:
    """What is promised, in the strongest form known.

    Attributes
    ----------
    epsilon, delta : float
        The promise in one point.
    mu : float, optional
        Given if the promise is mu-GDP: then every test must keep to it.
    events : tuple of events
        Given if the promise is the whole curve of these events.
    neighbors : {"replace-one", "add-remove"}
        The relation.
    """

    epsilon: float
    delta: float
    mu: float | None = None
    events: tuple[Event, ...] = ()
    neighbors: Neighbors = "replace-one"

    def __post_init__(self) -> None:
        Budget(self.epsilon, self.delta)  # checks both
        if not math.isfinite(self.epsilon):
            raise ValueError("an infinite epsilon promises nothing that an audit could refute.")

    @classmethod
    def of_plan(cls, plan: Plan) -> Claim:
        """All that a plan promises: mu of its Gaussian events, else the curve of its events."""
        mu = planned_mu(plan)
        events = plan.events if mu is None else ()
        return cls(plan.epsilon, plan.budget.delta, mu, events, plan.neighbors)

    @classmethod
    def of_budget(cls, budget: Budget) -> Claim:
        """One point (epsilon, delta) and nothing beyond it: the claim of an unknown mechanism."""
        return cls(budget.epsilon, budget.delta)

    @classmethod
    def of_mu(cls, mu: float, delta: float = 1e-6) -> Claim:
        """A claim of mu-GDP, shown by its epsilon at ``delta``."""
        return cls(gdp.epsilon_of(mu, delta), delta, mu)

    def lower_bound(self, rates: ErrorRates) -> float:
        """Lower bound on epsilon at the claim's delta: by mu where mu-GDP is claimed."""
        general = rates.epsilon(self.delta)
        if self.mu is None:
            return general
        return max(general, gdp.epsilon_of(rates.mu, self.delta))

    def refuted_by(self, rates: ErrorRates) -> bool:
        """Whether error rates below these bounds are impossible under the claim."""
        if self.mu is not None and rates.mu > self.mu * (1 + ROUNDING):
            return True
        if rates.epsilon(self.delta) > self.epsilon * (1 + ROUNDING):
            return True
        if not self.events:
            return False
        grid = np.linspace(0.0, self.epsilon, CURVE_POINTS)
        epsilons, deltas = privacy_curve(self.events, grid, neighbors=self.neighbors)
        return any(rates.delta(e) > d * (1 + ROUNDING) for e, d in zip(epsilons, deltas))


@dataclass(frozen=True)
class AuditLine:
    """One check: what was claimed, what was found.

    Attributes
    ----------
    check : str
        ``"replay"``, ``"game"`` or ``"one run"``.
    claimed : float
        Epsilon at the claim's delta.
    lower_bound : float or None
        On epsilon at that delta; None if the check gives none.
    runs : int
        Fits, or pairs of tables for a replay.
    verdict : str
        ``"no violation found; lower bound x"`` or ``"violation: ..."``.
    ok : bool
        Whether no violation was found.
    power : str
        What the check could have seen.
    """

    check: str
    claimed: float
    lower_bound: float | None
    runs: int
    verdict: str
    ok: bool
    power: str = ""


@dataclass(frozen=True)
class AuditReport:
    """All checks of one audit; ``repr`` is an aligned table.

    Attributes
    ----------
    method : str
        What was audited.
    delta : float
        At which all epsilons are stated.
    neighbors : str
        The relation.
    alpha : float
        Probability of a false alarm of all statistical checks together.
    lines : tuple of AuditLine
        One per check.
    """

    method: str
    delta: float
    neighbors: str
    alpha: float
    lines: tuple[AuditLine, ...]

    @property
    def ok(self) -> bool:
        """Whether no check found a violation."""
        return all(line.ok for line in self.lines)

    @property
    def lower_bound(self) -> float:
        """The largest lower bound on epsilon of all checks."""
        return max((line.lower_bound or 0.0 for line in self.lines), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description (an infinite bound is the string ``"inf"``)."""
        lines = [asdict(line) for line in self.lines]
        for line in lines:
            if line["lower_bound"] is not None and math.isinf(line["lower_bound"]):
                line["lower_bound"] = "inf"
        return {
            "method": self.method,
            "delta": self.delta,
            "neighbors": self.neighbors,
            "alpha": self.alpha,
            "ok": self.ok,
            "checks": lines,
            "note": NOTE,
        }

    def __repr__(self) -> str:
        head = ("check", "claimed epsilon", "lower bound", "runs", "verdict")
        rows = [head, *(_cells(line) for line in self.lines)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head) - 1)]
        lines = [
            f"Audit of {self.method}: delta = {self.delta:g}, {self.neighbors}, "
            f"false alarms with probability {self.alpha:g}"
        ]
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:])]
            lines.append("  " + "  ".join([*cells, row[-1]]))
        lines += [f"  ({line.check}: {line.power})" for line in self.lines if line.power]
        return "\n".join([*lines, NOTE])

    def _repr_html_(self) -> str:
        head = ("check", "claimed epsilon", "lower bound", "runs", "verdict")
        rows = [
            (*_cells(line)[:-1], line.verdict + (f" ({line.power})" if line.power else ""))
            for line in self.lines
        ]
        title = f"Audit of {self.method}: delta = {self.delta:g}, {self.neighbors}"
        badge = ("strong", "no violation found") if self.ok else ("none", "VIOLATION")
        foot = f"False alarms with probability {self.alpha:g}. {NOTE}"
        return draw_table_card(title, head, rows, badge=badge, foot=foot)


def planned_mu(plan: Plan) -> float | None:
    """The mu that a plan promises, if all its answers are full-batch Gaussian releases."""
    if plan.adaptive:  # its filter admits such answers up to the mu of the budget
        return plan.budget.mu
    return gaussian_mu(plan.events) if gaussian_only(plan.events) else None


def make_line(
    check: str,
    claim: Claim,
    lower_bound: float | None,
    runs: int,
    violation: str = "",
    power: str = "",
) -> AuditLine:
    """Put what a check found into words; ``violation`` says what is wrong, if anything is."""
    if violation:
        verdict = f"violation: {violation}"
    elif lower_bound is None:
        verdict = "no violation found"
    else:
        verdict = f"no violation found; lower bound {lower_bound:.3g}"
    return AuditLine(check, claim.epsilon, lower_bound, runs, verdict, not violation, power)


def visible_factor(claimed_mu: float, pair_mu: float, runs: int, alpha: float) -> float:
    """How many times too small noise must be for a game at threshold 0 to show it half the time.

    Parameters
    ----------
    claimed_mu : float
        The claim.
    pair_mu : float
        How far apart the two tables are at the noise that was declared.
    runs : int
        On each table.
    alpha : float
        Of the game.
    """
    from scipy.special import ndtr

    for factor in np.concatenate([np.arange(1.0, 3.0, 0.01), np.arange(3.0, 100.0, 0.5)]):
        hits = math.ceil(runs * float(ndtr(-factor * pair_mu / 2)))
        rate = clopper_pearson_upper(hits, runs, alpha / 2)
        if ErrorRates(rate, rate, 2 * runs, alpha).mu > claimed_mu:
            return round(float(factor), 2)
    return math.inf


def _cells(line: AuditLine) -> tuple[str, ...]:
    bound = "-" if line.lower_bound is None else f"{line.lower_bound:.3g}"
    return line.check, f"{line.claimed:.4g}", bound, f"{line.runs:,}", line.verdict
