"""One key is one release: given out again bit for bit, never drawn anew."""

import copy
import os
import pickle
import stat
import threading

import numpy as np
import pytest

from ledger.requests import request
from veilspan import PCA, LeadingSubspace, LogisticRegression, minimize
from veilspan.geometry import Grassmann, Sphere
from veilspan.ledger import LedgerError, TamperError
from veilspan.ledger.releases import pack, question_of, unpack
from veilspan.privacy.budget import Budget
from veilspan.solvers.manifold.rgd import RGD
from veilspan.solvers.subspace.unbounded.stretched_pca import StretchedPCA

X = np.random.default_rng(0).standard_normal((200, 4))


@pytest.fixture
def data(ledger):
    return ledger.dataset("d", 3, 1e-6)


def test_the_same_fit_under_the_same_key_is_given_again(data):
    keyed = data.with_key("figure-3")
    first = PCA(2, ledger=keyed).fit(X)
    again = PCA(2, ledger=keyed).fit(X)
    for name, value in vars(first).items():
        if name.endswith("_"):
            assert pickle.dumps(getattr(again, name)) == pickle.dumps(value), name
    assert again.privacy_ == first.privacy_
    assert data.spent().charges == 1
    assert not np.array_equal(PCA(2, ledger=data).fit(X).components_, first.components_)
    assert data.spent().charges == 2


def test_rows_are_not_looked_at_again(data, monkeypatch):
    keyed = data.with_key("figure-3")
    first = PCA(2, ledger=keyed).fit(X)
    monkeypatch.setattr("veilspan.curator.rows.Rows", None)
    assert np.array_equal(PCA(2, ledger=keyed).fit(X + 1).components_, first.components_)


def test_a_key_belongs_to_one_question(data):
    keyed = data.with_key("figure-3")
    PCA(2, ledger=keyed).fit(X)
    for other in (
        PCA(1, ledger=keyed),
        PCA(2, epsilon=0.5, ledger=keyed),
        PCA(2, row_norm=2.0, ledger=keyed),
    ):
        with pytest.raises(LedgerError, match="belongs to entry 3, another fit"):
            other.fit(X)
    with pytest.raises(LedgerError, match="another fit"):
        PCA(2, ledger=keyed).fit(X[:100])
    PCA(1, ledger=data.with_key("figure-4")).fit(X)
    assert data.spent().charges == 2


def test_a_key_whose_fit_broke_off_is_spent(data):
    keyed = data.with_key("figure-3")
    keyed.charge(request(1.0, question="q"))
    with pytest.raises(LedgerError, match="never recorded as released"):
        keyed.charge(request(1.0, question="q"))
    assert data.spent().charges == 1
    assert data.with_key("figure-3b").charge(request(1.0, question="q")).stored is None


def test_a_crash_between_charge_and_release_stays_spent(data, monkeypatch):
    def crash(*_):
        raise MemoryError

    model = PCA(2, ledger=data.with_key("figure-3"))
    with monkeypatch.context() as patch:
        patch.setattr(StretchedPCA, "run", crash)
        with pytest.raises(MemoryError):
            model.fit(X)
    assert [data.spent().charges, data.spent().released] == [1, 0]
    with pytest.raises(LedgerError, match="take a new key"):
        model.fit(X)
    assert not hasattr(model, "components_")


def test_other_results_are_stored_as_well(data):
    y = np.where(X[:, 0] > 0, "yes", "no")
    keyed = data.with_key("model")
    models = [
        LogisticRegression(row_norm=2.0, classes=["no", "yes"], solver="gd", ledger=keyed).fit(X, y)
        for _ in range(2)
    ]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert np.array_equal(models[0].predict(X), models[1].predict(X))
    found = [
        minimize(
            LeadingSubspace(Sphere(4)),
            X,
            budget=Budget(0.5, 1e-6),
            solver=RGD(steps=3, step=0.1),
            ledger=data.with_key("point"),
        )
        for _ in range(2)
    ]
    assert np.array_equal(found[0].point, found[1].point)
    assert pickle.dumps(found[0].trace) == pickle.dumps(found[1].trace)
    assert data.spent().charges == 2


def test_a_changed_release_is_not_given_out(file_ledger):
    import sqlite3

    data = file_ledger.dataset("d", 3, 1e-6).with_key("figure-3")
    PCA(2, ledger=data).fit(X)
    connection = sqlite3.connect(file_ledger.url, isolation_level=None)
    connection.execute("DROP TRIGGER payloads_UPDATE")
    connection.execute("UPDATE payloads SET data = ?", (pack({"components_": X}),))
    connection.close()
    with pytest.raises(TamperError, match="was changed or lost"):
        PCA(2, ledger=data).fit(X)
    assert not file_ledger.verify()


def test_a_stored_release_builds_our_classes_only():
    class Evil:
        def __reduce__(self):
            return (eval, ("1 + 1",))

    with pytest.raises(LedgerError, match="it is not read"):
        unpack(pickle.dumps({"a_": Evil()}))
    with pytest.raises(LedgerError, match="cannot be read"):
        unpack(b"nothing")
    with pytest.raises(LedgerError, match="cannot be stored"):
        pack({"a_": lambda: None})
    kept = {"a_": X, "b_": [1, 2.5, "x", None], "c_": np.float64(3), "d_": np.array(["a"], object)}
    assert pickle.dumps(unpack(pack(kept))["a_"]) == pickle.dumps(X)


def test_questions_are_told_apart_and_recognised_anywhere():
    def own_loss(scale):
        return lambda rows, w: -scale * rows

    asked = [
        PCA(2),
        PCA(2, center=np.zeros(4)),
        PCA(2, center=np.zeros(5)),
        PCA(2, center=np.zeros(4, np.float32)),
        RGD(steps=3),
        RGD(steps=4),
        Sphere(4),
        Sphere(5),
        Grassmann(5, 2),
        Grassmann(5, 3),
        own_loss(1.0),
        own_loss(2.0),
        lambda rows, w: rows,
        (1, 2),
        (1, "2"),
        ("1", "2"),
        ("12",),
        [1, 2],
        {"a": 1},
        {"a": 1.0},
        {"a": True},
        None,
        PCA,
    ]
    digests = [question_of(part) for part in asked]
    assert len(set(digests)) == len(digests)
    assert question_of(own_loss(1.0)) == question_of(own_loss(1.0))
    for part in asked[:10]:
        assert question_of(part) == question_of(pickle.loads(pickle.dumps(part)))
    big = np.zeros(10_000)
    other = big.copy()
    other[5_000] = 1.0  # where a printed array is shortened
    assert question_of(big) != question_of(other)


class _Runs:
    """Pickles as a call of somebody else's function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def test_a_stored_release_cannot_call_what_numpy_or_veilspan_hold():
    from numpy.testing._private.utils import runstring

    from veilspan.ledger.releases import question_of as ours

    for function, arguments in ((runstring, ("1", {})), (ours, ("1",)), (eval, ("1",))):
        with pytest.raises(LedgerError, match="not read"):
            unpack(pickle.dumps({"a": _Runs(function, *arguments)}, protocol=5))
    # A dotted name would reach whatever a module of ours imports.
    dotted = b"\x80\x04\x8c\x17veilspan.ledger.releases\x8c\x09io.BytesIO\x93)R."
    with pytest.raises(LedgerError, match=r"not read|cannot be read"):
        unpack(dotted)


def test_functions_that_differ_are_different_questions():
    from functools import partial

    def scaled(factor, x):
        return factor * x

    assert question_of(partial(scaled, 1)) != question_of(partial(scaled, 2))
    assert question_of(lambda x, k=1: k) != question_of(lambda x, k=2: k)


# While the first fit under a key runs.


def at_once(work, times):
    """Do the same in several threads that start together; what each of them got, or its error."""
    barrier, results = threading.Barrier(times), []

    def run():
        barrier.wait(60)
        try:
            results.append(work())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


def test_eight_threads_under_one_key_all_get_the_one_release(data):
    """Four of eight used to be told to take a new key, which would have spent again."""
    keyed = data.with_key("figure-3")
    fitted = at_once(lambda: PCA(2, ledger=keyed).fit(X), 8)
    assert len(fitted) == 8
    assert len({model.components_.tobytes() for model in fitted}) == 1
    assert len({repr(model.privacy_) for model in fitted}) == 1
    assert data.spent().charges == data.spent().released == 1


def test_those_who_wait_are_told_when_the_first_one_fails(data, monkeypatch):
    """Its error, and with it its frames, may be kept for ever: nobody waits for that."""
    started = threading.Event()

    def crash(*_):
        started.wait(1)
        raise MemoryError

    monkeypatch.setattr(StretchedPCA, "run", crash)
    results = at_once(lambda: PCA(2, ledger=data.with_key("figure-3")).fit(X), 4)
    assert sorted(type(result).__name__ for result in results) == [
        *["LedgerError"] * 3,
        "MemoryError",
    ]
    assert data.spent().charges == 1


def test_a_receipt_that_is_dropped_or_whose_thread_ends_is_not_waited_for(data):
    kept = []

    def charge(key, keep):
        receipt = data.with_key(key).charge(request(0.5))
        if keep:
            kept.append(receipt)

    for key, keep in (("dropped", False), ("kept", True)):
        thread = threading.Thread(target=charge, args=(key, keep))
        thread.start()
        thread.join(60)
        with pytest.raises(LedgerError, match="never recorded as released"):
            data.with_key(key).charge(request(0.5))
    assert data.spent().charges == 2


def test_other_keys_and_fits_without_a_key_do_not_wait(data):
    held = data.with_key("one").charge(request(0.5))
    others = at_once(lambda: data.charge(request(0.3)).entry, 2)
    assert sorted(others) == [4, 5]
    (other,) = at_once(lambda: data.with_key("two").charge(request(0.5)).stored, 1)
    assert other is None
    held.release({}, {"answer_": 1})
    (again,) = at_once(lambda: data.with_key("one").charge(request(0.5)).stored, 1)
    assert again == {"answer_": 1}


def test_a_receipt_can_be_copied_and_sent_without_its_claim(data):
    receipt = data.with_key("one").charge(request(0.5))
    assert receipt.claim is not None
    for copied in (pickle.loads(pickle.dumps(receipt)), copy.deepcopy(receipt)):
        assert copied == receipt
        assert copied.claim is None


def test_the_file_of_locks_is_for_those_who_may_write_to_the_ledger(file_ledger):
    data = file_ledger.dataset("d", 3, 1e-6)
    os.chmod(file_ledger.url, 0o660)
    data.with_key("one").charge(request(0.5))
    locks = os.stat(f"{file_ledger.url}-keys")
    assert (locks.st_size, stat.S_IMODE(locks.st_mode)) == (0, 0o660)
