"""What may be passed in which form, and what is refused with which sentence."""

import math

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score

from veilspan import (
    PCA,
    FrechetMean,
    LogisticRegression,
    MatrixCompletion,
    Ridge,
    RobustPCA,
    SubspaceTracker,
)
from veilspan.datasets import make_ratings
from veilspan.geometry import Sphere
from veilspan.solvers.linear.gradient_descent import GradientDescent

from .tables import far, of_unknown_size, parts, rows

INF = math.inf
NAMES = [f"c{i}" for i in range(6)]


def fitted(table):
    return RobustPCA(2, epsilon=INF, center="origin").fit(table)


def planes_differ(table, in_memory):
    return far(*(m.components_.T @ m.components_ for m in (fitted(table), fitted(in_memory))))


def frame(x):
    return dd.from_pandas(pd.DataFrame(x, columns=NAMES), npartitions=3)


FORMS = {
    "column-split chunks": lambda x: da.from_array(x, chunks=(200, 4)),
    "one chunk": lambda x: da.from_array(x, chunks=-1),
    "unknown sizes": of_unknown_size,
    "unknown sizes, an empty chunk": lambda x: (
        lambda lazy: lazy[(da.arange(len(x) + 300, chunks=300) < len(x))]
    )(da.from_array(np.vstack([x, x[:300]]), chunks=(300, 6))),
    "one row a chunk": lambda x: parts(x, (1,) * 10 + (len(x) - 10,)),
    "frame": frame,
    "filtered frame": lambda x: frame(np.vstack([x, np.full((50, 6), 9.0)])).query("c0 < 8.5"),
    "frame of unknown divisions": lambda x: frame(x).clear_divisions(),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(client, form):
    x = rows()
    assert planes_differ(FORMS[form](x), x) <= 1e-6


@pytest.mark.parametrize("kind", ["float32", "int64", "int8", "bool"])
def test_types(client, kind):
    x = np.rint(3 * rows()).astype(kind)
    assert planes_differ(parts(x), x) <= 1e-6


@pytest.mark.parametrize("wrap", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_chunks(client, wrap):
    x = np.where(rows() > 0.3, rows(), 0.0)
    lazy = da.from_array(x, chunks=(250, 6)).map_blocks(wrap)
    assert planes_differ(lazy, sparse.csr_array(x)) <= 1e-6
    y = x[:, 0] > 0.4
    settings = {"row_norm": 2.0, "epsilon": INF, "solver": GradientDescent(steps=4)}
    here = LogisticRegression(**settings).fit(sparse.csr_array(x), y)
    there = LogisticRegression(**settings).fit(lazy, y)
    assert far(here.coef_, there.coef_) <= 1e-6


def test_of_two_ratings_in_one_place_the_last_counts(client):
    """Also in chunks of a form that adds them up when it is made CSR."""
    ratings = make_ratings(200, 20, random_state=0).train.tocoo()
    user, item = (np.concatenate([at, at[:50]]) for at in ratings.coords)
    given = np.concatenate([ratings.data, 6.0 - ratings.data[:50]])
    table = sparse.coo_array((given, (user, item)), shape=ratings.shape)
    lazy = da.from_delayed(
        dask.delayed(table), table.shape, meta=sparse.coo_array((0, 20), dtype=float)
    )
    model = MatrixCompletion(rating_range=(1, 5), epsilon=INF, random_state=0)
    here, there = (clone(model).fit(each) for each in (table, lazy))
    assert far(here.item_bias_, there.item_bias_) <= 1e-6
    assert far(there.predict(lazy).compute(), here.predict(table)) <= 1e-5


def test_names_of_a_frame_are_kept_and_compared(client):
    x = rows()
    model = PCA(2, epsilon=INF).fit(frame(x))
    assert list(model.feature_names_in_) == NAMES
    assert far(model.transform(frame(x)).compute(), PCA(2, epsilon=INF).fit(x).transform(x)) <= 1e-9
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(frame(x)[NAMES[::-1]])
    with pytest.raises(ValueError, match="expecting 6 features"):
        PCA(2, epsilon=INF).fit(x).transform(da.from_array(x[:, :5]))


@pytest.mark.parametrize("kind", ["numpy", "list", "dask", "column", "frame column", "one column"])
def test_targets(client, kind):
    x = rows()
    y = x @ np.arange(6.0) / 4
    table = frame(x).assign(y=da.from_array(y, chunks=300)) if "frame" in kind else parts(x)
    given = {
        "numpy": lambda: y,
        "list": lambda: list(y),
        "dask": lambda: da.from_array(y, chunks=350),
        "column": lambda: pd.Series(y),
        "frame column": lambda: table["y"],
        "one column": lambda: da.from_array(y[:, None], chunks=(400, 1)),
    }[kind]()
    if "frame" in kind:
        table = table[NAMES]
    settings = {"feature_range": (-1, 1), "target_range": (-2, 2), "epsilon": INF, "alpha": 1.0}
    here = Ridge(**settings, solver="statistics").fit(x, y)
    there = Ridge(**settings, solver="statistics").fit(table, given)
    assert far(here.coef_, there.coef_) <= 1e-6


def test_labels_that_are_words(client):
    x = rows()
    words = np.array(["no", "perhaps", "yes"])[np.digitize(x[:, 0], [-0.3, 0.3])]
    settings = {"row_norm": 1.0, "epsilon": INF, "solver": GradientDescent(steps=3)}
    here = LogisticRegression(**settings).fit(x, words)
    table = frame(x).assign(y=dd.from_pandas(pd.Series(words), npartitions=3))
    there = LogisticRegression(**settings).fit(table[NAMES], table["y"])
    assert list(there.classes_) == ["no", "perhaps", "yes"]
    assert (there.predict(table[NAMES]).compute() == here.predict(x)).all()
    assert here.predict_proba(parts(x)).chunks == ((250, 1, 0, 400, 249), (3,))
    with pytest.raises(ValueError, match="not among classes"):
        LogisticRegression(**settings, classes=["no", "yes"]).fit(table[NAMES], table["y"])
    with pytest.raises(ValueError, match="continuous"):
        LogisticRegression(**settings).fit(parts(x), da.from_array(x[:, 0], chunks=100))


def wrong(shape, x, **options):
    """A chunk that is not what it says."""
    return da.from_delayed(dask.delayed(lambda: x)(), shape=shape, dtype=float, **options)


REFUSED = {
    "one dimension": (lambda x: da.from_array(x[:, 0]), "two-dimensional"),
    "text": (lambda x: dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), npartitions=1), "real num"),
    "a delayed": (lambda x: dask.delayed(x), "Delayed is not a table"),
    "no dimensions": (lambda x: da.ones(()), "two-dimensional"),
    "a bag": (lambda x: dask.bag.from_sequence([1, 2]), "not a table"),
    "one row": (lambda x: da.from_array(x[:1]), "at least"),
    "not the rows it says": (lambda x: wrong((899, 6), x), "numbers of rows"),
    "not the columns it says": (lambda x: wrong((900, 5), x), "number of columns"),
    "sparse unsaid": (lambda x: wrong((900, 6), sparse.csr_array(x)), "sparse where"),
    "masked": (lambda x: da.ma.masked_array(da.from_array(x), mask=False), "X is a masked array"),
    "masked unsaid": (lambda x: wrong((900, 6), np.ma.masked_array(x)), "X is a masked array"),
    "dates": (lambda x: da.from_array(x.astype("datetime64[s]")), "holds dates or times"),
    "a column of dates": (
        lambda x: dd.from_pandas(
            pd.DataFrame(x).assign(d=pd.Timestamp("2021-03-04")).rename(columns=str), npartitions=2
        ),
        "holds dates or times",
    ),
    "text unsaid": (lambda x: wrong((900, 6), x.astype(str)), "real numbers"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(client, what):
    make, sentence = REFUSED[what]
    with pytest.raises((ValueError, TypeError), match=sentence):
        PCA(1, epsilon=INF).fit(make(rows()))


def test_targets_that_do_not_fit_are_refused(client):
    x, model = rows(), LogisticRegression(row_norm=1.0, epsilon=INF, solver="objective")
    lazy, y = parts(x), (x[:, 0] > 0).astype(float)
    with pytest.raises(ValueError, match="different numbers of rows"):
        model.fit(lazy, y[1:])
    with pytest.raises(ValueError, match="different numbers of rows"):
        model.fit(lazy, da.from_array(y[1:]))
    with pytest.raises(ValueError, match="one entry per row"):
        model.fit(lazy, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="requires y"):
        model.fit(lazy)
    with pytest.raises(TypeError, match="y is a Dask collection but X is not"):
        model.fit(x, da.from_array(y))
    assert not hasattr(model, "classes_")


def test_what_needs_all_rows_at_once_refuses_instead_of_loading(client):
    lazy = parts(rows())
    model = MatrixCompletion(rating_range=(1, 5))
    calls = (
        lambda: SubspaceTracker(2).fit(lazy),
        lambda: SubspaceTracker(2).partial_fit(lazy),
        lambda: SubspaceTracker(2).fit(rows()).inverse_transform(lazy),
        lambda: model.fit_frame(frame(rows()), columns=NAMES[:3]),
        lambda: model.fit_triples(lazy[:, 0], lazy[:, 1], lazy[:, 2]),
        lambda: model.score(lazy, lazy),
    )
    for call in calls:
        with pytest.raises(TypeError, match="not loaded into memory behind your back"):
            call()


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_scores_are_not_loaded(client, monkeypatch, kind):
    x = rows()
    y = x[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(len(x))  # with errors
    y = y if kind == "regressor" else (y > 0).astype(float)
    model = {
        "classifier": LogisticRegression(row_norm=2.0, epsilon=INF, solver="objective"),
        "regressor": Ridge(row_norm=2.0, target_range=(-2, 2), epsilon=INF),
    }[kind].fit(x, y)
    weights = np.arange(len(x))
    plain = accuracy_score if kind == "classifier" else r2_score
    assert model.score(x, y) == plain(y, model.predict(x))
    assert model.score(x, y, weights) == plain(y, model.predict(x), sample_weight=weights)
    assert model.score(x, y, sample_weight=weights) != model.score(x, y)
    lazy, targets = parts(x), da.from_array(y, chunks=300)
    monkeypatch.setattr(da.Array, "__array__", lambda *_, **__: 1 / 0)
    for given in ((lazy, targets), (lazy, y), (x, targets), (x, y, targets)):
        with pytest.raises(TypeError, match=r"score\(...\) would load it; compare model.predict"):
            model.score(*given)


def test_frames_are_not_made_of_lazy_output(client, monkeypatch):
    x = rows()
    lazy = parts(x)
    model = PCA(2, epsilon=INF).fit(x)
    monkeypatch.setattr(da.Array, "__array__", lambda *_, **__: 1 / 0)
    model.set_output(transform="pandas")
    assert list(model.transform(x).columns) == ["pca0", "pca1"]
    with pytest.raises(TypeError, match="output as a data frame would load it"):
        model.transform(lazy)
    assert model.inverse_transform(lazy[:, :2]).shape == x.shape  # which has no such output
    model.set_output(transform="default")
    with config_context(transform_output="pandas"):
        assert model.transform(lazy).shape == (900, 2)  # its own setting goes first
        with pytest.raises(TypeError, match="output as a data frame would load it"):
            PCA(2, epsilon=INF).fit(x).transform(lazy)


def test_points_off_the_manifold_are_refused_with_the_same_sentence(client):
    points = rows()[:, :3]
    for table in (points, da.from_array(points, chunks=(300, 3))):
        with pytest.raises(ValueError, match=r"not a point of Sphere\(3\)"):
            FrechetMean(Sphere(3), epsilon=INF).fit(table)


def test_the_array_itself_is_not_changed(client):
    lazy = of_unknown_size(rows())
    fitted(lazy)
    assert np.isnan(lazy.chunks[0]).all()
