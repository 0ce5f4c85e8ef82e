"""What is foretold of a question: exact where it was counted, honest where it was not."""

import json
import re

import pytest

from studio.stories import ask, go, release, send, text_of, words_of
from veilspan import Schema
from veilspan.ledger.costs import cost_of
from veilspan.studio.asking import find_asking, weigh
from veilspan.studio.foresee import GRID, count_bars, find_odds, foresee, list_epsilons
from veilspan.studio.foreseen import GOOD_SHARE, foresee_points, interpolate
from veilspan.studio.foresight_cards import utility_card
from veilspan.studio.questions import make_model
from veilspan.studio.state import Studio


@pytest.fixture
def asked(own_running):
    """A question about the demo's ward, with what was foretold of it."""
    visitor = own_running.enter()
    asking = find_asking(own_running.studio, ask(visitor, method="profile"))
    for _ in range(600):
        state = own_running.studio.account("ward").spent()
        seen = foresee_points(own_running.studio, asking, state)
        if not seen.waiting:
            return own_running.studio, visitor, asking, seen
        import time

        time.sleep(0.2)
    raise AssertionError("the simulation did not end")


def test_the_slider_tells_what_the_ledger_would_charge(asked):
    studio, visitor, asking, seen = asked
    state = studio.account("ward").spent()
    for epsilon in GRID:
        exact = weigh(cost_of(asking.plan(studio, epsilon), state.rules), state)
        told = seen.at(seen.after, epsilon)
        if exact.fits:
            assert told == pytest.approx(exact.after, rel=0.05, abs=1e-4)
        else:
            assert told > 0.9, "it does not fit, or nearly not"
    assert seen.after == sorted(seen.after)
    page = words_of(go(visitor, f"/r/{asking.id}/plan"))
    assert "of the whole budget is used" in page


def test_the_attacker_is_told_by_the_letter_and_by_the_noise(asked):
    _, _, _, seen = asked
    assert seen.at(seen.odds, 1.0) == pytest.approx(0.7311, abs=1e-3)
    assert all(p <= o + 1e-9 for p, o in zip(seen.planned, seen.odds))
    assert seen.grade(1.0) == "strong"
    assert seen.grade(2.0) == "moderate"
    assert seen.grade(5.0) == "weak"


def test_the_attacker_of_gaussian_noise_is_counted_at_every_place_of_the_slider(asked):
    studio, _, asking, seen = asked
    for epsilon, told in zip(seen.epsilons, seen.planned):
        assert told == pytest.approx(find_odds(asking.plan(studio, epsilon)), abs=1e-5)


def test_a_profile_is_foretold_by_its_error_bars(asked):
    """What the plan says, at every place of the slider, and from which epsilon on it will do."""
    studio, visitor, asking, seen = asked
    page = words_of(go(visitor, f"/r/{asking.id}/plan"))
    said = asking.plan(studio).decisions
    share, mean = (seen.at(seen.bars[name], asking.epsilon) for name in ("share", "mean"))
    assert said["a share is known to"] == f"± {100 * share:.2g} points"
    assert said["a mean is known to"] == f"± {100 * mean:.2g} % of the range"
    assert f"± {float(f'{100 * share:.2g}'):g} points of 100" in page
    assert "cannot be simulated" not in page
    assert seen.bars["share"] == sorted(seen.bars["share"], reverse=True)
    assert (seen.smallest, min(seen.bars["share"]) > GOOD_SHARE) == (None, True)
    assert "No epsilon of the slider knows shares to ± 1 point." in page


def test_the_smallest_epsilon_that_knows_shares_to_a_point_is_offered(asked):
    """Of 300 patients there is none; of more there is, and the card and its button say it."""
    studio, _, asking, seen = asked
    more = {name: [bar / 20 for bar in told] for name, told in seen.bars.items()}
    found = {"grid": [1.0], "costs": None, "odds": {"epsilons": [1.0], "right": [0.5]},
             "bars": more, "curve": None, "why": ""}  # fmt: skip
    studio.foresight.find = lambda *_: found
    again = foresee_points(studio, asking, None)
    good = [e for e, bar in zip(again.epsilons, again.bars["share"]) if bar <= GOOD_SHARE]
    assert again.smallest == min(good) > again.epsilons[0]
    assert f"Epsilon {min(good):g} would do" in str(utility_card(asking, again))


def test_how_exact_a_profile_will_be_is_not_said_of_a_private_number(hospital):
    text = hospital.tables["ward"].schema.read_text()
    secret = re.sub(r"^count\s*=.*$", 'neighbors = "add-remove"', text, flags=re.MULTILINE)

    def at(epsilon):
        return make_model("profile", Schema.from_toml(secret), {}, epsilon, 1e-6)

    assert count_bars(at) == {}


def test_looking_again_simulates_nothing_again(asked, monkeypatch):
    studio, _, asking, _ = asked
    fresh = Studio(studio.settings, studio.port)

    def fail(*_):
        raise AssertionError("simulated again")

    monkeypatch.setattr(type(fresh.foresight), "_run", fail)
    state = studio.account("ward").spent()
    assert fresh.foresight.find(asking, state) is not None


def test_the_simulation_is_relative_to_no_noise(hospital, tmp_path):
    schema = hospital.tables["ward"].schema.read_text()
    question = {"schema": schema, "estimator": "pca", "params": {"n_components": 1}, "delta": 1e-6,
                "epsilon": 1.0, "people": 1000, "rules": None}  # fmt: skip
    foresee(question, tmp_path / "curve.json")
    found = json.loads((tmp_path / "curve.json").read_text())
    for values in found["curve"]["utility"].values():
        assert all(0 <= value <= 1 for value in values)
        assert values == sorted(values)
    assert found["costs"] is None
    assert found["odds"]["right"] == sorted(found["odds"]["right"])


def test_lines_are_drawn_over_the_logarithm():
    assert interpolate([1.0, 100.0], [0.0, 1.0], 10.0) == pytest.approx(0.5)
    assert interpolate([1.0, 100.0], [0.0, 1.0], 0.1) == 0.0
    assert interpolate([1.0, 100.0], [0.0, 1.0], 1e9) == 1.0
    assert list_epsilons() == sorted(set(list_epsilons()))


@pytest.mark.slow
def test_rows_like_those_of_a_released_profile_are_offered(own_running):
    """Offered once there is one; simulated under a key of its own; withdrawn, it is gone."""
    studio, visitor = own_running.studio, own_running.enter()
    draft = ask(visitor, method="pca")
    assert "like the released profile" not in words_of(go(visitor, f"/r/{draft}/plan"))
    request = release(visitor, method="profile", epsilon="1")
    assert "Draw them like the released profile of ward" in words_of(
        go(visitor, f"/r/{draft}/plan")
    )
    state, plain = studio.account("ward").spent(), find_asking(studio, draft)
    before = studio.foresight._describe(plain, state)
    send(visitor, f"/r/{draft}/rows", {"like": "profile"})
    page = go(visitor, f"/r/{draft}/plan")
    assert "It is public and costs nothing." in words_of(page)
    asking = find_asking(studio, draft)
    described = studio.foresight._describe(asking, state)
    folder = described["profile"]["folder"]
    assert f"--profile {folder}" in text_of(page, "command")
    assert described != before
    assert len(described["profile"]["digest"]) == 64
    foresee({**described, "rules": None}, studio.folder / "curve.json")
    curve = json.loads((studio.folder / "curve.json").read_text())["curve"]
    assert curve["conclusion"].startswith("On rows like those of profile ward (released at epsilon")
    exchanged = {**described, "profile": {"folder": folder, "digest": "0" * 64}}
    with pytest.raises(ValueError, match="exchanged"):
        foresee({**exchanged, "rules": None}, studio.folder / "other.json")
    send(visitor, f"/x/{request}/withdraw", {"reason": "It was wrong."})
    assert studio.foresight._describe(asking, state) == before
