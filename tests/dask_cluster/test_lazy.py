"""Maps of lazy rows are lazy, and parts are read as seldom as promised."""

import math

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest

from veilspan import PCA, Ledger, LinearSVC, LogisticRegression, MatrixCompletion, RobustPCA
from veilspan.curator.dask import table as dask_table
from veilspan.datasets import make_ratings
from veilspan.solvers.linear.gradient_descent import GradientDescent
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

from .tables import far, rows

INF = math.inf


def counted(x, folder, chunk=300):
    """An array whose chunks leave a file each time that they are made."""

    def made(start):
        import uuid

        (folder / uuid.uuid4().hex).touch()
        return x[start : start + chunk]

    starts = range(0, len(x), chunk)
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(made, pure=False)(i), (min(chunk, len(x) - i), 6), float)
            for i in starts
        ]
    )


def times_read(folder):
    return len(list(folder.iterdir()))


def test_maps_compute_nothing_until_asked(client, tmp_path):
    x = rows()
    lazy = counted(x, tmp_path)
    y = x[:, 0] > 0
    pca = RobustPCA(2, epsilon=INF).fit(x)
    logistic = LogisticRegression(row_norm=1.0, epsilon=INF, solver="objective").fit(x, y)
    svc = LinearSVC(row_norm=1.0, epsilon=INF, solver=GradientDescent(steps=5)).fit(x, y)
    maps = {
        "transform": pca.transform,
        "score_samples": pca.score_samples,
        "there and back": lambda t: pca.inverse_transform(pca.transform(t)),
        "predict": logistic.predict,
        "predict_proba": logistic.predict_proba,
        "predict_log_proba": logistic.predict_log_proba,
        "decision_function": svc.decision_function,
        "svc predict": svc.predict,
    }
    made = {name: function(lazy) for name, function in maps.items()}
    assert times_read(tmp_path) == 0
    for name, result in made.items():
        assert isinstance(result, da.Array)
        expected = maps[name](x)
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
    for found, name in zip(dask.compute(*made.values()), made):
        assert far(1.0 * found, 1.0 * maps[name](x)) <= 1e-9


def test_a_filter_that_leaves_nothing_of_a_chunk(client):
    x = rows()
    lazy = da.from_array(x, chunks=(300, 6))[da.arange(len(x), chunks=300) >= 300]
    model = PCA(2, epsilon=INF).fit(x)
    assert far(model.transform(lazy).compute(), model.transform(x[300:])) <= 1e-12


def test_the_account_does_not_travel(client):
    x = rows()
    model = PCA(2, epsilon=INF).fit(x)
    model.ledger = lambda: None  # stands for a handle, which is not pickled
    model.ledger.__reduce_ex__ = lambda *_: 1 / 0
    assert model.transform(da.from_array(x, chunks=(300, 6))).compute().shape == (900, 2)


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
def test_the_account_does_not_travel_inside_a_session(client, tmp_path, monkeypatch):
    x = rows()
    lazy = da.from_array(x, chunks=(300, 6))
    ledger = Ledger(tmp_path / "budget.db", key=tmp_path / "key")
    account = ledger.dataset("rehearsal", epsilon=10, delta=1e-5, test=True)
    models = [PCA(2, random_state=0).fit(x), PCA(2, random_state=0, ledger=account).fit(x)]
    monkeypatch.setattr(type(account), "__reduce_ex__", lambda *_: 1 / 0)
    with ledger.session("rehearsal"):
        with pytest.raises(ZeroDivisionError):
            cloudpickle.dumps(models[0])  # as an estimator it would take the account along
        for model in models:
            assert far(model.transform(lazy).compute(), model.transform(x)) <= 1e-12
    assert models[1].ledger is account


def test_arguments_by_name(client):
    x = rows()
    model = PCA(2, epsilon=INF).fit(x)
    lazy = da.from_array(x, chunks=(300, 6))
    assert far(model.transform(X=lazy).compute(), model.transform(X=x)) <= 1e-12
    ratings = make_ratings(300, 20, random_state=0).train
    completion = MatrixCompletion(rating_range=(1, 5), epsilon=INF).fit(ratings)
    assert completion.predict(R=ratings).shape == (300, 20)
    assert completion.predict(R=da.ones((5, 20))).compute().shape == (5, 20)
    for table in (x, lazy):
        with pytest.raises(TypeError, match=r"unexpected keyword|missing"):
            model.transform(R=table)
        with pytest.raises(TypeError, match=r"too many|takes 2"):
            model.transform(table, table)


@pytest.mark.parametrize("share", [0.4, 0.0], ids=["fits", "too large"])
def test_a_table_is_read_once_if_it_fits_and_else_each_time(client, tmp_path, monkeypatch, share):
    monkeypatch.setattr(dask_table, "KEPT_SHARE", share)
    x = rows()
    solver = GeodesicGradientDescent(steps=3, halvings=1)
    model = RobustPCA(2, epsilon=INF, solver=solver).fit(counted(x, tmp_path))
    answers = sum(event.count for event in model.plan_.events)
    chunks = 3
    assert times_read(tmp_path) == (chunks if share else chunks * (1 + answers))
    here = RobustPCA(2, epsilon=INF, solver=solver).fit(x)
    assert np.abs(here.components_.T @ here.components_).shape == (6, 6)
    assert far(*(m.components_.T @ m.components_ for m in (here, model))) <= 1e-6
