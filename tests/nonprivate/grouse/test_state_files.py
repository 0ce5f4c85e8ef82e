import numpy as np
import pytest

from veilspan.nonprivate.grouse.files import StateFileError, read_state, write_state


def test_numbers_come_back_to_the_last_bit(tmp_path):
    path = tmp_path / "state.npz"
    values = {"a": np.random.default_rng(0).standard_normal((3, 4)), "b": np.arange(3)}
    write_state(path, {"x": 0.1, "name": "näme"}, values)
    header, arrays = read_state(path)
    assert header == {"x": 0.1, "name": "näme"}
    assert set(arrays) == set(values)
    for name, array in values.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_a_file_is_whole_or_as_before(tmp_path, monkeypatch):
    path = tmp_path / "state"
    write_state(path, {"n": 1}, {})

    def fails(stream, **arrays):
        stream.write(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OSError, match="No space"):
        write_state(path, {"n": 2}, {})
    monkeypatch.undo()
    assert read_state(path)[0] == {"n": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("keep", [0, 1, 30, 0.5, 0.99])
def test_a_truncated_file_is_an_error(tmp_path, keep):
    path = tmp_path / "state.npz"
    write_state(path, {"n": 1}, {"a": np.ones(1000)})
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if keep < 1 else keep])
    with pytest.raises(StateFileError, match="no readable state"):
        read_state(path)


def test_a_changed_bit_is_an_error(tmp_path):
    path = tmp_path / "state.npz"
    write_state(path, {"n": 1}, {"a": np.ones(1000)})
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(StateFileError):
        read_state(path)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "plain.npz", a=np.ones(3))
    np.save(tmp_path / "array.npy", np.ones(3))
    (tmp_path / "text").write_text("hello")
    for name in ("plain.npz", "array.npy", "text"):
        with pytest.raises(StateFileError):
            read_state(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_state(tmp_path / "nothing")
