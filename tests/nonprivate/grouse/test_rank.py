import numpy as np
import pytest

from nonprivate.grouse.streams import departure, planted, subspace
from veilspan.metrics import principal_angles
from veilspan.nonprivate.grouse import NoisyStep, random_basis
from veilspan.nonprivate.grouse.rank import adapt_rank
from veilspan.nonprivate.grouse.stream import Stream, StreamOptions

OPTIONS = StreamOptions(step=NoisyStep(), adapt_rank=True)


@pytest.mark.parametrize("start", [1, 2, 4, 8])
@pytest.mark.parametrize(("noise", "missing"), [(0.0, 0.0), (0.01, 0.0), (0.3, 0.0), (0.01, 0.3)])
def test_the_dimension_is_found(start, noise, missing):
    rng, truth = subspace(0, 80, 4)
    stream = Stream.start(80, start, rng)
    stream.learn(planted(rng, truth, 4000, noise, missing, unit=False), OPTIONS)
    assert len(stream.basis) == 4
    assert departure(stream.basis) < 1e-13
    # A share d noise / n_rows of the noise would be perfect; ten times that is a fair tracker.
    assert principal_angles(stream.basis, truth)[0] < 0.01 + np.sqrt(noise) / 4


def test_it_follows_the_stream_up_and_down():
    rng, wide = subspace(1, 60, 5)
    stream = Stream.start(60, 2, rng)
    found = []
    for count in (2, 5, 3):
        stream.learn(planted(rng, wide[:count], 3000, 0.01, unit=False), OPTIONS)
        found.append(len(stream.basis))
    assert found == [2, 5, 3]


def test_noise_alone_is_no_direction():
    """A hundred looks; the edge is passed with probability below 1e-6 each (Tracy-Widom)."""
    rng = np.random.default_rng(2)
    for n, rows in [(30, 80), (200, 80), (20, 200)]:
        basis = random_basis(n, 2, rng)
        signal = 10 * rng.standard_normal((rows, 2)) @ basis
        for _ in range(35):
            recent = signal + rng.standard_normal((rows, n))
            assert len(adapt_rank(basis, recent)) == 2


def test_one_component_always_stays():
    rng = np.random.default_rng(3)
    basis = random_basis(30, 3, rng)
    assert len(adapt_rank(basis, rng.standard_normal((80, 30)))) >= 1
    assert len(adapt_rank(basis, np.zeros((80, 30)))) == 1


def test_cutting_a_stream_changes_no_bit():
    rng, truth = subspace(4, 40, 4)
    rows = planted(rng, truth, 700, 0.01, missing=0.1)
    bases = []
    for cuts in ([], [1, 3, 71, 72, 73, 500]):
        stream = Stream.start(40, 2, np.random.default_rng(0))
        for part in np.split(rows, cuts):
            stream.learn(part, OPTIONS)
        bases.append(stream.basis)
    np.testing.assert_array_equal(*bases)
