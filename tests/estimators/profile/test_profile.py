"""A profile as its user meets it: plan, numbers, refusals, people of several rows, an account."""

import json
import math
import pickle
import warnings

import numpy as np
import pytest

from veilspan import BudgetExceededError, Ledger, Profile, Schema, load
from veilspan.audit.cell_tables import cell_pairs
from veilspan.audit.replay import replay
from veilspan.catalogue import ESTIMATORS
from veilspan.datasets import make_ward
from veilspan.queries.profile.cell_counts import CellCounts
from veilspan.queries.profile.number_moments import NumberMoments
from veilspan.solvers.profile.measure_cells import MeasureCells

WARD = make_ward(3000)
TOGETHER = {"crosstabs": [("sex", "ward")], "means_by": [("age", "ward")]}


@pytest.fixture(scope="module")
def clean():
    """Without noise: what the numbers must be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Profile(epsilon=math.inf, schema=WARD.schema, bins=10, **TOGETHER).fit(WARD.columns)


@pytest.fixture(scope="module")
def noisy():
    return Profile(epsilon=1.0, schema=WARD.schema, **TOGETHER).fit(WARD.columns)


def readable(name):
    """Cells of a column that hold a number, as floats."""
    found = []
    for cell in WARD.columns[name]:
        try:
            value = float(cell)
        except ValueError:
            continue
        if value != -99:
            found.append(value)
    return np.array(found)


# ---------------------------------------------------------------- numbers


def test_without_noise_every_number_is_that_of_the_table(clean):
    ages = readable("age")
    assert clean["age"].mean.value == pytest.approx(ages.mean(), abs=1e-3)
    assert clean["age"].missing.value == pytest.approx(1 - len(ages) / 3000, abs=1e-9)
    assert clean["creatinine"].mean.value == pytest.approx(
        np.exp(np.log(readable("creatinine")).mean()), rel=1e-4
    )
    for label in ("female", "male"):
        share = np.mean([cell == label for cell in WARD.columns["sex"]])
        assert clean["sex"].shares[label].value == pytest.approx(share, abs=1e-9)
    yes, no = (sum(c == word for c in WARD.columns["smoker"]) for word in ("yes", "no"))
    assert clean["smoker"].mean.value == pytest.approx(yes / (yes + no), abs=1e-6)


def test_without_noise_quantiles_are_right_up_to_a_bin(clean):
    ages = readable("age")
    width = np.diff(clean["age"].edges).max()
    for level, quantile in clean["age"].quantiles.items():
        assert abs(quantile.value - np.quantile(ages, level)) <= width


def test_without_noise_pairs_are_those_of_the_table(clean):
    pairs = list(zip(WARD.columns["sex"], WARD.columns["ward"]))
    table = clean.crosstab("sex", "ward")
    share = np.mean([pair == ("female", "A") for pair in pairs])
    assert table.of("female", "A").value == pytest.approx(share, abs=1e-9)
    rows = [
        (float(age), ward)
        for age, ward in zip(WARD.columns["age"], WARD.columns["ward"])
        if age.isdigit()
    ]
    inside = np.mean([age for age, ward in rows if ward == "B"])
    assert clean.means_within("age", "ward")["B"].value == pytest.approx(inside, abs=1e-3)


def test_without_noise_correlations_are_those_of_people_who_have_both(clean):
    both = [
        (float(a), s == "yes")
        for a, s in zip(WARD.columns["age"], WARD.columns["smoker"])
        if a.isdigit() and s in ("yes", "no")
    ]
    expected = np.corrcoef(np.array(both, dtype=float).T)[0, 1]
    # Standard deviations are over all who have the number, so that they differ a little.
    assert clean.correlations.of("age", "smoker").value == pytest.approx(expected, abs=2e-3)


def test_values_are_consistent(noisy):
    for name in noisy.column_names:
        shares = noisy[name].all_shares
        assert shares.value.sum() == pytest.approx(1.0, abs=1e-9)
        assert (shares.value >= 0).all()
        assert (shares.low <= shares.value + 1e-12).all()
        assert (shares.value <= shares.high + 1e-12).all()
        quantiles = list(noisy[name].quantiles.values())
        assert [e.value for e in quantiles] == sorted(e.value for e in quantiles)
        for each in quantiles:
            assert each.low <= each.value <= each.high


def test_people_are_public_or_noisy(noisy):
    assert noisy.people.value == 3000
    assert noisy.people.bar == 0
    toml = WARD.schema_toml.replace("count    = 3000", 'neighbors = "add-remove"')
    private = Profile(schema=Schema.from_toml(toml), neighbors="add-remove").fit(WARD.columns)
    assert private.people.bar > 0
    assert abs(private.people.value - 3000) < 1000  # 14 standard deviations
    assert private.plan_.n_rows is None


def test_fewer_rows_than_the_count_are_missing_and_more_are_cut():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for count, missing in ((6000, 0.5), (1500, 0.0)):
            schema = Schema.from_toml(WARD.schema_toml.replace("3000", str(count)))
            profile = Profile(epsilon=math.inf, schema=schema).fit(WARD.columns)
            assert profile["ward"].missing.value == pytest.approx(missing, abs=1e-9)
            assert profile["ward"].all_shares.raw.sum() == pytest.approx(1.0)


def test_columns_left_out_of_the_moments_are_said():
    profile = Profile(schema=WARD.schema, most_numbers=2).fit(WARD.columns)
    assert profile.left_out == ("smoker", "admitted")
    assert profile["smoker"].mean is None
    assert profile["age"].mean is not None
    assert "smoker, admitted" in str(profile)
    alone = Profile(schema=WARD.schema, most_numbers=0).fit(WARD.columns)
    assert alone.correlations is None
    assert [event.name for event in alone.privacy_.events] == ["cells"]


def test_a_tiny_budget_measures_nothing_and_says_so():
    profile = Profile(epsilon=1e-3, schema=WARD.schema).fit(WARD.columns)
    assert not profile["age"].mean.measurable
    assert "not measurable" in profile.summary()
    assert "under" in profile.summary()
    assert profile.to_dict()["columns"][0]["mean"]["value"] is None


# ---------------------------------------------------------------- one plan, one charge


def test_one_plan_of_two_events_pays_for_everything(noisy):
    assert [event.name for event in noisy.privacy_.events] == ["cells", "moments"]
    assert noisy.privacy_.verify()
    assert noisy.plan_ == Profile(epsilon=1.0, schema=WARD.schema, **TOGETHER).plan()
    assert "a share is known to" in noisy.plan_.decisions


def test_an_account_is_charged_once_and_closes_when_it_is_spent(tmp_path):
    account = Ledger(tmp_path / "budget.db", key=tmp_path / "key").dataset(
        "ward", 2.0, 1e-5, unit="patient"
    )
    first = Profile(epsilon=1.0, schema=WARD.schema, ledger=account).fit(WARD.columns)
    assert first.privacy_.ledger["dataset"] == "ward"
    with pytest.raises(BudgetExceededError):
        Profile(epsilon=1.99, schema=WARD.schema, ledger=account).fit(WARD.columns)


def test_it_is_saved_pickled_and_shown(noisy, tmp_path):
    noisy.save(tmp_path / "release")
    for again in (load(tmp_path / "release"), pickle.loads(pickle.dumps(noisy))):
        assert again.summary() == noisy.summary()
        assert again.to_dict() == noisy.to_dict()
    json.dumps(noisy.to_dict(), allow_nan=False)
    assert "Profile of ward" in str(noisy)
    assert repr(noisy).startswith("Profile(")
    assert "veilspan-profile" in noisy._repr_html_()
    assert "<" in Profile()._repr_html_()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema": None}, "schema init"),
        ({"columns": ["aeg"]}, 'Did you mean "age"'),
        ({"columns": []}, "at least one"),
        ({"bins": 0}, "bins must be"),
        ({"quantiles": [0.5, 1.0]}, "strictly between"),
        ({"crosstabs": [("sex",)]}, "pairs of two columns"),
        ({"crosstabs": ["sex"]}, "pairs of two columns"),
        ({"crosstabs": [("sex", "ward"), ("ward", "sex")]}, "in both orders"),
        ({"means_by": [("sex", "ward")]}, "has no mean"),
        ({"means_by": [("age", "creatinine")]}, "groups are those"),
        ({"means_by": [("age", "sex")], "most_numbers": 0}, "most_numbers"),
        ({"bins": 1000, "crosstabs": [("age", "creatinine")]}, "at most 10,000"),
        ({"neighbors": "add-remove"}, "neighbors="),
    ],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_spent(changes, words):
    with pytest.raises(ValueError, match=words):
        Profile(**{"schema": WARD.schema, **changes}).fit(WARD.columns)


def test_what_was_not_asked_for_is_not_there(noisy):
    for ask in (
        lambda: noisy["nobody"],
        lambda: noisy.crosstab("ward", "sex"),
        lambda: noisy.means_within("age", "sex"),
    ):
        with pytest.raises(KeyError):
            ask()


# ---------------------------------------------------------------- broken twins


def replayed(relation="replace-one"):
    kind = ESTIMATORS["Profile"]

    def fit(arguments):
        return kind.make_small(neighbors=relation, random_state=0, epsilon=5.0).fit(*arguments)

    schema = kind.make_small(neighbors=relation).schema
    return [replay(fit, p.one, p.two) for p in cell_pairs(schema, relation, sizes=(5,))]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_replays_find_nothing_and_use_the_whole_sensitivity(relation):
    reports = replayed(relation)
    assert all(report.ok for report in reports)
    assert max(report.largest_use for report in reports) > 0.999


@pytest.mark.parametrize("query", [CellCounts, NumberMoments])
def test_a_sensitivity_of_sqrt_p_where_it_is_sqrt_2p_is_caught(query, monkeypatch):
    monkeypatch.setattr(query, "sensitivity", lambda self, neighbors: self.bound)
    assert not all(report.ok for report in replayed())


def test_a_missing_share_that_is_not_charged_is_caught(monkeypatch):
    """A twin that takes the missing cells from the exact counts."""
    whole = MeasureCells.run

    def leaking(self, curator, problem):
        result = whole(self, curator, problem)
        for block in curator._rows.blocks(1000):
            missing = (block.x[:, 0] == problem.layout.columns[0].missing).sum()
        result.counts[problem.layout.columns[0].missing] = missing
        return result

    monkeypatch.setattr(MeasureCells, "run", leaking)
    assert not all(report.ok for report in replayed())
