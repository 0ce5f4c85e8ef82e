"""Who wins: squares say what the records say, the best rival of each first."""

import json
import math

import pytest

from experiments import page, winners


def keep(folder, name, facts, scale="full"):
    record = {"schema": 1, "name": name, "scale": scale, "facts": facts}
    (folder / f"{name}.json").write_text(json.dumps(record))


def score(task, method, mean, epsilon=1.0, draw="fresh"):
    return {"task": task, "draw": draw, "epsilon": epsilon, "method": method, "mean": mean}


@pytest.fixture
def folder(tmp_path):
    keep(tmp_path, "tables", {"scores": [
        score("ward", "auto (ours)", 0.8), score("ward", "DP-EBM", 0.7),
        score("ward", "linear", 0.9),  # our own: no rival
        score("beds", "auto (ours)", 0.3), score("beds", "DP-EBM", 0.2),
        score("beds", "AdaSSP", 0.5), score("beds, add-remove", "auto (ours)", 0.0),
        score("beds", "auto (ours)", 0.9, draw="tuning"),
        score("beds", "gradient boosting, not private", 0.95, epsilon="inf"),
    ]})  # fmt: skip
    keep(tmp_path, "streams", {"cells": [
        {"setting": "a", "blocks": 16, "method": "ours", "mean": 0.1},
        {"setting": "a", "blocks": 16, "method": "independent noise", "mean": 0.2},
    ]})  # fmt: skip
    return tmp_path


def test_squares_take_the_best_rival_of_new_draws(folder):
    found = {contest.name: contest for contest in winners.contests(folder)}
    assert set(found) == {"classes", "numbers", "streams"}
    (ward,), (beds,), (stream,) = (found[n].squares for n in ("classes", "numbers", "streams"))
    assert (ward.line, ward.rival) == ("ward", "DP-EBM")
    assert ward.ahead == pytest.approx(0.1)
    assert (beds.rival, beds.column) == ("AdaSSP", 1.0)
    assert beds.ahead == pytest.approx(-0.2)
    assert stream.ahead == pytest.approx(math.log(2))
    assert "ahead in 0 of 1 squares" in winners.in_words(found["numbers"])
    assert "-20.0 (beds, epsilon 1, AdaSSP)" in winners.in_words(found["numbers"])
    assert "0.50x" in winners.in_words(found["streams"])


def test_quick_records_show_no_winner(tmp_path):
    keep(tmp_path, "tables", {"scores": [score("a", "auto (ours)", 1), score("a", "DP-EBM", 0)]},
         scale="quick")  # fmt: skip
    assert winners.contests(tmp_path) == []
    assert page.winners_section(tmp_path) == ""


def test_the_page_shows_every_picture_that_was_drawn(folder):
    page.draw_winners(folder)
    text = page.winners_section(folder)
    for name in ("classes", "numbers", "streams"):
        assert f"(winners-{name}.png)" in text
        assert (folder / f"winners-{name}.png").stat().st_size > 1000
    assert not list(folder.glob("*.svg"))
