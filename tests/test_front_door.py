"""The first page and the parts of the documentation: short, plain, and true of today."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
if not README.exists() or not DOCS.is_dir():
    pytest.skip("the documentation is part of the repository", allow_module_level=True)

MOST_WORDS = 600
PARTS = ("tutorials", "howto", "reference", "explanation")


def words_of(text):
    """Words that a reader of a page reads: no code, no marks, no addresses."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    prose = re.sub(r"<!--.*?-->|\]\([^)]*\)", " ", prose, flags=re.S)
    return [word for word in prose.split() if re.search(r"\w", word)]


def test_words_are_counted():
    page = "a [b c](d/e.md) <!-- f -->1<!-- g -->\n```\nh\n```\n| – |"
    assert words_of(page) == ["a", "[b", "c", "1"]


def test_the_readme_is_short():
    assert len(words_of(README.read_text())) <= MOST_WORDS


def test_the_readme_begins_with_what_it_is_for():
    first = README.read_text().split("\n\n")[1]
    assert first.startswith("A hospital may publish what its patients have in common")


@pytest.mark.parametrize("word", ["README.md", "docs/install.md", "docs/tutorials/quickstart.md"])
def test_nothing_is_promised_from_an_index(word):
    text = (ROOT / word).read_text()
    assert not re.search(r"pip install ['\"]?veilspan['\"]?\s", text)


def test_links_of_the_readme_lead_somewhere():
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", README.read_text())
    assert len(targets) > 15
    assert [t for t in targets if "://" not in t and not (ROOT / t).exists()] == []


def test_paths_that_the_package_names_exist():
    """Docstrings and messages lead to pages by ``docs/...``."""
    named = {
        target
        for path in (ROOT / "src").rglob("*.py")
        for target in re.findall(r"docs/[\w/]+\.md", path.read_text(encoding="utf-8"))
    }
    assert named
    assert sorted(target for target in named if not (ROOT / target).is_file()) == []


def test_every_guide_is_in_one_of_four_parts():
    alone = {path.stem for path in DOCS.glob("*.md")}
    assert alone == {"index", "install", "faq", "evidence", "papers_errata"}
    for part in PARTS:
        assert len(list((DOCS / part).glob("*.md"))) > 2


def test_the_tour_of_the_reference_is_that_of_the_program(monkeypatch, capsys):
    from veilspan.cli import main

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    with pytest.raises(SystemExit):
        main(["--help"])
    page = (DOCS / "reference" / "cli.md").read_text()
    assert page.split("```text\n")[1].split("```")[0] in capsys.readouterr().out
