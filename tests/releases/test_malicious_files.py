"""Files made to do harm, every digest mended: refused in one sentence, at once, in little memory.

What they try: to be read from somewhere else, to never end, to unpack to any size, to mean two
things.
"""

import io
import os
import socket
import stat
import zipfile

import numpy as np
import pytest

from releases.cases import arrays_file, refuses, replace_arrays, rewrite
from veilspan import SubspaceTracker
from veilspan.estimators.completion.local_predictor import LocalPredictor
from veilspan.nonprivate.grouse.files import StateFileError
from veilspan.releases import load
from veilspan.releases.documents import arrays_name

pytestmark = pytest.mark.usefixtures("no_hanging")
MEGABYTE = 2**20
posix = pytest.mark.skipif(os.name != "posix", reason="needs pipes and devices")


# Where and what kind of file.


def pipe(path):
    os.mkfifo(path)


def endless(path):
    path.symlink_to("/dev/zero")


def folder(path):
    path.mkdir()


def sock(path):
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def sparse(path):
    with open(path, "wb") as stream:
        stream.truncate(3 * 2**30)


def loop(path):
    path.symlink_to(path.name)


IRREGULAR = (pipe, endless, folder, sock, sparse, loop)


@posix
@pytest.mark.parametrize("make", IRREGULAR)
@pytest.mark.parametrize("which", ["document", "arrays", "file"])
def test_only_regular_files_of_a_bounded_size_are_opened(release, tmp_path, make, which):
    path = {
        "document": release / "release.json",
        "arrays": arrays_file(release),
        "file": tmp_path / "state.npz",
    }[which]
    path.unlink(missing_ok=True)
    make(path)
    if make is loop:
        with pytest.raises((ValueError, OSError)):
            load(release if which != "file" else path)
    else:
        refuses(release if which != "file" else path)
    if which == "file":
        for reader in (SubspaceTracker.load, LocalPredictor.load):
            with pytest.raises((ValueError, OSError)):
                reader(path)


@posix
def test_a_link_to_a_file_is_followed(release, tmp_path):
    """Stores of large files link to them; what they hold is known by its digest."""
    path = arrays_file(release)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert load(release).n_features_in_ == 5


def test_a_private_state_is_its_owners_alone(tracker):
    if os.name == "posix":
        assert stat.S_IMODE(tracker.stat().st_mode) == 0o600


# Names.

DIGEST = "a" * 64
NAMES = {
    "above": {f"../{arrays_name(DIGEST)}": DIGEST},
    "absolute": {f"/tmp/{arrays_name(DIGEST)}": DIGEST},
    "another's": {arrays_name("b" * 64): DIGEST},
    "the old name": {"arrays.npz": DIGEST},
    "two": {arrays_name(DIGEST): DIGEST, arrays_name("b" * 64): "b" * 64},
    "none": {},
    "a list": [arrays_name(DIGEST)],
    "capitals": {arrays_name("A" * 64): "A" * 64},
    "other digits": {arrays_name("\N{FULLWIDTH DIGIT ONE}" * 64): "\N{FULLWIDTH DIGIT ONE}" * 64},
    "short": {arrays_name("a" * 40): "a" * 40},
    "a path as digest": {arrays_name("../" * 30): ("../" * 30)[:64]},
    "a number": {"arrays-1.npz": 1},
    "nothing": {arrays_name(DIGEST): None},
}


@pytest.mark.parametrize("name", NAMES)
def test_no_name_in_a_file_leads_anywhere(release, tmp_path, name):
    for place in (tmp_path, release):
        (place / arrays_name(DIGEST)).write_bytes(b"bait")
    rewrite(release, lambda d: d.update(files=NAMES[name]), mend=True)
    refuses(release, "was changed after it was written")


def test_old_releases_name_their_arrays_in_the_old_way_only(release):
    rewrite(release, lambda d: d.update(schema=1), mend=True)
    refuses(release, "was changed after it was written")


# JSON.


def raw(release, text):
    (release / "release.json").write_text(text)


def test_a_key_twice_is_refused(release):
    text = (release / "release.json").read_text()
    raw(release, text.replace('"schema": 2', '"schema": 2, "schema": 2', 1))
    refuses(release, "names a key twice")
    raw(release, text.replace('"epsilon": 1.0', '"epsilon": 0.01, "epsilon": 1.0', 1))
    refuses(release, "names a key twice")


ENDLESS = {
    "digits": "1" * 5000,
    "more digits": "-" + "9" * 10**6,
    "lists": "[" * 200_000,
    "objects": '{"a":' * 200_000,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_numbers_and_nestings_without_end(release, name):
    text = (release / "release.json").read_text()
    raw(release, text.replace('"schema": 2', f'"schema": 2, "note": {ENDLESS[name]}', 1))
    refuses(release, "is not JSON")


# Archives, in all three kinds of files.


def npy(array=None, *, header=None, body=b""):
    """The bytes of an array, or of a header that lies."""
    stream = io.BytesIO()
    if header is None:
        np.lib.format.write_array(stream, array, allow_pickle=True)
    else:
        np.lib.format.write_array_header_2_0(stream, header)
        stream.write(body)
    return stream.getvalue()


def described(descr, shape):
    return {"descr": descr, "fortran_order": False, "shape": shape}


MEMBERS = {
    "below zero": npy(header=described("<f8", (-1, -8)), body=b"\0" * 64),
    "more than is there": npy(header=described("<f8", (9,)), body=b"\0" * 64),
    "less than is there": npy(header=described("<f8", (7,)), body=b"\0" * 64),
    "more than memory": npy(header=described("<f8", (2**40, 2**40)), body=b"\0" * 64),
    "of nothing": npy(header=described("<U0", (10**9,))),
    "records": npy(np.zeros(3, dtype=[("a", "f8")])),
    "dates": npy(np.zeros(3, dtype="M8[s]")),
    "objects": npy(np.array([{}], dtype=object)),
    "inner arrays": npy(header=described("(2,)<f8", (4,)), body=b"\0" * 64),
    "a header without end": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
    "a version of tomorrow": b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16,
    "empty": b"",
}


def packed(members, method=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


@pytest.mark.parametrize("name", MEMBERS)
def test_arrays_that_lie_about_themselves(release, tracker, predictor, name):
    bad = packed([("components_.npy", MEMBERS[name]), ("header.npy", MEMBERS[name])])
    replace_arrays(release, bad)
    refuses(release, "something else than plain arrays")
    for path in (tracker, predictor):
        path.write_bytes(bad)
        refuses(path, "is not a release")
    with pytest.raises(StateFileError):
        SubspaceTracker.load(tracker)
    with pytest.raises(ValueError, match="holds no local predictor"):
        LocalPredictor.load(predictor)


def parts_of(path):
    with np.load(path) as stored:
        return dict(stored)


def bomb(path):
    """64 MiB of zeros in a few kilobytes, beside what belongs there."""
    zeros = {"more": np.zeros(8 * MEGABYTE)}
    np.savez_compressed(path, **{**parts_of(path), **zeros})


def lying_bomb(path):
    """The same, said to be small."""
    bomb(path)
    whole, place = bytearray(path.read_bytes()), 0
    for mark, size in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        place = whole.rindex(mark)
        whole[place + size : place + size + 4] = (200).to_bytes(4, "little")
    path.write_bytes(bytes(whole))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("make", [bomb, lying_bomb])
def test_bombs_are_not_unpacked(tracker, predictor, make):
    for path in (tracker, predictor):
        make(path)
        refuses(path, "is not a release")
    with pytest.raises(StateFileError):
        SubspaceTracker.load(tracker)
    with pytest.raises(ValueError, match="holds no local predictor"):
        LocalPredictor.load(predictor)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(release):
    data = npy(np.zeros((2, 5)))
    replace_arrays(release, packed([("components_.npy", data), ("components_.npy", data)]))
    refuses(release, "something else than plain arrays")
