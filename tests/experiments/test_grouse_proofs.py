"""Lemmas of GROUSE: a tiny run, one step beside the library's, signals that Condition 1 admits."""

import json
import math

import numpy as np
import pytest

from experiments.grouse import common, proofs
from veilspan.nonprivate.grouse import ConstantStep, update_block


def test_a_tiny_run_writes_its_files(tiny_job):
    job = tiny_job("grouse-proofs")
    proofs.run(job)
    record = json.loads(job.file("json").read_text())
    assert job.file("png").stat().st_size > 10_000
    answers = {claim["claim"].split(":")[0]: claim["holds"] for claim in record["claims"]}
    assert answers["Lemma 4"] is True
    assert answers["Lemma 6"] is False
    assert answers["Lemma 7"] is True


@pytest.mark.parametrize("rule", [proofs.ORACLE, proofs.EQ8])
@pytest.mark.parametrize("far", [math.inf, 0.3])
def test_a_step_is_that_of_the_library(rule, far):
    rng = np.random.default_rng(5)
    basis, signal = proofs.basis_at(far, rng), common.signals(8, proofs.D, rng)
    rows = common.noisy(signal, proofs.N, 0.1, rng)
    inside, rest, weights, outside = proofs.parts(basis, signal, rows)
    kept = proofs.fraction(rule, outside, rest, rows, 0.1)
    growth, decrease = proofs.one_step(basis, inside, rest, weights, kept)
    for k in np.flatnonzero(kept <= 1):  # the library's alpha is not negative
        assert min(outside[k] / rest[k].dot(rest[k]), 1.0) == pytest.approx(
            common.assumed_fraction(basis, signal[k], rows[k])
        )
        after = basis.copy()
        update_block(after, rows[k : k + 1], step=ConstantStep(kept[k]), engine="numpy")
        ratio = common.similarity(after) / common.similarity(basis)
        assert growth[k] == pytest.approx(ratio, rel=1e-6)
        change = common.discrepancy(basis) - common.discrepancy(after)
        assert decrease[k] == pytest.approx(change, abs=1e-9)


def test_uneven_signals_are_what_condition_1_asks_for():
    x = proofs.uneven(200_000, np.random.default_rng(0))
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(x.T), np.eye(2), atol=0.05)
    np.testing.assert_allclose(np.sort(np.unique(x[:, 0])), np.sort(np.unique(x[:, 1])))


def test_lemma_6_by_hand():
    """x1 x2 / |x|^2 is 1/2 on one diagonal and -1/2 on the other."""
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    off, error = proofs.mean_form(proofs.uneven, swap, 20_000, np.random.default_rng(1))
    assert off == pytest.approx(2 * proofs.FAVOURED - 1, abs=6 * error)
