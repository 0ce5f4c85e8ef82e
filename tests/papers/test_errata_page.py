"""docs/papers_errata.md: every entry is complete, and what it refers to exists."""

import ast
import importlib
import re
from functools import lru_cache
from pathlib import Path

import pytest

from experiments import registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers_errata.md"
LABELS = ("Printed.", "True.", "Consequence.", "Here.", "Shown by.")

if not PAGE.exists():  # tests may be installed without the documentation
    pytest.skip("the page is not here", allow_module_level=True)


def entries():
    """Heading and text of every entry."""
    parts = re.split(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    # An entry ends where the next paper begins.
    texts = (re.split(r"^## ", text, flags=re.M)[0] for text in parts[2::2])
    return list(zip(parts[1::2], texts))


ENTRIES = entries()
every = pytest.mark.parametrize(("heading", "text"), ENTRIES, ids=[e[0] for e in ENTRIES])


def evidence(text):
    """Tests and experiments after "Shown by."."""
    shown = text.split("**Shown by.**")[1]
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", shown)
    names = re.findall(r"`veilspan reproduce ([\w-]+)`", shown)
    # Nothing between backticks that is neither: a misspelt reference must not pass unseen.
    assert len(tests) + len(names) == len(re.findall(r"`[^`]+`", shown)), shown
    return tests, names


@lru_cache
def functions(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def missing_tests(text):
    tests, _ = evidence(text)
    return [
        f"{path}::{name}"
        for path, name in tests
        if not (ROOT / path).is_file() or name not in functions(path)
    ]


def test_the_page_has_every_paper_and_many_entries():
    papers = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    assert len(papers) == 6  # the last are no errors
    errors = [heading for heading, _ in ENTRIES if re.search(r" \d+( \(P\))?:", heading)]
    assert len(errors) == 43 == len(ENTRIES) - 6
    assert len({heading for heading, _ in ENTRIES}) == len(ENTRIES)


@every
def test_an_entry_is_complete(heading, text):
    assert re.findall(r"^- \*\*(.+?)\*\*", text, flags=re.M) == list(LABELS)
    breaks_privacy = "**P" in text.split("**Consequence.**")[1].split("**Here.**")[0]
    assert ("(P)" in heading) == breaks_privacy


#: How a place in a paper is named.
PLACE = re.compile(
    r"\b(Sections?|[Aa]ppendix|Theorems?|Lemmas?|Claims?|Remark|Corollary|Definition|Condition|"
    r"Algorithms?|Figs?\.|Tables?|Eq\.) \(?(?:[A-Z]\b|\d)|\((?:[A-Z]\.)?\d[\w.]*\)"
)
FOLKLORE = "GROUSE: rank-one updates do not drift"  # of no paper


@every
def test_what_is_printed_has_a_place(heading, text):
    printed = text.split("**Printed.**")[1].split("**True.**")[0]
    assert PLACE.search(printed) or heading == FOLKLORE


def test_every_test_of_the_papers_names_the_place_it_is_about():
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if path.name != Path(__file__).name else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found = PLACE.search(ast.get_docstring(node) or "")
                assert found or node.name == "test_rank_one_updates_do_not_drift", node.name


@every
def test_its_evidence_exists(heading, text):
    tests, names = evidence(text)
    assert tests or names
    assert all(name.startswith("test_") for _, name in tests)
    assert missing_tests(text) == []


@every
def test_its_experiments_are_in_the_registry(heading, text):
    assert set(evidence(text)[1]) <= {item.name for item in registry.ITEMS}


@every
def test_its_modules_exist(heading, text):
    for name in re.findall(r"`(veilspan(?:\.\w+)+)`", text):
        importlib.import_module(name)


def test_the_check_sees_what_is_missing():
    text = "**Shown by.** `tests/papers/test_errata_page.py::test_that_nobody_wrote`"
    assert missing_tests(text) == ["tests/papers/test_errata_page.py::test_that_nobody_wrote"]
    assert missing_tests("**Shown by.** `tests/papers/none.py::test_x`")
    with pytest.raises(AssertionError):
        evidence("**Shown by.** `tests/papers/test_errata_page.py:test_x`")


def test_every_test_of_the_papers_is_used():
    """A test that no entry names is either superfluous or its finding is not written down."""
    page = PAGE.read_text(encoding="utf-8")
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        for name in functions(f"tests/papers/{path.name}"):
            if name.startswith("test_"):
                assert f"`tests/papers/{path.name}::{name}`" in page
