"""What is loaded is what was saved, to the last bit, and holds no row."""

import json

import numpy as np
import pandas as pd
import pytest

from releases.cases import CASES, N, answers, arrays_file, fitted
from veilspan import PCA, RobustPCA, SubspaceTracker
from veilspan.datasets import make_haystack, make_ratings
from veilspan.estimators.completion.matrix_completion import MatrixCompletion
from veilspan.releases import load, save
from veilspan.releases.names import releasable
from veilspan.solvers.steps import ConstantSteps


def same(one, other):
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and (one.tolist() == other.tolist() if one.dtype == object else True)
            and (one.dtype == object or one.tobytes() == other.tobytes())
            and one.shape == other.shape
        )
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


@pytest.mark.parametrize("name", CASES)
def test_loaded_is_saved(name, tmp_path):
    estimator = fitted(name)
    loaded = load(save(estimator, tmp_path / "release"))
    assert type(loaded) is type(estimator)
    assert set(vars(loaded)) == set(vars(estimator))
    for attribute, value in vars(estimator).items():
        assert same(value, getattr(loaded, attribute)), attribute
    assert loaded.privacy_ == estimator.privacy_
    assert loaded.plan_.to_dict() == estimator.plan_.to_dict()
    before, after = answers(estimator, name), answers(loaded, name)
    assert before
    for method, value in before.items():
        assert same(value, after[method]), method
    # And once more: a loaded release is as good as the first.
    again = load(save(loaded, tmp_path / "again"))
    assert same(answers(again, name)[method], value)


def test_every_estimator_has_a_case():
    assert {kind for kind, _, _ in CASES.values()} == set(releasable())


@pytest.mark.parametrize("name", CASES)
def test_a_release_holds_no_rows(name, tmp_path):
    estimator, data = fitted(name), CASES[name][2]
    folder = save(estimator, tmp_path / "release")
    with np.load(arrays_file(folder)) as stored:
        arrays = [stored[key] for key in stored.files]
    text = (folder / "release.json").read_text()
    sizes = [size for array in arrays for size in array.shape] + _lengths(json.loads(text))
    assert N not in sizes
    if isinstance(data[0], dict):  # a table of texts: nobody's id is anywhere
        assert not any(cell in text for cell in data[0]["patient_id"])
        return
    entries = data[0].data if hasattr(data[0], "indptr") else np.asarray(data[0]).ravel()
    telling = [entry for entry in entries.tolist() if len(repr(entry)) > 12]  # not 1.0 or 5.0
    assert len(telling) > N
    held = np.concatenate([np.ravel(a) for a in arrays if a.dtype.kind == "f"])
    assert not np.isin(telling, held).any()
    assert not any(repr(entry) in text for entry in telling[:300])


def _lengths(value):
    if isinstance(value, dict):
        return [len(value), *(n for part in value.values() for n in _lengths(part))]
    if isinstance(value, list):
        return [len(value), *(n for part in value for n in _lengths(part))]
    return []


def test_names_of_columns_come_along(tmp_path):
    rows = make_haystack(300, 3, 1).rows
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    loaded = load(save(PCA(1).fit(frame), tmp_path / "release"))
    assert list(loaded.feature_names_in_) == ["a", "b", "c"]
    assert loaded.transform(frame).shape == (300, 1)


def test_items_with_names_make_the_same_predictor(tmp_path):
    data = make_ratings(300, 4).train.tocoo()
    names = np.array(["ä", "b", "c", "d"])
    model = MatrixCompletion(rating_range=(1, 5)).fit_triples(
        data.row, names[data.col], data.data, items=names
    )
    loaded = load(save(model, tmp_path / "release"))
    mine = {"ä": 5.0, "c": 1.0}
    assert same(loaded.local_predictor().predict(mine), model.local_predictor().predict(mine))
    assert loaded.local_predictor().recommend(mine) == model.local_predictor().recommend(mine)


def test_the_ledger_is_not_part_of_it(tmp_path):
    from veilspan import Ledger

    ledger = Ledger(tmp_path / "budget.db", key=tmp_path / "key")
    account = ledger.dataset("trial", 3.0, 1e-6)
    pca = PCA(1, ledger=account).fit(make_haystack(300, 3, 1).rows)
    folder = save(pca, tmp_path / "release")
    loaded = load(folder)
    assert loaded.ledger is None
    assert loaded.privacy_.ledger == pca.privacy_.ledger
    assert "budget.db" not in (folder / "release.json").read_text()


def test_what_cannot_be_saved_says_so(tmp_path):
    rows = make_haystack(300, 3, 1).rows
    with pytest.raises(ValueError, match="is not fitted yet"):
        save(PCA(1), tmp_path / "a")

    class MyPCA(PCA):
        pass

    with pytest.raises(ValueError, match="MyPCA is not an estimator that can be saved"):
        save(MyPCA(1).fit(rows), tmp_path / "a")
    with pytest.raises(ValueError, match=r"tracker\.save\(file\)"):
        save(SubspaceTracker(1).fit(rows), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_parameter_of_the_users_own_is_refused(tmp_path):
    class Steps(ConstantSteps):
        pass

    pca = PCA(1).fit(make_haystack(300, 3, 1).rows)
    pca.center = Steps(0.1)
    with pytest.raises(ValueError, match="center is a Steps, which cannot be saved"):
        save(pca, tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_trackers_and_predictors_are_recognised(tmp_path):
    rows = make_haystack(300, 4, 1).rows
    tracker = SubspaceTracker(1).fit(rows)
    tracker.save(tmp_path / "tracker.npz")
    assert same(load(tmp_path / "tracker.npz").components_, tracker.components_)
    predictor = fitted("MatrixCompletion, factors").local_predictor()
    predictor.save(tmp_path / "phone.npz")
    assert same(load(tmp_path / "phone.npz").item_bias, predictor.item_bias)
    (tmp_path / "other.npz").write_bytes(b"something else")
    with pytest.raises(ValueError, match="is not a release: that is a folder"):
        load(tmp_path / "other.npz")


def test_a_release_is_not_replaced_by_accident(tmp_path):
    rows = make_haystack(300, 4, 1).rows
    folder = save(PCA(1).fit(rows), tmp_path / "release")
    with pytest.raises(FileExistsError, match="already holds a release"):
        save(RobustPCA(1).fit(rows), folder)
    assert type(load(folder)) is PCA
    save(RobustPCA(1).fit(rows), folder, overwrite=True)
    assert type(load(folder / "release.json")) is RobustPCA
    assert {path.name for path in folder.iterdir()} == {arrays_file(folder).name, "release.json"}


def test_no_report_of_the_old_release_beside_the_new(tmp_path):
    folder = save(fitted("PCA"), tmp_path / "release")
    (folder / "report.html").write_text("of the first")
    save(fitted("RobustPCA"), folder, overwrite=True)
    assert not (folder / "report.html").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("of something else")
    save(fitted("PCA"), tmp_path / "mine", overwrite=True)  # there was no release to replace
    assert (tmp_path / "mine" / "report.html").exists()
