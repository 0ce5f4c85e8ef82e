"""The methods that the benchmarks compare with are right, so that the comparison is fair."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from geometry.cases import FAMILIES, rng
from geometry.definitions import DEFINITIONS, orthonormal_basis

ROOT = Path(__file__).parents[2]


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


METHODS = load(ROOT / "benchmarks" / "geometry" / "paper_samplers.py").METHODS


class OneHot:
    """Of all normals asked for, in order, number k is 1."""

    def __init__(self, k):
        self.k, self.seen = k, 0

    def standard_normal(self, shape):
        out = np.zeros(shape)
        if 0 <= self.k - self.seen < out.size:
            out.flat[self.k - self.seen] = 1.0
        self.seen += out.size
        return out


@pytest.mark.parametrize(
    ("case", "method"), [(case, method) for case, methods in METHODS.items() for method in methods]
)
def test_method_is_exact(case, method):
    m = FAMILIES[case](5, 2)
    w = m.random_point(rng(3))
    sample, (inner, _) = METHODS[case][method], DEFINITIONS[case]
    basis = orthonormal_basis(case, w)
    counter = OneHot(-1)
    sample(w.copy(), counter)
    images = [np.asarray(sample(w.copy(), OneHot(k))) for k in range(counter.seen)]
    a = np.array([[inner(w, b, image) for image in images] for b in basis])
    np.testing.assert_allclose(a @ a.T, np.eye(m.dim), atol=1e-10)
    assert all(m.is_tangent(w, image) for image in images)


def test_figure_one_says_what_its_rows_say(tmp_path, capsys):
    figure = load(ROOT / "experiments" / "riemannian" / "fig1.py")
    rows = [
        {"manifold": case, "m": m, "r": r or "", "method": method, "microseconds": cost * m}
        for case, r in figure.PANELS.values()
        for m in (5, 10)
        for method, cost in (("veilspan", 1.0), ("transport", 2.0), ("explicit", 4e4))
    ]
    assert figure.verdict(rows)
    assert "0.50 to 0.50" in capsys.readouterr().out
    rows[-1]["microseconds"] = 1.0
    assert not figure.verdict(rows)
    figure.plot(rows, tmp_path / "fig1.png")
    assert (tmp_path / "fig1.png").stat().st_size > 10_000
    sys.modules.pop("fig1", None)
