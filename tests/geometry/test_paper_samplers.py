"""The methods that the benchmarks compare with are right, so that the comparison is fair."""

import numpy as np
import pytest

from experiments.riemannian.paper_samplers import METHODS
from geometry.cases import FAMILIES, rng
from geometry.definitions import DEFINITIONS, orthonormal_basis


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
    np.testing.assert_allclose(a @ a.T, np.eye(m.dim), rtol=0, atol=1e-10)
    assert all(m.is_tangent(w, image) for image in images)
