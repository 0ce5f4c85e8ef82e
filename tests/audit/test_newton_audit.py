"""The matrix of a Newton fit alone: broken copies of it are caught, its gradients being honest."""

import numpy as np
import pytest

from solvers.linear.cases import fit, neighbor_pairs
from veilspan import Budget
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.losses.linear import Logistic
from veilspan.queries.moments import SecondMoment
from veilspan.solvers.linear import newton
from veilspan.solvers.linear.newton import GRAM, PrivateNewton

BUDGET = Budget(1.0, 1e-6)


def reports(neighbors="replace-one", kind=Curator):
    def run(data):
        return fit(PrivateNewton(2), Logistic(), *data, epsilon=1.0, neighbors=neighbors, kind=kind)

    for pair in list(neighbor_pairs(neighbors, [-1.0, 1.0]))[::3]:
        yield replay(run, *pair, budget=BUDGET, neighbors=neighbors)


def findings(**settings):
    return [text for report in reports(**settings) for text in report.findings]


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_the_shipped_one_passes_and_its_matrix_is_among_the_answers(neighbors):
    found = list(reports(neighbors))
    assert not [text for report in found for text in report.findings]
    assert {report.questions for report in found if neighbors == "replace-one"} <= {3}


def test_a_matrix_of_too_small_a_sensitivity_is_caught(monkeypatch):
    """That of add-remove, declared under replace-one."""

    class OfAddRemove(SecondMoment):
        def sensitivity(self, neighbors):
            return self.bound

    monkeypatch.setattr(newton, "SecondMoment", OfAddRemove)
    assert any("times the declared sensitivity" in text for text in findings())


def test_a_matrix_of_rows_that_are_not_clipped_is_caught(monkeypatch):
    class Unclipped(SecondMoment):
        def norms(self, block, point):
            return np.minimum(super().norms(block, point), self.bound)

    monkeypatch.setattr(newton, "SecondMoment", Unclipped)
    assert any("times the declared sensitivity" in text for text in findings())


class QuietMatrix(Curator):
    """Half of the noise, on the matrix alone."""

    quiet = False

    def answer(self, query, point=None, *, event, noise_multiplier=None):
        self.quiet = event == GRAM
        return super().answer(query, point, event=event, noise_multiplier=noise_multiplier)

    def _add_noise(self, exact, scale):
        given = super()._add_noise(exact, scale)
        return (given + exact) / 2 if self.quiet else given


def test_half_of_the_noise_on_the_matrix_is_caught():
    assert all("answer 0 has noise" in text for text in findings(kind=QuietMatrix))
    assert findings(kind=QuietMatrix)


class ExactMatrix(PrivateNewton):
    """Steps in the metric of the matrix itself."""

    def _curvature(self, curator, problem, gram, bound, rows, white=None):
        noisy = super()._curvature(curator, problem, gram, bound, rows, white)
        query = SecondMoment(1.0)
        space = query.space(curator.n_features, None)
        exact = space.project(curator._rows.clipped_sum(query, None, space))
        return noisy + exact / rows


def test_a_matrix_without_noise_is_caught():
    def run(data):
        return fit(ExactMatrix(2), Logistic(), *data, epsilon=1.0)

    pairs = list(neighbor_pairs("replace-one", [-1.0, 1.0]))[::3]
    assert not all(replay(run, *pair).ok for pair in pairs)
