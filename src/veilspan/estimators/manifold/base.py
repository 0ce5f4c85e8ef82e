"""What estimators on manifolds share: the problem that their parameters describe."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.parameters import PrivacyParameters
from veilspan.geometry import Ball
from veilspan.losses.manifold import ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.base import Prepared, check_solver
from veilspan.solvers.manifold.base import ManifoldProblem, ManifoldResult, ManifoldSolver
from veilspan.solvers.manifold.calibrated_descent import CalibratedDescent

#: Stands for "no bound" where nothing is private.
LARGEST_CLIP = 1e100


class ManifoldEstimator(PrivacyParameters, PrivateEstimator):
    """An estimator that minimises the mean of a loss over points of a manifold."""

    _input_options: ClassVar[dict[str, Any]] = {
        "accept_sparse": False,
        "dtype": "numeric",
        "ensure_min_samples": 2,
    }

    solver: Any
    ball: Ball | None

    @abstractmethod
    def _loss(self) -> ManifoldLoss:
        """The loss whose mean over the rows is minimised."""

    @abstractmethod
    def _clip(self) -> float:
        """Largest norm that a row's gradient may have; longer ones are shortened."""

    @abstractmethod
    def _start(self) -> np.ndarray:
        """The public point that descent begins at."""

    def _solver(self) -> ManifoldSolver:
        if self.solver is None:
            return CalibratedDescent()
        return check_solver(self.solver, "RGD()")

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[ManifoldProblem, ManifoldResult]:
        loss, solver, clip = self._loss(), self._solver(), self._clip()
        check_ball(self.ball, loss)
        start = self._start()
        self._check_width(loss, n_features)
        problem = ManifoldProblem(loss, clip, start, n_rows, self.ball)
        return solver.prepare(problem, budget, neighbors)

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
