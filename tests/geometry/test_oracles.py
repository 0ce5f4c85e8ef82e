"""Agreement to 1e-12 with geomstats, pymanopt and pyRiemann, run in an environment of their own.

Set VEILSPAN_ORACLE_PYTHON to an interpreter with ``oracles/requirements.txt`` installed, or put
that environment at ``.venvs/oracles``.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from geometry.cases import rng
from veilspan.geometry import SPD, Grassmann, Lorentz, PoincareBall, Sphere, Stiefel

HERE = Path(__file__).parent
DEFAULT = HERE.parents[1] / ".venvs" / "oracles" / "bin" / "python"
PYTHON = Path(os.environ.get("VEILSPAN_ORACLE_PYTHON", DEFAULT))

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(),
    reason="no oracle environment: install tests/geometry/oracles/requirements.txt in "
    ".venvs/oracles, or set VEILSPAN_ORACLE_PYTHON",
)

CASES = {
    ("spd-affine", (3,)): SPD(3),
    ("spd-affine", (8,)): SPD(8),
    ("spd-bures", (5,)): SPD(5, metric="bures-wasserstein"),
    ("spd-log", (5,)): SPD(5, metric="log-euclidean"),
    ("sphere", (6,)): Sphere(6),
    ("stiefel", (7, 3)): Stiefel(7, 3),
    ("stiefel-canonical", (7, 3)): Stiefel(7, 3, metric="canonical"),
    ("grassmann", (7, 3)): Grassmann(7, 3),
    ("poincare", (4,)): PoincareBall(4),
    ("lorentz", (5,)): Lorentz(5),
}
OPERATIONS = ("inner", "dist", "exp", "log", "transport", "retract", "egrad2rgrad")
ROWS = 5
#: What must have been compared, so that a library that drops out is noticed.
EXPECTED = 87


def arguments(m, operation):
    x = m.random_point(rng(1), ROWS)
    u, v = (m.random_tangent(x, 0.1, rng(seed)) for seed in (2, 3))
    y = m.retract(x, 3 * v)
    g = rng(4).standard_normal(x.shape)
    if "SPD" in repr(m):
        g = m.project(x, g)  # gradients of functions of symmetric matrices
    return {
        "inner": (x, u, v),
        "dist": (x, y),
        "exp": (x, u),
        "log": (x, y),
        "transport": (x, y, u),
        "retract": (x, u),
        "egrad2rgrad": (x, g),
    }[operation]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oracles")
    questions = {}
    for (case, sizes), m in CASES.items():
        for operation in OPERATIONS:
            for i, argument in enumerate(arguments(m, operation)):
                questions[f"{case}|{','.join(map(str, sizes))}|{operation}|{i}"] = argument
    np.savez(folder / "questions.npz", **questions)
    command = [
        PYTHON,
        "-W",
        "ignore",
        HERE / "oracles" / "answer.py",
        folder / "questions.npz",
        folder / "a.npz",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "a.npz") as stored:
        return dict(stored)


def projector_tangent(x, u):
    half = u @ np.swapaxes(x, -1, -2)
    return half + np.swapaxes(half, -1, -2)


def comparable(m, library, operation, args, ours, theirs):
    if not isinstance(m, Grassmann):
        return ours, theirs
    if operation in ("exp", "retract"):
        ours = ours @ np.swapaxes(ours, -1, -2)
        if library != "geomstats":
            theirs = theirs @ np.swapaxes(theirs, -1, -2)
    elif library == "geomstats" and operation in ("log", "transport"):
        at = args[1] if operation == "transport" else args[0]
        ours = projector_tangent(at, ours)
    return ours, theirs


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}{c[1]}")
def test_agreement(answers, case):
    name, sizes = case
    m = CASES[case]
    prefix = f"{name}|{','.join(map(str, sizes))}|"
    gaps = {}
    for key, answer in answers.items():
        if not key.startswith(prefix):
            continue
        operation, library = key[len(prefix) :].split("|")
        args = arguments(m, operation)
        result = getattr(m, operation)(*args)
        ours, theirs = comparable(m, library, operation, args, result, answer)
        scale = max(1.0, np.abs(ours).max())
        gaps[operation, library] = np.abs(ours - theirs.reshape(ours.shape)).max() / scale
    assert gaps
    assert {k: v for k, v in gaps.items() if not v < 1e-12} == {}


def test_no_comparison_was_lost(answers):
    assert len(answers) == EXPECTED
