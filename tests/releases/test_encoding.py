"""Values survive the way through JSON and arrays, whatever they hold."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from veilspan import RGD, RSGD, RSVRG, Ball, CalibratedDescent
from veilspan.geometry import (
    SPD,
    Euclidean,
    Grassmann,
    Lorentz,
    PoincareBall,
    Product,
    Sphere,
    Stiefel,
)
from veilspan.losses.penalties import L1, L2, Box, ElasticNet, Group, L1Ball, L2Ball, Simplex
from veilspan.releases.encoding import Encoder, decode
from veilspan.releases.files import read_release, write_release
from veilspan.solvers.completion.als import ALSCompletion
from veilspan.solvers.linear.selection import Candidate
from veilspan.solvers.linear.svrg import SVRGPlus
from veilspan.solvers.steps import GeometricSteps
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
KEYS = st.text() | st.integers() | st.just("veilspan") | st.tuples(st.integers(), st.text())
VALUES = st.recursive(
    PLAIN | st_numpy.arrays(st.sampled_from(["f8", "i8", "U3", "?"]), (2, 3)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


def through_json(value):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value, "value"), allow_nan=False)
    return decode(json.loads(text), encoder.arrays)


@given(VALUES)
def test_any_value(value):
    assert repr(through_json(value)) == repr(value)  # equal NaN, and types as well


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_any_text_survives_the_file(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("release")
    encoded = Encoder().encode(content, "content")
    write_release(folder, {"content": encoded}, {}, None)
    document, _ = read_release(folder, None)
    assert repr(decode(document["content"], {})) == repr(content)


PARTS = [
    Euclidean(3), Euclidean(2, 2), Sphere(4), SPD(3), SPD(2, metric="bures-wasserstein"),
    Stiefel(4, 2), Stiefel(4, 2, metric="canonical"), Grassmann(5, 2), PoincareBall(3), Lorentz(4),
    Product(Sphere(3), Product(SPD(2), Euclidean(1))),
    RGD(steps=3), RSGD(steps=4, batch_rate=0.1), RSVRG(epochs=1, inner_steps=2),
    CalibratedDescent(), GeodesicGradientDescent(steps=3), ALSCompletion(), SVRGPlus(),
    Candidate(SVRGPlus(), L2(0.1)), GeometricSteps(0.1, 2, 3),
    L1(0.1), L2(0.2), ElasticNet(0.1, 0.5), L1Ball(1.0), L2Ball(2.0), Simplex(1.0),
    Box(0.0, 1.0), Group(0.1, ((0, 1), (2,))),
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_settings(part):
    again = through_json(part)
    assert type(again) is type(part)
    assert again == part


def test_a_ball():
    ball = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    again = through_json(ball)
    assert again.manifold == ball.manifold
    assert again.radius == ball.radius
    np.testing.assert_array_equal(again.center, ball.center)


@pytest.mark.parametrize("value", [lambda: 0, object(), {1, 2}, b"bytes", 1j, np.dtype("f8")])
def test_what_cannot_be_encoded_is_named(value):
    with pytest.raises(ValueError, match=r"solver is a .*, which cannot be saved"):
        Encoder().encode(value, "solver")


def test_numpy_scalars_become_numbers_and_tables_of_objects_are_refused():
    assert through_json([np.float64(0.1), np.int64(3), np.bool_(True), np.str_("a")]) == [
        0.1, 3, True, "a"
    ]  # fmt: skip
    with pytest.raises(ValueError, match="array of objects"):
        Encoder().encode(np.array([[{}]], dtype=object), "names")
