"""Every example in a docstring, in the README and in the docs runs."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import veilspan

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def module_names():
    found = pkgutil.walk_packages(veilspan.__path__, "veilspan.")
    return [module.name for module in found if not module.name.endswith("__main__")]


@pytest.mark.parametrize("name", module_names())
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=OPTIONS).failed == 0


def pages():
    return [
        path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if path.exists()
    ] + list((ROOT / "docs").rglob("*.md"))


def python_blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), flags=re.S | re.M)


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    if "```python" not in path.read_text():
        result = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS)
        assert result.failed == 0
    for block in python_blocks(path):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), 0)
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            assert runner.run(test, clear_globs=False).failed == 0
            names.update(test.globs)
        else:
            exec(compile(block, str(path), "exec"), names)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
