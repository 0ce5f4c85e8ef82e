import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from veilspan.losses.penalties import (
    L1,
    L2,
    Box,
    ElasticNet,
    Group,
    L1Ball,
    L2Ball,
    NoPenalty,
    Simplex,
)

PENALTIES = {
    "none": NoPenalty(),
    "l2": L2(0.7),
    "l1": L1(0.4),
    "elastic net": ElasticNet(0.8, 0.3),
    "group": Group(0.5, [[0, 2], [3]]),
    "box": Box(-0.5, 1.0),
    "simplex": Simplex(1.5),
    "l1-ball": L1Ball(1.2),
    "l2-ball": L2Ball(0.9),
}
CONSTRAINTS = ("box", "simplex", "l1-ball", "l2-ball")
VECTORS = arrays(np.float64, 5, elements=st.floats(-3, 3))
STEPS = st.floats(0.01, 10.0)
SIGNS = np.array(list(itertools.product([-1, 1], repeat=5)))


def objective(penalty, theta, step, v):
    return float(np.sum((v - theta) ** 2)) / (2 * step) + penalty.value(v)


@pytest.mark.parametrize("name", PENALTIES)
@given(theta=VECTORS, step=STEPS, seed=st.integers(0, 999))
def test_no_point_nearby_or_far_beats_the_proximal_map(name, theta, step, seed):
    """Strong convexity: every v is worse by at least |v - prox|^2 / (2 step)."""
    penalty, rng = PENALTIES[name], np.random.default_rng(seed)
    best = penalty.prox(theta, step)
    least = objective(penalty, theta, step, best)
    assert math.isfinite(least)
    for size in (1e-3, 0.1, 3.0):
        v = best + size * rng.standard_normal(5)
        v = penalty.prox(v, step) if name in CONSTRAINTS else v
        worse = objective(penalty, theta, step, v) - least
        assert worse >= np.sum((v - best) ** 2) / (2 * step) - 1e-9 * (1 + abs(least))


@pytest.mark.parametrize("name", ["l2", "l1", "elastic net", "group"])
@settings(max_examples=15)
@given(theta=VECTORS, step=st.floats(0.1, 3.0))
def test_the_proximal_map_is_what_a_minimiser_finds(name, theta, step):
    penalty = PENALTIES[name]
    found = minimize(lambda v: objective(penalty, theta, step, v), theta, method="Powell",
                     options={"xtol": 1e-10, "ftol": 1e-14, "maxiter": 10000})  # fmt: skip
    np.testing.assert_allclose(penalty.prox(theta, step), found.x, atol=1e-4)


@pytest.mark.parametrize("name", ["simplex", "l1-ball", "l2-ball", "box"])
@settings(max_examples=15)
@given(theta=VECTORS)
def test_projections_are_what_a_minimiser_finds(name, theta):
    low, high = {"box": (-0.5, 1.0), "simplex": (0.0, None)}.get(name, (None, None))
    held = {
        "box": [],
        "simplex": [{"type": "eq", "fun": lambda v: v.sum() - 1.5}],
        "l2-ball": [{"type": "ineq", "fun": lambda v: 0.81 - v @ v}],
        # The l1-ball is the intersection of half-spaces, one for each choice of signs.
        "l1-ball": [{"type": "ineq", "fun": lambda v: 1.2 - SIGNS @ v}],
    }[name]
    found = minimize(lambda v: np.sum((v - theta) ** 2), np.full(5, 0.1), method="SLSQP",
                     jac=lambda v: 2 * (v - theta), bounds=[(low, high)] * 5, constraints=held,
                     options={"ftol": 1e-12, "maxiter": 500})  # fmt: skip
    np.testing.assert_allclose(PENALTIES[name].prox(theta, 1.0), found.x, atol=1e-4)


@pytest.mark.parametrize("name", PENALTIES)
@given(a=VECTORS, b=VECTORS, step=STEPS)
def test_nonexpansive(name, a, b, step):
    """|prox a - prox b|^2 <= <prox a - prox b, a - b>, and more where strongly convex."""
    penalty = PENALTIES[name]
    moved = penalty.prox(a, step) - penalty.prox(b, step)
    strength = 1 + step * penalty.strong_convexity
    assert strength * (moved @ moved) <= moved @ (a - b) + 1e-9


@pytest.mark.parametrize("name", PENALTIES)
def test_matrices_of_coefficients(name):
    """A (p, k) theta is treated as all its entries; a group is a group of its rows."""
    penalty = PENALTIES[name]
    theta = np.random.default_rng(0).standard_normal((5, 3))
    moved = penalty.prox(theta, 0.3)
    assert moved.shape == theta.shape
    assert math.isfinite(penalty.value(moved))
    if name == "group":
        assert penalty.value(theta) == pytest.approx(
            0.5 * (math.sqrt(6) * np.linalg.norm(theta[[0, 2]])
                   + math.sqrt(3) * np.linalg.norm(theta[3]))
        )  # fmt: skip
        np.testing.assert_array_equal(moved[[1, 4]], theta[[1, 4]])
    else:
        np.testing.assert_array_equal(moved.ravel(), penalty.prox(theta.ravel(), 0.3))
        assert penalty.value(theta) == penalty.value(theta.ravel())


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_outside_a_constraint_is_infinitely_bad(name):
    penalty = PENALTIES[name]
    assert penalty.value(np.full(5, 2.0)) == math.inf
    inside = penalty.prox(np.full(5, 2.0), 1.0)
    assert penalty.value(inside) == 0.0
    np.testing.assert_allclose(penalty.prox(inside, 1.0), inside, atol=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e9, 1e15])
def test_projections_keep_their_sums_at_every_scale(size):
    theta = size * np.random.default_rng(1).standard_normal(10_000)
    on_simplex = Simplex(2.0).prox(theta, 1.0)
    assert on_simplex.sum() == pytest.approx(2.0, rel=1e-9)
    assert on_simplex.min() >= 0
    assert np.abs(L1Ball(2.0).prox(theta, 1.0)).sum() <= 2.0 * (1 + 1e-9)


def test_zero_groups_and_zero_coefficients():
    theta = np.array([0.1, 5.0, -0.1, -2.0, 1.0])
    np.testing.assert_array_equal(Group(0.5, [(0, 2)]).prox(theta, 1.0)[[0, 2]], 0)
    np.testing.assert_allclose(L1(0.5).prox(theta, 1.0), [0, 4.5, 0, -1.5, 0.5])
    assert hash(Group(0.5, [[0, 2]])) == hash(Group(0.5, ((0, 2),)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: L2(-1.0), "lam must be finite and >= 0"),
        (lambda: L1(math.nan), "lam must be finite"),
        (lambda: ElasticNet(1.0, 1.5), "l1_ratio must lie between 0 and 1"),
        (lambda: Group(1.0, [[0, 1], [1]]), "disjoint"),
        (lambda: Group(1.0, [[]]), "non-empty"),
        (lambda: Group(1.0, [[-1]]), ">= 0"),
        (lambda: Box(1.0, -1.0), "lo <= hi"),
        (lambda: Simplex(0.0), "total must be finite and positive"),
        (lambda: L1Ball(math.inf), "radius"),
        (lambda: L2Ball(-1.0), "radius"),
    ],
)
def test_settings_that_make_no_penalty(make, words):
    with pytest.raises(ValueError, match=words):
        make()
