"""A robust PCA that finds its own centre: each branch passes a replay, broken copies are caught.

Replays compare bits, so there are no false alarms but those of measured noise, 1e-13 an answer.
"""

import numpy as np
import pytest

from veilspan import RobustPCA
from veilspan.audit.neighbors import Pair
from veilspan.audit.replay import replay
from veilspan.queries.subspace.directions import DirectionSum, RingSums
from veilspan.solvers.subspace.centre import stage
from veilspan.solvers.subspace.centre.verdict import MeanDirection

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")
WIDTH, EPSILON = 4, 60.0


def balanced(rng, n):
    return rng.standard_normal((n, WIDTH))


def clustered(rng, n):
    x = balanced(rng, n)
    x[: int(0.45 * n)] = [30.0, 0.0, 0.0, 0.0]
    return x


def shifted(rng, n):
    return 0.5 * balanced(rng, n) + 4.0


#: Tables of 300 rows by the centre that they need.
TABLES = {"origin": balanced, "cap": clustered, "pairs": shifted}


def neighbours(kind, relation):
    """Two tables that differ in their last row, which is turned about or added."""
    rng = np.random.default_rng(3)
    one = TABLES[kind](rng, 300)
    for name, row in {
        "turned": -one[:1],
        "along the cluster": [[1e3, 0, 0, 0]],
        "zero": np.zeros((1, WIDTH)),
    }.items():
        two = one.copy()
        two[-1] = row[0]
        if relation == "add-remove":
            two = np.vstack([one, row])
        yield Pair(name, (one,), (two,))


def fit(table, relation="replace-one", center="auto"):
    model = RobustPCA(1, epsilon=EPSILON, neighbors=relation, random_state=0, center=center)
    return model.fit(*table)


def findings(kind, relation="replace-one"):
    found = []
    for pair in neighbours(kind, relation):
        found += replay(
            lambda table: fit(table, relation), pair.one, pair.two, neighbors=relation
        ).findings
    return found


@pytest.mark.parametrize(
    ("kind", "relation"),
    [(kind, "replace-one") for kind in TABLES] + [(k, "add-remove") for k in ("origin", "cap")],
)
def test_the_shipped_one_passes_in_every_branch(kind, relation):
    first = next(iter(neighbours(kind, relation)))
    assert fit(first.one, relation).center_used_ == kind
    assert not findings(kind, relation)


def test_a_refusal_is_a_function_of_answers():
    """Under add-remove, where rows would have to be paired: the same on both tables."""

    def refused(table):
        try:
            return fit(table, "add-remove")
        except ValueError as error:
            return str(error)

    for pair in neighbours("pairs", "add-remove"):
        report = replay(refused, pair.one, pair.two, neighbors="add-remove")
        assert report.ok, report.findings
        assert report.questions == 1


def is_leak(text):
    return "function of the answers" in text or "times the declared sensitivity" in text


def exact_mean(curator):
    """The mean of unit rows without noise and without a charge."""
    query = DirectionSum()
    space = query.space(curator.n_features, None)
    total, count = space.project(curator._rows.clipped_sum(query, None, space))
    return MeanDirection(total / count[0], 0.01, float(count[0]))


@pytest.mark.parametrize("kind", ["cap", "pairs"])
def test_a_first_mean_that_nobody_paid_for_is_caught(monkeypatch, kind):
    """It decides by the exact mean and asks nothing."""
    monkeypatch.setattr(stage, "_ask_mean", exact_mean)
    monkeypatch.setattr(
        stage, "judge_mean", lambda mean: stage.Verdict(kind, f"by {mean.vector[0]!r}")
    )
    assert any(is_leak(text) for text in findings(kind))


def test_a_first_mean_that_is_left_out_of_the_account_is_caught(monkeypatch):
    """Its noise is right, but the meter forgets it: the solver spends all of the budget again."""
    shipped = stage._ask_mean

    def forgotten(curator):
        before = curator._meter._sum
        mean = shipped(curator)
        curator._meter._sum = before
        return mean

    monkeypatch.setattr(stage, "_ask_mean", forgotten)
    monkeypatch.setattr(stage, "DIRECTION_SHARE", 0.9)  # so that it shows on any pair
    assert any("mu" in text or "budget" in text for text in findings("origin"))


def test_a_cap_around_the_exact_mean_is_caught(monkeypatch):
    """The mean is asked and paid for; the cap is put around another, exact one."""
    shipped = stage._ask_mean

    def peeking(curator):
        shipped(curator)
        return exact_mean(curator)

    monkeypatch.setattr(stage, "_ask_mean", peeking)
    assert any("differs between the runs in point" in text for text in findings("cap"))


@pytest.mark.parametrize(("query", "kind"), [(DirectionSum, "cap"), (RingSums, "cap")])
def test_the_sensitivity_of_add_remove_under_replace_one_is_caught(monkeypatch, query, kind):
    class TooSmall(query):
        def sensitivity(self, neighbors):
            return self.bound

    monkeypatch.setattr(stage, query.__name__, TooSmall)
    assert any("times the declared sensitivity" in text for text in findings(kind))
