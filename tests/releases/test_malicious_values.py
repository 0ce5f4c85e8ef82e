"""Releases of others, every digest mended, whose numbers or promises are nonsense: refused."""

import io

import numpy as np
import pytest

from releases.cases import arrays_file, fitted, refuses, replace_arrays, rewrite
from veilspan.releases import save

# What is promised.

LONG = 10**400
PROMISES = {
    "epsilon -1": lambda d: d["statement"].update(epsilon=-1.0),
    "epsilon 0": lambda d: d["statement"].update(epsilon=0),
    "epsilon nan": lambda d: d["statement"].update(epsilon="nan"),
    "epsilon huge": lambda d: d["statement"].update(epsilon=LONG),
    "epsilon -inf": lambda d: d["statement"].update(epsilon="-inf"),
    "epsilon inf": lambda d: d["statement"].update(epsilon="inf"),
    "epsilon a list": lambda d: d["statement"].update(epsilon=[1.0]),
    "more than planned": lambda d: d["statement"].update(epsilon=3.0),
    "delta 0": lambda d: d["statement"].update(delta=0.0),
    "delta 2": lambda d: d["statement"].update(delta=2),
    "delta text": lambda d: d["statement"].update(delta="1e-6"),
    "delta true": lambda d: d["statement"].update(delta=True),
    "another delta": lambda d: d["statement"].update(delta=1e-9),
    "another relation": lambda d: d["statement"].update(neighbors="add-remove"),
    "another method": lambda d: d["statement"].update(method="Ridge"),
    "private by word": lambda d: d["statement"].update(private="yes"),
    "private by number": lambda d: d["statement"].update(private=1),
    "texts": lambda d: d["statement"].update(unit=["one row"]),
    "assumptions": lambda d: d["statement"].update(assumptions=[1]),
    "charge": lambda d: d["statement"].update(ledger={"dataset": "a"}),
    "charge of words": lambda d: d["statement"].update(
        ledger={"dataset": "a", "entry": "3", "head": "x"}
    ),
    "no noise": lambda d: d["statement"]["events"][0].update(noise_multiplier="nan"),
    "half an event": lambda d: d["statement"]["events"][0].update(count=0.5),
    "no statement": lambda d: d.update(statement=3),
    "plan epsilon -1": lambda d: d["plan"].update(epsilon=-1.0),
    "plan epsilon nan": lambda d: d["plan"].update(epsilon="nan"),
    "plan delta": lambda d: d["plan"].update(delta=1.5),
    "plan relation": lambda d: d["plan"].update(neighbors="friends"),
    "plan rows": lambda d: d["plan"].update(n_rows=None),
    "plan rows true": lambda d: d["plan"].update(n_rows=True),
    "plan rows below 0": lambda d: d["plan"].update(n_rows=-5),
    "plan columns": lambda d: d["plan"].update(n_features=7),
    "plan no columns": lambda d: d["plan"].update(n_features=0),
    "plan adaptive": lambda d: d["plan"].update(adaptive="no"),
    "no plan": lambda d: d.update(plan=[]),
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_promise_that_is_none(release, name):
    rewrite(release, PROMISES[name], mend=True)
    refuses(release, "cannot be rebuilt")


# What was learned.


def learned(folder, **changes):
    """Other arrays and attributes, everything mended."""
    with np.load(arrays_file(folder)) as stored:
        arrays = dict(stored)
    attributes = {}
    for name, value in changes.items():
        if isinstance(value, np.ndarray) or callable(value):
            arrays[name] = value(arrays[name]) if callable(value) else value
            attributes[name] = {"veilspan": "array", "name": name}
        else:
            attributes[name] = value
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    rewrite(folder, lambda d: d["attributes"].update(attributes))
    replace_arrays(folder, stream.getvalue())


def with_nan(array):
    return np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array)


NAN = {"veilspan": "float", "value": "nan"}
LEARNED = [
    ("PCA", {"components_": with_nan}),
    ("PCA", {"components_": lambda a: a * np.inf}),
    ("PCA", {"components_": lambda a: a[:, :4]}),
    ("PCA", {"components_": lambda a: a[:1]}),
    ("PCA", {"components_": lambda a: a[None]}),
    ("PCA", {"components_": lambda a: a + 1j}),
    ("PCA", {"components_": lambda a: a.astype("U8")}),
    ("PCA", {"components_": [[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0]]}),
    ("PCA", {"components_": 3}),
    ("PCA", {"mean_": with_nan}),
    ("PCA", {"mean_": np.zeros(1)}),
    ("PCA", {"noise_edge_": NAN}),
    ("PCA", {"explained_variance_": with_nan}),
    ("PCA", {"n_components_": True}),
    ("PCA", {"n_components_": 9}),
    ("PCA", {"n_features_in_": 4}),
    ("PCA", {"n_features_in_": "5"}),
    ("PCA", {"feature_names_in_": {"veilspan": "objects", "items": ["a"]}}),
    ("PCA", {"feature_names_in_": {"veilspan": "objects", "items": [1, 2, 3, 4, 5]}}),
    ("RobustPCA", {"components_": with_nan}),
    ("RobustPCA", {"spectrum_": with_nan}),
    ("FrechetMean", {"mean_": with_nan}),
    ("FrechetMean", {"mean_": np.eye(3)}),
    ("MatrixCompletion, factors", {"item_bias_": with_nan}),
    ("MatrixCompletion, factors", {"item_factors_": lambda a: a[:5]}),
    ("MatrixCompletion, factors", {"ridge_": -1.0}),
    ("MatrixCompletion, factors", {"ridge_": NAN}),
    ("MatrixCompletion, factors", {"item_ids_": {"veilspan": "tuple", "items": [1, 2]}}),
    ("LogisticRegression", {"coef_": with_nan}),
    ("LogisticRegression", {"coef_": lambda a: a[0]}),
    ("LogisticRegression", {"intercept_": lambda a: np.append(a, a)}),
    ("LogisticRegression", {"classes_": np.array(["no", "no"])}),
    ("LogisticRegression", {"classes_": np.array(["no"])}),
    ("LogisticRegression", {"classes_": np.array(["a", "b", "c"])}),
    ("LogisticRegression", {"classes_": ["no", "yes"]}),
    ("Lasso", {"coef_": with_nan}),
    ("Lasso", {"coef_": lambda a: a[None]}),
    ("Lasso", {"intercept_": NAN}),
    ("Lasso", {"intercept_": "0"}),
    ("Lasso", {"intercept_": True}),
]


@pytest.mark.parametrize(("case", "changes"), LEARNED)
def test_numbers_that_nobody_learned(tmp_path, case, changes):
    release = save(fitted(case), tmp_path / "release")
    learned(release, **changes)
    refuses(release, "cannot be rebuilt")


@pytest.mark.parametrize("name", ["components_", "mean_", "n_features_in_", "n_components_"])
def test_what_is_missing(release, name):
    rewrite(release, lambda d: d["attributes"].pop(name), mend=True)
    refuses(release, "cannot be rebuilt")
