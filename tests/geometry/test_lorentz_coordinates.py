"""Coordinates of logarithms far out on the hyperboloid, against 120 decimal digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from geometry.cases import rng
from veilspan.geometry import Lorentz

UNIT_ROUNDOFF = 2.0**-53


def far_point(r, direction):
    direction = np.asarray(direction) / np.linalg.norm(direction)
    tail = np.sinh(r) * direction
    return np.concatenate([[np.sqrt(1 + tail @ tail)], tail])


def exact_coordinates(x, y):
    """The boost of y that takes x to the apex, by its definition; points are their last entries."""
    with localcontext() as context:
        context.prec = 120
        a, b = ([Decimal(float(v)) for v in p[1:]] for p in (x, y))
        first_a, first_b = ((1 + sum(v * v for v in p)).sqrt() for p in (a, b))
        inner = sum(v * w for v, w in zip(a, b))
        boosted = [w - first_b * v + inner * v / (1 + first_a) for v, w in zip(a, b)]
        length = sum(v * v for v in boosted).sqrt()
        factor = (length + (1 + length * length).sqrt()).ln() / length
        return [factor * v for v in boosted]


def relative_error(found, exact):
    with localcontext() as context:
        context.prec = 120
        gap = sum((Decimal(float(f)) - e) ** 2 for f, e in zip(found, exact)).sqrt()
        return float(gap / sum(e * e for e in exact).sqrt())


def errors(m, r, coordinates_of, distances=(1e-2, 1.0, 5.0, 20.0, 50.0)):
    direction = np.array([0.6, 0.64, 0.48])
    x = far_point(r, direction)
    worst = 0.0
    for distance in distances:
        c = rng(int(r)).standard_normal((6, 3))
        c[0], c[1] = direction, -direction
        c *= distance / np.linalg.norm(c, axis=1, keepdims=True)
        y = m.exp_coordinates(x, c)
        found = coordinates_of(x, y)
        exact = (exact_coordinates(x, point) for point in y)
        worst = max(worst, *(relative_error(f, e) for f, e in zip(found, exact)))
    return worst / UNIT_ROUNDOFF


@pytest.mark.parametrize("r", [0.0, 1e-3, 1.0, 10.0, 20.0, 30.0, 33.0])
def test_they_are_known_to_a_few_roundings(r):
    m = Lorentz(4)
    assert errors(m, r, m.log_coordinates) < 16


def test_by_way_of_the_tangent_vector_they_are_not():
    m = Lorentz(4)
    assert errors(m, 20.0, lambda x, y: m.to_coordinates(x, m.log(x, y)), (1e-2, 1.0)) > 1e6
