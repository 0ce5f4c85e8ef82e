"""Second moments of stretched rows: the contract of queries, and noise of one size."""

import numpy as np
import pytest

from veilspan import check_query
from veilspan.queries.stream.stretched_moment import SMALLEST_SCALE, StretchedMoment

FRAME = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
POINTS = (None, (FRAME[:, :2], 1.0), (FRAME[:, :2], 0.2), (FRAME[:, :1], 0.01))


def slow_stretch(row, point):
    x = row.x[0]
    if point is not None:
        basis, scale = point
        inside = sum((b @ x) * b for b in basis.T)
        x = inside + (x - inside) / scale
    return np.array([[a * b for b in x] for a in x])


def test_it_keeps_the_contract_of_queries():
    report = check_query(StretchedMoment(1.3, 2), 5, points=POINTS, reference=slow_stretch)
    # What the search, whose seed is fixed, reaches of the declared bounds.
    assert report.add_remove > 0.999
    assert report.replace_one > 0.999


def test_every_point_has_noise_of_one_size():
    """Else correlated noise would have to forget at every new question."""
    query = StretchedMoment(1.3, 2)
    points = (*POINTS, (FRAME[:, :2], SMALLEST_SCALE))
    facts = [query.public_facts("replace-one", 5, p, sparse=False) for p in points]
    assert len({(f.sensitivity, f.block_rows, f.roundoff, f.coordinates) for f in facts}) == 1


@pytest.mark.parametrize("point", [(FRAME[:, :2], 1e-7), (FRAME[:, :2], 2.0), (FRAME[:, :3], 0.5)])
def test_what_the_rounding_does_not_cover_is_refused(point):
    from veilspan.curator.rows import Block

    with pytest.raises(ValueError, match="stretched"):
        StretchedMoment(1.0, 2).prepare(Block(np.eye(5)), point)
