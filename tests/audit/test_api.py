"""audit(): what it says of correct and of broken estimators, and what it never says."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from veilspan import (
    PCA,
    Budget,
    FrechetMean,
    LogisticRegression,
    MatrixCompletion,
    Plan,
    RobustPCA,
    SampledGaussianEvent,
    SubspaceTracker,
)
from veilspan.audit import audit
from veilspan.audit.bounds import ErrorRates
from veilspan.audit.inputs import kind_of, pairs_around, pairs_for
from veilspan.audit.neighbors import SIZES, table_pairs
from veilspan.audit.replay import replay
from veilspan.audit.verdict import AuditReport, Claim, make_line
from veilspan.curator.curator import Curator
from veilspan.geometry import Ball, Euclidean
from veilspan.privacy import gdp
from veilspan.privacy.grid import add_noise

BALL = Ball.from_norm(Euclidean(3), 1.0)
EPSILON = gdp.epsilon_of(3.0, 1e-6)
KINDS = {
    "table": PCA(1),
    "points": FrechetMean(BALL.manifold, ball=BALL),
    "ratings": MatrixCompletion(rating_range=(1, 5)),
    "stream": SubspaceTracker(1, epsilon=1.0, block_size=5),
    "classes": LogisticRegression(row_norm=1.0),
}

#: A bound that pairs of tables use in full, so that an audit sees all of the budget.
BOUNDED = {"row_norm": 1.0, "center": "origin"}


def test_a_correct_estimator():
    report = audit(PCA(1, epsilon=EPSILON, **BOUNDED), runs=100, sizes=(2, 5))
    assert report.ok
    assert [line.check for line in report.lines] == ["replay", "game"]
    assert report.lines[0].lower_bound == pytest.approx(EPSILON, rel=1e-3)
    assert report.lower_bound <= EPSILON * (1 + 1e-6)
    assert report.lines[1].runs == 200


def test_the_words_of_a_report():
    report = audit(PCA(1), runs=2, sizes=(2,))
    shown = repr(report)
    assert "no violation found; lower bound" in shown
    assert "never prove it" in shown
    assert "certif" not in shown.lower()
    lines = shown.splitlines()
    columns = {line.rindex("no violation") for line in lines[2:4]}
    assert columns == {lines[1].index("verdict")}
    assert json.loads(json.dumps(report.to_dict()))["ok"] is True


def test_halved_noise_is_a_violation(monkeypatch):
    def half(self, exact, scale):
        return add_noise(exact, replace(scale, std=scale.std / 2), self._source)

    monkeypatch.setattr(Curator, "_add_noise", half)
    report = audit(PCA(1, epsilon=EPSILON, **BOUNDED), runs=300, sizes=(5,))
    assert not report.ok
    assert "the tape says" in report.lines[0].verdict  # the replay's meter draws answers again
    assert report.lines[1].verdict.startswith("violation: epsilon is at least")
    assert "violation" in repr(report)


class LeakyPCA(PCA):
    """Gives away the number of rows that are longer than allowed."""

    def fit(self, X, y=None):
        super().fit(X)
        self.n_long_ = int(np.sum(np.linalg.norm(X, axis=1) > 1.5))
        return self


def test_a_leak_is_a_violation():
    report = audit(LeakyPCA(1), runs=0, sizes=(5,))
    assert not report.ok
    assert "n_long_" in report.lines[0].verdict


class WarningPCA(PCA):
    """Warns of long rows: a warning is an output too."""

    def fit(self, X, y=None):
        import warnings

        if np.abs(X).max() > 1e6:
            warnings.warn("a row is very long.", UserWarning, stacklevel=1)
        return super().fit(X)


def test_a_warning_that_depends_on_rows_is_a_violation():
    report = audit(WarningPCA(1), runs=0, sizes=(5,))
    assert not report.ok
    assert "a warning is not" in report.lines[0].verdict


def test_missing_noise_is_refuted_whatever_was_claimed(monkeypatch):
    monkeypatch.setattr(Curator, "_add_noise", lambda self, exact, scale: exact)
    report = audit(PCA(1, **BOUNDED), claim=Budget(0.5, 1e-6), runs=300, sizes=(5,))
    assert not report.ok


def test_the_estimator_is_left_alone():
    one = PCA(1, epsilon=2.0)
    audit(one, runs=2, sizes=(2,))
    assert one.random_state is None
    assert not hasattr(one, "components_")


def test_your_own_table():
    x = np.random.default_rng(0).standard_normal((30, 3)) / 4
    report = audit(LogisticRegression(row_norm=1.0), (x, np.arange(30) % 2), runs=0)
    assert report.ok
    assert report.lines[0].runs == 18


def test_tables_that_an_estimator_refuses_are_left_out():
    """Pairs of rows need four rows or more."""
    report = audit(RobustPCA(1, center="pairs"), runs=0, sizes=(2, 5))
    assert report.lines[0].runs == 16
    with pytest.raises(ValueError, match="took none"):
        audit(PCA(9), np.zeros((4, 2)), runs=0)


@pytest.mark.parametrize("epsilon", [None, math.inf])
def test_nothing_claimed_nothing_refuted(epsilon):
    with pytest.raises(ValueError, match="nothing to refute"):
        audit(SubspaceTracker(1, epsilon=epsilon))


def test_progress_is_told():
    heard = []
    audit(PCA(1), runs=3, sizes=(2,), progress=lambda *step: heard.append(step))
    assert heard[15] == ("replay", 16, 16)
    assert heard[-1] == ("game", 6, 6)


# ---------------------------------------------------------------- inputs


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_suit_the_estimator(kind):
    estimator = KINDS[kind]
    assert kind_of(estimator) == kind
    pairs = list(pairs_for(estimator, sizes=(5,)))
    assert len(pairs) >= 8
    assert all(len(p.one) == (2 if kind == "classes" else 1) for p in pairs)
    report = audit(estimator, runs=0, sizes=(5,))
    assert report.ok, report


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_around_a_table(kind):
    first = next(iter(pairs_for(KINDS[kind], sizes=(5,))))
    around = list(pairs_around(KINDS[kind], first.one))
    assert len(around) >= 8
    assert all(len(pair.two[0].shape) == len(first.one[0].shape) for pair in around)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_neighbours_differ_in_one_row(neighbors):
    for pair in table_pairs(3, neighbors, gaps=True):
        (one,), (two,) = pair.one, pair.two
        kept = len(one) - (neighbors == "replace-one")
        assert len(two) == kept + 1
        np.testing.assert_array_equal(one[:kept], two[:kept])
    assert len(list(table_pairs(3, neighbors))) == 8 * (len(SIZES) + 1)


def test_the_worst_neighbours_use_the_sensitivity_in_full():
    uses = [
        replay(lambda x: PCA(1, random_state=0, **BOUNDED).fit(*x), pair.one, pair.two).largest_use
        for pair in table_pairs(3, "replace-one", sizes=(5,))
    ]
    assert 0.999 < max(uses) <= 1 + 1e-9


# ---------------------------------------------------------------- claims


def test_a_claim_of_mu_is_stronger_than_its_point():
    rates = ErrorRates(0.02, 0.02, 1, 0.1)  # mu at least 4.1, epsilon at least 3.9
    claim = Claim.of_mu(3.0)
    assert claim.refuted_by(rates)
    assert not Claim(claim.epsilon, claim.delta).refuted_by(rates)
    assert claim.lower_bound(rates) > claim.epsilon


def test_a_claim_of_sampled_events_is_a_curve():
    event = SampledGaussianEvent("step", 0.3, 2.0, 2)
    plan = Plan(
        method="audit",
        budget=Budget(9.0, 1e-6),
        neighbors="replace-one",
        n_rows=50,
        n_features=3,
        events=(event,),
    )
    claim = Claim.of_plan(plan)
    assert claim.mu is None
    rates = ErrorRates(0.2, 0.2, 1, 0.1)
    # Possible under (epsilon, delta) alone, but not under the curve of these events.
    assert not Claim(claim.epsilon, claim.delta).refuted_by(rates)
    assert claim.refuted_by(rates)
    assert not claim.refuted_by(ErrorRates(0.45, 0.45, 1, 0.1))


def test_a_claim_needs_numbers():
    with pytest.raises(ValueError, match="promises nothing"):
        Claim(math.inf, 1e-6)
    with pytest.raises(ValueError, match="delta"):
        Claim(1.0, 0.0)


def test_infinite_bounds_are_json():
    line = make_line("replay", Claim(1.0, 1e-6), math.inf, 3, "no noise")
    report = AuditReport("X", 1e-6, "replace-one", 1e-6, (line,))
    assert (
        json.loads(json.dumps(report.to_dict(), allow_nan=False))["checks"][0]["lower_bound"]
        == "inf"
    )
