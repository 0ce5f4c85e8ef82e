"""The whole pipeline of a table model: the shipped one passes a replay, broken copies are caught.

Replays compare bits, so there are no false alarms but those of measured noise, 1e-13 an answer.
"""

from dataclasses import replace

import numpy as np
import pytest

from veilspan import LinearRegression, LogisticRegression
from veilspan.audit.neighbors import labelled_pairs
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.estimators import base as every_base
from veilspan.estimators.linear import base, feature_choice, feature_stage, table_model
from veilspan.queries.linear.asked.curvature_diagonal import CurvatureDiagonal
from veilspan.queries.linear.column_histograms import ColumnHistograms
from veilspan.queries.linear.column_scales import CellScale
from veilspan.solvers.linear.asked import class_shares, curvature
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.linear.tables import column_mass, rest_width
from veilspan.solvers.linear.tables.column_mass import ColumnMass

pytestmark = [
    pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::veilspan.LoudNoiseWarning"),
]
SAID = {
    "feature_range": (-1, 1), "features": "auto", "solver": GradientDescent(steps=2),
    "expected_rows": 60, "random_state": 0,
}  # fmt: skip
TARGETS = {"targets": (-1.0, 0.5, 1.0), "extreme_targets": (-1e9, 1.0)}


def findings(numbers=False, neighbors="replace-one"):
    def fit(data):
        if numbers:
            model = LinearRegression(**SAID, neighbors=neighbors, target_range=(-1, 1))
        else:
            model = LogisticRegression(**SAID, neighbors=neighbors, classes=[0, 1])
        return model.fit(*data)

    found = []
    for pair in list(labelled_pairs(3, neighbors, **(TARGETS if numbers else {})))[::5]:
        found += replay(fit, pair.one, pair.two, neighbors=neighbors).findings
    return found


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
@pytest.mark.parametrize("numbers", [False, True])
def test_the_shipped_one_passes(numbers, neighbors):
    assert not findings(numbers, neighbors)


@pytest.fixture(autouse=True)
def curves_of_few_rows(monkeypatch):
    """So small tables would be fitted by lines."""
    for name in ("LINEAR_NOISE", "CLASSES_NOISE"):
        monkeypatch.setattr(feature_choice, name, np.inf)


def is_leak(text):
    return "function of the answers" in text or "times the declared sensitivity" in text


def exact_counts(curator, layout, cells):
    """Counts of the cells without noise and without a charge."""
    view = curator.mapped(CellScale(layout), layout.n_numbers)
    query = ColumnHistograms(layout.n_numbers, np.append(np.arange(1, cells) / cells, 1.5))
    space = query.space(layout.n_numbers, None)
    counts = np.asarray(space.project(view._rows.clipped_sum(query, None, space)))
    counts = counts[:, :cells]
    below = np.zeros((layout.n_numbers, cells + 1))
    below[:, 1:] = np.cumsum(counts, axis=1) / max(1.0, counts[0].sum())
    return ColumnMass(np.minimum(below, 1.0), np.ones(layout.n_numbers, dtype=bool))


def test_a_mass_that_nobody_paid_for_is_caught(monkeypatch):
    """The event is not in the plan, and the histogram is taken as it is."""
    monkeypatch.setattr(feature_stage, "ask_mass", exact_counts)
    shipped = table_model.prepare_features

    def without_charge(model, choice, *facts):
        made = shipped(model, replace(choice, mass=False), *facts)
        return replace(made, stages=(replace(made.stages[0], choice=choice, cells=8),))

    monkeypatch.setattr(base, "prepare_features", without_charge)
    assert any(is_leak(text) for text in findings())


@pytest.mark.parametrize("numbers", [False, True])
def test_a_map_of_exact_quantiles_is_caught(monkeypatch, numbers):
    """The histogram is asked and paid for; the map uses another, exact one."""

    def peeking(curator, layout, cells):
        column_mass.ask_mass(curator, layout, cells)
        return exact_counts(curator, layout, cells)

    monkeypatch.setattr(feature_stage, "ask_mass", peeking)
    assert any(is_leak(text) for text in findings(numbers))


def test_a_histogram_of_too_small_a_sensitivity_is_caught(monkeypatch):
    """That of one column, declared for three."""

    class OfOneColumn(ColumnHistograms):
        def sensitivity(self, neighbors):
            return super().sensitivity(neighbors) / np.sqrt(self.n_features)

    monkeypatch.setattr(column_mass, "ColumnHistograms", OfOneColumn)
    assert any("times the declared sensitivity" in text for text in findings())


def test_an_exact_width_is_caught(monkeypatch):
    """What is left of targets, scaled by its own mean length."""
    shipped = rest_width.ask_width

    def peeking(curator, rest):
        shipped(curator, rest)
        view = curator.mapped(rest, 1)
        (block,) = view._rows.blocks(1000)
        return 0.1 * float(np.abs(block.x).mean())

    monkeypatch.setattr(feature_stage, "ask_width", peeking)
    assert any("function of the answers" in text for text in findings(numbers=True))


def test_a_curvature_of_too_small_a_sensitivity_is_caught(monkeypatch):
    """As if an exchange of rows moved one contribution, and rows were no longer than groups."""

    class OfOneRow(CurvatureDiagonal):
        def sensitivity(self, neighbors):
            return super().sensitivity(neighbors) / 40

    monkeypatch.setattr(curvature, "CurvatureDiagonal", OfOneRow)
    assert any("times the declared sensitivity" in text for text in findings())


def test_bars_of_the_exact_curvature_are_caught(monkeypatch):
    """The diagonal is asked and paid for; the bars are made of another, exact one."""
    shipped = curvature.AskCurvature.ask

    def peeking(self, curator, problem, result):
        told = shipped(self, curator, problem, result)
        (block,) = curator._rows.blocks(1000)
        exact = np.square(block.x).sum(axis=0)
        return replace(told, diagonal=replace(told.diagonal, value=exact))

    monkeypatch.setattr(curvature.AskCurvature, "ask", peeking)
    assert any("function of the answers" in text for text in findings())


def test_shares_of_exact_counts_are_caught(monkeypatch):
    """A broken copy: shares of classes that tell how many rows each has."""
    shipped = class_shares.AskShares.ask

    def peeking(self, curator, problem, result):
        told = shipped(self, curator, problem, result)
        (block,) = curator._rows.blocks(1000)
        exact = np.array([(block.y <= 0).sum(), (block.y > 0).sum()], dtype=float)
        return replace(told, class_counts=replace(told.class_counts, value=exact))

    monkeypatch.setattr(class_shares.AskShares, "ask", peeking)
    assert any("function of the answers" in text for text in findings())


class QuietCells(Curator):
    """Half of the noise, on the mass alone."""

    def _add_noise(self, exact, scale):
        given = super()._add_noise(exact, scale)
        return (given + exact) / 2 if exact.size % 3 == 0 and exact.size > 6 else given


def test_half_of_the_noise_on_the_mass_is_caught(monkeypatch):
    monkeypatch.setattr(every_base, "Curator", QuietCells)
    assert any("has noise" in text for text in findings())
