"""The page of evidence says what the records say."""

import json
import re
from pathlib import Path

import pytest

from experiments import job as jobs
from experiments import page, registry, style
from experiments.winners import contests

DOCS = Path(__file__).resolve().parents[2] / "docs"


def finished(job, *, holds=True, true=2.0, verdict="it is so"):
    figure, axes = style.panels(1, 1)
    axes[0, 0].plot([1, 2])
    job.picture(figure)
    claims = [jobs.Claim("a | b", "1\n2", holds), jobs.Claim("goal", "3", None, "ours")]
    cost = jobs.Cost("printed", 1.0, true, 1e-6, "replace-one")
    return job.finish(verdict, [{"x": 1}], claims, costs=[cost], notes=["few seeds"])


def test_a_record_becomes_a_section(tiny_job, tmp_path):
    finished(tiny_job("grouse-fig1", scale="full"), holds=False)
    assert page.publish(tmp_path, tmp_path / "docs" / "evidence.md") == ["grouse-fig1"]
    first = (tmp_path / "docs" / "evidence.md").read_text()
    assert "| [Streaming subspaces](evidence/grouse.md) | 1 of 1 | 0 | 1 | 0 | 1 |" in first
    text = (tmp_path / "docs" / "evidence" / "grouse.md").read_text()
    assert "0 claims of 1 hold, 1 does not, 0 are not judged. 1 of 1 runs are full." in text
    assert "**Does not survive:**\n\n- a | b. *(Fig. 1)*" in text
    assert "| Fig. 1 | a \\| b | 1 2 | **does not hold** |" in text
    assert "|  | goal *(ours)* | 3 | not judged |" in text
    assert "| Fig. 1 | printed | 1 | 2 | 1e-6 | replace-one |  |" in text
    assert "It is so." in text
    assert "- Few seeds." in text
    assert "`veilspan reproduce grouse-fig1 --full`" in text
    assert re.search(r"\*Full run, generated rows, \d{4}-\d\d-\d\d\.\*", text)
    assert (tmp_path / "docs" / "evidence" / "grouse-fig1.png").exists()


def test_many_notes_stand_behind_a_line(tiny_job, tmp_path):
    """A page of sixteen figures would be taller than anybody reads."""
    record = finished(tiny_job("grouse-fig1", scale="full"))
    few, many = (page.figure(record | {"notes": ["so"] * count}) for count in (5, 6))
    assert "<details>" not in few
    assert few.count("- So.") == 5
    assert "<details><summary>6 things to know of it</summary>" in many
    assert many.count("- So.") == 6


def test_a_quick_run_refutes_nothing(tiny_job, tmp_path):
    finished(tiny_job("grouse-fig1", scale="quick"), holds=False)
    page.publish(tmp_path, tmp_path / "docs" / "evidence.md")
    first = (tmp_path / "docs" / "evidence.md").read_text()
    assert "| [Streaming subspaces](evidence/grouse.md) | 0 of 1 | 0 | 0 | 1 | 1 |" in first
    text = (tmp_path / "docs" / "evidence" / "grouse.md").read_text()
    assert "| Fig. 1 | a \\| b | 1 2 | not shown (quick run) |" in text
    assert "does not hold" not in text
    assert "Does not survive" not in text


def test_a_quick_look_never_replaces_a_full_run(tiny_job, tmp_path):
    target = tmp_path / "docs" / "evidence.md"
    section = tmp_path / "docs" / "evidence" / "grouse.md"
    for scale, verdict in (("full", "first"), ("quick", "second"), ("tiny", "third")):
        finished(tiny_job("grouse-fig1", scale=scale, fresh=True), verdict=verdict)
        page.publish(tmp_path, target)
        assert "First." in section.read_text()
    finished(tiny_job("grouse-fig1", scale="full"), verdict="fourth")
    page.publish(tmp_path, target)
    assert "Fourth." in section.read_text()


def test_a_page_of_its_own_folder_loses_nothing(tiny_job, tmp_path):
    finished(tiny_job("grouse-fig1", scale="full"))
    page.publish(tmp_path, tmp_path / "docs" / "evidence.md")
    folder = tmp_path / "docs" / "evidence"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert page.publish(folder, tmp_path / "docs" / "evidence.md") == []
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_unreadable_record_is_left_out(tmp_path):
    (tmp_path / "grouse-fig1.json").write_text('{"schema": 99}')
    (tmp_path / "grouse-fig2.json").write_text("{")
    assert page.publish(tmp_path, tmp_path / "docs" / "evidence.md") == []


@pytest.fixture
def published():
    return page.records(DOCS / "evidence")


def test_the_published_pages_are_what_their_records_give(published):
    won = page.winners_section(DOCS / "evidence")
    for name, text in page.page_texts(published, "evidence", won).items():
        path = DOCS / "evidence.md" if name == "evidence" else DOCS / "evidence" / f"{name}.md"
        assert path.read_text() == text


def test_everything_listed_is_published_and_nothing_else(published):
    assert list(published) == [item.name for item in registry.ITEMS]
    pictures = {f"{stem}.png" for record in published.values() for stem in record["pictures"]}
    wanted = pictures | {f"{name}.json" for name in published}
    wanted |= {f"{paper.key}.md" for paper in registry.PAPERS}
    wanted |= {f"winners-{contest.name}.png" for contest in contests(DOCS / "evidence")}
    parts = {f"{name}.parts.jsonl.gz" for name in published}  # where they are small
    assert {path.name for path in (DOCS / "evidence").iterdir()} - parts == wanted
    assert "tiny" not in {record["scale"] for record in published.values()}


def test_published_records_name_no_machine(published):
    text = json.dumps(published)
    assert "/home/" not in text
    assert "/tmp/" not in text
