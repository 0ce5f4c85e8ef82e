"""One trial of a search: a fit, and one more question that says how good it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.privacy.accounting import gaussian_only
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.linear.candidate_gains import ModelGain
from veilspan.queries.subspace.captured_share import CapturedShare
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.linear.base import LinearProblem
from veilspan.solvers.subspace.base import SubspaceProblem

SCORE = "score"
#: What a trial's plan states of a trial that is not Gaussian alone, over what it was planned for:
#: the search's plan is the one that promises, and the noise of its trials is scaled to keep it.
ROOM = 8.0


@dataclass
class AskScore:
    """The last question of a trial: how good what was learned is.

    The answer is kept here, apart from what was learned: the search compares scores and forgets
    them. Models are scored on all rows: a model that is differentially private follows no single
    row, so that rows it has seen say of it what others would.

    Attributes
    ----------
    event : GaussianEvent
        What it costs.
    told : float
        The noisy score of the last run; minus infinity if there is none.
    """

    event: GaussianEvent
    told: float = -math.inf

    @property
    def events(self) -> tuple[Event, ...]:
        """One Gaussian answer, of one number."""
        return (self.event,)

    def ask(self, curator: Curator, problem: Any, result: Any) -> Any:
        """Ask, keep what was told, and return the result as it was."""
        if isinstance(problem, LinearProblem):
            answer = curator.answer(ModelGain(problem.loss), result.theta, event=SCORE)
        else:
            basis = result.basis if hasattr(result, "basis") else result.components.T
            query = CapturedShare(result.center)
            answer = curator.answer(query, np.asarray(basis), event=SCORE)
        # A robust fit may have paired its rows: their number is public wherever that is offered.
        # Elsewhere (add-remove, combine="none") it is private and no trial pairs: all trials score
        # sums over the same rows, which compare as their means would.
        told = float(np.asarray(answer.value).ravel()[0]) / (curator.plan.n_rows or 1)
        self.told = told if math.isfinite(told) else -math.inf
        return result


@dataclass(frozen=True)
class Scored(Prepared[Any, Any]):
    """A prepared fit with a score behind it, within one budget."""

    asker: AskScore = field(kw_only=True)

    def run(self, curator: Curator) -> Outcome:
        """Run the fit as if it had its part of the budget alone, then ask for the score."""
        self.asker.told = -math.inf
        return super().run(curator if self.stages else curator.part(self.budget, self.all_events))

    def with_events(self, events: tuple[Event, ...]) -> Scored:
        """The same with the noise of these events, by name; stages ask by name as well."""
        noisy = {event.name: event for event in events}
        return replace(self, events=tuple(noisy.get(one.name, one) for one in self.events))


@dataclass(frozen=True)
class ScoredFit:
    """Prepares an estimator's fit with a score behind it: what stands in for its ``_prepare``.

    Attributes
    ----------
    model : estimator
        Whose fit.
    share : float
        Of the trial's budget (of mu^2), what the score takes.
    """

    model: Any
    share: float

    def __call__(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Scored:
        """The fit on what the score leaves of the trial's budget."""
        noise = 1 / (budget.mu * math.sqrt(self.share)) if budget.is_private else 0.0
        asker, part = AskScore(GaussianEvent(SCORE, noise)), budget
        if budget.is_private:
            part = Budget.of_mu(budget.mu * math.sqrt(1 - self.share), budget.delta)
        inner = self.model._prepare(part, neighbors, n_rows, n_features)
        self._refuse(inner)
        scored = _with_score(inner, asker)
        if gaussian_only(scored.all_events) or not budget.is_private:
            return scored
        # Others do not add up exactly: the whole search scales their noise (``search_plan``).
        return replace(scored, stated=Budget(ROOM * budget.epsilon, budget.delta))

    def _refuse(self, inner: Prepared[Any, Any]) -> None:
        """Refuse a fit that cannot be scored, or whose cost is not fixed beforehand."""
        name = type(self.model).__name__
        if not isinstance(inner.problem, (LinearProblem, SubspaceProblem)):
            raise ValueError(
                f"PrivateSearch has no score for {name}: it searches settings of linear models, "
                "PCA and RobustPCA. For others use the default rules, or settings from public data."
            )
        if inner.adaptive or inner.stated is not None:
            raise ValueError(
                f"the solver of {name} spends its budget as it goes, or by a noise of its own, and "
                "a trial of a search must cost what it was planned to cost: name another solver."
            )
        if getattr(self.model, "scale", None) is not None and isinstance(
            inner.problem, SubspaceProblem
        ):
            raise ValueError(f"PrivateSearch has no score for scaled columns: {name}(scale=None).")
        if inner.paired:
            raise ValueError(
                'PrivateSearch has no score for differences of paired rows (center="pairs"): use '
                "another center."
            )


def _with_score(inner: Prepared[Any, Any], asker: AskScore) -> Scored:
    shown = {name: getattr(inner, name) for name in Prepared.__dataclass_fields__}
    return replace(Scored(**shown, asker=asker), afters=(*inner.afters, asker))
