"""Minimise a loss over a manifold, privately."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.silence import quiet
from veilspan.estimators.manifold.base import LARGEST_CLIP, ManifoldEstimator
from veilspan.estimators.manifold.points import flat_rows, rows_on_manifold
from veilspan.geometry import Ball
from veilspan.ledger.dataset import Dataset
from veilspan.losses.manifold import FrechetLoss, ManifoldLoss
from veilspan.privacy.budget import Budget
from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import PrivacyStatement
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.manifold.base import ManifoldSolver


@dataclass(frozen=True)
class Minimum:
    """What :func:`minimize` found.

    Attributes
    ----------
    point : array
        The private minimiser.
    privacy : PrivacyStatement
        What was promised and spent.
    plan : Plan
        What was asked, decided before any row was read.
    stopped : str
        Why the solver stopped.
    trace : list of dict
        Step sizes and noise of every step.
    """

    point: np.ndarray
    privacy: PrivacyStatement
    plan: Plan
    stopped: str
    trace: list[dict[str, Any]] = field(repr=False)


@dataclass(eq=False, repr=False)
class ManifoldMinimizer(ManifoldEstimator):
    """The estimator behind :func:`minimize`: it is planned, charged and run as all others are."""

    _assumptions: ClassVar[tuple[str, ...]] = (
        "a row's gradient looks at that row and the point alone; that rows have the form which "
        "the loss expects is public",
    )
    #: Given by :meth:`follow`, which is no parameter.
    _recorded: Plan | None = field(default=None, init=False)

    loss: ManifoldLoss
    _: KW_ONLY
    solver: ManifoldSolver | None = None
    clip: float | None = None
    start: Any = None
    ball: Ball | None = None

    def follow(self, plan: Plan | None) -> ManifoldMinimizer:
        """Run this plan, which must ask the same as the one that a fit would make; or ``None``."""
        self._recorded = plan
        return self

    def _draft(self, n_samples: int | None, n_features: int) -> tuple[Plan, Prepared[Any, Any]]:
        made, prepared = super()._draft(n_samples, n_features)
        recorded = self._recorded
        if recorded is None:
            return made, prepared
        alike = recorded.budget == made.budget and recorded.decisions == made.decisions
        if not (alike and recorded.asks_the_same_as(made)):
            raise ValueError(
                "the recorded plan is not the plan of this call: the data's shape, the budget or "
                "a parameter differs."
            )
        # Within its budget, or it would not exist. It asks the same events as what was prepared, so
        # that runs on it: a solver reads the noise of its events off the plan.
        return recorded, prepared

    def _loss(self) -> ManifoldLoss:
        return self.loss

    def _start(self) -> np.ndarray:
        manifold = self.loss.manifold
        if self.start is None:
            return self.ball.center if self.ball is not None else manifold.reference_point
        start = np.asarray(self.start, dtype=np.float64)
        if start.shape != manifold.point_shape or not bool(manifold.contains(start, atol=1e-6)):
            raise ValueError(f"start must be a point of {manifold}.")
        return start

    def _clip(self) -> float:
        if self.clip is not None:
            return check_scale(self.clip, "clip")
        if self.loss.largest_gradient is not None:
            return float(self.loss.largest_gradient)
        if not Budget(self.epsilon, self.delta).is_private:
            return LARGEST_CLIP
        raise ValueError(
            "the gradient of a row must be bounded: give clip=..., the largest norm that a row's "
            "Riemannian gradient may have (longer ones are shortened), chosen without the rows."
        )

    def _rows_for_curator(self, table: Any, targets: Any) -> Any:
        if not isinstance(self.loss, FrechetLoss):
            return super()._rows_for_curator(table, targets)
        with quiet():  # points that are none are refused here, not in the middle of a run
            return rows_on_manifold(table, self.loss.manifold)

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        self.result_ = outcome.result
        self.point_ = self.result_.point


def minimize(
    loss: ManifoldLoss,
    data: Any,
    *,
    budget: Budget,
    solver: ManifoldSolver | None = None,
    clip: float | None = None,
    start: Any = None,
    ball: Ball | None = None,
    neighbors: str = "replace-one",
    noise: str = "grid",
    random_state: int | None = None,
    plan: Plan | None = None,
    ledger: Dataset | None = None,
    allow_weak: bool = False,
) -> Minimum:
    """Minimise the mean of a loss over rows, on a manifold, under differential privacy.

    Parameters
    ----------
    loss : ManifoldLoss
        :class:`FrechetLoss`, :class:`LeadingSubspace` or a :class:`Loss` of your own.
    data : array of shape (n, ...)
        One row per person; rows may have any shape that the loss expects. The rows of a
        :class:`FrechetLoss` must be points of its manifold, which counts as public.
    budget : Budget
        What may be spent, e.g. ``Budget(1.0, 1e-6)``; ``Budget(math.inf, 1e-6)`` without privacy.
    solver : solver, optional
        :class:`RGD`, :class:`RSGD`, :class:`RSVRG` or :class:`CalibratedDescent`, the default.
    clip : float, optional
        Largest Riemannian norm of a row's gradient; longer ones are shortened. By default the
        public bound that the loss knows.
    start : array, optional
        A public first point; by default the centre of the ball, or a fixed point.
    ball : Ball, optional
        Where iterates are kept.
    neighbors : {"replace-one", "add-remove"}
        Which tables count as neighbours.
    noise : {"grid", "exact"}
        See :class:`veilspan.PCA`.
    random_state : int or None
        ``None`` for secure noise; an int simulates.
    plan : Plan, optional
        Run exactly this plan, e.g. one recorded by an earlier run, instead of making one.
    ledger : Dataset, optional
        Account that is charged before any row is read (:class:`veilspan.Ledger`).
    allow_weak : bool
        Whether delta may be 1/n or more, and epsilon above 10 without a warning.

    Returns
    -------
    Minimum

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import Budget, LeadingSubspace, minimize
    >>> from veilspan.geometry import Sphere
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((2000, 5)) * [0.6, 0.1, 0.1, 0.1, 0.1]
    >>> found = minimize(LeadingSubspace(Sphere(5)), rows, budget=Budget(1.0, 1e-6))
    >>> bool(abs(found.point[0]) > 0.9)
    True
    """
    _check_types(loss, budget)
    flat = flat_rows(data, loss.row_shape, "rows")
    fitted = ManifoldMinimizer(
        loss,
        solver=solver,
        clip=clip,
        start=start,
        ball=ball,
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbors=neighbors,
        noise=noise,
        random_state=random_state,
        ledger=ledger,
        allow_weak=allow_weak,
    )
    fitted.follow(plan).fit(flat)
    result = fitted.result_
    return Minimum(result.point, fitted.privacy_, fitted.plan_, result.stopped, result.trace)


def _check_types(loss: Any, budget: Any) -> None:
    if not isinstance(loss, ManifoldLoss):
        raise TypeError(f"loss must be a ManifoldLoss; got {type(loss).__name__}.")
    if not isinstance(budget, Budget):
        raise TypeError(
            f"budget must be a Budget, e.g. Budget(1.0, 1e-6); got {type(budget).__name__}."
        )
