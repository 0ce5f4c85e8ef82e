"""One line per thing: a new query, solver or estimator joins every shared suite by adding one."""

import numpy as np

from veilspan import PCA, RobustPCA
from veilspan.problems.gradients import RowGradient
from veilspan.problems.moments import RowCount, RowSum, SecondMoment
from veilspan.problems.recursive import TylerBlock, WhitenedBlocks
from veilspan.problems.sphered import SphericalMoment


def outer(row, center):
    x = row.x[0] - (0 if center is None else center)
    return np.array([[a * b for b in x] for a in x])


def squares(block, theta):
    return (block.x @ theta - 1.0)[:, None] * block.x


def slow_squares(row, theta):
    return (sum(a * b for a, b in zip(row.x[0], theta)) - 1.0) * row.x[0]


def unit(row):
    x = row.x[0]
    return x / np.linalg.norm(x) if np.any(x) else x


def slow_blocks(row, point):
    basis, scale = point
    x = unit(row)
    inside = basis.T @ x
    outside = (x - basis @ inside) / scale
    length = np.sqrt(inside @ inside + outside @ outside) or 1.0
    return np.outer(inside, inside) / length**2, np.outer(outside, inside) / length**2


def slow_tyler(row, point):
    directions, whitening, rest = point
    x = unit(row)
    white = whitening.T @ (directions.T @ x)
    outside = x - directions @ (directions.T @ x)
    a = white / (np.sqrt(white @ white + outside @ outside / rest) or 1.0)
    return np.outer(a, a)


FRAME = np.linalg.qr(np.random.default_rng(5).standard_normal((5, 3)))[0]
BLOCK_POINTS = ((FRAME[:, :2], 1.0), (FRAME[:, :2], 0.3), (FRAME[:, :1], 0.05))

# name: (query, number of columns, public points, contribution of one row, written plainly)
QUERIES = {
    "second moment": (SecondMoment(1.3), 5, (None, np.arange(5) / 4), outer),
    "row sum": (RowSum(2.0), 5, (None,), lambda row, point: row.x[0]),
    "row count": (RowCount(), 3, (None,), lambda row, point: np.ones(1)),
    "spherical moment": (
        SphericalMoment(),
        5,
        (None,),
        lambda row, point: np.outer(unit(row), unit(row)),
    ),
    "whitened blocks, replace-one": (WhitenedBlocks("replace-one"), 5, BLOCK_POINTS, slow_blocks),
    "whitened blocks, add-remove": (WhitenedBlocks("add-remove"), 5, BLOCK_POINTS, slow_blocks),
    "tyler block": (TylerBlock(), 5, ((FRAME, np.diag([1.0, 2.0, 9.0]), 0.1),), slow_tyler),
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
