"""The diagonal of a Hessian: bounds, what is summed, and broken copies."""

import math

import numpy as np
import pytest
from scipy import sparse

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError, adversarial_rows
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import Huber, Logistic, SmoothedHinge, Squared
from veilspan.queries.linear.asked.curvature_diagonal import CurvatureDiagonal

THETA = np.array([2.0, -1.0, 0.5])


def rows(rng, count):
    made = np.concatenate([adversarial_rows(rng, 3).x, np.eye(3), np.zeros((1, 3))])
    return Block(made, rng.choice([-1.0, 1.0], len(made)))


def slow(loss, clip):
    def contribution(row, theta):
        x, y = row.x[0] / max(1.0, np.linalg.norm(row.x[0])), row.y
        u = np.array([x @ theta])
        share = loss.curvature(u, y)[0] / loss.smoothness
        pull = abs(loss.slope(u, y)[0]) * np.linalg.norm(x)
        fade = 1.0 if math.isinf(clip) else min(1.0, max(0.0, (1.1 * clip - pull) / (0.2 * clip)))
        return share * fade * x**2

    return contribution


@pytest.mark.parametrize("loss", [Logistic(), ClassWeighted(Logistic(), (0.1, 1.0)), Squared()])
@pytest.mark.parametrize("clip", [math.inf, 0.3])
def test_the_contract(loss, clip):
    report = check_query(
        CurvatureDiagonal(loss, 0.4, clip), 3, points=(THETA, 0 * THETA, 30 * THETA),
        reference=slow(loss, clip), make_rows=rows,
    )  # fmt: skip
    assert report.add_remove > 0.95
    assert report.replace_one > 0.9


class OneForBoth(CurvatureDiagonal):
    """A broken copy: as if the exchange of a row moved one contribution only."""

    def sensitivity(self, neighbors):
        return self.bound


class NotCut(CurvatureDiagonal):
    """A broken copy: lengths of rows in place of those of their squares, divided by a group's."""

    def norms(self, block, point):
        return super().norms(block, point) / 2


@pytest.mark.parametrize("kind", [OneForBoth, NotCut])
def test_broken_copies_are_caught(kind):
    with pytest.raises(QueryCheckError):
        check_query(kind(Squared(), 0.4), 3, points=(THETA,), make_rows=rows)


def test_it_is_the_diagonal_of_the_hessian():
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.5, 0.5, (40, 3))
    y = rng.choice([-1.0, 1.0], 40)
    for theta in (THETA, 0 * THETA):
        p = 1 / (1 + np.exp(-x @ theta))
        hessian = (x * (p * (1 - p))[:, None]).T @ x
        for table in (x, sparse.csr_array(x)):
            found = clipped_block_sum(CurvatureDiagonal(Logistic(), 1.0), Block(table, y), theta)
            np.testing.assert_allclose(0.25 * found, np.diag(hessian))


def test_losses_whose_curvature_jumps_are_refused():
    for loss in (SmoothedHinge(), Huber(0.1)):
        with pytest.raises(ValueError, match="may jump"):
            CurvatureDiagonal(loss, 1.0)
