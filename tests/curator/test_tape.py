import numpy as np
import pytest

from privacy.affordable import budget_for
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.curator.tape import fingerprint
from veilspan.privacy.budget import Budget
from veilspan.privacy.events import GaussianEvent, SampledGaussianEvent
from veilspan.privacy.noise import SeededNoise
from veilspan.privacy.plan import Plan
from veilspan.queries.moments import RowSum

STEPS = 8


def descent(*, broken=None, sampled=False, bound=1.0):
    """Noisy descent to the mean of bounded rows, with one mistake of your choice."""

    def fit(x):
        kind = SampledGaussianEvent("s", 0.5, 2.0, STEPS) if sampled else None
        event = kind or GaussianEvent("s", 2.0, STEPS)
        plan = Plan(
            method="descent",
            budget=budget_for((event,)),
            neighbors="replace-one",
            n_rows=len(x),
            n_features=x.shape[1],
            events=(event,),
        )
        if broken == "exact centring":
            x = x - x.mean(axis=0)
        curator = Curator(Rows(x), plan, SeededNoise(0))
        point = np.zeros(x.shape[1])
        for step in range(STEPS):
            query = RowSum(bound)
            if broken == "sensitivity too small":
                query.sensitivity = lambda neighbors: 0.5
            gradient = curator.answer(query, point, event="s").value
            if broken == "exact gradient":
                gradient = x.sum(axis=0)
            scale = np.abs(x).sum() if broken == "data-dependent step" else len(x)
            point = point + 0.5 * (gradient / scale - point)
            if broken == "early stop" and np.linalg.norm(x.mean(0) - point) < 0.7:
                break
            if broken == "data-dependent noise" and step == 0:
                curator._noise = "exact" if x[0, 0] > 0 else "grid"
        return {"point": point, "steps": step}

    return fit


def pairs():
    rng = np.random.default_rng(0)
    for n in (2, 5, 40, 300):
        x = rng.standard_normal((n, 3))
        for row in (np.zeros(3), -x[0], 1e6 * np.ones(3), np.array([0, 0, -1.0])):
            other = x.copy()
            other[0] = row
            yield x, other


@pytest.mark.parametrize("sampled", [False, True])
def test_an_honest_method_passes(sampled):
    reports = [replay(descent(sampled=sampled), x, other) for x, other in pairs()]
    assert all(report.ok for report in reports)
    # The opposite row, clipped, uses all of it.
    assert max(report.largest_use for report in reports) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "broken",
    [
        "exact centring",
        "sensitivity too small",
        "exact gradient",
        "data-dependent step",
        "early stop",
    ],
)
def test_a_broken_method_is_caught(broken):
    assert not all(replay(descent(broken=broken), x, other).ok for x, other in pairs())


def test_division_by_a_private_number_of_rows_is_caught():
    """Under add-remove the curator has no number to give; a fit that takes len(x) is seen."""

    def fit(x):
        plan = Plan(
            method="mean",
            budget=Budget(1.0, 1e-6),
            neighbors="add-remove",
            n_rows=None,
            n_features=x.shape[1],
            events=(GaussianEvent("s", 5.0),),
        )
        curator = Curator(Rows(x), plan, SeededNoise(0))
        return curator.answer(RowSum(1.0), event="s").value / len(x)

    x = np.eye(5)
    assert not replay(fit, x, x[:-1]).ok


def test_fingerprints_tell_points_apart_bit_for_bit():
    assert fingerprint((1, np.zeros(3))) == fingerprint((1, np.zeros(3)))
    for other in ((1, -np.zeros(3)), (1, np.zeros((3, 1))), (2, np.zeros(3)), None, [np.zeros(3)]):
        assert fingerprint(other) != fingerprint((1, np.zeros(3)))
