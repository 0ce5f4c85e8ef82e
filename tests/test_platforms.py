"""What the page of compatibility says of systems without locks, modes or a table of mounts.

The absence is played here on any system; run or leave out by name (``-k platforms``).
"""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from veilspan import PCA, Ledger, _files, load
from veilspan.ledger.seal import anchor, keys
from veilspan.ledger.stores import byte_locks, one_path

ROWS = np.random.default_rng(0).standard_normal((100, 3))


@pytest.fixture
def no_locks(monkeypatch):
    """As on Windows: no fcntl."""
    monkeypatch.setattr(byte_locks, "_locks", None)
    monkeypatch.setattr(anchor, "_locks", None)
    monkeypatch.setitem(sys.modules, "fcntl", None)


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "b.db", key=tmp_path / "k").dataset("ward", epsilon=3, delta=1e-6)


def test_a_folder_without_locks_still_gets_whole_releases(no_locks, tmp_path):
    with _files.only_writer(tmp_path) as told:
        assert told is False
    fitted = PCA(1).fit(ROWS)
    fitted.save(tmp_path / "release")
    assert load(tmp_path / "release").privacy_ == fitted.privacy_


def test_without_locks_fits_never_spend_more_than_there_is(no_locks, account, tmp_path):
    failures = []

    def fit():
        try:
            PCA(1, epsilon=2.5, ledger=account).fit(ROWS)
        except Exception as error:
            failures.append(type(error).__name__)

    threads = [threading.Thread(target=fit) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == ["BudgetExceededError"] * 2
    assert Ledger(tmp_path / "b.db", key=tmp_path / "k").verify()


def test_modes_are_looked_at_where_they_mean_something(tmp_path, monkeypatch):
    key = tmp_path / "k"
    keys.read_or_make_key(key)
    key.chmod(0o644)
    with pytest.raises(Exception, match="open to everybody"):
        keys.read_key(key)
    monkeypatch.setattr(keys, "os", SimpleNamespace(name="nt"))
    assert len(keys.read_key(key)) == 32


def test_without_the_kernels_table_hard_links_are_still_refused(tmp_path, monkeypatch, account):
    monkeypatch.setattr(one_path, "_ask_kernel", lambda path: None)
    monkeypatch.setattr(one_path, "mount_points", lambda table="": frozenset())
    (tmp_path / "second.db").hardlink_to(tmp_path / "b.db")
    with pytest.raises(Exception, match="2 names"):
        Ledger(tmp_path / "second.db", key=tmp_path / "k").spent()
