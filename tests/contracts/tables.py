"""One line per thing: a new query, solver or estimator joins every shared suite by adding one."""

import numpy as np

from veilspan import PCA, RobustPCA
from veilspan.problems.gradients import RowGradient
from veilspan.problems.moments import RowCount, RowSum, SecondMoment


def outer(row, center):
    x = row.x[0] - (0 if center is None else center)
    return np.array([[a * b for b in x] for a in x])


def squares(block, theta):
    return (block.x @ theta - 1.0)[:, None] * block.x


def slow_squares(row, theta):
    return (sum(a * b for a, b in zip(row.x[0], theta)) - 1.0) * row.x[0]


# name: (query, number of columns, public points, contribution of one row, written plainly)
QUERIES = {
    "second moment": (SecondMoment(1.3), 5, (None, np.arange(5) / 4), outer),
    "row sum": (RowSum(2.0), 5, (None,), lambda row, point: row.x[0]),
    "row count": (RowCount(), 3, (None,), lambda row, point: np.ones(1)),
    "row gradient": (RowGradient(squares, 0.7), 4, (np.ones(4), np.zeros(4)), slow_squares),
}

# name: (estimator class, parameters beside the shared ones)
ESTIMATORS = {
    "PCA": (PCA, {"n_components": 2}),
    "PCA, private centre": (PCA, {"n_components": 2, "center": "private", "row_norm": 2.0}),
    "PCA, public centre": (PCA, {"n_components": 1, "center": np.ones(4), "epsilon": 3.0}),
    "PCA, exact noise": (PCA, {"n_components": 2, "noise": "exact"}),
    "RobustPCA": (RobustPCA, {"n_components": 2}),
    "RobustPCA, rank unknown": (RobustPCA, {"epsilon": 5.0}),
    "RobustPCA, private centre": (RobustPCA, {"n_components": 1, "center": "private"}),
}
