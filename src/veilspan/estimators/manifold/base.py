"""What estimators on manifolds share: bounds, count, plan, solver."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.estimators.base import PrivateEstimator
from veilspan.geometry import Ball
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.neighbors import check_neighbors
from veilspan.privacy.plan import Plan
from veilspan.queries.moments import RowCount
from veilspan.solvers.manifold.base import ManifoldResult, ManifoldSolver, ManifoldTask
from veilspan.solvers.manifold.calibrated_descent import CalibratedDescent

COUNT, COUNT_SHARE = "count", 0.02
#: Stands for "no bound" where nothing is private.
LARGEST_CLIP = 1e100


class ManifoldEstimator(PrivateEstimator):
    """An estimator that minimises a loss on a manifold."""

    _input_options: ClassVar[dict[str, Any]] = {
        "accept_sparse": False,
        "dtype": "numeric",
        "ensure_min_samples": 2,
    }

    solver: Any
    ball: Ball | None
    plan_: Plan
    result_: ManifoldResult

    @abstractmethod
    def _loss(self) -> ManifoldLoss:
        """What is minimised."""

    @abstractmethod
    def _clip(self) -> float:
        """Largest norm of a row's gradient."""

    @abstractmethod
    def _start(self) -> np.ndarray:
        """First point."""

    def _solver(self) -> ManifoldSolver:
        return CalibratedDescent() if self.solver is None else self.solver

    def _plan(self, budget: Budget, n_rows: int | None, n_features: int) -> Plan:
        neighbors = check_neighbors(self.neighbors)
        loss, solver, clip = self._loss(), self._solver(), self._clip()
        check_ball(self.ball, loss)
        self._start()
        self._check_width(loss, n_features)
        events, shares = solver.schedule(loss, clip, budget, neighbors, n_rows)
        if n_rows is None:
            events = (GaussianEvent(COUNT), *events)
            shares = (COUNT_SHARE, *(share * (1 - COUNT_SHARE) for share in shares))
        return Plan(
            method=type(self).__name__,
            budget=budget,
            neighbors=neighbors,
            n_rows=n_rows,
            n_features=n_features,
            events=calibrate_noise(budget, events, neighbors=neighbors, weights=shares),
            decisions={"solver": solver.name, "clip": clip, "loss": repr(loss)},
        )

    def _solve(self, curator: Curator) -> ManifoldResult:
        if curator.plan.n_rows is None:
            rows = max(1.0, float(curator.answer(RowCount(), event=COUNT).value[0]))
        else:
            rows = float(curator.n_rows)
        task = ManifoldTask(self._loss(), self._clip(), self._start(), rows, self.ball)
        return self._solver().run(curator, task)

    def _check_width(self, loss: ManifoldLoss, n_features: int) -> None:
        if loss.row_shape is not None and n_features != int(np.prod(loss.row_shape)):
            raise ValueError(
                f"rows of shape {loss.row_shape} have {int(np.prod(loss.row_shape))} numbers each; "
                f"got {n_features}."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def check_ball(ball: Any, loss: ManifoldLoss) -> None:
    """Refuse what is not a ball of the loss's manifold."""
    if ball is not None and not (isinstance(ball, Ball) and ball.manifold == loss.manifold):
        raise ValueError(f"ball must be a Ball of {loss.manifold}; got {ball!r}.")
