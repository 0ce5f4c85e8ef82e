"""Killed or out of space in the middle of saving: the old release, or none, never half of one."""

import errno
import json
import os
import subprocess
import sys

import pytest

from releases.cases import fitted
from veilspan.releases import files, save

# One process that knows the library forks for every case: each child saves, and is killed at one
# system call of it. Prints what a reader finds afterwards: a method, none, or an error.
DRIVER = """
import json, os, pathlib, signal, sys
from veilspan.releases import load, save

old, new = load(sys.argv[1]), load(sys.argv[2])
found = {}
for call, count, before in json.loads(sys.argv[3]):
    folder = pathlib.Path(sys.argv[4]) / f"{call}{count}{before}"
    if before:
        save(old, folder)
    child = os.fork()
    if child == 0:
        real, done = getattr(os, call), 0
        def dying(*arguments, **named):
            global done
            done += 1
            if done == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)
        setattr(os, call, dying)
        save(new, folder, overwrite=True)
        os._exit(0)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    try:
        state = load(folder).privacy_.method
    except (FileNotFoundError, ValueError) as error:
        text = str(error)
        state = None if "holds no release" in text or "there is no release" in text else text
    save(new, folder, overwrite=True)
    found[folder.name] = [killed, state, load(folder).privacy_.method]
print(json.dumps(found))
"""
CALLS = [("fsync", 1), ("fsync", 2), ("fsync", 3), ("replace", 1), ("replace", 2)]


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
def test_killed_while_saving(tmp_path):
    old, new = (save(fitted(name), tmp_path / name) for name in ("PCA", "RobustPCA"))
    cases = [(call, count, before) for call, count in CALLS for before in (True, False)]
    result = subprocess.run(
        [sys.executable, "-c", DRIVER, str(old), str(new), json.dumps(cases), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    for call, count, before in cases:
        killed, state, afterwards = found[f"{call}{count}{before}"]
        assert killed
        early = call == "fsync" and count < 3  # before the old one is taken away
        assert state == ("PCA" if before and early else None)
        assert afterwards == fitted("RobustPCA").privacy_.method


def test_no_space_left(tmp_path, monkeypatch):
    folder = save(fitted("PCA"), tmp_path / "release")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(fitted("RobustPCA"), folder, overwrite=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    with pytest.raises(OSError, match="No space left"):
        save(fitted("RobustPCA"), tmp_path / "new")
    assert list((tmp_path / "new").iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device(tmp_path):
    """The real error of a real full device is not swallowed."""
    with open("/dev/full", "wb") as stream, pytest.raises(OSError, match="No space left"):
        files.write_synced(stream, lambda s: s.write(b"x" * 100_000))


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="Not a directory"):
        save(fitted("PCA"), tmp_path / "file" / "release")
    with pytest.raises(OSError, match="File exists"):
        save(fitted("PCA"), tmp_path / "file")
