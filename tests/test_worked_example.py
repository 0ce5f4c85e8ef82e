"""CONTRIBUTING's worked example: an estimator is one file and one line, and everything has it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
HOME = "estimators/subspace/column_means.py"

USES = """
import numpy as np, veilspan
from veilspan.cli.arguments.estimators import KINDS
rows = np.random.default_rng(0).uniform(-0.5, 0.5, (4000, 3)) + [0.2, 0.0, -0.1]
model = veilspan.ColumnMeans(row_norm=1.5, epsilon=5.0).fit(rows)
assert np.abs(model.mean_ - rows.mean(axis=0)).max() < 0.02
assert model.privacy_.verify() and model.plan(4000, 3).events[0].name == "sum"
assert "means" in KINDS
model.save("release")
assert (veilspan.load("release").mean_ == model.mean_).all()
np.savetxt("rows.csv", rows, delimiter=",", header="a,b,c", comments="")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package and its tests, with the example added by hand: two files are touched."""
    folder = tmp_path_factory.mktemp("checkout")
    for part in ("src", "tests", "docs/api"):
        shutil.copytree(
            ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "samples")
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    (code,) = [
        block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "ColumnMeans" in block
    ]
    (line,) = re.findall(r'Kind\("ColumnMeans".*', PAGE)
    package = folder / "src" / "veilspan"
    (package / HOME).write_text(code)
    catalogue = package / "catalogue.py"
    text = catalogue.read_text()
    listed = text.replace('        Kind("PCA",', f'        {line}\n        Kind("PCA",', 1)
    module = "veilspan." + HOME.removesuffix(".py").replace("/", ".")
    seen = f"    from {module} import ColumnMeans as ColumnMeans\n"
    first = "    from veilspan.estimators"
    catalogue.write_text(listed.replace(first, seen + first, 1))
    return folder


def run_in(copy, *words, timeout=300):
    done = subprocess.run(
        [sys.executable, *words],
        cwd=copy, env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin", "HOME": str(copy)},
        capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_package_the_releases_and_the_command_line_have_it(copy):
    run_in(copy, "-c", USES)
    command = ["-m", "veilspan", "fit", "means", "rows.csv", "--out", "out", "-p", "row_norm=1.5"]
    assert "epsilon" in run_in(copy, *command)
    assert "row_norm" in (copy / "out" / "release.json").read_text()
    run_in(copy, "-m", "veilspan", "audit", "means", "--runs", "0")
    plan = run_in(copy, "-m", "veilspan", "plan", "means", "--rows", "400", "--columns", "3")
    assert "Not simulated: there are no made-up tables to judge ColumnMeans by." in plan


@pytest.mark.long
def test_the_suites_of_contracts_take_it_in(copy):
    suites = [f"tests/contracts/test_{name}.py" for name in ("estimators", "replay", "silence")]
    out = run_in(
        copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "ColumnMeans",
        *suites, "tests/test_catalogue.py", "tests/audit/test_replay_matrix.py",
        "tests/test_scikit_learn_checks.py::test_the_others_pass_too",
    )  # fmt: skip
    passed = int(re.search(r"(\d+) passed", out)[1])
    assert passed > 60, out
