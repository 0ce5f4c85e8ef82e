import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from veilspan import metrics

DISTANCES = [
    metrics.squared_angle_distance,
    metrics.largest_angle_gap,
    metrics.projection_distance,
    metrics.frobenius_discrepancy,
]


def basis(rng, r, d):
    return np.linalg.qr(rng.standard_normal((d, r)))[0].T


@st.composite
def pairs(draw, equal=True):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    d = draw(st.integers(1, 12))
    r = draw(st.integers(1, d))
    q = r if equal else draw(st.integers(1, d))
    a, b = basis(rng, r, d), basis(rng, q, d)
    if equal and draw(st.booleans()):  # near pairs, down to angles of 1e-12
        tilt = 10.0 ** -draw(st.integers(1, 12)) * rng.standard_normal((r, d))
        b = np.linalg.qr((a + tilt).T)[0].T
    return a, b


@given(pairs(equal=False))
def test_angles_are_scipys(pair):
    a, b = pair
    # SciPy's tiny angles beside large ones are good to 2e-8 only; the digits are tested below.
    np.testing.assert_allclose(
        metrics.principal_angles(a, b), subspace_angles(a.T, b.T), rtol=1e-7, atol=1e-7
    )


@given(pairs())
def test_distances_are_symmetric_and_zero_on_the_diagonal(pair):
    a, b = pair
    for distance in DISTANCES:
        assert distance(a, b) == pytest.approx(distance(b, a), rel=1e-6, abs=1e-14)
        assert distance(a, a) < 1e-14
    assert metrics.determinant_similarity(a, a) == pytest.approx(1)


@given(pairs(), st.integers(0, 2**32))
def test_only_the_subspace_counts(pair, seed):
    """Neither the basis nor a rotation of the whole space matters."""
    a, b = pair
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((a.shape[1],) * 2))[0]
    change = np.linalg.qr(rng.standard_normal((len(a),) * 2))[0]
    np.testing.assert_allclose(
        metrics.principal_angles(change @ a @ turn, b @ turn),
        metrics.principal_angles(a, b),
        rtol=1e-6,
        atol=1e-13,
    )


@given(pairs())
def test_formulas(pair):
    a, b = pair
    angles = metrics.principal_angles(a, b)
    assert np.all((angles >= 0) & (angles <= np.pi / 2))
    assert np.all(np.diff(angles) <= 0)
    gap = np.linalg.norm(a.T @ a - b.T @ b) / np.sqrt(2 * len(a))
    assert metrics.projection_distance(a, b) == pytest.approx(gap, abs=1e-12)
    overlap = np.linalg.svd(a @ b.T, compute_uv=False)
    assert metrics.largest_angle_gap(a, b) == pytest.approx(1 - overlap[-1], abs=1e-12)
    assert metrics.determinant_similarity(a, b) == pytest.approx(np.prod(overlap**2), abs=1e-12)
    discrepancy = len(a) - np.sum(overlap**2)
    assert metrics.frobenius_discrepancy(a, b) == pytest.approx(discrepancy, abs=1e-11)


@pytest.mark.parametrize("angle", [1e-15, 1e-9, 1e-4, 0.3, np.pi / 4, 1.5, np.pi / 2 - 1e-9])
def test_every_size_of_angle_keeps_its_digits(angle):
    a = np.eye(4)[:2]
    b = np.array([[np.cos(angle), 0, np.sin(angle), 0], [0, 1, 0, 0]])
    found = metrics.principal_angles(a, b)
    assert found[0] == pytest.approx(angle, rel=1e-12, abs=0)
    assert found[1] < 1e-15
    assert metrics.squared_angle_distance(a, b) == pytest.approx(angle**2, rel=1e-12, abs=0)
    gap = 2 * np.sin(angle / 2) ** 2
    assert metrics.largest_angle_gap(a, b) == pytest.approx(gap, rel=1e-12, abs=0)


def test_right_angles_and_the_floor():
    a, b = np.eye(4)[:2], np.eye(4)[2:]
    np.testing.assert_allclose(metrics.principal_angles(a, b), np.pi / 2)
    assert metrics.projection_distance(a, b) == pytest.approx(1)
    assert metrics.determinant_similarity(a, b) == pytest.approx(0, abs=1e-30)
    assert metrics.log10_squared_angle_distance(a, b) == pytest.approx(np.log10(np.pi**2 / 2))
    assert metrics.log10_squared_angle_distance(a, a) == -32


def test_float32_bases_are_accepted():
    a = basis(np.random.default_rng(0), 3, 50)
    assert metrics.principal_angles(a.astype(np.float32), a)[0] < 1e-6  # 16 float32 roundings


@pytest.mark.parametrize(
    ("a", "message"),
    [
        (2 * np.eye(3)[:2], "not orthonormal.* off by 3"),
        (np.full((2, 3), np.nan), "not orthonormal"),
        (np.eye(4)[:, :2], "Transpose"),
        (np.ones(3), "shape"),
        (np.eye(4)[:2], "different spaces"),
    ],
)
def test_nonsense_is_refused(a, message):
    with pytest.raises(ValueError, match=message):
        metrics.principal_angles(a, np.eye(3)[:2])


def test_distances_need_equal_dimensions():
    with pytest.raises(ValueError, match="equal dimension"):
        metrics.projection_distance(np.eye(3)[:1], np.eye(3)[:2])
