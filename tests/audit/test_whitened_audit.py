"""Steps in whitened coordinates: broken copies of their gradient are caught."""

import numpy as np
import pytest

from solvers.linear.cases import fit, neighbor_pairs
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.curator.rows import Block
from veilspan.losses.linear import Logistic, Multinomial
from veilspan.queries.linear.slope_gradient import MetricGradient, RowMetric, SlopeGradient
from veilspan.solvers.linear import newton
from veilspan.solvers.linear.newton import PrivateNewton

BUDGET = Budget(100.0, 1e-6)  # little noise: then A stretches what few rows have
CLIP = 0.2  # short, so that rows which are longer in phi are clipped there


def findings(loss, neighbors="replace-one"):
    """What replay says of all pairs, and the largest use of a sensitivity."""

    def run(data):
        solver = PrivateNewton(3, clip=CLIP, momentum=0.5, whiten=True)
        return fit(solver, loss, *data, epsilon=BUDGET.epsilon, neighbors=neighbors)

    targets = [0, 1, 2] if loss.n_outputs > 1 else [-1.0, 1.0]
    found, used = [], []
    for pair in neighbor_pairs(neighbors, targets):
        report = replay(run, *pair, budget=BUDGET, neighbors=neighbors)
        found += report.findings
        used.append(report.largest_use)
    return found, max(used)


LOSSES = pytest.mark.parametrize("loss", [Logistic(), Multinomial(3)], ids=lambda x: x.name)
BOTH = pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])


@BOTH
@LOSSES
def test_the_shipped_one_passes(loss, neighbors):
    found, used = findings(loss, neighbors)
    assert not found
    assert used > 0.99


class PlainLengths(MetricGradient):
    """Rows are clipped as long as they are before A."""

    def prepare(self, block, point):
        return SlopeGradient.prepare(self, block, point)


class StaleLengths(MetricGradient):
    """Rows are clipped as long as another metric makes them: half of this one."""

    def prepare(self, block, point):
        known = super().prepare(block, point)
        return known._replace(lengths=known.lengths / 2)


class UnboundedRows(MetricGradient):
    """A is applied to rows as they are; lengths are those of rows in the unit ball."""

    def weighted_sum(self, block, weights, point):
        factors = 1.0 if block.factors is None else block.factors
        return super().weighted_sum(block, weights / factors, point)


class LongerMetric(MetricGradient):
    """Sums are stretched by twice the A that rows were clipped by."""

    def weighted_sum(self, block, weights, point):
        return 2.0 * super().weighted_sum(block, weights, point)


class OfAddRemove(MetricGradient):
    """The sensitivity of add-remove, whatever the relation."""

    def sensitivity(self, neighbors):
        return super().sensitivity("add-remove")


@LOSSES
@pytest.mark.parametrize(
    "broken", [PlainLengths, StaleLengths, UnboundedRows, LongerMetric, OfAddRemove]
)
def test_a_broken_copy_is_caught(broken, loss, monkeypatch):
    monkeypatch.setattr(newton, "MetricGradient", broken)
    found, _ = findings(loss)
    assert any("times the declared sensitivity" in text for text in found)


def test_lengths_are_kept_for_one_metric_alone():
    """A block keeps the lengths |A x'| of the last A: those of an earlier one would be wrong."""
    block = Block(np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([1.0, -1.0]))
    point = np.zeros(2)
    for scale in (1.0, 3.0, 0.5):
        query = MetricGradient(Logistic(), 0.5, RowMetric(scale * np.eye(2)))
        for _ in range(2):
            assert query.prepare(block, point).lengths == pytest.approx([scale, scale])
