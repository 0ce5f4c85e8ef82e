"""The comparison of table models: it runs, its rivals learn, its verdicts are right."""

import csv
import json
import math

import numpy as np
import pytest

from experiments.tables import ours, peers, rivals, run, sets, tukey, verdicts

ROW = {"draw": "fresh", "rows": 10}


def test_a_tiny_run_writes_its_files(tiny_job, monkeypatch):
    monkeypatch.setattr(sets, "TEST_ROWS", 400)
    monkeypatch.setattr(peers, "boosted", lambda task: 0.9)
    job = tiny_job("tables")
    run.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert record["claims"][0]["who"] == "ours"
    with job.file("csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == {run.AUTO, run.LINEAR, run.BINS, run.CEILING}
    assert all(0 <= float(row["score"]) <= 1 for row in rows)


@pytest.mark.parametrize("name", sets.WITHOUT_FILES)
def test_every_table_fits_its_schema(name):
    task = sets.make_task(name, None, "fresh", 0, 300)
    encoded = task.schema.encode(task.train)
    assert len(encoded) == task.rows == 300
    assert encoded.present.all()
    assert np.abs(encoded.x).max() <= 1
    again = sets.make_task(name, None, "tuning", 0, 300)
    assert any((again.train[c] != task.train[c]).any() for c in task.train)


def test_rivals_learn_a_line_where_noise_is_small():
    task = sets.make_task("linear truth, numbers", None, "fresh", 1, 4_000)
    (found,) = rivals.scores(task, (100.0,), 1e-6, 0)
    (x, y), (new, wanted) = rivals.rows_of(task)
    least = rivals.r2(wanted, new @ np.linalg.lstsq(x, y, rcond=None)[0])
    assert found["AdaSSP"] > 0.5 * least
    assert least - 0.05 < found["BoostedAdaSSP"] <= least + 0.01
    assert least - 0.05 < found["TukeyEM"] <= least + 0.01
    assert np.linalg.norm(x, axis=1).max() <= 1 + 1e-12


def test_tukey_finds_the_middle_of_fits_that_agree_and_refuses_others():
    rng = np.random.default_rng(0)
    middle = np.array([1.0, -2.0, 3.0])
    fits = middle + 0.1 * rng.standard_normal((1_000, 3))
    assert np.abs(tukey.tukey_em(fits, 2.0, 1e-6, rng) - middle).max() < 0.1
    assert tukey.tukey_em(fits, 0.01, 1e-6, rng) is None
    assert tukey.tukey_em(fits[:40], 1.0, 1e-6, rng) is None


def test_a_point_of_a_depth_has_that_depth():
    rng = np.random.default_rng(1)
    ends = np.sort(rng.standard_normal((3, 40)), axis=1)
    for depth in (1, 7, 19, 20):
        for _ in range(20):
            point = tukey.draw_of_depth(ends, depth, rng)[:, None]
            sides = np.minimum((ends <= point).sum(axis=1), (ends >= point).sum(axis=1))
            assert sides.min() == depth


def scored(values, epsilon=1.0, task="table"):
    return [
        {**ROW, "task": task, "epsilon": epsilon, "method": method, "seed": seed, "score": score}
        for method, scores in values.items()
        for seed, score in enumerate(scores)
    ]


def test_a_cell_is_lost_where_pairs_say_so():
    found = scored({"ours": [0.80, 0.82, 0.81], "a": [0.81, 0.83, 0.82], "b": [0.1, 0.2, 0.3]})
    (gap,) = verdicts.gaps(found, "fresh", "ours", ())
    assert gap.rival == "a"
    assert gap.ahead == pytest.approx(-0.01)
    assert gap.error < 1e-12  # every seed says the same, however much seeds differ
    assert not gap.holds
    (claim,) = verdicts.judge(found, "ours", ())
    assert claim.holds is False
    assert "table at 1" in claim.measured


def test_a_task_without_rivals_is_not_judged():
    found = scored({"ours": [0.8]}) + scored({"ours": [0.5], "a": [0.4]}, task="x -> y")
    assert [gap.task for gap in verdicts.gaps(found, "fresh", "ours", ())] == ["x -> y"]


def test_numbers_may_be_a_hundredth_behind():
    found = scored({"ours": [0.80, 0.82], "a": [0.805, 0.825]}, task="x -> y")
    (gap,) = verdicts.gaps(found, "fresh", "ours", ())
    assert gap.holds
    ceiling = scored({"top": [0.99, 0.99]}, epsilon=math.inf, task="x -> y")
    assert verdicts.gaps(found + ceiling, "fresh", "ours", ("top",)) == [gap]


def test_a_full_run_has_all_epsilons_and_both_draws(tiny_job, monkeypatch):
    monkeypatch.setitem(run.SEEDS, "add-remove", dict.fromkeys(run.EPSILONS, 2))
    monkeypatch.setattr(run, "TUNING_SEEDS", 2)
    cases = list(run.cases_of(tiny_job("tables", scale="full")))
    names = {case[0] for case, _, _ in cases}
    assert names == set(sets.WITHOUT_FILES)  # without a folder of files
    seeds = {
        (draw, epsilon): sum(
            case[:3] == ("linear truth", draw, None) and by == relation and epsilon in epsilons
            for case, by, epsilons in cases
        )
        for draw, relation in (
            ("fresh", "replace-one"),
            ("tuning", "replace-one"),
        )
        for epsilon in run.EPSILONS
    }
    both = [case for case, by, _ in cases if by == "add-remove"]
    assert {name for name, *_ in both} == names
    assert {draw for _, draw, *_ in both} == {"fresh"}
    assert seeds["fresh", 0.1] >= seeds["fresh", 3.0] == 5
    assert seeds["tuning", 1.0] == 2


def test_both_relations_are_scored():
    """A schema promises for one relation: it is told which."""
    task = sets.make_task("linear truth", None, "fresh", 0, 300)
    for relation in run.RELATIONS:
        assert 0 <= ours.score(task, ours.LINEAR, 1.0, 1e-6, 0, relation) <= 1
