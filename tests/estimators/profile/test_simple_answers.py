"""Simple answers: one number with its error bar, each its own charged release."""

import numpy as np
import pytest

import veilspan
from veilspan import Schema
from veilspan.datasets import make_ward

WARD = make_ward(3000)
PRIVATE = Schema.from_toml(WARD.schema_toml.replace("count    = 3000", 'neighbors = "add-remove"'))
TABLE = WARD.columns


def test_a_count_is_private_where_it_has_to_be():
    people = veilspan.count(TABLE, PRIVATE, epsilon=1.0)
    assert people.low <= people.value <= people.high
    assert abs(people.value - 3000) < 300  # 10 standard deviations
    assert people.privacy_.verify()
    assert people.privacy_.neighbors == "add-remove"
    with pytest.raises(ValueError, match="public"):
        veilspan.count(TABLE, WARD.schema, epsilon=1.0)


@pytest.mark.parametrize("schema", [WARD.schema, PRIVATE], ids=["replace-one", "add-remove"])
def test_a_mean(schema):
    mean = veilspan.mean(TABLE, schema, "age", epsilon=1.0)
    assert 50 < mean.value < 66
    assert float(mean) == mean.value
    assert mean.high - mean.low < 5
    assert "±" in repr(mean)
    assert "epsilon 1 " in repr(mean)


def test_several_quantiles_cost_what_one_costs():
    one = veilspan.quantiles(TABLE, WARD.schema, "age", [0.5], epsilon=1.0)
    many = veilspan.quantiles(TABLE, WARD.schema, "age", np.arange(1, 10) / 10, epsilon=1.0)
    assert one.privacy_.events == many.privacy_.events
    assert len(many.estimates) == 9
    assert 50 < many[0.5].value < 66
    assert one.value == one[0.5].value
    with pytest.raises(AttributeError, match="several"):
        _ = many.value


def test_a_histogram_and_a_cross_table_sum_to_one():
    shares = veilspan.histogram(TABLE, WARD.schema, "ward", epsilon=1.0)
    pairs = veilspan.crosstab(TABLE, WARD.schema, "sex", "ward", epsilon=1.0)
    for answer in (shares, pairs):
        assert sum(each.value for each in answer.estimates.values()) == pytest.approx(1.0)
    assert 0.2 < shares["A"].value < 0.4
    assert pairs["female", "A"].measurable
    assert len(repr(shares).splitlines()) == 7
    assert shares.to_dict()["privacy"]["epsilon"] == pytest.approx(1.0)


def test_each_answer_is_a_release_of_its_own(tmp_path):
    account = veilspan.Ledger(tmp_path / "budget.db", key=tmp_path / "key").dataset(
        "ward", 1.0, 1e-5, unit="patient"
    )
    veilspan.mean(TABLE, WARD.schema, "age", epsilon=0.6, ledger=account)
    with pytest.raises(veilspan.BudgetExceededError):
        veilspan.mean(TABLE, WARD.schema, "age", epsilon=0.9, ledger=account)
    answer = veilspan.mean(TABLE, WARD.schema, "age", epsilon=0.1, ledger=account)
    answer.release.save(tmp_path / "release")
    assert veilspan.load(tmp_path / "release")["age"].mean == answer.estimate


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: veilspan.mean(TABLE, WARD.schema, "sex"), "no mean"),
        (lambda: veilspan.quantiles(TABLE, WARD.schema, "smoker"), "no quantiles"),
        (lambda: veilspan.histogram(TABLE, WARD.schema, "aeg"), "Did you mean"),
        (lambda: veilspan.crosstab(TABLE, WARD.schema, "sex", "sex"), "once|two columns"),
        (lambda: veilspan.mean(TABLE, "ward.toml", "age"), "Schema.load"),
        (lambda: veilspan.mean(TABLE, WARD.schema, "age", budget=1), "unknown setting"),
    ],
)
def test_mistakes_are_sentences(ask, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ask()


def test_one_profile_is_more_exact_than_as_many_answers():
    """Ten answers at a tenth of epsilon each, against one profile at epsilon."""
    alone = veilspan.histogram(TABLE, WARD.schema, "ward", epsilon=0.1)
    together = veilspan.Profile(epsilon=1.0, schema=WARD.schema).fit(TABLE)
    assert together["ward"].all_shares[0].bar < 0.6 * alone["A"].bar


def test_one_level_need_not_be_a_list():
    median = veilspan.quantiles(TABLE, PRIVATE, "age", 0.5, epsilon=1.0)
    assert 50 < median.value < 66


@pytest.mark.parametrize("ask", [veilspan.count, lambda *a: veilspan.mean(*a, "age")])
def test_the_name_of_a_schema_is_not_a_schema(ask):
    with pytest.raises(TypeError, match=r"Schema\.load\('ward\.toml'\)"):
        ask(TABLE, "ward.toml")


def test_nobody_is_not_measurable_people():
    nobody = {name: list(column[:0]) for name, column in TABLE.items()}
    said = str(veilspan.count(nobody, PRIVATE, epsilon=0.1).release)
    assert "not measurable people" not in said
    assert "number of people not measurable" in said
