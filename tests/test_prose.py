"""The source reads well: no docstring that only pleases a linter, no folder too full to scan."""

import ast
from pathlib import Path

import pytest

import veilspan

SOURCE = Path(veilspan.__file__).parent
#: Fewer words than this cannot say more than the name does.
FEWEST_WORDS = 5
#: Packages whose docstrings are held to it: all.
CHECKED = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
#: Public names that may say less, "module path::qualified name": why.
EXEMPT: dict[str, str] = {}
#: Most modules of a folder, ``__init__`` not counted; each folder inside counts by itself.
MOST_MODULES = 14
FOLDERS = ("cli", "estimators", "ledger", "losses", "queries", "solvers")


def short_docstrings(path):
    """Public modules, classes and functions of a file whose docstring is too short."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = path.relative_to(SOURCE).as_posix()

    def walk(node, name):
        text = ast.get_docstring(node)
        if text is not None and len(text.split()) < FEWEST_WORDS:
            yield f"{module}::{name}", text
        for child in getattr(node, "body", []):
            kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            if isinstance(child, kinds) and is_public(child.name):
                yield from walk(child, f"{name}.{child.name}".lstrip("."))

    return list(walk(tree, ""))


def is_public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def files_of(package):
    return sorted((SOURCE / package).rglob("*.py"))


@pytest.mark.parametrize("package", CHECKED)
def test_docstrings_say_more_than_the_name(package):
    found = [pair for path in files_of(package) for pair in short_docstrings(path)]
    assert [pair for pair in found if pair[0] not in EXEMPT] == []


def test_docstrings_of_the_top_level_say_more_than_the_name():
    found = [pair for path in sorted(SOURCE.glob("*.py")) for pair in short_docstrings(path)]
    assert [pair for pair in found if pair[0] not in EXEMPT] == []


def test_a_short_docstring_is_found(tmp_path, monkeypatch):
    """The check has power: it sees modules, classes, methods and properties."""
    monkeypatch.setitem(short_docstrings.__globals__, "SOURCE", tmp_path)
    text = '"""Short."""\nclass A:\n    """Too short."""\n'
    text += '    def f(self):\n        """Its name."""\n'
    text += '    def _g(self):\n        """Private."""\n'
    text += 'def h():\n    """This one says quite enough."""\n'
    (tmp_path / "a.py").write_text(text)
    assert [name for name, _ in short_docstrings(tmp_path / "a.py")] == [
        "a.py::",
        "a.py::A",
        "a.py::A.f",
    ]


@pytest.mark.parametrize("top", FOLDERS)
def test_no_folder_is_too_full(top):
    folders = [SOURCE / top, *(p for p in (SOURCE / top).rglob("*") if p.is_dir())]
    counts = {
        folder.relative_to(SOURCE).as_posix(): sum(
            p.name != "__init__.py" for p in folder.glob("*.py")
        )
        for folder in folders
    }
    assert {name: count for name, count in counts.items() if count > MOST_MODULES} == {}
