"""Jain, Thakkar & Thakurta (2018) as printed, beside what is true. Everything is deterministic."""

import math

import numpy as np
import pytest
from scipy import sparse

from nonprivate.completion_baselines import frank_wolfe_fit
from veilspan import MatrixCompletion
from veilspan.privacy.gdp import delta_of, epsilon_of, mu_of
from veilspan.privacy.spaces import SymmetricSpace

DELTA = 1e-6


def printed_std(epsilon, rounds=1, bound=1.0):
    return bound**2 * math.sqrt(64 * rounds * math.log(1 / DELTA)) / epsilon


def moved(first, second):
    """How far one user moves the sum of A_i^T A_i."""
    return np.linalg.norm(np.outer(first, first) - np.outer(second, second))


def printed_frank_wolfe(target, norm, rounds):
    """Algorithm 2 without noise and with an exact oracle, everything observed."""
    y = np.zeros_like(target)
    for _ in range(rounds):
        u, _, vt = np.linalg.svd(target - y, full_matrices=False)
        y = (1 - 1 / rounds) * y + norm / rounds * np.outer(u[:, 0], vt[0])
    return y


@pytest.mark.parametrize("rounds", [9, 20, 50])
def test_theorem_a_1_is_false_from_nine_rounds(rounds):
    """Theorem A.1: the excess is at most k^2 / (2 |Omega| T) + gamma; here gamma = 0."""
    target = np.outer(np.ones(6), np.tile([1.0, -1.0], 4))
    norm, size = np.linalg.norm(target), target.size
    reached = printed_frank_wolfe(target, norm, rounds)
    risk = np.sum((reached - target) ** 2) / (2 * size)
    promised = norm**2 / (2 * size * rounds)
    assert risk > promised
    left = (1 - 1 / rounds) ** rounds
    assert np.linalg.norm(reached) == pytest.approx((1 - left) * norm)  # at most 0.65 k
    # 2 / (t + 1), the first step of which is whole, reaches it.
    found = frank_wolfe_fit(sparse.csr_array(target), norm, rounds=rounds)
    ours = found.user_factors @ found.item_factors.T
    assert np.sum((ours - target) ** 2) / (2 * size) < promised / 100


@pytest.mark.parametrize("wider", [1.0, 1.3, 1.6])
def test_a_wider_ball_is_reached(wider):
    """Algorithm 2: with k above 1 / (1 - 1/e) = 1.58 norms 1/T arrives: the floor is one of k."""
    target = np.outer(np.ones(6), np.tile([1.0, -1.0], 4))
    norm = np.linalg.norm(target)
    left = np.linalg.norm(printed_frank_wolfe(target, wider * norm, 200) - target) / norm
    assert left == pytest.approx(max(0.0, 1 - wider * (1 - math.exp(-1))), abs=0.012)


def test_the_curvature_is_twice_what_is_printed():
    """Theorem A.1, after (9): C_f <= 2 k^2 / |Omega|; opposite corners have 4 k^2 / |Omega|.

    With the right curvature Theorem A.1 is false from 31 rounds on.
    """
    k, size = 3.0, 12
    x = np.zeros((3, 4))
    x[0, 0] = k
    share = 0.5
    y = x + share * (-x - x)

    def risk(at):
        return np.sum(at**2) / (2 * size)

    curvature = 2 / share**2 * (risk(y) - risk(x) - np.sum((y - x) * x) / size)
    assert curvature == pytest.approx(4 * k**2 / size)
    assert (1 - 1 / 31) ** 62 > 4 / 31
    assert (1 - 1 / 30) ** 60 < 4 / 30


def test_the_sensitivity_is_not_4_l_squared():
    """Appendix C.1.1: 4 L^2. Rows of 2 L without a common item are sqrt(2) (2 L)^2 apart."""
    first, second = 2.0 * np.eye(4)[0], 2.0 * np.eye(4)[1]  # L = 1
    assert moved(first, second) == pytest.approx(4 * math.sqrt(2))  # 4 is printed
    assert moved(first, 0 * first) == pytest.approx(4)  # add-remove

    def true_epsilon(nominal, distance):
        return epsilon_of(distance / printed_std(nominal), DELTA)

    assert true_epsilon(8.3, 4 * math.sqrt(2)) < 8.3
    assert true_epsilon(8.4, 4 * math.sqrt(2)) > 8.4
    assert true_epsilon(20, 4 * math.sqrt(2)) == pytest.approx(24.7, abs=0.1)
    # Below that the noise is too large: exact calibration needs 0.69 and 0.80 of it at 0.1 and 1.
    for nominal, low, high in ((0.1, 0.65, 0.7), (1.0, 0.75, 0.85)):
        needed = 4 * math.sqrt(2) / mu_of(nominal, DELTA)
        assert low < needed / printed_std(nominal) < high
        assert delta_of(4 * math.sqrt(2) / needed, nominal) <= DELTA


def test_rows_must_be_clipped():
    """Round 1 of Algorithm 1 sums y_i y_i^T as it is: a row of length 10 L moves it by 100 L^2."""
    row = np.full(4, 5.0)  # length 10, L = 1
    assert moved(row, 0 * row) == pytest.approx(100)
    assert epsilon_of(moved(row, 0 * row) / printed_std(1.0), DELTA) > 20
    clipped = row / np.linalg.norm(row)
    assert epsilon_of(moved(clipped, 0 * row) / printed_std(1.0), DELTA) < 1


def test_algorithm_3_hands_out_the_number_of_all_ratings():
    """Algorithm 3, line 2: m n / |Omega| P(Y_i) V V^T. With r = n any user divides."""
    rng = np.random.default_rng(0)
    ratings = np.where(rng.random((5, 4)) < 0.7, rng.uniform(-1, 1, (5, 4)), 0)
    other = ratings.copy()
    other[0] = 0  # the neighbour: user 0 rated nothing

    def handed_to_user_1(table):
        noise = rng.standard_normal((4, 4)) * printed_std(1.0)
        _, v = np.linalg.eigh(table.T @ table + (noise + noise.T) / 2)
        return table.size / np.count_nonzero(table) * table[1] @ v @ v.T

    rated = ratings[1] != 0
    for table in (ratings, other):
        ratio = handed_to_user_1(table)[rated] / table[1][rated]
        assert np.allclose(table.size / ratio, np.count_nonzero(table))
    assert np.count_nonzero(ratings) != np.count_nonzero(other)


def test_ours_predict_from_the_published_half_and_own_ratings():
    """Algorithm 3, line 2, repaired: a published half and a row give predictions, and no more."""
    rng = np.random.default_rng(1)
    table = np.where(rng.random((60, 6)) < 0.5, rng.integers(1, 6, (60, 6)), 0.0)
    model = MatrixCompletion(epsilon=2.0, rating_range=(1, 5)).fit(sparse.csr_array(table))
    other = np.vstack([table[:5], np.ones((200, 6))])  # many more ratings
    here, there = (model.predict(sparse.csr_array(rows)) for rows in (table, other))
    assert np.array_equal(here[:5], there[:5])


def test_algorithm_3_has_four_times_the_noise_it_needs():
    """Algorithm 3, line 1: L^2 sqrt(64 log(1/delta)) / epsilon; clipped rows move W by L^2."""
    assert moved(np.eye(3)[0], np.zeros(3)) == pytest.approx(1)
    assert epsilon_of(1 / printed_std(1.0), DELTA) == pytest.approx(0.124, abs=1e-3)
    assert epsilon_of(1 / (printed_std(1.0) / 4), DELTA) < 1


def test_iid_noise_has_complex_eigenvalues():
    """Algorithm 1, lines 10, 11, nothing but noise; the projection to symmetric ones has none."""
    noise = np.random.default_rng(0).standard_normal((20, 20))
    values = np.linalg.eigvals(noise)
    assert np.any(np.abs(values.imag) > 1e-3)
    assert np.linalg.eigvals(np.array([[-1.0]]))[0] < 0  # lambda^2 of line 11 may be negative
    ours = SymmetricSpace(20).project(noise.ravel())
    assert np.isrealobj(np.linalg.eigvals(ours))
    # as private: the least variance over directions is that of the printed noise
    sampler = np.array([SymmetricSpace(3).project(e).ravel() for e in np.eye(9)])
    values = np.linalg.eigvalsh(sampler @ sampler.T)
    assert np.allclose(values[values > 1e-9], 1)


def printed_rounds(target, norm, rounds, start):
    """Algorithm 1 without noise; a release is the decomposition at the end of a round."""
    y, v, size = np.zeros_like(target), start, 1.0
    for _ in range(rounds):
        u = (y - target) @ v / size
        y = (1 - 1 / rounds) * y - norm / rounds * np.outer(u, v)
        _, values, right = np.linalg.svd(y - target)
        v, size = right[0], values[0]  # that of the last round is never used
    return y


def test_the_first_round_moves_nobody():
    """Algorithm 1, line 3, starts with v = 0: a paid release without effect, whatever T is."""
    target = np.outer(np.ones(3), [1.0, -1.0])
    norm = np.linalg.norm(target)
    for rounds in (2, 5):
        as_printed = printed_rounds(target, norm, rounds, np.zeros(2))
        left = (1 - 1 / rounds) ** (rounds - 1)  # T - 1 rounds, not T
        assert np.allclose(as_printed, (1 - left) * target)
    assert not np.any(printed_rounds(target, norm, 1, np.zeros(2)))


def test_the_bias_of_line_6_has_the_wrong_power():
    """Algorithm 1, line 6: n^(1/4); appendix C.1, (15): n^(1/2). Noise has norm 2 sqrt(n)."""
    beta = 0.05
    for n in (1_000, 10_000, 100_000):
        assert math.log(n / beta) * n**0.25 < 2 * math.sqrt(n)
        assert math.log(n / beta) * math.sqrt(n) > 2 * math.sqrt(n)


def test_a_list_of_the_most_rated_items_depends_on_single_users():
    """Section 4, "most rated movies": one rating moves the list, and no epsilon covers that."""
    counts, user = np.array([10, 9, 9, 3]), np.array([0, 0, 1, 0])

    def most_rated(c):
        return set(np.argsort(-c, kind="stable")[:2])

    assert most_rated(counts) == {0, 1}
    assert most_rated(counts + user) == {0, 2}


def test_user_level_privacy_does_not_divide_by_the_number_of_ratings():
    """Section 4: epsilon_rating = epsilon_user / xi, with epsilon_user = 0.1 and xi = 80.

    Rows are at most L = 1 long; what one rating moves is the sum of y_i y_i^T.
    """
    claimed, mu = 0.1 / 80, mu_of(0.1, DELTA)
    nothing, lone, many = np.zeros(80), np.eye(80)[0], np.full(80, 1 / math.sqrt(80))
    assert moved(lone, nothing) == pytest.approx(moved(many, nothing))  # as exposed as a whole row
    one_less = np.where(lone > 0, 0, many)
    share = moved(many, one_less)
    assert share == pytest.approx(math.sqrt(159) / 80)  # 0.158, not 1/80: it meets all the others
    assert epsilon_of(share * mu, DELTA) == pytest.approx(0.0136, abs=1e-4)
    for distance in (moved(lone, nothing), share):
        assert delta_of(distance * mu, claimed) > 1000 * DELTA
    # It is true of a lone rating that is no longer than each of those 80.
    assert delta_of(moved(lone / math.sqrt(80), nothing) * mu, claimed) < DELTA
