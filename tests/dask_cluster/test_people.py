"""People whose rows lie on a cluster: the same units, from any parts, and nothing in the graph."""

import math

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from veilspan import PCA, LogisticRegression
from veilspan.datasets import make_visits

VISITS = make_visits(300)
FRAME = pd.DataFrame(VISITS.columns)


def components(table, parts=None):
    model = PCA(2, epsilon=math.inf, schema=VISITS.schema, random_state=0)
    lazy = table if parts is None else dd.from_pandas(table, npartitions=parts)
    return model.fit(lazy).components_


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_fits_the_people_of_the_table(client):
    here = components(FRAME)
    for parts in (1, 4):
        there = components(FRAME, parts)
        np.testing.assert_allclose(np.abs(np.sum(here * there, axis=1)), 1, atol=1e-9)
    # Sorted by diagnosis, or one person's rows far apart: it does not matter where a row lies.
    moved = FRAME.sort_values("ward", kind="stable", ignore_index=True)
    there = components(moved, 3)
    assert np.abs(np.sum(here * there, axis=1)).min() > 0.9


@pytest.mark.filterwarnings("ignore")
def test_a_private_fit_on_a_cluster_states_how_people_were_gathered(client):
    lazy = dd.from_pandas(FRAME, npartitions=3)
    model = LogisticRegression(epsilon=2.0, schema=VISITS.schema).fit(lazy)
    assert model.privacy_.verify()
    assert model.plan_ == model.plan()
    told = " ".join(model.privacy_.assumptions)
    assert "people were gathered by id before anything else" in told
    assert "which part a row lies in does not depend" not in told
