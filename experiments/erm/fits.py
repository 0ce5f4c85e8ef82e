"""One fit of one method, on rows scaled once: what the tables and the complexities share.

The estimators scale block by block at every question, which bounds memory and costs time. Here the
same map is applied once, the solvers are run on the result, and test rows see the coefficients in
their own units, as with the estimators: same questions, same noise, fewer copies.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from veilspan.curator.curator import Curator
from veilspan.curator.rows import Block, Rows
from veilspan.estimators.linear.feature_scaling import FeatureBounds
from veilspan.estimators.linear.parameters import LinearParameters
from veilspan.losses.linear import Logistic
from veilspan.losses.penalties import NoPenalty
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import LoudNoiseWarning
from veilspan.privacy.noise import noise_source
from veilspan.privacy.plan import Plan
from veilspan.solvers.linear.base import LinearProblem

DELTA = 1e-6
INTERCEPT = LinearParameters.intercept_scaling  # the estimators' default
RIDGE = 1e-4  # per row, of the fit without privacy that excess risk is counted from


@dataclass(frozen=True, eq=False)
class Scaled:
    """A split whose training rows lie in the unit ball, and its non-private minimum."""

    split: object
    rows: object  # with the constant column
    signs: np.ndarray
    row_map: object
    minimum: np.ndarray  # theta
    least_risk: float

    def risk(self, theta):
        """Mean logistic loss of the training rows."""
        return float(Logistic().value(np.asarray(self.rows @ theta), self.signs).mean())

    def accuracy(self, theta):
        """Share of test rows whose sign is right."""
        coefficients, constant = self.row_map.user_coefficients(theta)
        rows, signs = self.split.test
        return float(np.mean(np.where(rows @ coefficients + constant >= 0, 1.0, -1.0) == signs))


def scaled(split):
    """Apply the public map once; fit without privacy."""
    rows, signs = split.train
    settings = split.settings
    is_sparse = sparse.issparse(rows)
    bounds = FeatureBounds(settings.get("feature_range"), settings.get("row_norm"), None, INTERCEPT)
    row_map = bounds.map_for(rows.shape[1], is_sparse)
    mapped = row_map(Block(rows, signs)).x
    theta = plain(mapped, signs, RIDGE * len(signs))
    made = Scaled(split, mapped, signs, row_map, theta, 0.0)
    return Scaled(split, mapped, signs, row_map, theta, made.risk(theta))


def plain(rows, signs, ridge, tolerance=1e-4):
    """Logistic regression of scikit-learn, constant column included in the rows."""
    from sklearn.linear_model import LogisticRegression

    solver = "newton-cholesky" if rows.shape[0] > 5 * rows.shape[1] else "lbfgs"
    model = LogisticRegression(
        C=1 / ridge, fit_intercept=False, max_iter=2000, solver=solver, tol=tolerance
    )
    return model.fit(rows, signs).coef_[0]


def problem_of(data, neighbors, penalty=None, intercept=True):
    """Logistic loss; under add-remove the number of rows is only expected."""
    rows, columns = data.rows.shape
    known = neighbors == "replace-one"
    return LinearProblem(
        loss=Logistic(),
        penalty=penalty or NoPenalty(),
        n_features=columns,
        n_rows=rows if known else None,
        expected_rows=None if known else rows,
        intercept=intercept,
    )


def private(data, solver, epsilon, seed, neighbors="add-remove", penalty=None, intercept=True):
    """Theta, CPU seconds and the events of one private fit; the noise is seeded."""
    problem, budget = problem_of(data, neighbors, penalty, intercept), Budget(epsilon, DELTA)
    start = time.process_time()
    plan = Plan(
        method="experiment",
        budget=budget,
        neighbors=neighbors,
        n_rows=problem.n_rows,
        n_features=problem.n_features,
        events=solver.prepare(problem, budget, neighbors).events,
    )
    curator = Curator(Rows(data.rows, data.signs), plan, noise_source(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoudNoiseWarning)
        theta = solver.run(curator, problem).theta
    return theta, time.process_time() - start, plan.events


def gradients(events, rows):
    """Gradients of single rows that the events ask for."""
    return sum(event.count * event.sampling_rate * rows for event in events)
