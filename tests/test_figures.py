"""Figures of the README and the guides are those of the records."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "docs").is_dir():
    pytest.skip("the documentation is part of the repository", allow_module_level=True)


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("docs_figures", ROOT / "docs" / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def records(figures, tmp_path, monkeypatch):
    rows = """[{"task": "adult", "epsilon": 1.0, "mean": 0.85571, "quality": "accuracy 0.8501"},
               {"task": "adult", "epsilon": 3.0, "mean": 0.9, "quality": "no answer in 10 s"}]"""
    (tmp_path / "tables.json").write_text(f'{{"facts": {{"scores": {rows}}}}}')
    monkeypatch.setattr(figures, "RECORDS", tmp_path)
    figures.load.cache_clear()
    yield
    figures.load.cache_clear()


def test_every_figure_is_that_of_its_record(figures):
    for page in figures.pages():
        text = page.read_text()
        assert figures.fill(text) == text, f"{page.name}: python docs/figures.py --write"


def test_every_mark_is_a_span(figures):
    for page in figures.pages():
        text = page.read_text()
        assert text.count("<!-- figure:") == len(figures.SPAN.findall(text)), page.name


def test_the_readme_types_no_measured_figure(figures):
    text = (ROOT / "README.md").read_text()
    assert len(figures.SPAN.findall(text)) >= 10
    bare = re.sub(r"^```.*?^```", "", figures.SPAN.sub("", text), flags=re.S | re.M)
    assert re.findall(r"(?<![\d.\w])0?\.\d+", bare) == []


def test_a_span_is_filled(figures, records):
    mark = "<!-- figure: tables scores[task=adult; epsilon=1].mean .3f -->"
    assert figures.fill(f"a {mark}0.1<!-- /figure --> b") == f"a {mark}0.856<!-- /figure --> b"


def test_of_a_text_the_number_is_taken(figures, records):
    assert figures.find_figure("tables scores[epsilon=1].quality .2f") == "0.85"
    assert figures.find_figure("tables scores[epsilon=3].quality text") == "no answer in 10 s"


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("tables scores[task=adult].mean .3f", "2 rows"),
        ("tables scores[task=census].mean .3f", "0 rows"),
        ("tables mean .3f", "not a place"),
    ],
)
def test_a_wrong_place_is_refused(figures, records, place, error):
    with pytest.raises(ValueError, match=error):
        figures.find_figure(place)
