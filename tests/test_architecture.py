"""The folder tree is the architecture: imports point downwards only, and starting is quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import veilspan

SOURCE = Path(veilspan.__file__).parent
# From the top down, as in CONTRIBUTING.md: a package may import those that stand after it. Losses
# and queries share a floor: a query asks for a loss's slopes, a loss names the query that does.
LAYERS = [
    "cli",
    "studio",
    "reports",
    "releases",
    "planning",
    "estimators",
    "audit",
    "ledger",
    "solvers",
    "queries",
    "losses",
    "datasets",
    "tables",
    "curator",
    "privacy",
    "nonprivate",
    "metrics",
    "geometry",
    "features",
]


def imported_packages(path):
    """Packages of ours that a module imports, at any depth of the code."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "veilspan" and len(parts) > 1 and parts[1] in LAYERS:
                yield parts[1]


def modules():
    return [path for path in SOURCE.rglob("*.py") if path.parent != SOURCE]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(path):
    own = path.relative_to(SOURCE).parts[0]
    for other in imported_packages(path):
        if {own, other} != {"losses", "queries"}:
            assert LAYERS.index(other) >= LAYERS.index(own), f"{own} must not import {other}"


def test_the_experiments_stand_above_the_library():
    """They import veilspan, never its command line; veilspan looks for them in a checkout."""
    folder = SOURCE.parents[1] / "experiments"
    if not folder.is_dir():
        pytest.skip("the experiments are part of the repository, not of the package")
    for path in folder.rglob("*.py"):
        assert "cli" not in set(imported_packages(path)), path
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            assert all(name.partition(".")[0] != "experiments" for name in names), path


def test_every_package_has_its_place():
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert packages <= set(LAYERS)


@pytest.mark.parametrize("layer", ["solvers", "estimators", "cli", "audit"])
def test_only_the_curator_touches_rows(layer):
    """Above the curator nobody reaches into it, and only the base class builds ``Rows``."""
    for path in (SOURCE / layer).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"_rows", "_x", "_y", "blocks"}, path
        if path != SOURCE / "estimators" / "base.py":
            assert "curator.rows" not in path.read_text(), path


def python(code):
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return result.stdout.strip()


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, veilspan;"
        "heavy = {'numpy', 'scipy', 'sklearn', 'dp_accounting', 'matplotlib', 'typer', 'rich'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert python(code) == "[]"


def test_nothing_of_the_package_needs_matplotlib():
    """It is an extra: every module is imported where there is none, and an estimator is fitted."""
    code = (
        "import sys; sys.modules['matplotlib'] = None;"
        "import importlib, pkgutil, numpy, veilspan;"
        "found = [m.name for m in pkgutil.walk_packages(veilspan.__path__, 'veilspan.')];"
        "[importlib.import_module(name) for name in found if name != 'veilspan.__main__'];"
        "[getattr(veilspan, name) for name in veilspan.__all__];"
        "veilspan.PCA(1).fit(numpy.eye(50, 3));"
        "print(len(found) > 100)"
    )
    assert python(code) == "True"


def test_using_the_package_never_imports_matplotlib():
    code = (
        "import sys, numpy, veilspan; [getattr(veilspan, name) for name in veilspan.__all__];"
        "veilspan.PCA(1).fit(numpy.eye(50, 3));"
        "print('matplotlib' in sys.modules)"
    )
    assert python(code) == "False"


def test_the_command_line_starts_without_numpy():
    code = "import sys; import veilspan.cli; print('numpy' in sys.modules)"
    assert python(code) == "False"


def test_public_names_exist_and_are_documented():
    for name in veilspan.__all__:
        value = getattr(veilspan, name)
        assert name == "__version__" or value.__doc__
    assert set(veilspan.__all__) <= set(dir(veilspan))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = veilspan.nothing
