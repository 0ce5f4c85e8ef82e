import math

import numpy as np
import pytest

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError
from veilspan.queries.moments import RowSum, SecondMoment
from veilspan.queries.own_gradient import RowGradient


class WrongNorms(SecondMoment):
    def norms(self, block, point):
        return np.sqrt(super().norms(block, point))


class NotLinear(RowSum):
    def weighted_sum(self, block, weights, point):
        return super().weighted_sum(block, weights**2, point)


class DependsOnTheBlock(RowSum):
    def weighted_sum(self, block, weights, point):
        return super().weighted_sum(block, weights, point) / block.n_rows


class ForgetsARow(RowSum):
    def weighted_sum(self, block, weights, point):
        return block.x[:-1].T @ weights[:-1] if block.n_rows > 1 else block.x.T @ weights


class TooTightReplace(SecondMoment):
    def sensitivity(self, neighbors):
        return 1.2 * self.bound if neighbors == "replace-one" else self.bound


class TooTightAdd(SecondMoment):
    def sensitivity(self, neighbors):
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else 0.9 * self.bound


class RootTwoForAnything(RowSum):
    """The bound of rank-one matrices, claimed for vectors that can point anywhere."""

    def sensitivity(self, neighbors):
        return math.sqrt(2) * self.bound if neighbors == "replace-one" else self.bound


class NotSymmetric(SecondMoment):
    def weighted_sum(self, block, weights, point):
        return np.triu(super().weighted_sum(block, weights, point))


@pytest.mark.parametrize(
    "query",
    [
        WrongNorms(1.0),
        NotLinear(1.0),
        DependsOnTheBlock(1.0),
        ForgetsARow(1.0),
        TooTightReplace(1.0),
        TooTightAdd(1.0),
        RootTwoForAnything(1.0),
        NotSymmetric(1.0),
    ],
    ids=lambda query: query.name,
)
def test_broken_queries_are_caught(query):
    with pytest.raises(QueryCheckError):
        check_query(query, 4)


def test_a_wrong_formula_is_caught_by_the_reference():
    query = RowGradient(lambda block, theta: block.x * 2 - theta, 1.0)
    with pytest.raises(QueryCheckError, match="norms"):
        check_query(query, 3, points=[np.ones(3)], reference=lambda row, theta: row.x[0] - theta)


def test_two_times_the_square_would_waste_noise():
    """The search reaches sqrt(2) R^2 and not more: the declared bound is tight."""
    report = check_query(SecondMoment(2.0), 5)
    assert report.replace_one == pytest.approx(1.0, abs=1e-6)
    assert report.add_remove == pytest.approx(1.0, abs=1e-9)
