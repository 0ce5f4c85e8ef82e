"""Killed, out of space, or two at once in the middle of saving: the old release or the new one."""

import errno
import json
import os
import subprocess
import sys
from contextlib import nullcontext

import pytest

from releases.cases import arrays_file, fitted
from veilspan import _files
from veilspan.releases import files, load, save

# One process that knows the library forks for every case; it prints what readers find.
DRIVER = """
import contextlib, json, os, pathlib, random, signal, sys, time
from veilspan.releases import files, load, save

old, new = load(sys.argv[1]), load(sys.argv[2])
place = pathlib.Path(sys.argv[4])

def state_of(folder):
    try:
        return load(folder).privacy_.method
    except (FileNotFoundError, ValueError) as error:
        text = str(error)
        return None if "holds no release" in text or "there is no release" in text else text

def killed_at(call, count, before):
    folder = place / f"{call}{count}{before}"
    folder.mkdir()
    if before:
        save(old, folder)
    child = os.fork()
    if child == 0:
        real, done = getattr(os, call), []
        def dying(*arguments, **named):
            done.append(call)
            if len(done) == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)
        setattr(os, call, dying)
        save(new, folder, overwrite=True)
        os._exit(0)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    state = state_of(folder)
    save(new, folder, overwrite=True)
    return [killed, state, state_of(folder), len(list(folder.iterdir()))]

def killed_at_random(trials):
    rng, states, folder = random.Random(0), [], place / "random"
    for _ in range(trials):
        save(old, folder, overwrite=True)
        child = os.fork()
        if child == 0:
            while True:
                save(new, folder, overwrite=True)
                save(old, folder, overwrite=True)
        time.sleep(0.025 * rng.random())
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        states.append(state_of(folder))
    return states

def together(name):
    folder, children, states = place / name, [], []
    save(old, folder)
    for number in range(3):
        children.append(os.fork())
        if children[-1] == 0:
            for turn in range(12):
                save((old, new)[(turn + number) % 2], folder, overwrite=True)
            os._exit(0)
    while children:
        states.append(state_of(folder))
        if os.waitpid(children[0], os.WNOHANG)[0]:
            children.pop(0)
    return [states, state_of(folder), len(list(folder.iterdir()))]

found = {
    "killed": {"".join(map(str, case)): killed_at(*case) for case in json.loads(sys.argv[3])},
    "random": killed_at_random(30),
    "lock": together("lock"),
}
files.only_writer = lambda folder: contextlib.nullcontext(False)
print(json.dumps({**found, "no lock": together("no lock")}))
"""
# The name of the document is given by the second rename; what follows is tidying.
BEFORE_THE_SWITCH = [("fsync", 1), ("fsync", 2), ("fsync", 3), ("replace", 1), ("replace", 2)]
AFTER_THE_SWITCH = [("fsync", 4), ("unlink", 3)]
CASES = [(*c, before) for c in BEFORE_THE_SWITCH + AFTER_THE_SWITCH for before in (True, False)]
CASES.remove(("unlink", 3, False))  # there is nothing old to remove
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the driver prints, over a release to replace and one to save."""
    place = tmp_path_factory.mktemp("driven")
    old, new = (save(fitted(name), place / name) for name in ("PCA", "RobustPCA"))
    words = [str(old), str(new), json.dumps(CASES), str(place)]
    result = subprocess.run(
        [sys.executable, "-c", DRIVER, *words], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


OLD, NEW = "PCA", "RobustPCA (RecursiveSpherical)"


@needs_fork
@pytest.mark.parametrize(("call", "count", "before"), CASES)
def test_killed_while_saving(found, call, count, before):
    killed, state, afterwards, left = found["killed"][f"{call}{count}{before}"]
    assert killed
    switched = (call, count) in AFTER_THE_SWITCH
    assert state == (NEW if switched else OLD if before else None)
    assert afterwards == NEW
    assert left == 2, "the next save removes what the killed one left"


@needs_fork
def test_killed_at_any_time(found):
    assert len(found["random"]) == 30
    assert set(found["random"]) <= {OLD, NEW}


@needs_fork
@pytest.mark.parametrize("lock", ["lock", "no lock"])
def test_many_save_to_one_folder_while_one_reads(found, lock):
    states, last, left = found[lock]
    assert set(states) <= {OLD, NEW}
    assert last in (OLD, NEW)
    assert left == (2 if lock == "lock" else 3)  # both kinds of arrays stay without a lock


@pytest.mark.parametrize("call", [1, 2])
def test_a_save_inside_another_leaves_one_whole_release(tmp_path, monkeypatch, call):
    """Where folders cannot be locked: the second begins and ends within the first."""
    folder = save(fitted("PCA"), tmp_path / "release")
    monkeypatch.setattr(files, "only_writer", lambda folder: nullcontext(False), raising=False)
    real, done = os.replace, []

    def interrupted(source, target):
        done.append(source)
        if len(done) == call:
            save(fitted("Lasso"), folder, overwrite=True)
        real(source, target)

    monkeypatch.setattr(os, "replace", interrupted)
    save(fitted("RobustPCA"), folder, overwrite=True)
    assert load(folder).privacy_.method == NEW


def test_the_folder_of_an_old_release_is_taken_over_whole(tmp_path):
    """Arrays of the old name go with the old release, and only with one."""
    folder = save(fitted("PCA"), tmp_path / "release")
    make_old(folder)
    assert load(folder).privacy_ == fitted("PCA").privacy_
    save(fitted("RobustPCA"), folder, overwrite=True)
    assert not (folder / "arrays.npz").exists()
    assert load(folder).privacy_.method == NEW
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "arrays.npz").write_text("of something else")
    save(fitted("PCA"), tmp_path / "mine")
    assert (tmp_path / "mine" / "arrays.npz").read_text() == "of something else"


def make_old(folder):
    """Write a release as version 0.1 did."""
    from releases.cases import rewrite

    arrays_file(folder).rename(folder / "arrays.npz")

    def older(document):
        document["files"] = {"arrays.npz": next(iter(document["files"].values()))}
        document["schema"] = 1

    rewrite(folder, older, mend=True)


def test_no_space_left(tmp_path, monkeypatch):
    """Whichever of the syncs fails, the folder is as it was."""
    folder = save(fitted("PCA"), tmp_path / "release")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    real = os.fsync
    for last in (1, 2, 3):
        calls = []

        def full(handle, last=last, calls=calls):
            calls.append(handle)
            if len(calls) == last:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(handle)

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            save(fitted("RobustPCA"), folder, overwrite=True)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        calls.clear()
        (tmp_path / "new").mkdir(exist_ok=True)
        with pytest.raises(OSError, match="No space left"):
            save(fitted("RobustPCA"), tmp_path / "new")
        assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device(tmp_path, monkeypatch):
    """The real error of a real full device is not swallowed."""
    real = os.open
    monkeypatch.setattr(_files.os, "open", lambda *_: real("/dev/full", os.O_WRONLY))
    with pytest.raises(OSError, match="No space left"):
        _files.write_aside(tmp_path / "file", lambda stream: stream.write(b"x" * 100_000))


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        save(fitted("PCA"), tmp_path / "file" / "release")
    with pytest.raises(OSError, match="File exists"):
        save(fitted("PCA"), tmp_path / "file")


@pytest.mark.parametrize(("mask", "file", "made"), [(0o077, 0o600, 0o700), (0o022, 0o644, 0o755)])
def test_the_users_umask_decides_who_may_read_a_release(tmp_path, mask, file, made):
    before = os.umask(mask)
    try:
        folder = save(fitted("PCA"), tmp_path / "release", key=tmp_path / "key")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {file}
    assert folder.stat().st_mode & 0o777 == made
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
