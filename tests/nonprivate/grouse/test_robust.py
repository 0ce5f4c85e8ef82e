import numpy as np
import pytest

from nonprivate.grouse.streams import departure, planted, subspace
from veilspan.metrics import frobenius_discrepancy
from veilspan.nonprivate.grouse import NoisyStep, loops, random_basis, update_block
from veilspan.nonprivate.grouse.robust import _huber, _least_absolute

KINDS = ("huber", "l1")
everyone = pytest.mark.parametrize("kind", KINDS)


def with_wild_entries(rng, rows, share=0.05):
    wild = rng.random(rows.shape) < share
    return rows + wild * rng.standard_normal(rows.shape) * 10 / np.sqrt(rows.shape[1])


@everyone
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_wild_entries_do_little(kind, missing):
    rng, truth = subspace(0, 50, 3)
    rows = with_wild_entries(rng, planted(rng, truth, 1200, 1e-3, missing))
    start = random_basis(50, 3, rng)
    errors = {}
    for robust in (None, kind):
        basis = start.copy()
        update_block(basis, rows, step=NoisyStep(), robust=robust)
        errors[robust] = frobenius_discrepancy(basis, truth)
        assert departure(basis) < 1e-12
    assert errors[kind] < 0.01 < 1.5 < errors[None]  # 2.3 and 2.7


def test_a_burst_of_wild_rows_is_ignored():
    rng, truth = subspace(1, 50, 3)
    basis = random_basis(50, 3, rng)
    options = {"step": NoisyStep(), "robust": "l1"}
    memory = update_block(basis, planted(rng, truth, 600, 1e-3), **options).memory
    before = basis.copy()
    burst = 3 * np.tile(random_basis(50, 1, rng), (20, 1))
    report = update_block(basis, burst, memory=memory, **options)
    np.testing.assert_array_equal(basis, before)
    assert memory[loops.SKIPPED] == 20
    assert np.all(report.ratios > 0.5)  # the score of an outlier is not hidden


def test_huber_follows_a_burst_less_far():
    rng, truth = subspace(2, 50, 3)
    rows = planted(rng, truth, 500, 1e-3)
    burst = 3 * random_basis(50, 1, rng)
    errors = []
    for robust in (None, "huber"):
        basis = random_basis(50, 3, np.random.default_rng(0))
        memory = update_block(basis, rows, step=NoisyStep(), robust=robust).memory
        update_block(basis, burst, step=NoisyStep(), memory=memory, robust=robust)
        errors.append(frobenius_discrepancy(basis, truth))
    assert errors[1] < 0.01 * errors[0]  # 0.005


@everyone
def test_a_subspace_that_has_moved_is_accepted_in_the_end(kind):
    rng, truth = subspace(3, 50, 3)
    basis = random_basis(50, 3, rng)
    options = {"step": NoisyStep(), "robust": kind}
    memory = update_block(basis, planted(rng, truth, 400, 1e-3), **options).memory
    moved = random_basis(50, 3, rng)
    update_block(basis, planted(rng, moved, 600, 1e-3), memory=memory, **options)
    assert frobenius_discrepancy(basis, moved) < 1e-4  # 2e-5


@everyone
def test_without_wild_entries_little_is_lost(kind):
    rng, truth = subspace(4, 50, 3)
    rows, start = planted(rng, truth, 800, 0.01), random_basis(50, 3, rng)
    errors = []
    for robust in (None, kind):
        basis = start.copy()
        update_block(basis, rows, step=NoisyStep(), robust=robust)
        errors.append(frobenius_discrepancy(basis, truth))
    assert errors[1] < 1.1 * errors[0]  # 0.96


def test_fits_against_linear_programming():
    """Least absolute deviations by SciPy's solver; Huber's by its own equation."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(5)
    frame = random_basis(40, 3, rng)
    values = 5 * rng.standard_normal(3) @ frame + 0.1 * rng.standard_normal(40)
    values[:4] += 10
    solve = frame.__matmul__
    found = _least_absolute(frame, values, solve, 0.1)
    ones, n, d = np.ones(40), 40, 3
    program = linprog(
        np.concatenate([np.zeros(d), ones, ones]),
        A_eq=np.hstack([frame.T, np.eye(n), -np.eye(n)]),
        b_eq=values,
        bounds=[(None, None)] * d + [(0, None)] * (2 * n),
    )
    assert np.abs(values - found @ frame).sum() < 1.001 * program.fun  # reweighting stops at 1.0003
    huber = _huber(frame, values, solve, 0.1)
    pull = frame @ np.clip(values - huber @ frame, -0.2, 0.2)
    assert np.linalg.norm(pull) < 1e-6 * np.linalg.norm(huber)


@everyone
def test_cutting_a_stream_changes_no_bit(kind):
    rng, truth = subspace(6, 20, 2)
    rows = with_wild_entries(rng, planted(rng, truth, 300, 0.01, missing=0.1))
    rows[7], rows[8] = 0.0, np.nan
    bases = []
    for cuts in ([], [1, 2, 150]):
        basis, memory = random_basis(20, 2, np.random.default_rng(0)), None
        for part in np.split(rows, cuts):
            memory = update_block(basis, part, step=NoisyStep(), robust=kind, memory=memory).memory
        bases.append(basis)
    np.testing.assert_array_equal(*bases)


@everyone
def test_rows_without_noise_give_a_scale_of_zero_and_no_trouble(kind):
    rng, truth = subspace(7, 20, 2)
    basis = truth.copy()
    update_block(basis, planted(rng, truth, 50), robust=kind)
    assert frobenius_discrepancy(basis, truth) < 1e-25
