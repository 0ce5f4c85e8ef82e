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
