"""Poisson samples on a cluster: the promised rate, one sample a step, the same one if repeated."""

import math

import dask.array as da
import numpy as np
import pytest

from veilspan import Budget, LogisticRegression, RobustPCA
from veilspan.curator.clipping import PartSampling, Sampling
from veilspan.curator.curator import Curator
from veilspan.curator.dask.rows import DaskRows
from veilspan.curator.dask.table import dask_table
from veilspan.curator.rows import Rows
from veilspan.privacy.events import SampledGaussianEvent
from veilspan.privacy.noise import SecureNoise, SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.queries.moments import RowCount, RowSum
from veilspan.solvers.linear.gradient_descent import StochasticGradient
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

from .tables import far, parts, rows

INF = math.inf


def sample(table, rate, source, step):
    """Sum of indicators: who took part."""
    there = DaskRows(table)
    query = RowSum(1.0)
    space = query.space(table.shape[1], None)
    return there.clipped_sum(query, None, space, Sampling(rate, source, step))


@pytest.mark.parametrize("source", [SeededNoise(3), SecureNoise()], ids=["seeded", "secure"])
def test_samples_are_independent_of_steps_and_parts_and_not_of_retries(client, source):
    n = 60
    table = dask_table(da.from_array(np.eye(n), chunks=(20, n)))
    first = sample(table, 0.5, source, 0)
    assert set(np.unique(first)) <= {0.0, 1.0}
    assert (sample(table, 0.5, source, 0) == first).all()  # the same step, run again
    others = [sample(table, 0.5, source, step) for step in (1, 2)]
    pieces = [*np.split(first, 3), *np.split(others[0], 3), *np.split(others[1], 3)]
    # Two samples of 20 rows are equal with probability 2^-20; 36 pairs of a fixed seed.
    assert len({piece.tobytes() for piece in pieces}) >= 8


@pytest.mark.parametrize("lies", ["here", "there"])
def test_two_curators_of_one_source_take_different_samples(client, lies):
    n = 60
    rows_of = {"here": Rows, "there": lambda x: DaskRows(dask_table(da.from_array(x)))}[lies]
    event = SampledGaussianEvent("sum", 0.5, noise_multiplier=0.0, count=2)
    plan = Plan(
        method="sums",
        budget=Budget(INF, 1e-6),
        neighbors="replace-one",
        n_rows=n,
        n_features=n,
        events=(event,),
    )
    source = SeededNoise(3)
    curators = [Curator(rows_of(np.eye(n)), plan, source) for _ in range(2)]
    samples = [curators[i].answer(RowSum(1.0), event="sum").value for i in (0, 1, 0, 1)]
    alone = Curator(rows_of(np.eye(n)), plan, SeededNoise(3)).answer(RowSum(1.0), event="sum")
    assert (samples[0] == alone.value).all()  # the first answer of a source is step 0
    assert len({sample.tobytes() for sample in samples}) == 4


def test_the_rate_is_that_of_the_charge(client):
    """4,000 rows, 25 steps, rate 0.3: the count is binomial; 6 sigma, false alarm 2e-9."""
    n, steps, rate = 4000, 25, 0.3
    table = dask_table(da.ones((n, 1), chunks=(700, 1)))
    there = DaskRows(table)
    query, source = RowCount(), SeededNoise(5)
    space = query.space(1, None)
    counts = [
        there.clipped_sum(query, None, space, Sampling(rate, source, step))[0]
        for step in range(steps)
    ]
    trials = n * steps
    assert abs(sum(counts) - trials * rate) < 6 * math.sqrt(trials * rate * (1 - rate))
    # Rows take part on their own: the variance of counts is binomial too (chi-square, 24 degrees
    # of freedom; outside of [3, 75] with probability 1e-6).
    spread = np.var(counts) * steps / (n * rate * (1 - rate))
    assert 3 < spread < 75


def test_neighbouring_rows_are_sampled_independently():
    """Coins of one part: pairs of neighbours agree as often as independent ones (6 sigma)."""
    coins = PartSampling(0.5, SecureNoise().sampling_key(0, 0)).coins().random(40_000) < 0.5
    agree = int((coins[1:] == coins[:-1]).sum())
    assert abs(agree - 39_999 / 2) < 6 * math.sqrt(39_999 / 4)


def test_sampled_solvers_run(client):
    x = rows()
    lazy = parts(x)
    solver = GeodesicGradientDescent(steps=5, halvings=1, sampling_rate=0.3)
    fits = [RobustPCA(2, solver=solver, epsilon=INF, random_state=0).fit(lazy) for _ in range(2)]
    assert far(fits[0].components_, fits[1].components_) <= 1e-9  # the same samples
    whole = RobustPCA(2, solver=GeodesicGradientDescent(steps=5, halvings=1), epsilon=INF).fit(lazy)
    assert far(fits[0].components_, whole.components_) > 1e-6
    solver = StochasticGradient(epochs=1, batch_rate=0.3)
    LogisticRegression(row_norm=1.0, epsilon=INF, solver=solver).fit(lazy, x[:, 0] > 0)
