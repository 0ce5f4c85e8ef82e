"""Replay every estimator on neighbouring tables: what leaves is a function of the answers alone."""

import numpy as np
import pytest

from contracts.tables import COMBINATIONS, ESTIMATORS, uses_pairs
from veilspan.audit.replay import replay

WIDTH = 4
EXTREME_ROWS = (
    np.zeros(WIDTH),
    np.eye(WIDTH)[0],
    -np.eye(WIDTH)[-1],
    1e6 * np.ones(WIDTH),
    -1e-9 * np.ones(WIDTH),
)


def neighboring_pairs(neighbors, smallest):
    rng = np.random.default_rng(0)
    for n in (smallest, 5, 40, 300):
        for scale in (1.0, 1e-6) if n < 40 else (1.0,):
            x = scale * rng.standard_normal((n, WIDTH))
            for row in (*EXTREME_ROWS, -x[0]):
                if neighbors == "replace-one":
                    yield x, np.vstack([row, x[1:]])
                else:
                    yield x, np.vstack([x, row])


@pytest.mark.parametrize(("name", "neighbors"), COMBINATIONS)
def test_nothing_but_answers_leaves(name, neighbors):
    kind, parameters = ESTIMATORS[name]

    def fit(x):
        return kind(**parameters, neighbors=neighbors, random_state=0).fit(x)

    for x, other in neighboring_pairs(neighbors, 4 if uses_pairs(name) else 2):
        report = replay(fit, x, other)
        assert report.ok, report.findings
        assert report.questions > 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_recorded_fit_says_that_it_is_not_private(name):
    from veilspan import NotPrivateWarning
    from veilspan.curator.tape import recording

    kind, parameters = ESTIMATORS[name]
    with recording(), pytest.warns(NotPrivateWarning):
        fitted = kind(**parameters, random_state=0).fit(np.eye(WIDTH))
    assert "recorded" in fitted.privacy_.why_not_private
