"""Every manifold keeps the contract, at every size and at random points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geometry.cases import FAMILIES
from veilspan.geometry import check_manifold


@pytest.mark.parametrize("family", FAMILIES)
@settings(deadline=None, max_examples=12, derandomize=True)
@given(n=st.integers(2, 6), p=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_contract(family, n, p, seed):
    manifold = FAMILIES[family](n, min(n, p))
    report = check_manifold(manifold, np.random.default_rng(seed), step=0.02)
    refused = {result.skipped for result in report.skipped}
    assert refused <= {"no 'log'", "no 'dist'"}
    assert not refused or "tiefel" in repr(manifold)


@pytest.mark.parametrize("family", ["stiefel", "stiefel-canonical", "grassmann", "sphere"])
def test_contract_on_long_steps(family):
    check_manifold(FAMILIES[family](6, 2), step=1.2)


@pytest.mark.parametrize("family", ["poincare", "lorentz", "spd-affine", "spd-log"])
def test_contract_where_geodesics_never_end(family):
    check_manifold(FAMILIES[family](4, 2), step=3.0, tol=1e-7)
