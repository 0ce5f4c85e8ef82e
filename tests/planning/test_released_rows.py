"""Rows like those of a released profile: they have its shares and correlations, and no row's."""

import copy
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from veilspan import PCA, FrechetMean, LogisticRegression, Profile, Ridge, Schema
from veilspan.datasets import make_ward
from veilspan.geometry import SPD
from veilspan.planning import NotSimulatedError, UtilityCurve, simulate, simulate_utility
from veilspan.planning.released_cells import Margin, ReleasedCells, is_related, make_positive
from veilspan.planning.released_trials import order_rightly
from veilspan.privacy.errors import NotPrivateWarning
from veilspan.tables.columns import NumberColumn

TOML = """
veilspan_schema = 1
name = "clinic"
[unit]
count = {count}
source = "Annual report"
[columns.age]
type = "integer"
range = [0, 110]
fill = 50
source = "Nobody is older."
[columns.dose]
type = "number"
range = [1, 1000]
scale = "log"
source = "The leaflet"
[columns.smoker]
type = "boolean"
true = ["yes"]
false = ["no"]
source = "The form"
[columns.seen]
type = "date"
range = [2020-01-01, 2020-12-31]
source = "The study"
[columns.ward]
type = "category"
categories = ["A", "B", "C"]
fill = "A"
source = "The house"
[columns.well]
role = "target"
{target}
source = "The form"
"""
YES_NO = 'type = "boolean"\ntrue = ["yes"]\nfalse = ["no"]'
NUMBER = 'type = "number"\nrange = [0, 10]'
PEOPLE = 8000


def make_clinic(target=YES_NO, seed=0):
    """A table whose dose, smokers and target follow age; a tenth of the doses is missing."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((PEOPLE, 5))
    age = np.clip(np.rint(60 + 15 * z[:, 0]), 0, 110)
    dose = np.exp(3 + 0.8 * (0.6 * z[:, 0] + 0.8 * z[:, 1]))
    score = 0.7 * z[:, 0] + 0.7 * z[:, 4]
    day = np.clip(180 + 50 * z[:, 3], 0, 365).astype(int)
    table = {
        "age": age,
        "dose": np.where(rng.random(PEOPLE) < 0.1, np.nan, dose),
        "smoker": np.where(0.5 * z[:, 0] + z[:, 2] > 1, "yes", "no").tolist(),
        "seen": [str(d) for d in np.datetime64("2020-01-01") + day],
        "ward": rng.choice(["A", "B", "C"], PEOPLE, p=[0.7, 0.2, 0.1]).tolist(),
        "well": np.where(score > 0.5, "yes", "no").tolist()
        if target == YES_NO
        else np.clip(5 + 1.5 * score, 0, 10),
    }
    return Schema.from_toml(TOML.format(count=PEOPLE, target=target)), table


def release_clinic(target=YES_NO, **settings):
    schema, table = make_clinic(target)
    return Profile(schema=schema, **{"epsilon": 5.0, **settings}).fit(table)


@pytest.fixture(scope="module")
def clinic():
    return release_clinic()


@pytest.fixture
def quick(monkeypatch):
    """Few fits, for tests that do not look at the numbers."""
    for name, value in (("GRID", 2), ("MOST_REPEATS", 2), ("ROWS_IN_ALL", 0), ("MOST_STEPS", 1)):
        monkeypatch.setattr(simulate, name, value)


def test_drawn_rows_have_the_profile_that_they_were_drawn_from(clinic):
    """Profiled again next to no noise: the same shares, means and correlations."""
    rng = np.random.default_rng(1)
    columns = (*clinic.schema.features, clinic.schema.target)
    cells = ReleasedCells.read(clinic, columns)
    table = cells.fill(cells.draw_normals(PEOPLE, rng), rng)
    again = Profile(schema=clinic.schema, epsilon=100.0, allow_weak=True).fit(table)
    for name in clinic.column_names:
        apart = clinic[name].all_shares.value - again[name].all_shares.value
        assert np.abs(apart).max() < 0.03, name
        if clinic[name].mean is not None:
            low, high = clinic[name].cells.range
            apart = clinic[name].mean.value - again[name].mean.value
            assert abs(apart) < 0.03 * (high - low), name
    assert np.abs(clinic.correlations.value - again.correlations.value).max() < 0.08
    assert clinic.correlations.of("age", "well").value > 0.3
    assert 0.08 < again["dose"].missing.value < 0.12


def test_correlations_move_by_their_bars_and_no_farther_than_zero(clinic):
    features = clinic.schema.features
    found = [ReleasedCells.read(clinic, features, s).correlation for s in ("weak", "medium")]
    strong = ReleasedCells.read(clinic, features, "strong").correlation
    assert abs(found[0][0, 1]) < abs(found[1][0, 1]) < abs(strong[0, 1])
    alone = ReleasedCells.read(clinic, (features[0], features[4])).correlation
    np.testing.assert_allclose(alone, np.eye(2), atol=1e-12)  # a category has none


def test_yes_and_no_correlate_less_than_the_normals_behind_them(clinic):
    """Cut at the median, normals of .6 give 2 arcsin(.6) / pi = .4097 (Sheppard)."""
    cells = clinic["smoker"].cells
    even = Margin(cells.column, cells, np.array([0.5, 0.5, 0.0]))
    powers = 0.6 ** np.arange(1, len(even.hermite) + 1)
    exact = 2 * np.arcsin(0.6) / np.pi
    assert powers @ even.hermite**2 == pytest.approx(exact, abs=2e-3)


def test_a_matrix_is_made_a_correlation_matrix():
    broken = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    made = make_positive(broken)
    assert np.linalg.eigvalsh(made).min() > 0
    np.testing.assert_allclose(np.diag(made), 1.0)
    good = np.array([[1, 0.3], [0.3, 1]])
    np.testing.assert_allclose(make_positive(good), good)


def test_a_column_without_a_value_or_outside_of_the_profile():
    schema, table = make_clinic()
    few = Profile(schema=schema, epsilon=5.0, columns=["age", "ward"]).fit(table)
    cells = ReleasedCells.read(few, schema.features)
    rng = np.random.default_rng(0)
    drawn = cells.fill(cells.draw_normals(1000, rng), rng)
    assert drawn["dose"].min() >= 1
    assert 0.4 < np.mean(np.array(drawn["smoker"]) == "yes") < 0.6
    empty = Margin(schema.features[0], few["age"].cells, np.eye(few["age"].cells.size)[-1])
    assert isinstance(empty.column, NumberColumn)
    assert np.isnan(empty.fill(np.zeros(5), rng)).all()


def test_the_order_of_pairs():
    chances = np.array([0.0, 0.0, 1.0, 1.0])
    assert order_rightly(chances, chances) == 1
    assert order_rightly(-chances, chances) == -1
    assert order_rightly(np.zeros(4), chances) == 0
    assert order_rightly(np.array([1.0, 2.0, 1.0, 2.0]), chances) == 0
    assert order_rightly(np.arange(4), np.ones(4)) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "target", "released"),
    [(PCA(2), YES_NO, True), (LogisticRegression(), YES_NO, True),
     (Ridge(), NUMBER, True),
     (LogisticRegression(), 'type = "category"\ncategories = ["no", "yes"]', False)],
)  # fmt: skip
def test_a_curve_on_rows_like_those_of_a_profile(model, target, released, quick):
    schema, table = make_clinic(target if target == NUMBER else YES_NO)
    schema = Schema.from_toml(TOML.format(count=PEOPLE, target=target))
    profile = Profile(schema=schema, epsilon=5.0).fit(table)
    curve = simulate_utility(model, n=2000, schema=schema, profile=profile)
    assert UtilityCurve.from_json(curve.to_json()) == curve
    assert curve.released is released
    assert not curve.hidden
    told = "On rows like those of profile clinic (released at epsilon 5): with 2,000 rows at"
    assert curve.conclusion.startswith(told)
    assert ("such rows" in curve.conclusion) is released
    assert ("as released" in curve.planted["medium"]) is released
    for values in curve.utility.values():
        assert all(0 <= a <= b <= 1 for a, b in itertools.pairwise(values))
    assert curve.utility["medium"][0] < 0.8 < curve.utility["medium"][-1]


@pytest.mark.long
def test_nothing_to_learn_is_not_called_learned(quick):
    """A target that follows nothing: its correlations are measured, and are near 0."""
    schema, table = make_clinic()
    rng = np.random.default_rng(5)
    table["well"] = rng.permutation(table["well"]).tolist()
    profile = Profile(schema=schema, epsilon=20.0, allow_weak=True).fit(table)
    assert is_related(profile, "well")
    curve = simulate_utility(LogisticRegression(schema=schema), n=400, profile=profile)
    assert curve.utility_at(1.0) < 0.9


def test_refusals(clinic):
    other = make_ward(10).schema
    model = LogisticRegression(schema=other)
    with pytest.raises(ValueError, match=r"of another schema \(digest"):
        simulate_utility(model, n=100, profile=clinic)
    with pytest.raises(ValueError, match="asked about is no schema"):
        simulate_utility(PCA(1), n=100, n_features=3, profile=clinic)
    with pytest.raises(ValueError, match="takes a fitted Profile"):
        simulate_utility(PCA(1, schema=other), n=100, profile=Profile(schema=other))
    with pytest.warns(NotPrivateWarning, match="simulation"):
        seeded = release_clinic(random_state=0)
    with pytest.raises(ValueError, match="NOT PRIVATE"):
        simulate_utility(PCA(1, schema=clinic.schema), n=100, profile=seeded)
    forged = copy.copy(clinic)  # a statement that its events do not bear out
    forged.privacy_ = replace(clinic.privacy_, epsilon=clinic.privacy_.epsilon / 10)
    with pytest.raises(ValueError, match="cost more than its statement says"):
        simulate_utility(PCA(1, schema=clinic.schema), n=100, profile=forged)
    with pytest.raises(NotSimulatedError, match="nothing that FrechetMean learns from"):
        simulate_utility(FrechetMean(SPD(2)), n=100, profile=clinic)


def test_a_curve_of_the_version_before_is_read(quick):
    told = json.loads(simulate_utility(PCA(1), n=200, n_features=3).to_json())
    assert told.pop("profile") == ""
    assert told.pop("released") is False
    assert UtilityCurve.from_dict(told).conclusion == told["conclusion"]


class _LostWithoutNoise:
    """A table whose fit without noise ends nowhere."""

    def learn(self, epsilon, seed, share):
        return -5.0 if np.isinf(epsilon) else 0.8


def test_a_fit_that_ends_nowhere_without_noise_is_no_reference(quick, monkeypatch):
    monkeypatch.setattr(simulate, "make_trial", lambda *_: _LostWithoutNoise())
    curve = simulate_utility(PCA(1), n=200, n_features=3)
    assert not curve.hidden
    assert curve.utility_at(1.0) == 1
