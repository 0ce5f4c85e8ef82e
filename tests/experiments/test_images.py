"""Classes of images: the measurement runs, and its verdicts are right."""

import json

from experiments.tables import images


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("images")
    images.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert record["claims"][0]["holds"] is None
    assert "gratings" in job.file("csv").read_text()


def row(accuracy, solver="auto", rows=60_000, features=images.BEST):
    return {"set": "mnist", "features": features, "rows": rows, "solver": solver,
            "neighbors": "replace-one", "epsilon": 3.0, "accuracy": accuracy}  # fmt: skip


def test_verdicts():
    small = [row(0.9, rows=10_000, features=images.PLAIN),
             row(0.8, "newton", 10_000, images.PLAIN)]  # fmt: skip
    met, best = images.judge([row(0.981), *small])
    assert met.holds
    assert best.holds
    small[1]["accuracy"] = 0.95
    met, best = images.judge([row(0.979), *small])
    assert not met.holds
    assert "wanted 0.98" in met.measured
    assert not best.holds
