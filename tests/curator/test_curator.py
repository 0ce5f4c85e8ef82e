import math
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from curator.slack_of_sums import rounding_slack
from privacy.affordable import budget_for
from veilspan import BudgetExceededError, GaussianEvent, Plan, PrivacyError, WithheldError
from veilspan.curator import curator as door
from veilspan.curator import query as queries
from veilspan.curator.curator import Curator
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Rows
from veilspan.privacy.events import SampledGaussianEvent
from veilspan.privacy.grid import float_slack
from veilspan.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from veilspan.privacy.spaces import VectorSpace
from veilspan.queries.moments import RowCount, RowSum, SecondMoment
from veilspan.queries.own_gradient import RowGradient

NO_NOISE = (GaussianEvent("q", 0.0, 100),)


def curator(x, events=NO_NOISE, *, neighbors="replace-one", y=None, **more):
    plan = Plan(
        method="test",
        budget=budget_for(events, neighbors),
        neighbors=neighbors,
        n_rows=x.shape[0] if neighbors == "replace-one" else None,
        n_features=x.shape[1],
        events=tuple(events),
    )
    return Curator(Rows(x, y), plan, SeededNoise(0), **more)


@pytest.fixture
def table():
    return np.random.default_rng(0).standard_normal((1000, 6)) * 2


def slow_second_moment(x, bound, center=0.0):
    total = np.zeros((x.shape[1], x.shape[1]))
    for row in x - center:
        row = row * min(1.0, bound / np.linalg.norm(row))
        total += np.outer(row, row)
    return total


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda x: x.astype(np.float32)])
@pytest.mark.parametrize("center", [None, np.arange(6) / 3])
def test_second_moment(table, make, center):
    given = make(table)
    exact = given.toarray() if sparse.issparse(given) else given.astype(float)
    answer = curator(given).answer(SecondMoment(3.0), center, event="q")
    expected = slow_second_moment(exact, 3.0, 0.0 if center is None else center)
    np.testing.assert_allclose(answer.value, expected, rtol=1e-10)


def test_sum_and_count(table):
    clipped = table * np.minimum(1, 1.5 / np.linalg.norm(table, axis=1, keepdims=True))
    for x in (table, sparse.csr_array(table)):
        asked = curator(x)
        np.testing.assert_allclose(
            asked.answer(RowSum(1.5), event="q").value, clipped.sum(0), rtol=1e-9
        )
        assert asked.answer(RowCount(), event="q").value == pytest.approx([1000])


def test_a_loss_of_your_own(table):
    y = table @ np.ones(6)
    theta = np.arange(6.0)

    def gradient(block, point):
        return (block.x @ point - block.y)[:, None] * block.x

    each = (table @ theta - y)[:, None] * table
    expected = (each * np.minimum(1, 2.0 / np.linalg.norm(each, axis=1, keepdims=True))).sum(0)
    answer = curator(table, y=y).answer(RowGradient(gradient, 2.0), theta, event="q")
    np.testing.assert_allclose(answer.value, expected, rtol=1e-9)


def test_rows_whose_gradient_is_not_finite_contribute_nothing(table):
    def gradient(block, point):
        each = block.x.copy()
        each[block.x[:, 0] > 1] = np.nan
        each[block.x[:, 0] < -3] = np.inf
        return each

    kept = table[(table[:, 0] <= 1) & (table[:, 0] >= -3)]
    answer = curator(table).answer(RowGradient(gradient, 1e3, shape=(6,)), event="q")
    np.testing.assert_allclose(answer.value, kept.sum(0), rtol=1e-9)


def test_the_size_of_blocks_does_not_change_the_sum(table, monkeypatch):
    whole = curator(table).answer(SecondMoment(3.0), event="q").value
    monkeypatch.setattr(queries, "BLOCK_BYTES", 700)
    monkeypatch.setattr("veilspan.curator.rows.GROUP", 3)
    small = curator(table).answer(SecondMoment(3.0), event="q").value
    np.testing.assert_allclose(small, whole, rtol=1e-12)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("noise", ["grid", "exact"])
def test_noise_is_added_once_with_the_declared_scale(table, neighbors, noise):
    events = [GaussianEvent("q", 3.0, 200)]
    asked = curator(table, events, neighbors=neighbors, noise=noise)
    exact = curator(table).answer(SecondMoment(1.0), event="q").value
    answers = [asked.answer(SecondMoment(1.0), event="q") for _ in range(200)]
    noise_draws = np.stack([answer.value - exact for answer in answers])
    std = answers[0].noise_std
    declared = 3.0 * SecondMoment(1.0).sensitivity(neighbors)
    assert declared < std < 1.002 * declared
    diagonal = noise_draws[:, np.arange(6), np.arange(6)]
    above = noise_draws[:, *np.triu_indices(6, 1)]
    # Chi-square with 1200 and 3000 degrees: beyond 5.5 standard errors with probability 2e-7 each.
    assert np.mean(diagonal**2) == pytest.approx(std**2, rel=5.5 * math.sqrt(2 / 1200))
    assert np.mean(above**2) == pytest.approx(std**2 / 2, rel=5.5 * math.sqrt(2 / 3000))
    np.testing.assert_array_equal(noise_draws, noise_draws.transpose(0, 2, 1))


def test_poisson_samples_take_each_row_with_the_rate(table):
    events = [SampledGaussianEvent("s", 0.3, 1e-9, 60)]
    asked = curator(table, events)
    counts = [float(asked.answer(RowCount(), event="s").value[0]) for _ in range(60)]
    # Binomial(60000, 0.3): beyond 5.5 standard deviations with probability 4e-8.
    assert sum(counts) == pytest.approx(18_000, abs=5.5 * math.sqrt(60_000 * 0.21))
    assert len(set(np.round(counts))) > 20  # every step draws its own sample: 40 of this seed


def test_an_empty_sample_is_an_answer_like_any_other():
    x = np.eye(3)
    asked = curator(x, [SampledGaussianEvent("s", 1e-12, 1e-9)])
    # Empty but for 3e-12; six standard deviations of the noise, which is 2e-9.
    np.testing.assert_allclose(asked.answer(RowSum(1.0), event="s").value, 0, atol=1.2e-8)


def test_only_the_plan_is_answered(table):
    asked = curator(table, [GaussianEvent("q", 2.0)])
    asked.answer(RowSum(1.0), event="q")
    with pytest.raises(BudgetExceededError):
        asked.answer(RowSum(1.0), event="q")
    assert asked.spent == (GaussianEvent("q", 2.0),)


def test_a_question_is_charged_before_a_row_is_read(table):
    class Explodes(RowSum):
        def norms(self, block, point):
            raise RuntimeError("after the charge")

    asked = curator(table, [GaussianEvent("q", 2.0)])
    with pytest.raises(WithheldError) as caught:
        asked.answer(Explodes(1.0), event="q")
    assert "after the charge" in str(caught.value.__cause__)  # as the noise is simulated
    assert asked.spent == (GaussianEvent("q", 2.0),)


def test_the_number_of_rows_is_private_under_add_remove(table):
    asked = curator(table, neighbors="add-remove")
    with pytest.raises(PrivacyError, match="private"):
        _ = asked.n_rows
    assert curator(table).n_rows == 1000


def test_a_plan_for_another_table_is_refused(table):
    plan = curator(table).plan
    with pytest.raises(PrivacyError, match="another number of rows"):
        Curator(Rows(table[:-1]), plan, SeededNoise(0))


def test_a_curator_is_never_pickled(table):
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(curator(table))


class Broken(RowQuery):
    bound = 1.0

    def space(self, n_features, point):
        return VectorSpace((n_features,))

    def norms(self, block, point):
        return np.ones(block.n_rows)

    def weighted_sum(self, block, weights, point):
        return np.full(block.x.shape[1], np.nan)


def test_a_query_that_returns_nan_is_refused_without_values(table):
    with pytest.raises(PrivacyError, match="check_query"):
        curator(table).answer(Broken(), event="q")


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_a_bound_must_bound(table, bound):
    with pytest.raises(ValueError, match="positive and finite"):
        curator(table).answer(RowSum(bound), event="q")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extra_memory_is_bounded_for_any_number_of_rows(dtype):
    x = np.zeros((250_000, 60), dtype=dtype)  # 60 or 120 MB
    asked = curator(x)
    tracemalloc.start()
    for query, point in [
        (SecondMoment(1.0), None),
        (SecondMoment(1.0), np.ones(60)),
        (RowSum(1.0), None),
        (RowGradient(lambda block, theta: block.x - theta, 1.0), np.ones(60)),
    ]:
        asked.answer(query, point, event="q")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32e6  # the promise is 64 MB


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rate", [None, 0.5])
def test_rows_whose_rounding_may_move_are_counted(table, monkeypatch, neighbors, rate):
    """One row only where it is exchanged among all; a sample's blocks change their shape."""
    counted = []

    def watch(n_rows, *more, alike, **settings):
        counted.append((n_rows, alike))
        return float_slack(n_rows, *more, alike=alike, **settings)

    monkeypatch.setattr(door, "float_slack", watch)
    event = GaussianEvent("q", 3.0) if rate is None else SampledGaussianEvent("q", rate, 3.0)
    curator(table, (event,), neighbors=neighbors).answer(RowSum(1.0), event="q")
    assert counted == [(len(table) if neighbors == "replace-one" else None, rate is None)]


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_noise_covers_the_sensitivity_its_rounding_and_the_grid(table, neighbors):
    asked = curator(table, (GaussianEvent("q", 3.0),), neighbors=neighbors)
    query = RowSum(1.0)
    slack = rounding_slack(asked._rows, query, None, neighbors)
    found = asked.answer(query, event="q").noise_std / 3.0 - query.sensitivity(neighbors) - slack
    steps = found / np.sqrt(table.shape[1])
    assert steps == pytest.approx(2.0 ** round(np.log2(steps)), rel=1e-5)  # one power of two


def test_a_solver_finds_no_noise_in_its_curator(table):
    """Nothing with a public name is, or holds, a source of noise; what there is cannot be set."""
    asked = curator(table, (GaussianEvent("q", 3.0),))
    for name in [name for name in dir(asked) if not name.startswith("_") and name != "n_rows"]:
        try:
            found = getattr(asked, name)
        except PrivacyError:
            continue
        assert not isinstance(found, (NoiseSource, np.random.Generator)), name
        if not callable(found):
            with pytest.raises(AttributeError):
                setattr(asked, name, found)


@pytest.mark.parametrize("source", [SeededNoise(0), SecureNoise()])
def test_coins_are_a_solvers_own(table, source):
    asked = curator(table, (GaussianEvent("q", 3.0),))
    asked._source = source
    assert tells_nothing_of_noise(asked.coins, source)
    assert not tells_nothing_of_noise(lambda purpose: source.generator, source)  # as it was
    assert not tells_nothing_of_noise(lambda purpose: source.sampling_stream(0), source)
    first, again = asked.coins("a").random(4), asked.coins("a").random(4)
    np.testing.assert_array_equal(first, again)
    assert not np.any(first == asked.coins("b").random(4))


def tells_nothing_of_noise(coins, source):
    """Whether coins neither repeat draws of the noise or of a sample nor move them on.

    32 uniforms of 53 bits: two of independent streams agree with probability below 1e-12.
    """
    position = state_of(source.generator)
    drawn = coins("anything").random(32)
    if state_of(source.generator) != position:
        return False
    secret = [source.sampling_stream(step).random(32) for step in range(3)]
    return not np.isin(drawn, np.concatenate([*secret, source.generator.random(32)])).any()


def state_of(generator):
    return repr(generator.bit_generator.state)


def test_coins_do_not_change_the_noise(table):
    """Answers are the same whether a solver throws coins or not."""
    plain, thrown = (curator(table, (GaussianEvent("q", 3.0),)) for _ in range(2))
    thrown.coins("x").random(100)
    np.testing.assert_array_equal(
        plain.answer(RowSum(1.0), event="q").value, thrown.answer(RowSum(1.0), event="q").value
    )
