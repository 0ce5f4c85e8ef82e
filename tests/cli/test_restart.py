"""``veilspan fit --ledger`` broken off anywhere: what was paid for is had again, at no charge."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import veilspan.ledger.releases
import veilspan.releases
from cli.commands import refused, run, write_csv
from veilspan import PCA, Ledger
from veilspan.cli.stopping import stopped_like_ctrl_c
from veilspan.releases import load, save
from veilspan.solvers.subspace.analyze_gauss import AnalyzeGauss

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
        patch.setattr(AnalyzeGauss, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
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


# Signals.

STOPPED = """
import os, pathlib, signal, sys, veilspan.releases
from veilspan.cli import main

def stopped(model, folder, **_):
    assert pathlib.Path(folder).name.startswith(".r.")
    os.kill(os.getpid(), signal.SIGTERM)

veilspan.releases.save = stopped
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_asked_to_stop_nothing_stays_behind(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    words = ["fit", "pca", str(rows), "--out", str(tmp_path / "deep" / "r")]
    result = subprocess.run(
        [sys.executable, "-c", STOPPED, *words], timeout=300, capture_output=True, text=True
    )
    assert result.returncode == 143
    assert result.stderr == "veilspan: stopped.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_signals_are_given_back():
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with stopped_like_ctrl_c() as came:
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)  # what cleans up is not disturbed
        assert came == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with stopped_like_ctrl_c() as came:
            os.kill(os.getpid(), signal.SIGTERM)
        assert came == []
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_thread_takes_no_signals():
    failed = []

    def elsewhere():
        try:
            with stopped_like_ctrl_c():
                pass
        except ValueError as error:
            failed.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert failed == []


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644)])
def test_the_users_umask_holds_for_all_that_is_written(tmp_path, mask, mode):
    rows = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    out = tmp_path / "out"
    before = os.umask(mask)
    try:
        out.mkdir()
        run("fit", "pca", rows, "--out", out / "r", "--key", out / "key")
        run("transform", out / "r", rows, "--out", out / "z.csv")
        run("report", out / "r", "--out", out / "page.html")
        run("datasets", "spd", "--rows", 5, "--out", out / "spd.npy")
    finally:
        os.umask(before)
    files = {path.name: path.stat().st_mode & 0o777 for path in out.rglob("*") if path.is_file()}
    assert files.pop("key") == 0o600
    assert len(files) == 6
    assert set(files.values()) == {mode}
    assert (out / "r").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_release_is_not_taken_for_one_that_it_replaces(tmp_path):
    from veilspan.cli.folders import replaced_release

    assert replaced_release(tmp_path / "nothing") == ""
    model = PCA(1).fit(ROWS)
    assert replaced_release(save(model, tmp_path / "r")) == model.privacy_.release_id
    (tmp_path / "r" / "release.json").write_text("{}")
    assert replaced_release(tmp_path / "r") == ""
