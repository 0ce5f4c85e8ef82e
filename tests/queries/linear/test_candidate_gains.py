"""Gains of candidates: bounds, norms, and what they count."""

import math

import numpy as np
import pytest

from veilspan import check_query
from veilspan.curator.check_query import QueryCheckError, adversarial_rows
from veilspan.curator.rows import Block, clipped_block_sum
from veilspan.losses.linear import Logistic, Multinomial, Squared
from veilspan.queries.linear.candidate_gains import CandidateGains, gain_bound

RNG = np.random.default_rng(0)
VECTORS = tuple(3 * RNG.standard_normal((5, 3)))
MATRICES = tuple(3 * RNG.standard_normal((3, 3, 4)))


def rows_with(choices):
    def make(rng, count):
        rows = adversarial_rows(rng, 3).x
        return Block(rows, rng.choice(choices, len(rows)).astype(float))

    return make


def slow_signs(row, point):
    x = row.x[0] / max(1.0, np.linalg.norm(row.x[0]))
    margins = np.array([np.clip(row.y[0], -1, 1) * (x @ theta) for theta in point])
    gains = np.clip((1 + margins / 0.01) / 2, 0, 1)
    return gains - gains.mean()


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_contract_of_queries(count):
    # Opposite candidates first: some row divides them evenly, which the bound needs to be met.
    point = tuple(sign * VECTORS[0] for sign, _ in zip([1, -1] * 3, range(count)))
    query = CandidateGains(Logistic(), count)
    points = (point, VECTORS[:count])
    report = check_query(
        query, 3, points=points, reference=slow_signs, make_rows=rows_with([-1, 1, 9])
    )
    assert report.add_remove > 0.999
    assert report.replace_one > 0.999


@pytest.mark.parametrize(
    ("loss", "point", "choices"),
    [(Squared(), VECTORS[:3], [-1, 0.2, 1e9]), (Multinomial(4), MATRICES, [0, 1, 2, 3, 77])],
    ids=["numbers", "classes"],
)
def test_other_losses_keep_the_bound(loss, point, choices):
    report = check_query(CandidateGains(loss, 3), 3, points=(point,), make_rows=rows_with(choices))
    assert 0.1 < report.replace_one <= 1.0 + 1e-9


def test_the_bound_is_the_largest_over_all_corners():
    for count in range(2, 9):
        corners = np.array(np.meshgrid(*[[0.0, 1.0]] * count)).reshape(count, -1)
        largest = np.linalg.norm(corners - corners.mean(axis=0), axis=0).max()
        assert gain_bound(count) == pytest.approx(largest)


class TooLittleNoise(CandidateGains):
    def sensitivity(self, neighbors):
        return self.bound / math.sqrt(2)


def test_a_broken_copy_is_caught():
    point = (VECTORS[0], -VECTORS[0])
    with pytest.raises(QueryCheckError, match="sensitivity"):
        check_query(TooLittleNoise(Logistic(), 2), 3, points=(point,), make_rows=rows_with([-1, 1]))


def test_sums_are_differences_of_right_predictions():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((200, 3)), rng.integers(0, 4, 200)
    gains = clipped_block_sum(CandidateGains(Multinomial(4), 3), Block(x, y), MATRICES)
    right = np.array([np.sum((x @ theta).argmax(axis=1) == y) for theta in MATRICES])
    # Margins on the ramp, 1 % wide, count in part: 0.34 in all of this seed.
    np.testing.assert_allclose(gains, right - right.mean(), rtol=0, atol=0.5)


def test_one_candidate_is_no_choice():
    with pytest.raises(ValueError, match="at least 2"):
        CandidateGains(Logistic(), 1)
