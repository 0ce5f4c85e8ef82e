"""The comparison of table models: it runs, its rivals learn, its verdicts are right."""

import csv
import json
import math

import numpy as np
import pytest

from experiments.tables import peers, rivals, run, sets, verdicts

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
    assert {row["method"] for row in rows} == {
        run.AUTO, run.LINEAR, run.BINS, run.PLAIN, run.CEILING,
    }  # fmt: skip
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
    found = rivals.scores(task, 100.0, 1e-6, 0)
    (x, y), (new, wanted) = rivals.rows_of(task)
    least = rivals.r2(wanted, new @ np.linalg.lstsq(x, y, rcond=None)[0])
    assert found["AdaSSP"] > 0.5 * least
    assert least - 0.05 < found["BoostedAdaSSP"] <= least + 0.01
    assert np.linalg.norm(x, axis=1).max() <= 1 + 1e-12


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


def test_numbers_may_be_a_hundredth_behind():
    found = scored({"ours": [0.80, 0.82], "a": [0.805, 0.825]}, task="x -> y")
    (gap,) = verdicts.gaps(found, "fresh", "ours", ())
    assert gap.holds
    ceiling = scored({"top": [0.99, 0.99]}, epsilon=math.inf, task="x -> y")
    assert verdicts.gaps(found + ceiling, "fresh", "ours", ("top",)) == [gap]


def test_a_full_run_has_all_epsilons_and_both_draws(tiny_job):
    cases = list(run.cases_of(tiny_job("tables", scale="full")))
    names = {case[0] for case, _ in cases}
    assert names == set(sets.WITHOUT_FILES)  # without a folder of files
    seeds = {
        (draw, epsilon): sum(
            case[:3] == ("linear truth", draw, None) and case[4] == relation and epsilon in epsilons
            for case, epsilons in cases
        )
        for draw, relation in (
            ("fresh", "replace-one"),
            ("tuning", "replace-one"),
        )
        for epsilon in run.EPSILONS
    }
    both = [case[:4] for case, _ in cases if case[4] == "add-remove"]
    assert {name for name, *_ in both} == names
    assert {draw for _, draw, *_ in both} == {"fresh"}
    assert seeds["fresh", 0.1] == 20
    assert seeds["fresh", 3.0] == 5
    assert seeds["tuning", 1.0] == 2


def test_both_relations_are_scored():
    """A schema promises for one relation: it is told which."""
    task = sets.make_task("linear truth", None, "fresh", 0, 300)
    for relation in run.RELATIONS:
        assert 0 <= run.score(task, run.LINEAR, 1.0, 0, relation) <= 1
