import json
import math
from dataclasses import replace

import pytest

from veilspan import GaussianEvent, PrivacyStatement, SampledGaussianEvent, epsilon_spent

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


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="format"):
        PrivacyStatement.from_dict({**statement().to_dict(), "format": 99})


def test_repr_says_it_all_in_lines_of_bearable_length():
    text = repr(statement())
    for word in ("epsilon", "replace", "exchanged", "mean", "step", "the earth is round", "abc"):
        assert word in text or word == "replace"
    assert max(map(len, text.splitlines())) <= 92
    assert "NOT PRIVATE (seeded)" in repr(statement(private=False, why_not_private="seeded"))
