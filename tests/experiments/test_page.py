"""The page of evidence says what the records say."""

import json
from pathlib import Path

import pytest

from experiments import job as jobs
from experiments import page, registry, style

DOCS = Path(__file__).resolve().parents[2] / "docs"


def finished(job, *, holds=True, true=2.0, verdict="it is so"):
    figure, axes = style.panels(1, 1)
    axes[0, 0].plot([1, 2])
    job.picture(figure)
    claims = [jobs.Claim("a | b", "1\n2", holds), jobs.Claim("goal", "3", None, "ours")]
    cost = jobs.Cost("printed", 1.0, true, 1e-6, "replace-one")
    return job.finish(verdict, [{"x": 1}], claims, costs=[cost], notes=["few seeds"])


def test_a_record_becomes_a_section(tiny_job, tmp_path):
    finished(tiny_job("grouse-fig1", scale="quick"), holds=False)
    assert page.publish(tmp_path, tmp_path / "docs" / "evidence.md") == ["grouse-fig1"]
    text = (tmp_path / "docs" / "evidence.md").read_text()
    assert "| [Streaming subspaces](#streaming-subspaces) | 1 of 4 | 0 | 1 | 0 | 1 |" in text
    assert "| Fig. 1 | a \\| b | 1 2 | **does not hold** |" in text
    assert "|  | goal *(ours)* | 3 | not judged |" in text
    assert "| Fig. 1 | printed | 1 | 2 | 1e-6 | replace-one |  |" in text
    assert "It is so." in text
    assert "- Few seeds." in text
    assert "`veilspan reproduce grouse-fig1 --quick`" in text
    assert (tmp_path / "docs" / "evidence" / "grouse-fig1.png").exists()


def test_a_quick_look_never_replaces_a_full_run(tiny_job, tmp_path):
    target = tmp_path / "docs" / "evidence.md"
    for scale, verdict in (("full", "first"), ("quick", "second"), ("tiny", "third")):
        finished(tiny_job("grouse-fig1", scale=scale, fresh=True), verdict=verdict)
        page.publish(tmp_path, target)
        assert "First." in target.read_text()
    finished(tiny_job("grouse-fig1", scale="full"), verdict="fourth")
    page.publish(tmp_path, target)
    assert "Fourth." in target.read_text()


def test_an_unreadable_record_is_left_out(tmp_path):
    (tmp_path / "grouse-fig1.json").write_text('{"schema": 99}')
    (tmp_path / "grouse-fig2.json").write_text("{")
    assert page.publish(tmp_path, tmp_path / "docs" / "evidence.md") == []


@pytest.fixture
def published():
    return page.records(DOCS / "evidence")


def test_the_published_page_is_what_its_records_give(published):
    assert (DOCS / "evidence.md").read_text() == page.page_text(published, "evidence")


def test_everything_listed_is_published_and_nothing_else(published):
    assert list(published) == [item.name for item in registry.ITEMS]
    pictures = {f"{stem}.png" for record in published.values() for stem in record["pictures"]}
    wanted = pictures | {f"{name}.json" for name in published}
    assert {path.name for path in (DOCS / "evidence").iterdir()} == wanted
    assert "tiny" not in {record["scale"] for record in published.values()}


def test_published_records_name_no_machine(published):
    text = json.dumps(published)
    assert "/home/" not in text
    assert "/tmp/" not in text
