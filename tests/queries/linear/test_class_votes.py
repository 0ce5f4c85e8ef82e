"""Counts of classes and of scores by class: bounds, what is counted, and broken copies."""

import numpy as np
import pytest

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError, adversarial_rows
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.losses.linear import Logistic, Multinomial, Squared
from veilspan.queries.linear.class_votes import ClassCounts, ScoreHistogram

THETA = np.array([2.0, -1.0, 0.5])


def rows_with(choices):
    def make(rng, count):
        rows = adversarial_rows(rng, 3).x
        # Copies of some rows with the score 0, which lies on a knot: there a vote is whole.
        rows = np.concatenate([rows, np.zeros((8, 3))])
        return Block(rows, rng.choice(choices, len(rows)).astype(float))

    return make


def slow_scores(row, point):
    theta, reach = point
    x = row.x[0] / max(1.0, np.linalg.norm(row.x[0]))
    place = (np.clip(x @ theta, -reach, reach) + reach) / (2 * reach) * 8
    votes = np.zeros((2, 9))
    votes[int(row.y[0] > 0)] = np.maximum(0.0, 1.0 - np.abs(np.arange(9) - place))
    return votes


def test_the_contract_of_scores():
    report = check_query(
        ScoreHistogram(Logistic(), 9), 3, points=((THETA, 2.0), (1e4 * THETA, 1e-3)),
        reference=slow_scores, make_rows=rows_with([-1, 1, 9]),
    )  # fmt: skip
    assert report.add_remove > 0.999
    assert report.replace_one > 0.999


@pytest.mark.parametrize(("loss", "choices"), [(Logistic(), [-1, 1]), (Multinomial(3), [0, 1, 2])])
def test_the_contract_of_counts(loss, choices):
    def slow(row, point):
        classes = [-1, 1] if loss.n_outputs == 1 else [0, 1, 2]
        return (np.array(classes) == row.y[0]).astype(float)

    report = check_query(ClassCounts(loss), 3, reference=slow, make_rows=rows_with(choices))
    assert report.add_remove > 0.999
    assert report.replace_one > 0.999


class OneForBoth(ScoreHistogram):
    """A broken copy: as if the exchange of a row moved one vote only."""

    def sensitivity(self, neighbors):
        return 1.0


class CountsOneForBoth(ClassCounts):
    """The same of counts."""

    def sensitivity(self, neighbors):
        return 1.0


@pytest.mark.parametrize(
    ("query", "point"),
    [(OneForBoth(Logistic(), 9), (THETA, 2.0)), (CountsOneForBoth(Logistic()), None)],
)
def test_broken_copies_are_caught(query, point):
    with pytest.raises(QueryCheckError, match="sensitivity"):
        check_query(query, 3, points=(point,), make_rows=rows_with([-1, 1]))


def test_votes_add_up_to_the_rows_and_their_mean_score():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (300, 3)), rng.choice([-1.0, 1.0], 300)
    votes = clipped_block_sum(ScoreHistogram(Logistic(), 41), Block(x, y), (THETA, 2.0))
    knots = np.linspace(-2, 2, 41)
    for label, counts in zip((-1, 1), votes):
        own = y == label
        # Divided votes are clipped by nothing, so sums are those of the rows.
        assert counts.sum() == pytest.approx(own.sum())
        assert counts @ knots == pytest.approx((x[own] @ THETA).sum())


def test_what_is_refused():
    with pytest.raises(ValueError, match="two classes"):
        ScoreHistogram(Multinomial(3), 9)
    with pytest.raises(ValueError, match="two classes"):
        ScoreHistogram(Squared(), 9)
    with pytest.raises(ValueError, match="at least 2"):
        ScoreHistogram(Logistic(), 1)
