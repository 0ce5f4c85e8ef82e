"""``veilspan fit --ledger`` broken off anywhere: what was paid for is had again, at no charge."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import veilspan.ledger.releases
import veilspan.releases
from cli.commands import refused, run, write_csv
from veilspan import PCA, Ledger
from veilspan.releases import load

ROWS = np.random.default_rng(0).standard_normal((50, 3))


@pytest.fixture
def paid(tmp_path):
    """Words of a fit that charges a ledger, and the account."""
    key = tmp_path / "key"
    account = Ledger(tmp_path / "l.db", key=key).dataset("trial", 6.0, 1e-5)
    write_csv(tmp_path / "rows.csv", ROWS, "abc")
    charged = ("--ledger", tmp_path / "l.db", "--dataset", "trial", "--key", key)
    words = ("fit", "pca", tmp_path / "rows.csv", "--out", tmp_path / "r", *charged)
    return words, account


def break_off(monkeypatch, error=KeyboardInterrupt):
    """Saving fails."""

    def broken(*_, **__):
        raise error

    monkeypatch.setattr(veilspan.releases, "save", broken)


def test_broken_off_before_it_was_saved(paid, tmp_path, monkeypatch):
    words, account = paid
    with monkeypatch.context() as patch:
        break_off(patch)
        said = run(*words, expect=130).err
    assert "kept in the ledger: the same command again gives it, and charges nothing." in said
    assert not (tmp_path / "r").exists()
    spent = account.spent().charges
    assert spent == 1
    result = run(*words, "--json")
    assert result.json["given_again"]
    assert "nothing was charged, and the rows of" in result.err
    assert "If they have changed since, it is still the release of the old ones." in result.err
    assert account.spent().charges == 1
    model = load(tmp_path / "r")
    assert model.privacy_.to_dict() == result.json["privacy"]
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.privacy_.ledger["entry"] == account.history()[1].seq


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_killed_before_it_was_saved(paid, tmp_path):
    words, account = paid
    code = (
        "import os, signal, sys\nimport veilspan.releases\nfrom veilspan.cli import main\n"
        "veilspan.releases.save = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(sys.argv[1:])"
    )
    ended = subprocess.run([sys.executable, "-c", code, *map(str, words)], timeout=300)
    assert ended.returncode == -signal.SIGKILL
    assert run(*words, "--json").json["given_again"]
    assert account.spent().charges == 1
    assert load(tmp_path / "r").n_features_in_ == 3


def test_broken_off_before_it_was_recorded(paid, tmp_path, monkeypatch):
    """Nobody can know what got out: what was charged stays spent, and a new try is asked for."""
    words, account = paid
    with monkeypatch.context() as patch:
        patch.setattr(PCA, "_keep", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        run(*words, expect=130)
    said = refused(*words)
    assert "broke off" in said
    assert "On the command line a new key is --request NAME; it is charged anew." in said
    assert account.spent().charges == 1
    assert not run(*words, "--request", "second try", "--json").json["given_again"]
    assert account.spent().charges == 2


def test_changed_rows_are_never_passed_over_in_silence(paid, tmp_path, monkeypatch):
    words, account = paid
    with monkeypatch.context() as patch:
        break_off(patch)
        run(*words, expect=130)
    write_csv(tmp_path / "rows.csv", 2 * ROWS, "abc")
    result = run(*words)
    assert "given again, nothing was charged, and the rows of" in result.err
    write_csv(tmp_path / "rows.csv", ROWS[:40], "abc")
    said = refused(*words, "--force", "--request", first_key(account))
    assert "shape of the table differ" in said
    assert account.spent().charges == 1


def first_key(account):
    return next(entry.key for entry in account.history() if entry.key)


def test_a_release_that_arrived_is_a_request_that_is_over(paid, tmp_path, monkeypatch):
    words, account = paid
    run(*words)
    first = load(tmp_path / "r").privacy_.release_id
    assert "holds a release already" in refused(*words)
    with monkeypatch.context() as patch:
        break_off(patch, OSError(28, "No space left on device"))
        run(*words, "--force", expect=1)
    assert load(tmp_path / "r").privacy_.release_id == first
    assert account.spent().charges == 2
    assert run(*words, "--force", "--json").json["given_again"]
    second = load(tmp_path / "r").privacy_.release_id
    assert second != first
    assert account.spent().charges == 2
    assert not run(*words, "--force", "--json").json["given_again"]
    assert load(tmp_path / "r").privacy_.release_id not in (first, second)
    assert account.spent().charges == 3


@pytest.mark.parametrize("more", [("--epsilon", 0.5), ("--columns", "a,b"), ("-p", "row_norm=2")])
def test_another_request_is_charged(paid, tmp_path, monkeypatch, more):
    words, account = paid
    with monkeypatch.context() as patch:
        break_off(patch)
        run(*words, expect=130)
    assert not run(*words, *more, "--json").json["given_again"]
    assert account.spent().charges == 2


def test_a_request_of_ones_own_name(paid, tmp_path):
    words, account = paid
    run(*words, "--request", "figure 3")
    other = [tmp_path / "s" if word == tmp_path / "r" else word for word in words]
    assert run(*other, "--request", "figure 3", "--json").json["given_again"]
    ids = {load(tmp_path / name).privacy_.release_id for name in "rs"}
    assert len(ids) == account.spent().charges == 1
    said = refused("fit", "pca", tmp_path / "rows.csv", "--out", tmp_path / "t", "--request", "x")
    assert said == "--request is for fits with --ledger: it names what is paid for."


def test_a_release_that_the_ledger_cannot_copy_is_not_lost(paid, tmp_path, monkeypatch):
    """SQLite refuses more than a billion bytes, after the fit."""
    words, account = paid

    def too_big(*_, **__):
        raise OverflowError("BLOB longer than INT_MAX bytes")

    with monkeypatch.context() as patch:
        patch.setattr(veilspan.ledger.releases.pickle, "dumps", too_big)
        result = run(*words, "--json")
        assert "cannot keep a copy of this release" in result.err
        assert not result.json["given_again"]
    assert load(tmp_path / "r").privacy_.ledger["entry"]
    assert Ledger(account.url, key=account.key_file).verify()
    shutil.rmtree(tmp_path / "r")
    assert "was not stored. On the command line" in refused(*words)
    assert account.spent().charges == 1
