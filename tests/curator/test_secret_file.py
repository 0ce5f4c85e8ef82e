"""Files of which nothing stays: no name, mode 0600, encrypted where a name is kept."""

import errno
import io
import os
import pickle
import stat
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan.curator import secret_file
from veilspan.curator.secret_file import VARIABLE, SecretFile, check_room, temporary_folder
from veilspan.privacy.errors import TemporaryFolderError
from veilspan.tables.sources.csv_file import KeptStream

posix = pytest.mark.skipif(os.name != "posix", reason="files without names are POSIX's")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VEILSPAN_TEMP", str(tmp_path))
    return tmp_path


@given(
    encrypt=st.booleans(),
    sizes=st.lists(st.integers(0, 300), max_size=8),
    start=st.integers(0, 2000),
    length=st.integers(0, 500),
)
def test_what_was_appended_is_read_at_any_place(encrypt, sizes, start, length):
    rng = np.random.default_rng(len(sizes))
    file, parts = SecretFile(encrypt=encrypt), [np.empty(0, dtype=np.uint8)]
    old, secret_file._STRIPE = secret_file._STRIPE, 64  # many borders between keys
    try:
        for size in sizes:
            parts.append(rng.integers(0, 256, size, dtype=np.uint8))
            file.append(parts[-1])
        whole = np.concatenate(parts)
        assert file.size == len(whole)
        start = min(start, len(whole))
        out = np.empty(min(length, len(whole) - start), dtype=np.uint8)
        np.testing.assert_array_equal(file.read_into(out, start), whole[start : start + len(out)])
    finally:
        secret_file._STRIPE = old
        file.close()


@posix
def test_the_file_has_no_name_and_is_closed_to_others(folder):
    file = SecretFile()
    file.append(np.arange(1000.0))
    assert list(folder.iterdir()) == []
    status = os.fstat(file._number)
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_nlink == 0
    assert not file._encrypts
    assert not os.get_inheritable(file._number)


def raw(file):
    """The bytes that stand on the disk."""
    os.lseek(file._number, 0, os.SEEK_SET)
    return np.frombuffer(os.read(file._number, file.size), dtype=np.uint8)


@posix
def test_where_a_name_is_kept_the_bytes_are_encrypted(monkeypatch):
    """Zeros become a stream that looks like coins, another one in each file and each place.

    The number of ones among 800,000 fair bits is within 5.5 standard deviations but for a
    probability of 4e-8; the seed is the operating system's, so the bound is what counts.
    """
    monkeypatch.setattr(secret_file, "keeps_its_name", lambda number: True)
    files = [SecretFile() for _ in range(2)]
    for file in files:
        assert file._encrypts
        for _ in range(100):
            file.append(np.zeros(125))
    stored = [raw(file) for file in files]
    for bits in map(np.unpackbits, stored):
        assert abs(int(bits.sum()) - 400_000) < 5.5 * np.sqrt(800_000) / 2
    pieces = {bytes(piece) for one in stored for piece in one.reshape(-1, 16)}
    assert len(pieces) == 2 * 6250  # no 16 bytes are met twice: no stream is used twice
    np.testing.assert_array_equal(files[0].read_into(np.ones(12_500), 0), np.zeros(12_500))


@posix
def test_a_network_drive_keeps_a_name():
    """It is asked of the open file itself, not of the operating system's name."""
    file = SecretFile()
    assert not secret_file.keeps_its_name(file._number)
    with open(os.devnull, "rb") as named:
        assert secret_file.keeps_its_name(named.fileno())


def test_a_folder_that_is_not_there_or_closed_is_named(folder, monkeypatch):
    monkeypatch.setenv("VEILSPAN_TEMP", str(folder / "nowhere"))
    with pytest.raises(TemporaryFolderError, match=r"nowhere.*No such file.*VEILSPAN_TEMP") as said:
        SecretFile()
    assert said.value.__cause__ is said.value.__context__ is None
    with pytest.raises(TemporaryFolderError, match="nowhere"):
        check_room()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full disk")
def test_a_full_disk_is_told(folder):
    file = SecretFile()
    file._number = os.open("/dev/full", os.O_RDWR)
    try:
        with pytest.raises(
            TemporaryFolderError, match=r"No space left.*Make room, or name another"
        ):
            file.append(np.arange(10.0))
    finally:
        os.close(file._number)


def test_room_is_checked_by_public_numbers():
    check_room(1000)
    with pytest.raises(TemporaryFolderError, match=r"1000000000\.0 GB are needed"):
        check_room(10**18)


@posix
def test_a_forked_child_reads_and_cannot_append():
    """Parent and child have one key: two texts under one stream would tell each other."""
    file = SecretFile(encrypt=True)
    file.append(np.arange(10.0))
    child = os.fork()
    if child == 0:  # no assertion may run here: it would end in the parent's test report
        good = bool((file.read_into(np.empty(10), 0) == np.arange(10.0)).all())
        try:
            file.append(np.arange(3.0))
            good = False
        except RuntimeError:
            pass
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    file.append(np.arange(3.0))
    np.testing.assert_array_equal(file.read_into(np.empty(3), 80), np.arange(3.0))


def test_a_secret_file_is_never_copied():
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(SecretFile())


def test_the_folder_is_the_users(folder, monkeypatch):
    assert temporary_folder() == folder
    monkeypatch.delenv("VEILSPAN_TEMP")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(secret_file.tempfile, "tempdir", None)
    assert temporary_folder() == folder


def test_room_for_less_than_a_gigabyte_is_said_in_megabytes(monkeypatch):
    usage = SimpleNamespace(free=300_000)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(TemporaryFolderError, match=r"1\.5 MB are needed and 0\.3 MB are free"):
        check_room(1_500_000)


@pytest.mark.parametrize("full", [False, True])
def test_a_stream_that_finds_no_room_says_what_to_do(monkeypatch, tmp_path, full):
    """A table from standard input is copied first: to a folder that is there, and has room."""
    monkeypatch.setenv(VARIABLE, str(tmp_path if full else tmp_path / "gone"))
    if full:

        def no_room(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("shutil.copyfileobj", no_room)
    with pytest.raises(TemporaryFolderError, match="Make room, or name another folder"):
        KeptStream(io.BytesIO(b"age\n1\n"))
    assert not any(tmp_path.iterdir())
