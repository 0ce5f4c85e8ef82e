"""The measurement of PCA without bound or centre: it runs, and its verdicts are right."""

import json

from experiments.tables import pca, pca_tables


def test_a_tiny_run_writes_its_files(tiny_job, monkeypatch):
    made = {name: lambda table=table: table(n=2000) for name, table in pca_tables.GENERATED.items()}
    monkeypatch.setattr(pca_tables, "GENERATED", made)
    job = tiny_job("pca-default")
    pca.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    assert pca.DEFAULT in {cell["method"] for cell in record["facts"]["cells"]}


def test_verdicts():
    key = ("mnist", pca.DEFAULT, 1.0, 10)
    met, worst = pca.judge({key: (0.99, 0.986)})
    assert met.holds
    assert worst.holds
    met, worst = pca.judge({key: (0.98, 0.97)})
    assert not met.holds
    assert "wanted 0.985" in met.measured
    assert not worst.holds
