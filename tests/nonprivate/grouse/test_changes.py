"""The flag of an abrupt change."""

import pytest

from nonprivate.grouse.streams import planted, subspace
from veilspan.metrics import frobenius_discrepancy
from veilspan.nonprivate.grouse import NoisyStep, loops, random_basis
from veilspan.nonprivate.grouse.stream import Stream, StreamOptions

OPTIONS = StreamOptions(step=NoisyStep(), alarm=25.0)


@pytest.mark.parametrize("noise", [0.0, 1e-4, 0.01])
def test_a_new_subspace_is_flagged_once_and_soon(noise):
    rng, truth = subspace(0, 80, 6)
    stream = Stream.start(80, 6, rng)
    stream.learn(planted(rng, truth, 1000, noise), OPTIONS)
    assert stream.memory[loops.CHANGES] == 0
    moved = random_basis(80, 6, rng)
    stream.learn(planted(rng, moved, 1000, noise), OPTIONS)
    assert stream.memory[loops.CHANGES] == 1
    assert 1000 < stream.memory[loops.LAST_CHANGE] <= 1015
    assert frobenius_discrepancy(stream.basis, moved) < 1e-9 + noise


@pytest.mark.parametrize("unit", [True, False])
def test_a_steady_stream_is_not_flagged(unit):
    """Under normal surprise with drift -1 the sum passes 25 with probability exp(-50) a row."""
    rng, truth = subspace(1, 60, 4)
    stream = Stream.start(60, 4, rng)
    stream.learn(planted(rng, truth, 20_000, 0.05, unit=unit), OPTIONS)
    assert stream.memory[loops.CHANGES] == 0


@pytest.mark.parametrize(("length", "robust"), [(1.0, None), (10.0, "l1")])
def test_single_wild_rows_are_not_flagged(length, robust):
    """Long ones turn the basis so far that it takes a robust fit to tell them from a change."""
    rng, truth = subspace(2, 100, 8)
    rows = planted(rng, truth, 1500, 0.01)
    rows[500::100] = length / 10 * rng.standard_normal((10, 100))
    stream = Stream.start(100, 8, rng)
    stream.learn(rows, StreamOptions(step=NoisyStep(), alarm=25.0, robust=robust))
    assert stream.memory[loops.CHANGES] == 0
