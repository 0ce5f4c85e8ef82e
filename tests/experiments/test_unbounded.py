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


def cells(score, nothing):
    key = ("adult", unbounded.OURS_NAME, "replace-one", 1.0)
    return {
        key: (score, 0.0),
        ("adult", unbounded.NOTHING, "", unbounded.NO_EPSILON): (nothing, 0.0),
    }


def test_verdicts():
    met, above = unbounded.judge(cells(0.85, 0.76))
    assert met.holds
    assert above.holds
    met, above = unbounded.judge(cells(0.74, 0.76))
    assert not met.holds
    assert "wanted 0.846" in met.measured
    assert not above.holds
