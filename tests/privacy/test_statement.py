import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from veilspan import GaussianEvent, PrivacyStatement, SampledGaussianEvent, epsilon_spent
from veilspan.privacy.records import statement_from
from veilspan.privacy.schema_record import unit_of

EVENTS = (GaussianEvent("mean", 9.0), SampledGaussianEvent("step", 0.05, 3.0, 20))


def statement(**changes):
    settings = {
        "method": "PCA",
        "epsilon": epsilon_spent(EVENTS, 1e-6),
        "delta": 1e-6,
        "neighbors": "replace-one",
        "events": EVENTS,
        "assumptions": ("the earth is round " * 12,),
        "private": True,
        "release_id": "abc",
        "version": "1",
        **changes,
    }
    return PrivacyStatement(**settings)


def test_a_true_claim_verifies():
    check = statement().verify()
    assert check
    assert check.recomputed == pytest.approx(check.claimed)
    assert check.renyi > check.claimed


def test_a_false_claim_does_not():
    assert not statement(epsilon=0.9 * statement().epsilon).verify()
    halved = (replace(EVENTS[0], noise_multiplier=4.5), EVENTS[1])
    assert not statement(events=halved).verify()


def test_json_round_trip():
    for original in (statement(), statement(epsilon=math.inf, private=False)):
        record = json.loads(original.to_json())
        assert PrivacyStatement.from_dict(record) == original


SCHEMA = {"digest": "ab" * 32, "name": "ward-visits", "version": "2026-11-16"}


def test_a_schema_is_named_and_comes_back():
    original = statement(schema=SCHEMA, unit="one patient: one row of the table")
    assert PrivacyStatement.from_dict(json.loads(original.to_json())) == original
    text = repr(original)
    assert "  schema     ward-visits 2026-11-16" in text
    assert "ab" * 32 in text
    assert max(map(len, text.splitlines())) <= 92
    assert "schema" not in statement().to_dict()  # as records from before schemas
    assert "  schema" not in repr(statement())


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        7,
        ["digest", "name", "version"],
        {**SCHEMA, "more": ""},
        {**SCHEMA, "digest": "ab"},
        {**SCHEMA, "digest": "AB" * 32},
        {**SCHEMA, "name": 7},
    ],
)
def test_what_is_no_record_of_a_schema_is_refused(wrong):
    record = {**statement().to_dict(), "schema": wrong}
    with pytest.raises(ValueError, match="schema"):
        PrivacyStatement.from_dict(record)
    with pytest.raises(ValueError, match="schema"):
        statement_from(record)


@pytest.mark.parametrize(
    ("protects", "own", "said"),
    [
        ("row", None, "one row of the table"),
        (" Row", "visit", "one row of the table"),
        ("patient", None, "one patient: one row of the table"),
        ("patient", "patient_id", "one patient: all rows of one patient_id"),
    ],
)
def test_the_unit_follows_from_the_schema(protects, own, said):
    schema = SimpleNamespace(protects=protects, unit=SimpleNamespace(id=own))
    assert unit_of(schema) == said


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="format"):
        PrivacyStatement.from_dict({**statement().to_dict(), "format": 99})


def test_repr_says_it_all_in_lines_of_bearable_length():
    text = repr(statement())
    for word in ("epsilon", "replace", "exchanged", "mean", "step", "the earth is round", "abc"):
        assert word in text or word == "replace"
    assert max(map(len, text.splitlines())) <= 92
    assert "NOT PRIVATE (seeded)" in repr(statement(private=False, why_not_private="seeded"))
