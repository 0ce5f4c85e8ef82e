r"""The curator where one unit is several rows: group privacy, k rows at a time.

With ``combine = "none"`` a person has k = ``max_rows`` rows in the curator's table, absent ones
among them. Solvers and queries are about rows; the promise is about people.

*Sensitivity.* Let tables related by N differ in one person. *replace-one*: she has k slots in both,
and the slots of all others are the same. Exchange her slots one after the other: k steps, each of
which exchanges one row, so by the triangle inequality a sum moves by at most k Delta, Delta =
``query.sensitivity("replace-one")``. *add-remove*: k rows are added or removed, one after the
other: at most k ``query.sensitivity("add-remove")``. Each step may round one row's contribution
anew, so the slack of rounding counts k times as well. Differences of paired rows (``Rows.paired``)
keep to it: k rows stand in at most k pairs.

*Charge.* An answer has noise of std z k Delta and is charged as a Gaussian mechanism of multiplier
z: true for a person, and all that the meter, the statement and a ledger ever see. A solver is told
row by row: the same answer has the multiplier z' = z k beside Delta, so that a budget mu of the
plan is mu/k to the solver, and what is left of mu^2 is that over k^2. It decides by these numbers
as it would for rows of other people, and what it then asks costs a person k times as much in mu,
which is what the plan has.

Gaussian mechanisms over all rows alone: a sample takes some of a person's rows and not others, and
the theorem of the tilted objective is about one row. Plans of these are refused.
"""

from __future__ import annotations

from typing import Any, NoReturn

from veilspan.curator.curator import Curator, NoiseKind
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan, PlanPart


class GroupCurator(Curator):
    """Answers about rows, charged for units of several rows.

    Parameters
    ----------
    rows : Rows
        ``rows_per_unit`` rows a unit.
    plan : Plan
        For units: multipliers are relative to ``rows_per_unit`` times the sensitivity of a row.
    source : NoiseSource
        Where noise and coins come from.
    noise : {"grid", "exact"}
        As in :class:`Curator`.
    rows_per_unit : int
        k.
    seen : PlanPart
        What solvers are shown: the same plan in terms of rows.
    """

    def __init__(
        self,
        rows: Any,
        plan: Plan,
        source: NoiseSource,
        *,
        noise: NoiseKind = "grid",
        rows_per_unit: int,
        seen: PlanPart,
    ) -> None:
        if any(not isinstance(event, GaussianEvent) for event in plan.events):
            raise PrivacyError(
                "several rows a unit are covered by Gaussian releases over all rows."
            )
        super().__init__(rows, plan, source, noise=noise)
        self._plan = seen
        self._rows_moved = rows_per_unit

    @property
    def mu_squared_left(self) -> float:
        """What an adaptive plan may still spend, row by row."""
        return super().mu_squared_left / self._rows_moved**2

    def minimum(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: the theorem of the tilted objective is about one row."""
        raise PrivacyError("a tilted objective protects one row: combine the rows of a unit first.")
