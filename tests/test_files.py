import os

import pytest

from veilspan._files import write_whole


def test_a_file_is_whole_or_absent(tmp_path):
    target = tmp_path / "new" / "file"
    write_whole(target, lambda stream: stream.write(b"one"))
    assert target.read_bytes() == b"one"

    def fails(stream):
        stream.write(b"half")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(target, fails)
    assert target.read_bytes() == b"one"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_the_users_umask_decides_who_may_read(tmp_path):
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "mine", lambda stream: stream.write(b"x"))
        os.umask(0o022)
        write_whole(tmp_path / "ours", lambda stream: stream.write(b"x"))
    finally:
        os.umask(before)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o644
