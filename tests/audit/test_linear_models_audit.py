"""Replay every linear model on neighbouring tables: flipped labels, wild rows, both relations."""

import math

import numpy as np
import pytest

from estimators.linear.cases import HIGH, LOW, MODELS, WIDTH, data_for, is_regression, make
from veilspan.audit.replay import replay
from veilspan.queries.linear.slope_gradient import SlopeGradient

ROWS = (
    np.zeros(WIDTH),
    HIGH,
    LOW,
    1e6 * np.ones(WIDTH),
    -1e-9 * np.ones(WIDTH),
    1e100 * np.eye(WIDTH)[0],
)


def extreme_targets(name):
    if is_regression(name):
        return (1e9, -1e9, 3.0)
    return (0, 1, 2) if "three" in name else (0, 1)


def neighbors_of(name, n, relation):
    """Pairs of tables that differ in one row, its target or both."""
    x, y = data_for(name, n, seed=n)
    if not is_regression(name):
        y[:3] = (0, 1, 2) if "three" in name else (0, 1, 1)  # every label stays
    for target in extreme_targets(name):
        for row in (*ROWS, x[-1]):
            if relation == "replace-one":
                other, targets = x.copy(), y.copy()
                other[-1], targets[-1] = row, target
            else:
                other, targets = np.vstack([x, row]), np.append(y, target)
            yield (x, y), (other, targets)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", MODELS)
def test_nothing_but_answers_leaves(name, relation, some_of):
    def fit(data):
        return make(name, neighbors=relation, random_state=0).fit(*data)

    plan = make(name, neighbors=relation).plan(100, WIDTH)
    sampled = any(event.sampling_rate < 1 for event in plan.events)
    for n in (4, 40):
        # Exact noise is drawn slowly, and measured for each model.
        every = 6 if "exact noise" in name else 3
        for one, two in some_of(neighbors_of(name, n, relation), every):
            report = replay(fit, one, two)
            assert report.ok, report.findings
            assert report.questions > 0
            # A row is sampled or not: a sampled step may use more than its accounted average.
            if not sampled:
                assert report.realised_mu <= plan.budget.mu


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearRegression"])
def test_a_flipped_label_uses_most_of_the_sensitivity(name):
    """The clip is met by the longest rows, so that a replay has the power to see a wrong one."""
    x, y = np.vstack([HIGH] * 6), np.array([0, 1, 0, 1, 0, 1])
    y = np.where(y, 30.0, -20.0) if is_regression(name) else y
    flipped = y.copy()
    flipped[-1] = y[0]
    fit = make(name, random_state=0, clip=0.1).fit
    report = replay(lambda data: fit(*data), (x, y), (x, flipped))
    assert report.ok
    assert report.largest_use > 0.9


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_clip_that_is_declared_too_small_is_caught(relation, monkeypatch):
    monkeypatch.setattr(SlopeGradient, "sensitivity", lambda self, neighbors: 0.5 * self.bound)
    name = "LogisticRegression"
    caught = [
        not replay(
            lambda data: make(name, neighbors=relation, random_state=0).fit(*data), one, two
        ).ok
        for one, two in neighbors_of(name, 40, relation)
    ]
    assert any(caught)


def test_a_scale_taken_from_the_data_is_caught():
    """A broken copy: bounds from the table's own extremes, as a careless user would set them."""

    def fit(data):
        x, y = data
        ends = (x.min(axis=0) - 1e-3, x.max(axis=0) + 1e-3)
        return make("LogisticRegression", feature_range=ends, random_state=0).fit(x, y)

    x, y = data_for("LogisticRegression", 40)
    other = x.copy()
    other[-1] *= 30
    report = replay(fit, (x, y), (other, y))
    assert not report.ok


def test_a_model_that_counts_its_labels_is_caught(monkeypatch):
    """A broken copy: "balanced" weights, which look at all labels at once."""
    from veilspan.estimators.linear.classification import LogisticRegression

    def fit(data):
        x, y = data
        share = float(np.mean(y))
        weights = {0: share + 0.1, 1: 1.1 - share}
        return make("LogisticRegression", class_weight=weights, random_state=0).fit(x, y)

    x, y = data_for("LogisticRegression", 40)
    flipped = y.copy()
    flipped[0] = 1 - y[0]
    assert LogisticRegression is MODELS["LogisticRegression"][0]
    report = replay(fit, (x, y), (x, flipped))
    assert not report.ok
    assert math.isfinite(report.realised_mu)
