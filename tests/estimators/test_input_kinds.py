"""Masked arrays, dates and times are refused by type, in whatever they come."""

import datetime
import traceback

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from veilspan import (
    PCA,
    Ball,
    FrechetMean,
    LinearRegression,
    LocalPredictor,
    LogisticRegression,
    MatrixCompletion,
    RobustPCA,
    SubspaceTracker,
    minimize,
)
from veilspan.curator.rows import Rows
from veilspan.geometry import SPD, Euclidean, Sphere
from veilspan.losses.manifold import LeadingSubspace
from veilspan.privacy.budget import Budget

pytestmark = [
    pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::veilspan.LoudNoiseWarning"),
]
Y = np.arange(60) % 2
TABLE = np.random.default_rng(0).standard_normal((60, 4))
BALL = Ball.from_norm(Euclidean(4), 2.0)
MODELS = {
    "PCA": (PCA(2, random_state=0), ()),
    "RobustPCA": (RobustPCA(2, random_state=0), ()),
    "FrechetMean": (FrechetMean(Euclidean(4), ball=BALL, random_state=0), ()),
    "LogisticRegression": (
        LogisticRegression(feature_range=(-1, 1), classes=[0, 1], solver="gd", random_state=0),
        (Y,),
    ),
    "LinearRegression": (
        LinearRegression(feature_range=(-1, 1), target_range=(0, 1), solver="gd", random_state=0),
        (Y,),
    ),
    "SubspaceTracker": (SubspaceTracker(2), ()),
    "SubspaceTracker, private": (SubspaceTracker(2, epsilon=5.0, block_size=30), ()),
}
DAY = datetime.date(2021, 3, 4)
MOMENT = np.datetime64("2021-03-04", "ns")
DATES = {
    "days": np.full((60, 4), "2021-03-04", dtype="datetime64[D]"),
    "moments": np.full((60, 4), "2021-03-04", dtype="datetime64[ns]"),
    "times": np.full((60, 4), 3, dtype="timedelta64[s]"),
    "dates as objects": np.full((60, 4), DAY, dtype=object),
    "moments as objects": np.array([[MOMENT, 1.0, 2.0, 3.0]] * 60, dtype=object),
    "lists": [[1.0, 2.0, 3.0, DAY]] * 60,
    "lists of days": [[np.datetime64(DAY)] * 4] * 60,
    "a column": pd.DataFrame(TABLE).assign(d=pd.Timestamp(DAY)).iloc[:, 1:].rename(columns=str),
    "a column with a zone": pd.DataFrame(TABLE[:, :3])
    .assign(d=pd.Timestamp(DAY, tz="UTC"))
    .rename(columns=str),
    "a column of objects": pd.DataFrame(TABLE[:, :3])
    .assign(d=pd.Series([DAY] * 60, dtype=object))
    .rename(columns=str),
    "a column of months": pd.DataFrame(TABLE[:, :3])
    .assign(d=pd.Period("2021-03"))
    .rename(columns=str),
}
MASKS = {
    "hiding": np.ma.masked_array(TABLE, mask=TABLE > 1),
    "hiding nothing": np.ma.masked_array(TABLE),
    "rows": [np.ma.masked_array(row) for row in TABLE],
}


def refused(call, words):
    with pytest.raises(TypeError, match=words) as caught:
        call()
    said = "".join(traceback.format_exception_only(caught.value))
    assert "2021" not in said
    assert "2020-01-01" in said or "filled" in said  # the way out
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", DATES)
def test_dates_are_refused_with_a_way_out(name, kind):
    model, targets = MODELS[name]
    refused(lambda: model.fit(DATES[kind], *targets), "X holds dates or times")


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("name", [name for name in MODELS if "Tracker" not in name])
def test_masks_are_refused_whatever_they_hide(name, kind):
    model, targets = MODELS[name]
    refused(lambda: model.fit(MASKS[kind], *targets), "X is a masked array")


@pytest.mark.parametrize("name", MODELS)
def test_using_a_model_refuses_them_too(name):
    model, targets = MODELS[name]
    model.fit(TABLE, *targets)
    for method in ("transform", "predict", "predict_proba", "decision_function", "impute"):
        if hasattr(model, method):
            refused(lambda m=method: getattr(model, m)(DATES["days"]), "X holds dates")
            if "Tracker" not in name:
                refused(lambda m=method: getattr(model, m)(MASKS["hiding"]), "X is a masked")
    if hasattr(model, "inverse_transform"):
        coordinates = np.ma.masked_array(model.transform(TABLE))
        refused(lambda: model.inverse_transform(coordinates), "X is a masked array")
        refused(lambda: model.inverse_transform(DATES["days"][:, :2]), "X holds dates")
        with pytest.raises(ValueError, match="could not be read") as caught:
            model.inverse_transform([["Jane Doe", 1.0]])
        assert caught.value.__context__ is None


def test_targets():
    for name in ("LogisticRegression", "LinearRegression"):
        model = MODELS[name][0]
        refused(lambda m=model: m.fit(TABLE, np.ma.masked_array(Y)), "y is a masked array")
    model = MODELS["LinearRegression"][0]
    refused(lambda: model.fit(TABLE, DATES["days"][:, 0]), "y holds dates")
    refused(lambda: model.fit(TABLE, DATES["moments as objects"][:, 0]), "y holds dates")


def test_stacks_of_matrices():
    stack = np.ma.masked_array(np.broadcast_to(np.eye(2), (60, 2, 2)))
    ball = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    mean = FrechetMean(SPD(2), ball=ball, random_state=0)
    refused(lambda: mean.fit(stack), "X is a masked array")
    refused(lambda: mean.fit(DATES["moments"].reshape(60, 2, 2)), "X holds dates")
    refused(
        lambda: minimize(
            LeadingSubspace(Sphere(4)), MASKS["hiding"], budget=Budget(1.0, 1e-6), random_state=0
        ),
        "X is a masked array",
    )


def test_where_gaps_are_allowed_a_mask_is_one():
    gaps = np.where(MASKS["hiding"].mask, np.nan, TABLE)
    for parameters in ({}, {"epsilon": 5.0, "block_size": 30}):
        masked = SubspaceTracker(2, random_state=0, **parameters).fit(MASKS["hiding"])
        plain = SubspaceTracker(2, random_state=0, **parameters).fit(gaps)
        np.testing.assert_array_equal(masked.components_, plain.components_)
        np.testing.assert_array_equal(masked.transform(MASKS["hiding"]), plain.transform(gaps))


def test_ratings():
    stars = np.ma.masked_array(1.0 + np.arange(360).reshape(60, 6) % 5, mask=False)
    stars.mask = np.arange(360).reshape(60, 6) % 3 == 0
    gaps = stars.filled(np.nan)
    model = MatrixCompletion(rating_range=(1, 5), random_state=0)
    bias = model.fit(gaps).item_bias_
    np.testing.assert_array_equal(model.fit(stars).item_bias_, bias)
    np.testing.assert_array_equal(model.predict(stars), model.predict(gaps))
    whole = np.ma.masked_array(stars.data.astype(int), mask=stars.mask)  # not read as 0, or as all
    np.testing.assert_array_equal(model.fit(whole).item_bias_, bias)
    refused(lambda: model.fit(DATES["days"]), "R holds dates")
    ids = np.arange(60)
    for place in range(3):
        columns = [ids, ids % 6, np.ones(60)]
        columns[place] = np.ma.masked_array(columns[place])
        refused(lambda c=columns: model.fit_triples(*c, items=range(6)), "is a masked array")
    refused(lambda: model.fit_triples(ids, ids % 6, DATES["days"][:, 0], items=range(6)), "dates")
    phone = LocalPredictor(np.zeros(6), np.zeros((6, 0)), tuple(range(6)), (1.0, 5.0), 1.0)
    refused(lambda: phone.predict(([1, 2], np.ma.masked_array([5.0, 1.0]))), "is a masked array")


def test_the_door_itself():
    refused(lambda: Rows(MASKS["hiding"]), "X is a masked array")
    refused(lambda: Rows(TABLE, np.ma.masked_array(Y)), "y is a masked array")
    table = sparse.csr_array(TABLE)
    table.data = np.ma.masked_array(table.data)
    refused(lambda: Rows(table), "X is a masked array")
