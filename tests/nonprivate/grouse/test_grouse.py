import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nonprivate.grouse.streams import departure, planted, subspace
from veilspan import metrics
from veilspan.geometry import Grassmann
from veilspan.nonprivate.grouse import (
    ConstantStep,
    DiminishingStep,
    GreedyStep,
    NoisyStep,
    grouse,
    loops,
    random_basis,
    update_block,
)
from veilspan.nonprivate.grouse.kernels import compiled_loops
from veilspan.nonprivate.grouse.stream import make_room

ENGINES = [
    "numpy",
    pytest.param("numba", marks=pytest.mark.skipif(not compiled_loops(), reason="no Numba")),
]
RULES = [GreedyStep(), NoisyStep(0.1), NoisyStep(), ConstantStep(0.2), DiminishingStep()]
engines = pytest.mark.parametrize("engine", ENGINES)


@st.composite
def steps(draw):
    n = draw(st.integers(2, 30))
    d = draw(st.integers(1, n - 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = 10.0 ** draw(st.integers(-8, 8))
    return random_basis(n, d, rng), scale * rng.standard_normal((1, n))


@given(steps())
def test_a_greedy_step_is_a_geodesic_of_the_grassmannian(case):
    basis, row = case
    w = basis @ row[0]
    p = w @ basis
    r = row[0] - p
    angle = np.arctan(np.linalg.norm(r) / np.linalg.norm(p))
    tangent = angle * np.outer(r, w) / np.linalg.norm(r) / np.linalg.norm(w)
    expected = Grassmann(basis.shape[1], len(basis)).exp(basis.T, tangent)
    update_block(basis, row, engine="numpy")
    np.testing.assert_allclose(basis, expected.T, rtol=0, atol=1e-13)
    assert departure(basis) < 1e-13
    # All the way: the new subspace holds the row.
    rest = row[0] - (basis @ row[0]) @ basis
    assert np.linalg.norm(rest) < 1e-13 * np.linalg.norm(row)


@given(steps(), st.integers(0, 2**32))
def test_lemma_2(case, seed):
    """One greedy step without noise: the gains of both metrics in closed form."""
    basis, _ = case
    rng = np.random.default_rng(seed)
    truth = random_basis(basis.shape[1], len(basis), rng)
    row = rng.standard_normal((1, len(basis))) @ truth
    inside = (basis @ row[0]) @ basis
    outside = row[0] - inside
    zeta = metrics.determinant_similarity(basis, truth)
    error = metrics.frobenius_discrepancy(basis, truth)
    update_block(basis, row, engine="numpy")
    gain = 1 + (outside @ outside) / (inside @ inside)
    assert metrics.determinant_similarity(basis, truth) == pytest.approx(zeta * gain, rel=1e-6)
    drop = 1 - np.sum((truth @ inside) ** 2) / (inside @ inside)
    after = metrics.frobenius_discrepancy(basis, truth)
    assert after == pytest.approx(error - drop, abs=1e-12)


@engines
def test_without_noise_greedy_steps_find_the_subspace(engine):
    rng, truth = subspace(0, 60, 4)
    basis = random_basis(60, 4, rng)
    update_block(basis, planted(rng, truth, 600), engine=engine)
    assert metrics.frobenius_discrepancy(basis, truth) < 1e-25


@engines
def test_half_of_the_entries_suffice(engine):
    rng, truth = subspace(0, 60, 4)
    basis = random_basis(60, 4, rng)
    rows = planted(rng, truth, 1500, missing=0.5)
    update_block(basis, rows, engine=engine)
    assert metrics.frobenius_discrepancy(basis, truth) < 1e-25
    assert departure(basis) < 1e-14


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_engines_agree(rule, missing):
    pytest.importorskip("numba")
    rng, truth = subspace(3, 40, 3)
    start = random_basis(40, 3, rng)
    rows = planted(rng, truth, 300, noise=0.1, missing=missing, unit=False)
    rows[[5, 17]] = 0.0
    rows[9] = np.nan
    bases, reports = [], []
    for engine in ("numba", "numpy"):
        basis = start.copy()
        reports.append(update_block(basis, rows, step=rule, engine=engine))
        bases.append(basis)
    # Far below 1e-12 a step; noisy steps keep and do not enlarge earlier differences.
    np.testing.assert_allclose(*bases, rtol=0, atol=1e-12)
    np.testing.assert_allclose(reports[0].ratios, reports[1].ratios, rtol=0, atol=1e-12)
    np.testing.assert_allclose(reports[0].memory, reports[1].memory, rtol=1e-9)


def test_one_step_of_the_engines_agrees_to_rounding():
    pytest.importorskip("numba")
    rng, truth = subspace(4, 500, 10)
    for missing in (0.0, 0.5):
        start = random_basis(500, 10, rng)
        rows = planted(rng, truth, 1, noise=0.1, missing=missing)
        bases = [start.copy(), start.copy()]
        for basis, engine in zip(bases, ("numba", "numpy")):
            update_block(basis, rows, engine=engine)
        np.testing.assert_allclose(*bases, rtol=0, atol=1e-14)


@engines
@pytest.mark.parametrize("missing", [0.0, 0.02, 0.4])
def test_cutting_a_stream_changes_no_bit(engine, missing):
    rng, truth = subspace(5, 30, 3)
    start = random_basis(30, 3, rng)
    rows = planted(rng, truth, 1200, noise=0.05, missing=missing)
    whole = start.copy()
    update_block(whole, rows, step=NoisyStep(), alarm=25.0, engine=engine)
    basis, memory = start.copy(), None
    for part in np.split(rows, [1, 2, 511, 513, 514, 1000]):
        memory = update_block(
            basis, part, step=NoisyStep(), memory=memory, alarm=25.0, engine=engine
        ).memory
    np.testing.assert_array_equal(basis, whole)


def test_a_million_rows_stay_orthonormal():
    pytest.importorskip("numba")
    rng = np.random.default_rng(6)
    basis, memory = random_basis(20, 3, rng), None
    for _ in range(20):
        rows = rng.standard_normal((50_000, 20))
        memory = update_block(basis, rows, memory=memory, engine="numba").memory
        assert departure(basis) < 1e-13
    assert memory[loops.ROWS] == 10**6


@engines
def test_gaps_keep_the_basis_orthonormal(engine):
    rng = np.random.default_rng(7)
    basis = random_basis(20, 3, rng)
    rows = rng.standard_normal((5000, 20))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    update_block(basis, rows, engine=engine)
    assert departure(basis) < 1e-13


@engines
def test_rows_that_say_too_little_are_counted_and_leave_the_basis_alone(engine):
    rng = np.random.default_rng(8)
    basis = random_basis(12, 3, rng)
    before = basis.copy()
    rows = np.full((4, 12), np.nan)
    rows[1, :3] = 1.0  # as many as components: any coefficients fit
    rows[2, :2] = 1.0
    report = update_block(basis, rows, engine=engine)
    np.testing.assert_array_equal(basis, before)
    assert np.isnan(report.ratios).all()
    assert report.memory[loops.SKIPPED] == report.memory[loops.ROWS] == 4


@engines
def test_an_unobserved_direction_is_not_guessed(engine):
    basis = np.eye(8)[:2].copy()
    rows = np.ones((1, 8))
    rows[0, 1] = np.nan  # the only place where the second component can be seen
    update_block(basis, rows, engine=engine)
    np.testing.assert_array_equal(basis, np.eye(8)[:2])


@engines
def test_zero_rows_and_rows_inside_change_nothing(engine):
    basis = np.eye(6)[:2].copy()
    report = update_block(basis, np.array([[0.0] * 6, [1.0, 2, 0, 0, 0, 0]]), engine=engine)
    np.testing.assert_array_equal(basis, np.eye(6)[:2])
    np.testing.assert_array_equal(report.ratios, 0)


def test_polish_restores_a_spoiled_basis():
    rng = np.random.default_rng(9)
    basis = random_basis(15, 4, rng)
    truth = basis.copy()
    for size in (1e-9, 1e-5, 2.0):
        basis[:] = truth + size * rng.standard_normal(basis.shape)
        before = np.linalg.norm(basis @ basis.T - np.eye(4), 2)
        grouse.polish(basis)
        after = np.linalg.norm(basis @ basis.T - np.eye(4), 2)
        # Exactly 3/4 e^2 + e^3/4 to first order of e; QR where that is out of reach.
        assert after < (before**2 if before < 0.1 else 0) + 1e-14


def test_the_schedule_polishes(monkeypatch):
    calls = []
    monkeypatch.setattr(grouse, "polish", lambda basis: calls.append(len(basis)))
    rng = np.random.default_rng(10)
    basis, memory = random_basis(8, 2, rng), None
    for count in (500, 12, 1, 511, 600):
        rows = rng.standard_normal((count, 8))
        memory = update_block(basis, rows, memory=memory, engine="numpy").memory
    assert len(calls) == (500 + 12 + 1 + 511 + 600) // grouse.POLISH_ROWS


@pytest.mark.parametrize(
    ("basis", "rows", "options", "message"),
    [
        (np.eye(3), np.ones((1, 3)), {}, "1 <= d < n"),
        (np.eye(3)[:2], np.ones((1, 4)), {}, "3 entries"),
        (np.eye(3)[:2], np.ones(3), {}, "3 entries"),
        (np.eye(3, dtype=np.float32)[:2], np.ones((1, 3)), {}, "float64"),
        (np.eye(4)[::2], np.ones((1, 4)), {}, "contiguous"),
        (np.eye(3)[:2], np.ones((1, 3)), {"engine": "fortran"}, "engine"),
        (np.eye(3)[:2], np.ones((1, 3)), {"robust": "l2"}, "robust"),
    ],
)
def test_nonsense_is_refused(basis, rows, options, message):
    with pytest.raises(ValueError, match=message):
        update_block(basis, rows, **options)


def test_numba_is_optional(monkeypatch):
    monkeypatch.setattr(grouse, "compiled_loops", lambda: None)
    basis = random_basis(6, 2, np.random.default_rng(0))
    update_block(basis, np.ones((3, 6)))
    with pytest.raises(ImportError, match=r"veilspan\[fast\]"):
        update_block(basis, np.ones((3, 6)), engine="numba")


@pytest.mark.parametrize(("n", "d"), [(40, 12), (12, 12), (13, 12), (2, 2), (5, 1)])
def test_random_directions_make_room_for_the_first_rows(n, d):
    """A basis stays orthonormal row by row, also where the random directions fill the space."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((n, d)))[0].T.copy()
    for place in range(d):
        rest = rng.standard_normal(n)
        for _ in range(2):
            rest -= (basis[:place] @ rest) @ basis[:place]
        basis[place] = rest / np.linalg.norm(rest)
        make_room(basis, place)
        np.testing.assert_allclose(basis @ basis.T, np.eye(d), rtol=0, atol=1e-12)
        np.testing.assert_allclose(basis[place], rest / np.linalg.norm(rest), rtol=0, atol=1e-12)
