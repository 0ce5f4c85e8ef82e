"""The measurement of models without bounds: it runs, and its verdicts are right."""

import json

from experiments.tables import sets, unbounded


def test_a_tiny_run_writes_its_files(tiny_job, monkeypatch):
    monkeypatch.setattr(sets, "TEST_ROWS", 400)
    job = tiny_job("tables-unbounded")
    unbounded.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert {cell["method"] for cell in record["facts"]["cells"]} == {
        unbounded.OURS_NAME, unbounded.FREE, unbounded.NOTHING,
    }  # fmt: skip


def fits(scores, nothing):
    row = {"task": "adult", "neighbors": "replace-one", "epsilon": 1.0}
    ours = [
        {**row, "seed": seed, "method": unbounded.OURS_NAME, "score": score}
        for seed, score in enumerate(scores)
    ]
    plain = {**row, "neighbors": "", "epsilon": unbounded.NO_EPSILON, "score": nothing}
    return ours + [
        {**plain, "seed": seed, "method": unbounded.NOTHING} for seed in range(len(scores))
    ]


def test_verdicts():
    met, above = unbounded.judge(fits([0.85], 0.76))
    assert met.holds
    assert above.holds
    met, above = unbounded.judge(fits([0.74], 0.76))
    assert not met.holds
    assert "wanted 0.846" in met.measured
    assert not above.holds


def test_one_ruined_fit_is_not_hidden_by_the_others():
    met, above = unbounded.judge(fits([0.95, 0.74, 0.95], 0.76))
    assert met.holds
    assert not above.holds
    assert "seed 1" in above.measured
