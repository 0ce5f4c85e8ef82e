"""How much each feature bends the objective where a solver has ended: asked for error bars."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veilspan.curator.curator import Curator
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import LinearLoss
from veilspan.privacy.events import Event
from veilspan.queries.linear.asked.curvature_diagonal import CurvatureDiagonal
from veilspan.solvers.linear.base import LinearProblem, LinearResult
from veilspan.solvers.linear.tables.moments_noise import MomentsNoise

CURVATURE = "curvature"
#: Share of mu^2. A diagonal is sums over all rows: 1 % leaves those of frequent features within
#: some 10 %, and bars need no more; noise elsewhere grows by 0.5 %.
CURVATURE_SHARE = 0.01
#: Length of a row's squares over that of g equal groups, from which they are shortened.
ROOM = 1.5


@dataclass(frozen=True)
class AskCurvature:
    """One question after the solver (:class:`CurvatureDiagonal`).

    Attributes
    ----------
    bound : float
        Longest contribution of a row.
    events : tuple of events
        The one question that it asks, with its noise; none before that is set.
    """

    bound: float
    events: tuple[Event, ...] = ()

    event = CURVATURE
    share = CURVATURE_SHARE

    def ask(self, curator: Curator, problem: LinearProblem, result: LinearResult) -> LinearResult:
        """Ask at theta, for the loss as it was minimised."""
        if result.noise is None or isinstance(result.noise, MomentsNoise):
            return result
        loss = loss_minimised(problem.loss, result)
        query = CurvatureDiagonal(loss, self.bound, result.noise.clip)
        answer = curator.answer(query, result.theta, event=CURVATURE)
        return replace(result, diagonal=answer)


def loss_minimised(loss: LinearLoss, result: LinearResult) -> LinearLoss:
    """The loss with the class weights that were found, if any were asked for."""
    weights = getattr(result, "weights", None)
    if weights is None:
        return loss
    return ClassWeighted(loss.loss if isinstance(loss, ClassWeighted) else loss, weights)
