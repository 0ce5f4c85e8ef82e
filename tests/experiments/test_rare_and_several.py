"""The measurements of rare classes and of several: they run, and their verdicts are right."""

import json

import pytest

from experiments.tables import rare, sets, several


def test_a_tiny_run_of_rare_classes_writes_its_files(tiny_job, monkeypatch):
    monkeypatch.setattr(sets, "TEST_ROWS", 1000)
    job = tiny_job("tables-rare")
    rare.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    methods = {cell["method"] for cell in record["facts"]["cells"]}
    assert methods == {*rare.WAYS, rare.FREE}


def test_a_tiny_run_of_several_classes_writes_its_files(tiny_job):
    job = tiny_job("tables-several")
    several.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    methods = {cell["method"] for cell in record["facts"]["cells"]}
    assert methods == {*several.SOLVERS, several.CURVES, several.FREE, several.MAJORITY}


def rare_fits(ours, descent, found=5, warned=True):
    row = {"task": "t", "epsilon": 1.0, "found": found, "warned": warned}
    for seed, (one, two) in enumerate(zip(ours, descent)):
        for method, score in ((rare.THRESHOLD, one), (rare.DESCENT, two), (rare.DEFAULT, two)):
            yield {**row, "seed": seed, "method": method, **dict.fromkeys(rare.MEASURES, score)}


def test_verdicts_of_rare_classes():
    assert all(claim.holds for claim in rare.judge(list(rare_fits([0.2, 0.3], [0.1, 0.2]))))
    some, ranks, warns = rare.judge(list(rare_fits([0.1, 0.2], [0.2, 0.3], 0, False)))
    assert not some.holds
    assert not ranks.holds
    assert "behind: t at 1 (-0.100)" in ranks.measured
    assert not warns.holds


@pytest.mark.parametrize(("ours", "holds"), [(0.8, True), (0.796, True), (0.79, False)])
def test_verdicts_of_several_classes(ours, holds):
    row = {"task": "t", "rows": 10, "seed": 0, "epsilon": 1.0}
    scores = {several.AUTO: ours, "newton": 0.8, "gd": 0.7, "objective": 0.6, several.CURVES: 0.9}
    rows = [{**row, "method": method, "score": score} for method, score in scores.items()]
    free = {**row, "epsilon": several.NO_EPSILON}
    rows += [{**free, "method": several.MAJORITY, "score": 0.795}]
    best, above = several.judge(rows)
    assert best.holds == holds
    assert above.holds == (ours >= 0.795)
    assert ("newton" in best.measured) or holds
