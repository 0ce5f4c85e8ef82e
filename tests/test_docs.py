"""Every example in a docstring, in the README and in the docs runs."""

import doctest
import importlib
import io
import json
import pkgutil
import re
import runpy
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import veilspan

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: Pages whose commands are run too, and whose files are written.
TOURS = ("howto/from_csv_to_release.md", "howto/several_rows.md", "howto/large_files.md")


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


@pytest.mark.parametrize("name", TOURS)
def test_tours(name, tmp_path, monkeypatch):
    """Blocks in their order: Python, files (their first line names them), commands and outputs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    names = {}
    text = (ROOT / "docs" / name).read_text()
    for kind, block in re.findall(r"^```(python|toml|console)\n(.*?)^```", text, flags=re.S | re.M):
        if kind == "python":
            exec(compile(block, name, "exec"), names)
        elif kind == "toml":
            Path(block.split("\n")[0].removeprefix("# ")).write_text(block)
        else:
            run_commands(block)


def run_commands(block):
    """Run the lines after a ``$``; a code other than 0 must be shown by ``echo $?``."""
    code = 0
    for step in re.findall(r"^\$ (.*\n(?:(?!\$ ).*\n)*)", block, flags=re.M):
        command, _, wanted = step.partition("\n")
        if command == "echo $?":
            assert int(wanted) == code
            code = 0
            continue
        assert code == 0, f"the exit code {code} before {command!r} is not shown"
        code, found = run_command(command)
        same = doctest.OutputChecker().check_output(wanted, found, OPTIONS)
        assert same, f"{command}\n{found}"
    assert code == 0


def run_command(command):
    from veilspan.cli import main

    program, *words = shlex.split(command)
    assert program == "veilspan"
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(shown), pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code, shown.getvalue()


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    if path in [ROOT / "docs" / tour for tour in TOURS]:
        return  # test_tours runs all of it
    notebook = path.parent / "notebooks" / f"{path.stem}.ipynb"
    if notebook.exists() or path.stem == "quickstart":
        return  # test_tutorials does
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


def test_guides_become_notebooks(tmp_path):
    """``.ci/run --long`` runs them; here their cells are those of the page, in its order."""
    maker = runpy.run_path(str(ROOT / "docs" / "make_notebooks.py"))
    maker["main"](str(tmp_path))
    for name in maker["PAGES"]:
        notebook = json.loads((tmp_path / f"{Path(name).name}.ipynb").read_text())
        code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
        assert len(code) == len(python_blocks(ROOT / "docs" / f"{name}.md")) > 0
        assert not any(">>>" in cell or "```" in cell for cell in code)
        for cell in code:
            compile(cell, name, "exec")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
