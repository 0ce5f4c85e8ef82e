"""Arrays that another program wrote, with every digest mended: only plain ones are read."""

import io
import zipfile

import numpy as np
import pytest

from releases.cases import arrays_file, fitted, replace_arrays
from veilspan.releases import load, save


@pytest.fixture
def release(tmp_path):
    return save(fitted("PCA, public centre"), tmp_path / "release")


def compressed(release):
    stream = io.BytesIO()
    with np.load(arrays_file(release)) as stored:
        np.savez_compressed(stream, **stored)
    return stream.getvalue()


def encrypted(release):
    packed = bytearray(arrays_file(release).read_bytes())
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        packed[packed.index(mark) + flags] |= 1
    return bytes(packed)


def archive(name, data):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        opened.writestr(name, data)
    return stream.getvalue()


def shaped(shape):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return archive("center.npy", header.getvalue())


def boastful(release):
    """A member that claims to be larger than the file that holds it."""
    packed = bytearray(arrays_file(release).read_bytes())
    place = packed.index(b"PK\1\2") + 24
    packed[place : place + 4] = (2**31).to_bytes(4, "little")
    return bytes(packed)


FOREIGN = {
    "compressed": compressed,
    "encrypted": encrypted,
    "boastful": boastful,
    "larger than memory": lambda release: shaped((2**57,)),
    "larger than a number": lambda release: shaped((10**30,)),
    "text": lambda release: archive("center.txt", "not an array"),
    "one array": lambda release: b"\x93NUMPY\x01\x00",
    "nothing": lambda release: b"",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_only_plain_arrays_are_read(release, name):
    """Stored as they are, so that what is read is never larger than the file."""
    replace_arrays(release, FOREIGN[name](release))
    with pytest.raises(ValueError, match="something else than plain arrays"):
        load(release)


def test_a_pickle_among_the_arrays_is_not_opened(release):
    """Even with all digests mended: object arrays are refused, never unpickled."""
    stream = io.BytesIO()
    np.savez(stream, center=np.array([{"a": 1}], dtype=object))
    replace_arrays(release, stream.getvalue())
    with pytest.raises(ValueError, match="something else than plain arrays"):
        load(release)


@pytest.mark.parametrize("header", ["[1]", "3", '{"item_ids"', "[" * 100_000])
def test_a_foreign_file_of_arrays(header, tmp_path):
    np.savez(tmp_path / "state.npz", header=np.frombuffer(header.encode(), dtype=np.uint8))
    with pytest.raises(ValueError, match="is not a release: that is a folder"):
        load(tmp_path / "state.npz")
