"""A subspace solver prepared behind the stage that finds its centre, within one budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veilspan.estimators.linear.budget_parts import prepare_rest
from veilspan.privacy.accounting import fits_budget
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.base import Prepared
from veilspan.solvers.subspace.base import SubspaceProblem, SubspaceResult
from veilspan.solvers.subspace.centre.stage import REST_SHARE, FindCentre


def prepare_with_centre(
    solver: Any, problem: SubspaceProblem, budget: Budget, neighbors: Neighbors
) -> Prepared[SubspaceProblem, SubspaceResult]:
    """A solver for the rows as the centre's stage will have them; one plan covers both.

    The noise of all questions is set here, before a row is read: of the stage's two by their
    shares, of the solver's by what these leave. Where all releases are Gaussian that is 95 % of
    mu^2 exactly; else the solver's part is searched for, by accounting all events together.

    Parameters
    ----------
    solver : solver
        A subspace solver.
    problem : SubspaceProblem
        Without a centre of its own.
    budget : Budget
        Of the whole fit.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    """
    stage = FindCentre.plan(problem.n_features, budget)
    part = budget.part(REST_SHARE)
    prepared: Any = solver.prepare(problem, part, neighbors)
    if not prepared.adaptive and budget.is_private:

        def prepare(part: Budget) -> Any:
            return solver.prepare(problem, part, neighbors)

        greedy = not fits_budget(prepared.events, budget, neighbors)  # the plan will say so
        found = prepare_rest(stage.events, REST_SHARE, budget, neighbors, prepare)
        prepared = prepared if found is None and greedy else found
        if prepared is None:
            raise ValueError(
                f"epsilon = {budget.epsilon:g} is too small at delta = {budget.delta:g} for a "
                'centre and this solver together: say center="origin", or give a larger epsilon.'
            )
    centre = "origin, pairs or a cap left out, by the first two questions"
    if neighbors == "add-remove":
        centre = "origin or a cap left out, by the first two questions; refused if neither fits"
    return replace(
        prepared,
        stages=(stage, *prepared.stages),
        decisions={**prepared.decisions, "centre": centre},
    )
