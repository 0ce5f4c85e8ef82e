"""The measurement of when a search pays: it runs, and its verdicts are right."""

import json

from experiments.search import run as search


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("search")
    search.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 5_000
    assert len(record["claims"]) == 3


def rows(gain):
    return [
        {"set": "a", "seed": seed, "guess": guess, "epsilon": 1.0, "method": method, "score": score}
        for seed in range(3)
        for guess in search.GUESSES
        for method, score in (
            (search.FIT, 0.8), (search.SEARCH, 0.8 + gain), (search.UNPAID, 0.85),
        )
    ]  # fmt: skip


def test_verdicts():
    documented, wrong, near = search.judge(*search.means(rows(0.04)))
    assert documented.holds
    assert wrong.holds
    assert near.holds
    documented, wrong, near = search.judge(*search.means(rows(-0.01)))
    assert not documented.holds
    assert not wrong.holds
    assert not near.holds
    assert "pays in 0 of 1" in documented.measured
