"""The curator passes its audits, and deliberately broken copies of it do not."""

import math
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, chi2

from privacy.affordable import budget_for
from veilspan import GaussianEvent, Plan, SampledGaussianEvent
from veilspan.audit.bounds import choose_test
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.privacy.grid import COST, add_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.moments import RowSum, SecondMoment

ALPHA = 1e-8  # of each game: see test_error_budget.py
SPREAD_ALPHA = 4e-9  # of each sum of squares or count


class HalfNoise(Curator):
    def _add_noise(self, exact, scale):
        return add_noise(exact, replace(scale, std=scale.std / 2), self._source)


class EightyPercentNoise(Curator):
    def _add_noise(self, exact, scale):
        return add_noise(exact, replace(scale, std=scale.std * 0.8), self._source)


class BatchNoiseOverN(Curator):
    """The noise of a sampled sum divided by the number of rows, as if it were a mean's."""

    def _add_noise(self, exact, scale):
        if isinstance(self.plan.events[0], SampledGaussianEvent):
            scale = replace(scale, std=scale.std / self.n_rows)
        return add_noise(exact, scale, self._source)


class SensitivityOfAddRemove(Curator):
    """Calibrated for add-remove, claimed for replace-one."""

    def answer(self, query, point=None, *, event, noise_multiplier=None):
        other = copy(query)
        other.sensitivity = lambda neighbors: query.sensitivity("add-remove")
        return super().answer(other, point, event=event, noise_multiplier=noise_multiplier)


class NoClipping(Curator):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._rows = Unclipped.checked_before(self._rows._x, self._rows._y)


class Unclipped(Rows):
    def clipped_sum(self, query, point, space, sampling=None, rows_per_block=None):
        total = np.zeros(space.coordinates)
        for block in self.blocks(1000):
            prepared = query.prepare(block, point)
            total += space.embed(query.weighted_sum(prepared, np.ones(block.n_rows), point))
        return total


class ForgetsTheNoise(Curator):
    def _add_noise(self, exact, scale):
        return exact


class SameNoiseTwice(Curator):
    """Draws one noise vector and reuses it: two answers differ exactly."""

    def _add_noise(self, exact, scale):
        return add_noise(exact, scale, SeededNoise(0))


class AlwaysEveryRow(Curator):
    """Claims the amplification of sampling without sampling."""

    def answer(self, query, point=None, *, event, noise_multiplier=None):
        self._source.sampling_stream = lambda step: _Heads()
        return super().answer(query, point, event=event, noise_multiplier=noise_multiplier)


class _Heads:
    def random(self, size):
        return np.zeros(size)


def make(kind, x, event, seed=0):
    plan = Plan(
        method="audit",
        budget=budget_for((event,)),
        neighbors="replace-one",
        n_rows=len(x),
        n_features=x.shape[1],
        events=(event,),
    )
    return kind(Rows(x), plan, SeededNoise(seed))


def audit_noise_scale(kind):
    """Spread of answers about the exact sum, against noise recomputed by hand."""
    x = np.zeros((50, 20))
    findings = []
    for event, expected in (
        (GaussianEvent("q", 3.0, 200), 3.0 * math.sqrt(2)),
        (SampledGaussianEvent("q", 0.1, 3.0, 200), 3.0),
    ):
        asked = make(kind, x, event)
        draws = np.stack([asked.answer(SecondMoment(1.0), event="q").value for _ in range(200)])
        diagonal = np.diagonal(draws, axis1=1, axis2=2) / expected
        if not of_unit_variance(diagonal):
            findings.append(f"{event.mechanism}: noise has the wrong scale")
        # Differences of separate pairs are independent; noise that is shared cancels in them.
        if not of_unit_variance((diagonal[1::2] - diagonal[::2]) / math.sqrt(2)):
            findings.append(f"{event.mechanism}: successive answers share noise")
    return findings


def of_unit_variance(normals):
    """Whether normals have variance 1 to 1 + 2 COST: false alarm ``SPREAD_ALPHA``.

    Sums of squares are chi-square; noise may be larger by ``COST`` for what rounding adds.
    """
    square, count = float(np.sum(normals**2)), normals.size
    low, high = chi2.ppf(SPREAD_ALPHA / 2, count), chi2.isf(SPREAD_ALPHA / 2, count)
    return low <= square <= high * (1 + 2.1 * COST)


def audit_clipping(kind):
    """A canary a million times too long must not move the sum further than declared."""
    findings = []
    x = np.zeros((50, 3))
    canary = x.copy()
    canary[0] = 1e6
    for query in (SecondMoment(1.0), RowSum(1.0)):
        one, two = (
            make(kind, table, GaussianEvent("q", 1.0)).answer(query, event="q").value
            for table in (x, canary)
        )  # the same seed: the noise cancels
        if np.linalg.norm(one - two) > query.sensitivity("replace-one") * (1 + 1e-3):
            findings.append(f"{query.name}: a row was not clipped")
    return findings


def audit_sampling(kind):
    """A sampled sum over equal rows is a binomial count.

    Their total is binomial as well. The spread of 300 counts is judged as chi-square: a binomial of
    500 x 0.2 has excess kurtosis -0.0005 and skewness 0.067, so that the tail at ``SPREAD_ALPHA``,
    5.9 standard errors out, is off by a factor of 2 at most; twice its share is in the budget.
    """
    rate, steps, n = 0.2, 300, 500
    x = np.ones((n, 1))
    asked = make(kind, x, SampledGaussianEvent("q", rate, 1e-6, steps))
    sums = np.array([asked.answer(RowSum(1.0), event="q").value[0] for _ in range(steps)])
    total = round(float(sums.sum()))
    centred = binom.sf(total - 1, n * steps, rate), binom.cdf(total, n * steps, rate)
    spread = sums.var(ddof=1) * (steps - 1) / (n * rate * (1 - rate))
    inside = chi2.ppf(SPREAD_ALPHA / 2, steps - 1) < spread < chi2.isf(SPREAD_ALPHA / 2, steps - 1)
    good = min(centred) > SPREAD_ALPHA / 2 and inside
    return [] if good else ["the sample is not a Poisson sample"]


def audit_game(kind, runs=4000, mu=3.0):
    """Tell two neighbours apart by canaries of full length; refute mu = 3 if possible."""
    canary = np.array([1.0, 0.0])
    scores = []
    for sign in (1.0, -1.0):
        x = np.zeros((5, 2))
        x[0] = sign * canary
        asked = make(kind, x, GaussianEvent("q", 1 / mu, runs), seed=3 + int(sign))
        answers = [asked.answer(RowSum(1.0), event="q").value @ canary for _ in range(runs)]
        scores.append(np.array(answers))
    bound = choose_test(scores[1], scores[0], ALPHA).mu
    return [f"mu is at least {bound:.2f}, claimed {mu}"] if bound > mu else []


AUDITS = (audit_noise_scale, audit_clipping, audit_sampling, audit_game)


@pytest.mark.parametrize("audit", AUDITS)
def test_the_curator_passes(audit):
    assert audit(Curator) == []


@pytest.mark.parametrize(
    ("kind", "audits"),
    [
        (HalfNoise, {audit_noise_scale, audit_game}),
        (EightyPercentNoise, {audit_noise_scale, audit_game}),
        (BatchNoiseOverN, {audit_noise_scale}),
        (SensitivityOfAddRemove, {audit_noise_scale, audit_game}),
        (NoClipping, {audit_clipping}),
        (ForgetsTheNoise, {audit_noise_scale, audit_game}),
        (SameNoiseTwice, {audit_noise_scale}),
        (AlwaysEveryRow, {audit_sampling}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_curator_is_caught(kind, audits):
    for audit in audits:
        assert audit(kind), f"{audit.__name__} missed {kind.__name__}"


def test_the_game_has_power_near_the_claim():
    """At mu = 3 a correct mechanism comes close to its claim, so that a pass means something."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((2, 4000))
    assert 2.4 < choose_test(scores[0], scores[1] + 3.0, ALPHA).mu < 3.0
